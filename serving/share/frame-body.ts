import type { BodyReader, ReceivedBody } from '../http/received-response.js'
import { WINDOW_BYTES } from './port-messages.js'

/** The reader reports the bytes of frames that it has taken after this many. */
const REPORT_BYTES = WINDOW_BYTES / 4

type ReadResult = Awaited<ReturnType<BodyReader['read']>>

/** What a body sends to the share. */
export interface FrameBodyHost {
  /** The reader has taken frames of this many bytes since the last report. */
  taken(bytes: number): void
  /** The reader does not read the rest. */
  cancelled(): void
}

/** The frames of a response that arrive one by one. It has one reader, which reads one after the other. */
export class FrameBody implements ReceivedBody, BodyReader {
  readonly #host: FrameBodyHost
  #frames: Uint8Array[] = []
  /** The position of the next frame. */
  #next = 0
  /** The bytes of taken frames that were not reported. */
  #takenBytes = 0
  /** The read that waits for a frame. */
  #waiting: { readonly resolve: (result: ReadResult) => void; readonly reject: (error: unknown) => void } | undefined
  #ended: { readonly error?: unknown } | undefined

  constructor(host: FrameBodyHost) {
    this.#host = host
  }

  getReader(): BodyReader {
    return this
  }

  /** Adds a frame that has arrived. */
  push(frame: Uint8Array): void {
    if (this.#ended !== undefined) return
    if (this.#waiting === undefined) this.#frames.push(frame)
    else {
      const { resolve } = this.#waiting
      this.#waiting = undefined
      resolve({ done: false, value: this.#taken(frame) })
    }
  }

  /** No frame follows. */
  end(): void {
    this.#ended ??= {}
    this.#waiting?.resolve({ done: true })
    this.#waiting = undefined
  }

  /** Drops the frames that were not read. Reads reject from now on. */
  fail(error: unknown): void {
    if (this.#ended !== undefined) return
    this.#ended = { error }
    this.#drop()
    this.#waiting?.reject(error)
    this.#waiting = undefined
  }

  async read(): Promise<ReadResult> {
    const frame = this.#frames[this.#next]
    if (frame !== undefined) {
      this.#next++
      if (this.#next === this.#frames.length) this.#drop()
      return { done: false, value: this.#taken(frame) }
    }
    if (this.#ended !== undefined && 'error' in this.#ended) throw this.#ended.error
    if (this.#ended !== undefined) return { done: true }
    return await new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject }
    })
  }

  async cancel(): Promise<void> {
    this.#drop()
    if (this.#ended !== undefined) return
    this.end()
    this.#host.cancelled()
  }

  #drop(): void {
    this.#frames = []
    this.#next = 0
  }

  #taken(frame: Uint8Array): Uint8Array {
    this.#takenBytes += frame.length
    if (this.#takenBytes >= REPORT_BYTES) {
      this.#host.taken(this.#takenBytes)
      this.#takenBytes = 0
    }
    // The decoder does not take bytes in shared memory: a copy has memory of its own.
    return frame.buffer instanceof ArrayBuffer ? frame : frame.slice()
  }
}
