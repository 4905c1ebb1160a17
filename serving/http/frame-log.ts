/** The newest frames of a feed, by sequence, up to a number of bytes. A frame is one batch as a server-sent event. */
export class FrameLog {
  readonly #limit: number
  #frames: (Uint8Array | undefined)[] = []
  /** The position of the oldest frame in `#frames`. */
  #head = 0
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
    return sequence <= this.#last && sequence >= this.#first - 1
  }

  /** Returns a frame; undefined if it was removed, or does not exist yet. */
  at(sequence: number): Uint8Array | undefined {
    return sequence < this.#first ? undefined : this.#frames[this.#head + sequence - this.#first]
  }

  push(frame: Uint8Array): void {
    this.#frames.push(frame)
    this.#bytes += frame.length
    this.#pushedBytes += frame.length
    this.#last++
    // The newest frame stays, so that followers which have everything else can continue.
    while (this.#bytes > this.#limit && this.#head < this.#frames.length - 1) {
      this.#bytes -= this.#frames[this.#head]?.length ?? 0
      this.#frames[this.#head] = undefined
      this.#head++
    }
    if (this.#head > 1_024 && this.#head * 2 > this.#frames.length) {
      this.#frames = this.#frames.slice(this.#head)
      this.#head = 0
    }
  }

  get #first(): number {
    return this.#last - (this.#frames.length - this.#head) + 1
  }
}
