import { parseJson } from '../../common/json-depth.js'

const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d
const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d
const COMMA = 0x2c
const SPACES: ReadonlySet<number> = new Set([0x20, 0x09, 0x0a, 0x0d])

export interface ItemSink extends BorderedItemSink {
  /** Receives one item; if it is too large, only its beginning. */
  item(bytes: Buffer, shape: ItemShape): void
}

export interface ItemShape {
  readonly isWhole: boolean
  readonly depth: number
}

/** The list, and its array. */
const OUTER_DEPTH = 2
/** The bytes that are kept of an item that is too large, to find its name. */
const HEAD_BYTES = 64 * 1024
const MAX_ENVELOPE_BYTES = 1024 * 1024

/** Splits the body of a LIST into its items, the objects of the array `items`. The rest is a small envelope. */
export class JsonListSplitter {
  readonly #sink: ItemSink
  readonly #borders: ItemBorderSearch
  readonly #maxBytes: number
  #depth = 0
  #isInString = false
  #isEscaped = false
  #isInItems = false
  #hasItems = false
  /** The token that is expected next between two items. */
  #next: 'first' | 'item' | 'comma' = 'first'
  /** The bytes of the last string at the top level: the name of the next bracket's value. */
  #word: number[] | undefined
  #name = ''
  readonly #envelope: Buffer[] = []
  #envelopeBytes = 0
  /** The parts of the current item from earlier chunks. */
  #pieces: Buffer[] = []
  #itemBytes = 0
  #isInItem = false
  #itemAt = 0
  #deepest = 0

  constructor(sink: ItemSink, maxBytes: number) {
    this.#sink = sink
    this.#borders = new ItemBorderSearch(sink, maxBytes)
    this.#maxBytes = maxBytes
  }

  get isComplete(): boolean {
    return this.#depth === 0 && this.#envelope.length > 0
  }

  /** Parses the list without its items. Throws if the body is not JSON. */
  envelope(): unknown {
    return parseJson(Buffer.concat(this.#envelope).toString())
  }

  /** Throws if this is not a list: its envelope is too large, or other data is between its items. */
  push(chunk: Buffer): void {
    const end = chunk.length
    let at = 0
    this.#borders.beginChunk()
    this.#itemAt = 0
    while (at < end) at = this.#isInItem ? this.#scanItem(chunk, at, end) : this.#scanEnvelope(chunk, at, end)
  }

  /** Scans an item for its end, byte by byte. Returns the offset at which to continue. */
  #scanItem(chunk: Buffer, from: number, end: number): number {
    let depth = this.#depth
    let isInString = this.#isInString
    let deepest = this.#deepest
    let at = from
    if (this.#isEscaped) {
      this.#isEscaped = false
      at++
    }
    while (at < end) {
      if (isInString) {
        while (at < end && chunk[at] !== QUOTE && chunk[at] !== BACKSLASH) at++
        if (at === end) break
        const isQuote = chunk[at++] === QUOTE
        if (isQuote) isInString = false
        else if (at === end) this.#isEscaped = true
        else at++
        continue
      }
      const byte = chunk[at++]
      if (byte === QUOTE) isInString = true
      else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
        if (++depth > deepest) deepest = depth
      } else if ((byte === CLOSE_BRACE || byte === CLOSE_BRACKET) && --depth === OUTER_DEPTH) {
        this.#depth = depth
        this.#isInString = false
        this.#deepest = deepest
        this.#finishItem(chunk.subarray(this.#itemAt, at))
        return at
      }
    }
    this.#depth = depth
    this.#deepest = deepest
    this.#isInString = isInString
    this.#keepItem(chunk.subarray(this.#itemAt, end))
    return end
  }

  #scanEnvelope(chunk: Buffer, from: number, end: number): number {
    let begin = from
    for (let at = from; at < end; at++) {
      const byte = chunk[at] ?? 0
      if (this.#isInItems) this.#checkSeparator(byte)
      if (this.#isInString) {
        this.#inString(byte)
        continue
      }
      if (byte === QUOTE) {
        this.#isInString = true
        if (this.#depth === 1) this.#word = []
      } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
        this.#depth++
        if (this.#isInItems && this.#depth === 3 && byte === OPEN_BRACE) {
          const next = this.#borders.deliverItems(chunk, at)
          if (next !== -1) {
            at = next - 1
            this.#depth--
            continue
          }
          this.#isInItem = true
          this.#itemBytes = 0
          this.#itemAt = at
          this.#deepest = this.#depth
          // The scan of the item would keep nothing of this chunk.
          if (at + 1 === end) this.#keepItem(chunk.subarray(at, end))
          return at + 1
        }
        if (this.#depth === 2 && byte === OPEN_BRACKET && this.#name === 'items') {
          this.#keepEnvelope(chunk.subarray(begin, at + 1))
          if (this.#hasItems) throw new SyntaxError('it has items twice')
          begin = end
          this.#isInItems = this.#hasItems = true
        }
      } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
        this.#depth--
        if (this.#isInItems && this.#depth === 1) {
          this.#isInItems = false
          begin = at
        }
      }
    }
    if (!this.#isInItems && begin < end) this.#keepEnvelope(chunk.subarray(begin, end))
    return end
  }

  /** Only items may be between the items: a list that misses some would delete them from the store. */
  #checkSeparator(byte: number): void {
    if (SPACES.has(byte)) return
    const isExpected =
      byte === COMMA
        ? this.#next === 'comma'
        : byte === CLOSE_BRACKET
          ? this.#next !== 'item'
          : byte === OPEN_BRACE && this.#next !== 'comma'
    if (!isExpected) throw new SyntaxError('something else is among its items')
    this.#next = byte === COMMA ? 'item' : 'comma'
  }

  /** Keeps a copy: the chunk may be much larger. */
  #keepEnvelope(bytes: Buffer): void {
    this.#envelopeBytes += bytes.length
    if (this.#envelopeBytes > MAX_ENVELOPE_BYTES)
      throw new RangeError(`more than ${MAX_ENVELOPE_BYTES} bytes around the items`)
    this.#envelope.push(Buffer.from(bytes))
  }

  #inString(byte: number): void {
    if (this.#isEscaped) this.#isEscaped = false
    else if (byte === BACKSLASH) this.#isEscaped = true
    else if (byte === QUOTE) {
      this.#isInString = false
      if (this.#word !== undefined) this.#name = String.fromCharCode(...this.#word)
      this.#word = undefined
      return
    }
    if (this.#word !== undefined && this.#word.length < 16) this.#word.push(byte)
  }

  #keepItem(bytes: Buffer): void {
    if (this.#itemBytes < this.#maxBytes) this.#pieces.push(bytes)
    this.#itemBytes += bytes.length
  }

  #finishItem(bytes: Buffer): void {
    this.#keepItem(bytes)
    const isWhole = this.#itemBytes <= this.#maxBytes
    const item = this.#pieces.length === 1 ? bytes : Buffer.concat(this.#pieces)
    this.#pieces = []
    this.#isInItem = false
    this.#itemAt = 0
    this.#sink.item(isWhole ? item : item.subarray(0, HEAD_BYTES), { isWhole, depth: this.#deepest - OUTER_DEPTH })
  }
}

const BETWEEN = Buffer.from('},')
/** The number of bytes by which the next item's beginning is recognized. */
const LEAD_BYTES = 11
/** After this number of failed attempts, runs of items are not tried again. */
const MAX_FAILED_RUNS = 3

interface BorderedItemSink {
  /** Returns false if the bytes are not one item. Valid JSON from the beginning of an item is one. */
  tryItem(bytes: Buffer): boolean
  /** Returns false if the bytes are not items, in brackets as an array, with `between` at each border. */
  tryRun(bytes: Buffer, between: Buffer): boolean
}

/**
 * Finds the ends of items by the bytes that are most common between two items of a list. Searching for these bytes is
 * much faster than scanning each byte. Parsing then proves whether they were a border.
 */
class ItemBorderSearch {
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

  /** Delivers the item at `from`, or all up to the last border. Returns their end; -1 if the item ends at no border. */
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
