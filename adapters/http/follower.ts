import type { SourceErrorCode } from '../../src/contract/errors.js'
import type { FrameLog } from './frame-log.js'

/** How many bytes a follower's stream holds before it waits for the reader. */
const BUFFER_BYTES = 64 * 1024
const encoder = new TextEncoder()

/** The end of a watch with an error, as a server-sent event. */
export function errorFrame(code: SourceErrorCode, message: string): Uint8Array {
  return encoder.encode(`event: error\ndata: ${JSON.stringify({ code, message })}\n\n`)
}

/**
 * The response body of one watch. It holds a position in the log of its feed, and no copy of the frames: a follower that stops
 * reading costs the same memory as one that reads.
 */
export class Follower {
  readonly body: ReadableStream<Uint8Array>
  readonly #log: FrameLog
  readonly #until: number
  readonly #ended: () => void
  #sequence: number
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined

  /** Sends the frames after `after`, and ends after `until`. `ended` is called once, when the stream has ended. */
  constructor(log: FrameLog, after: number, until: number, ended: () => void) {
    this.#log = log
    this.#sequence = after
    this.#until = until
    this.#ended = ended
    this.body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller
        },
        pull: () => this.flush(),
        cancel: () => this.#release(),
      },
      { highWaterMark: BUFFER_BYTES, size: (frame) => frame.length },
    )
  }

  /** Sends frames until the reader has enough, or until there is no later one. */
  flush(): void {
    while (this.#controller !== undefined && (this.#controller.desiredSize ?? 0) > 0) {
      const frame = this.#log.at(this.#sequence + 1)
      if (this.#sequence >= this.#until) this.end()
      else if (this.#sequence === this.#log.last) return
      else if (frame === undefined) this.end(errorFrame('VERSION_EXPIRED', 'the follower is too far behind'))
      else {
        this.#sequence++
        this.#controller.enqueue(frame)
      }
    }
  }

  /** Ends the stream, with a last frame. */
  end(frame?: Uint8Array): void {
    const controller = this.#controller
    if (controller === undefined) return
    this.#release()
    if (frame !== undefined) controller.enqueue(frame)
    controller.close()
  }

  #release(): void {
    if (this.#controller === undefined) return
    this.#controller = undefined
    this.#ended()
  }
}
