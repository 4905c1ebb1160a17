import { joinKey } from '../../../src/util/join-key.js'
import { type ByteReader, malformed } from './byte-reader.js'
import { inflated } from './decompress.js'
import type { RowsForm } from './event-types.js'
import type { RowLayout } from './table-map.js'

const END_OF_STATEMENT = 1
/** A JSON value is only partly written. */
const PARTIAL_JSON = 1
/** Positions of a part that an image does not have, or that is NULL. */
const ABSENT = -1
const NULL = -2

export interface RowsHeader {
  /** The number of the table; see `readTableMap`. */
  readonly table: number
  readonly endsStatement: boolean
}

export function readRowsHeader(reader: ByteReader, { isV2 }: RowsForm): RowsHeader {
  const table = reader.uint(6)
  const flags = reader.uint(2)
  if (isV2) reader.skip(reader.uint(2) - 2)
  return { table, endsStatement: (flags & END_OF_STATEMENT) !== 0 }
}

/** Calls `add` with the keys before and after. Returns why they are not known. `reader` is behind the header. */
export function readRowKeys(
  reader: ByteReader,
  form: RowsForm,
  layout: RowLayout,
  add: (key: string) => void,
): string | undefined {
  const rows = new Rows(reader, form, layout)
  if (!rows.before.hasAllParts) return 'the binary log does not have its key (binlog_row_image)'
  while (rows.next()) {
    const { before, after } = rows
    if (before.hasNull || after?.hasNull) return 'a part of a key is NULL'
    add(before.key())
    if (after?.isOtherThan(before)) add(after.keyOver(before))
  }
  return undefined
}

/** Whether an update changes a column that foreign keys reference. `reader` is behind the header. */
export function changesReferences(reader: ByteReader, form: RowsForm, layout: RowLayout): boolean {
  const rows = new Rows(reader, form, layout)
  while (rows.next()) if (rows.after?.isOtherThan(rows.before)) return true
  return false
}

class Rows {
  readonly before: RowImage
  readonly after: RowImage | undefined
  readonly #layout: RowLayout
  readonly #isPartial: boolean
  readonly #bytes: Buffer
  #at = 0

  constructor(reader: ByteReader, form: RowsForm, layout: RowLayout) {
    const columnCount = reader.length()
    if (columnCount !== layout.columnCount) throw malformed('rows have another number of columns than their table')
    const bitmapBytes = (columnCount + 7) >> 3
    this.before = new RowImage(reader.take(bitmapBytes), layout)
    this.after = form.action === 'update' ? new RowImage(reader.take(bitmapBytes), layout) : undefined
    this.#layout = layout
    this.#isPartial = form.isPartial
    this.#bytes = form.isCompressed ? inflated(reader.rest()) : reader.rest()
  }

  next(): boolean {
    const start = this.#at
    if (start === this.#bytes.length) return false
    this.#at = this.before.read(this.#bytes, start)
    if (this.after !== undefined) {
      if (this.#isPartial) this.#skipPartialBits()
      this.#at = this.after.read(this.#bytes, this.#at)
    }
    if (this.#at === start) throw malformed('a row has no columns')
    return true
  }

  /** The JSON columns that are partly written. Their values are as long as their prefixes say, as whole ones. */
  #skipPartialBits(): void {
    const options = this.#bytes[this.#at]
    if (options === undefined || options > PARTIAL_JSON) throw malformed('a row has unknown options')
    this.#at += 1 + (options === PARTIAL_JSON ? (this.#layout.jsonCount + 7) >> 3 : 0)
  }
}

/** One image of a row: the columns that it has, and the positions of the parts of the last read row. */
class RowImage {
  readonly #layout: RowLayout
  readonly #columns: number[] = []
  readonly #starts: number[]
  readonly #ends: number[]
  #rows: Buffer = Buffer.alloc(0)
  hasNull = false

  constructor(present: Buffer, layout: RowLayout) {
    this.#layout = layout
    this.#starts = new Array<number>(layout.partCount).fill(ABSENT)
    this.#ends = new Array<number>(layout.partCount).fill(ABSENT)
    for (let ordinal = 0; ordinal < layout.columnCount; ordinal++)
      if (bit(present, 0, ordinal)) this.#columns.push(ordinal)
  }

  get hasAllParts(): boolean {
    const { places, partCount } = this.#layout
    return this.#columns.filter((ordinal) => places[ordinal] !== 0).length === partCount
  }

  read(rows: Buffer, start: number): number {
    const { prefixes, sizes, places } = this.#layout
    const columns = this.#columns
    const count = columns.length
    let at = start + ((count + 7) >> 3)
    this.#rows = rows
    this.hasNull = false
    for (let index = 0; index < count; index++) {
      const ordinal = columns[index] ?? 0
      const place = (places[ordinal] ?? 0) - 1
      if (bit(rows, start, index)) {
        if (place >= 0) {
          this.hasNull = true
          this.#starts[place] = NULL
          this.#ends[place] = NULL
        }
        continue
      }
      const prefix = prefixes[ordinal] ?? 0
      let length = sizes[ordinal] ?? 0
      if (prefix > 0) {
        if (at + prefix > rows.length) throw malformed('a row is truncated')
        length = prefix === 1 ? (rows[at] ?? 0) : rows.readUIntLE(at, prefix)
        at += prefix
      }
      if (place >= 0) {
        this.#starts[place] = at
        this.#ends[place] = at + length
      }
      at += length
    }
    if (at > rows.length) throw malformed('a row is truncated')
    return at
  }

  key(): string {
    return this.keyOver(this)
  }

  /** The key of the row, with the parts of `before` that this image does not have. */
  keyOver(before: RowImage): string {
    const { decoders } = this.#layout
    const [decoder] = decoders
    if (decoders.length === 1 && decoder !== undefined) return this.#part(0) ?? before.#part(0) ?? ''
    return joinKey(decoders.map((_, place) => this.#part(place) ?? before.#part(place) ?? ''))
  }

  /** Whether a part in this image has other bytes than in `before`. A part that an image does not have is as before. */
  isOtherThan(before: RowImage): boolean {
    for (let place = 0; place < this.#starts.length; place++) {
      const start = this.#starts[place] ?? ABSENT
      if (start === ABSENT) continue
      const from = before.#starts[place] ?? ABSENT
      if (from === ABSENT) return true
      if (start === NULL && from === NULL) continue
      if (start === NULL || from === NULL) return true
      if (this.#rows.compare(this.#rows, from, before.#ends[place], start, this.#ends[place]) !== 0) return true
    }
    return false
  }

  #part(place: number): string | undefined {
    const start = this.#starts[place] ?? ABSENT
    return start === ABSENT ? undefined : this.#layout.decoders[place]?.(this.#rows, start, this.#ends[place] ?? start)
  }
}

function bit(bytes: Buffer, start: number, index: number): boolean {
  return ((bytes[start + (index >> 3)] ?? 0) & (1 << (index & 7))) !== 0
}
