import type { SourceErrorCode } from '../../src/contract/errors.js'
import { membersOf } from '../../src/util/type-guards.js'
import type { FrameLog } from './frame-log.js'

const encoder = new TextEncoder()

export function frameOf(type: 'begin' | 'end' | 'error', data: object = {}): Uint8Array {
  return encoder.encode(`event: ${type}\ndata: ${JSON.stringify(data)}\n\n`)
}

export function errorFrame(code: SourceErrorCode, message: string): Uint8Array {
  return frameOf('error', { code, message })
}

/** Receives the frames of a follower: a stream, a connection or a port. */
export interface FrameSink {
  /** Sends a frame. Returns false if the follower must wait until `resume` is called. */
  write(frame: Uint8Array): boolean
  /** Ends the response after the frames that were sent. */
  end(): void
}

/**
 * The response body of one watch or list. It holds a position in the log of its feed or list, and no copy of the
 * frames: a follower that stops reading costs the same memory as one that reads.
 */
export class Follower {
  readonly #begin: Uint8Array
  readonly #log: FrameLog
  readonly #until: number
  readonly #ended: () => void
  #sequence: number
  #sink: FrameSink | undefined
  #isReady = true
  #hasEnded = false
  #lastFrame: Uint8Array | undefined

  /** Sends `begin` and the frames after `after` until `until`. `ended` is called once, at the end of the body. */
  constructor(begin: Uint8Array, log: FrameLog, after: number, until: number, ended: () => void) {
    this.#begin = begin
    this.#log = log
    this.#sequence = after
    this.#until = until
    this.#ended = ended
  }

  /** Begins to send. Called once. */
  attach(sink: FrameSink): void {
    this.#sink = sink
    if (this.#hasEnded) this.#finish()
    else {
      this.#send(sink, this.#begin)
      this.flush()
    }
  }

  get sequence(): number {
    return this.#sequence
  }

  resume(): void {
    this.#isReady = true
    this.flush()
  }

  /** Sends frames until the sink has enough, or until there is no later one. */
  flush(): void {
    while (this.#sink !== undefined && this.#isReady && !this.#hasEnded) {
      const frame = this.#log.at(this.#sequence + 1)
      if (this.#sequence >= this.#until) this.end()
      else if (this.#sequence === this.#log.last) return
      else if (frame === undefined) this.end(errorFrame('VERSION_EXPIRED', 'the follower is too far behind'))
      else {
        this.#sequence++
        this.#send(this.#sink, frame)
      }
    }
  }

  #send(sink: FrameSink, frame: Uint8Array): void {
    // A sink may call `resume` before `write` has returned.
    this.#isReady = false
    if (sink.write(frame)) this.#isReady = true
  }

  /** Ends the body, with a last frame. */
  end(frame?: Uint8Array): void {
    if (this.#hasEnded) return
    this.#lastFrame = frame
    this.close()
    this.#finish()
  }

  /** Forgets the reader, which has gone. */
  close(): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    this.#ended()
  }

  #finish(): void {
    if (this.#lastFrame !== undefined) this.#sink?.write(this.#lastFrame)
    this.#sink?.end()
  }
}

/** A read of a stream costs more than the delivery of a small frame. So the body can be sent without its stream. */
export function directResponse(body: Follower, headers: Readonly<Record<string, string>>): Response {
  return new Response(Object.assign(streamOf(body), { follower: body }), { headers })
}

/** Returns the watch or list that a response sends; undefined if only its stream is known, or another reader has it. */
export function directBodyOf({ body }: Response): Follower | undefined {
  if (body === null || body.locked) return undefined
  const { follower } = membersOf(body)
  return follower instanceof Follower ? follower : undefined
}

/** The follower sends nothing before the first read, so that another sink may be attached instead. */
function streamOf(follower: Follower): ReadableStream<Uint8Array> {
  let isAttached = false
  return new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        if (isAttached) return follower.resume()
        isAttached = true
        follower.attach({
          write(frame) {
            controller.enqueue(frame)
            return (controller.desiredSize ?? 0) > 0
          },
          end: () => controller.close(),
        })
      },
      cancel: () => follower.close(),
    },
    { highWaterMark: 0 },
  )
}
