import { parseJson } from '../../shared/json-depth.js'

const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d
const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d
const COMMA = 0x2c
const SPACES: ReadonlySet<number> = new Set([0x20, 0x09, 0x0a, 0x0d])

export interface ItemSink {
  /** Takes one item of a list; where it is too large, only its beginning. */
  item(bytes: Buffer, shape: ItemShape): void
  /** Takes what may be an item; false where it is none. What is JSON as a whole, from where an item begins, is one. */
  tryItem(bytes: Buffer): boolean
  /**
   * Takes what may be several items, in brackets as an array, with `between` where one ends and the next begins; false
   * where it is anything else.
   */
  tryRun(bytes: Buffer, between: Buffer): boolean
}

export interface ItemShape {
  readonly isWhole: boolean
  /** How deep it nests. */
  readonly depth: number
}

const BETWEEN = Buffer.from('},')
/** By so many bytes the beginning of the next item is looked for. */
const LEAD_BYTES = 11
/** The list, and its array. */
const OUTER_DEPTH = 2
/** Of what is too large so much is kept, so that its name can be told. */
const HEAD_BYTES = 64 * 1024
/** What are no runs of items is tried so often. */
const MAX_FAILED_RUNS = 3
/** What is around the items of a list is not larger than this, in bytes. */
const MAX_ENVELOPE_BYTES = 1024 * 1024

/**
 * Cuts the body of a LIST into its items as it comes, without parsing it: the objects of the array `items` at the top.
 * What is around them, the envelope, is a small object of its own.
 */
export class JsonListSplitter {
  readonly #sink: ItemSink
  readonly #maxBytes: number
  /** Of braces and brackets. */
  #depth = 0
  #isInString = false
  #isEscaped = false
  #isInItems = false
  #hasItems = false
  /** What may come next between two items. */
  #next: 'first' | 'item' | 'comma' = 'first'
  /** The bytes of the last string at the top, where the next bracket may belong to. */
  #word: number[] | undefined
  #name = ''
  readonly #envelope: Buffer[] = []
  #envelopeBytes = 0
  /** What has come of an item before this chunk. */
  #pieces: Buffer[] = []
  #itemBytes = 0
  #isInItem = false
  /** Where in this chunk it begins. */
  #itemAt = 0
  #deepest = 0
  /** The end of an item and the beginning of the next, as it most often is in this list. */
  #border: Buffer | undefined
  /** Whether another border may be in this chunk: looking for it after each item would take longer than all else. */
  #mayHaveBorder = true
  /** Where items cannot be taken by the run, something in this list looks like a border, or its items are large. */
  #failedRuns = 0

  constructor(take: ItemSink, maxBytes: number) {
    this.#sink = take
    this.#maxBytes = maxBytes
  }

  /** Whether the body has come to its end. */
  get isComplete(): boolean {
    return this.#depth === 0 && this.#envelope.length > 0
  }

  /** The list without its items; what it throws says that the body was no JSON. */
  envelope(): unknown {
    return parseJson(Buffer.concat(this.#envelope).toString())
  }

  /** Throws where this is no list: what is around the items is larger than that of any, or between them is something else. */
  push(chunk: Buffer): void {
    const end = chunk.length
    let at = 0
    this.#mayHaveBorder = true
    this.#itemAt = 0
    while (at < end) at = this.#isInItem ? this.#scanItem(chunk, at, end) : this.#scanEnvelope(chunk, at, end)
  }

  /** Looks for the end of an item, where most of the bytes are. Gives where to go on. */
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

  /** Everything that is not in an item, byte by byte. */
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
          const next = this.#tryFast(chunk, at)
          if (next !== -1) {
            at = next - 1
            this.#depth--
            continue
          }
          this.#isInItem = true
          this.#itemBytes = 0
          this.#itemAt = at
          this.#deepest = this.#depth
          // Nothing of it is left for the other loop to keep.
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

  /** Nothing but items is between the items: what is taken for a list of less than there is would delete the rest. */
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

  /** A copy: the chunk that it was cut from may be much larger. */
  #keepEnvelope(bytes: Buffer): void {
    this.#envelopeBytes += bytes.length
    if (this.#envelopeBytes > MAX_ENVELOPE_BYTES)
      throw new RangeError(`more than ${MAX_ENVELOPE_BYTES} bytes are around the items`)
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

  /**
   * Where the item at `from` ends, or the last one of this chunk, if it ends where it seems to. Looking for the next one's beginning takes a fraction of
   * the time that looking at each byte takes, and whether it was found is known once the item has been parsed.
   */
  #tryFast(chunk: Buffer, from: number): number {
    // From a part of it more would be found than what is meant.
    if (!this.#mayHaveBorder || from + LEAD_BYTES > chunk.length) return -1
    this.#border ??= Buffer.concat([BETWEEN, chunk.subarray(from, from + LEAD_BYTES)])
    const border = chunk.indexOf(this.#border, from + 1)
    if (border === -1) {
      this.#mayHaveBorder = false
      // Perhaps that item begins like no other.
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

  /** The bytes around the run make room for its brackets: a copy of everything would take much longer. */
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
