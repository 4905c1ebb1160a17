const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d
const BETWEEN = Buffer.from('},')
/** The number of bytes by which the next item's beginning is recognized. */
const LEAD_BYTES = 11
/** After this number of failed attempts, runs of items are not tried again. */
const MAX_FAILED_RUNS = 3

export interface BorderedItemSink {
  /**
   * Receives the bytes of a possible item, and returns false if they are not one. Valid JSON from the beginning of an
   * item is one item.
   */
  tryItem(bytes: Buffer): boolean
  /**
   * Receives the bytes of possible items, in brackets as an array, with `between` at each border. Returns false if they
   * are anything else.
   */
  tryRun(bytes: Buffer, between: Buffer): boolean
}

/**
 * Finds the ends of items by the bytes that are most common between two items of a list. Searching for these bytes is
 * much faster than scanning each byte. Parsing then proves whether they were a border.
 */
export class ItemBorderSearch {
  readonly #sink: BorderedItemSink
  readonly #maxBytes: number
  /** The end of one item and the beginning of the next, as is most common in this list. */
  #border: Buffer | undefined
  /** Whether this chunk may have another border. Searching after each item would take longer than all other work. */
  #mayHaveBorder = true
  /** If runs of items fail, this list has other data that resembles a border, or its items are large. */
  #failedRuns = 0

  constructor(sink: BorderedItemSink, maxBytes: number) {
    this.#sink = sink
    this.#maxBytes = maxBytes
  }

  beginChunk(): void {
    this.#mayHaveBorder = true
  }

  /**
   * Delivers the item at `from` to the sink, or all items up to the last border of this chunk. Returns their end, or -1
   * if the item does not end at a border.
   */
  deliverItems(chunk: Buffer, from: number): number {
    // A shorter lead would find more than borders.
    if (!this.#mayHaveBorder || from + LEAD_BYTES > chunk.length) return -1
    this.#border ??= Buffer.concat([BETWEEN, chunk.subarray(from, from + LEAD_BYTES)])
    const border = chunk.indexOf(this.#border, from + 1)
    if (border === -1) {
      this.#mayHaveBorder = false
      // This item may begin like no other.
      this.#border = undefined
      return -1
    }
    const run = from > 0 && this.#failedRuns < MAX_FAILED_RUNS ? chunk.lastIndexOf(this.#border) + 1 : 0
    if (run > from && run - from <= this.#maxBytes) {
      if (this.#tryRun(chunk, from, run, this.#border)) return run
      this.#failedRuns++
    }
    if (border - from >= this.#maxBytes) return -1
    const end = border + 1
    return this.#sink.tryItem(chunk.subarray(from, end)) ? end : -1
  }

  /** The brackets replace the bytes around the run: copying the run would take much longer. */
  #tryRun(chunk: Buffer, from: number, run: number, border: Buffer): boolean {
    const before = chunk[from - 1] ?? 0
    const after = chunk[run] ?? 0
    chunk[from - 1] = OPEN_BRACKET
    chunk[run] = CLOSE_BRACKET
    try {
      return this.#sink.tryRun(chunk.subarray(from - 1, run + 1), border)
    } finally {
      chunk[from - 1] = before
      chunk[run] = after
    }
  }
}
