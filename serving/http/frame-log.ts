/** The newest frames of a feed, by sequence, up to a number of bytes. A frame is one batch as a server-sent event. */
export class FrameLog {
  readonly #limit: number
  /** Without a gap. */
  readonly #frames = new Map<number, Uint8Array>()
  #bytes = 0
  #last = 0
  #pushedBytes = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  /** The sequence of the newest frame; 0 if there was none. */
  get last(): number {
    return this.#last
  }

  /** The size of all frames since the beginning, in bytes. */
  get pushedBytes(): number {
    return this.#pushedBytes
  }

  /** Whether a follower that has everything up to `sequence` can continue from here. */
  canResume(sequence: number): boolean {
    return sequence <= this.#last && sequence >= this.#last - this.#frames.size
  }

  /** Returns a frame; undefined if it was removed, or does not exist yet. */
  at(sequence: number): Uint8Array | undefined {
    return this.#frames.get(sequence)
  }

  push(frame: Uint8Array): void {
    this.#frames.set(++this.#last, frame)
    this.#bytes += frame.length
    this.#pushedBytes += frame.length
    // The newest frame stays, so that followers which have everything else can continue.
    while (this.#bytes > this.#limit && this.#frames.size > 1) {
      const oldest = this.#last - this.#frames.size + 1
      this.#bytes -= this.at(oldest)?.length ?? 0
      this.#frames.delete(oldest)
    }
  }
}
