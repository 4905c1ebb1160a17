import { idOf, type LoggedTable } from './binlog-types.js'
import { ByteReader } from './byte-reader.js'
import { type KeyDecoder, keyDecoder, type StoredType } from './key-text.js'

/** Bytes for the digits of a decimal that do not fill a group of nine. */
const DECIMAL_BYTES = [0, 1, 1, 2, 2, 3, 3, 4, 4]

const JSON_TYPE = 245

/** How long the values of a column are: `size` bytes, or as many as a prefix of `prefix` bytes says. */
interface ColumnLength {
  readonly prefix: number
  readonly size: number
  readonly stored?: StoredType
}

export interface MappedTable {
  readonly id: string
  /** How to read its keys. Undefined if the table is not watched. */
  readonly keys: RowLayout | undefined
  readonly flaw: string | undefined
  /** How to read the columns that foreign keys reference. Undefined if there are none, or they are not known. */
  readonly references: RowLayout | undefined
}

/** How long the columns of a row are, and which of them are parts: of its key, or those that foreign keys reference. */
export interface RowLayout {
  readonly columnCount: number
  /** For each column, the number of bytes of its length; 0 for values of a fixed size. */
  readonly prefixes: Uint8Array
  /** For each column, the number of bytes of a value of a fixed size. */
  readonly sizes: Uint8Array
  readonly jsonCount: number
  /** For each column, which part it is, from 1; 0 for the others. */
  readonly places: Uint8Array
  readonly partCount: number
  /** By part, from 0; none for columns that foreign keys reference. */
  readonly decoders: readonly KeyDecoder[]
}

export interface Wanted {
  readonly table: LoggedTable | undefined
  readonly referenced: ReadonlySet<number> | undefined
}

/** Returns the number of the table in the rows that follow, and the table. */
export function readTableMap(
  body: Buffer,
  wantedOf: (id: string) => Wanted,
): { readonly number: number; readonly mapped: MappedTable } {
  const reader = new ByteReader(body)
  const number = reader.uint(6)
  reader.skip(2)
  const database = nameOf(reader)
  const id = idOf({ database, table: nameOf(reader) })
  const wanted = wantedOf(id)
  const isWanted = wanted.table !== undefined || wanted.referenced !== undefined
  return { number, mapped: { id, ...(isWanted ? layoutsOf(reader, wanted) : UNWANTED) } }
}

const UNWANTED = { keys: undefined, flaw: undefined, references: undefined }

/** A name, which is followed by a zero. */
function nameOf(reader: ByteReader): string {
  const name = reader.text(reader.uint(1))
  reader.skip(1)
  return name
}

function layoutsOf(reader: ByteReader, { table, referenced }: Wanted): Omit<MappedTable, 'id'> {
  const columnCount = reader.length()
  const types = reader.take(columnCount)
  const metadata = new ByteReader(reader.take(reader.length()))
  const columns: ColumnLength[] = []
  for (const type of types) {
    const column = LENGTHS[type]?.(metadata)
    if (column === undefined) return { ...UNWANTED, flaw: `a column has the unknown type ${type}` }
    columns.push(column)
  }
  const common = {
    columnCount,
    prefixes: Uint8Array.from(columns, ({ prefix }) => prefix),
    sizes: Uint8Array.from(columns, ({ size }) => size),
    jsonCount: types.filter((type) => type === JSON_TYPE).length,
  }
  const references = referenced && { ...common, ...partsOf([...referenced], columnCount), decoders: [] }
  if (table === undefined) return { ...UNWANTED, references }
  const decoders = decodersOf(table, columns)
  if (decoders === undefined) return { keys: undefined, flaw: 'its columns have changed', references }
  const ordinals = table.key.map(({ ordinal }) => ordinal)
  return { keys: { ...common, ...partsOf(ordinals, columnCount), decoders }, flaw: undefined, references }
}

function partsOf(ordinals: readonly number[], columnCount: number): Pick<RowLayout, 'places' | 'partCount'> {
  const places = new Uint8Array(columnCount)
  ordinals.forEach((ordinal, index) => {
    places[ordinal] = index + 1
  })
  return { places, partCount: ordinals.length }
}

function decodersOf(table: LoggedTable, columns: readonly ColumnLength[]): readonly KeyDecoder[] | undefined {
  const decoders: KeyDecoder[] = []
  for (const { ordinal, kind } of table.key) {
    const { stored } = columns[ordinal] ?? {}
    const decoder = stored && keyDecoder(kind, stored)
    if (columns.length !== table.columnCount || decoder === undefined) return undefined
    decoders.push(decoder)
  }
  return decoders
}

/** By the number of a type: reads what the metadata says about the column. */
const LENGTHS: Readonly<Record<number, (metadata: ByteReader) => ColumnLength | undefined>> = {
  1: () => integer(1), // TINYINT
  2: () => integer(2), // SMALLINT
  3: () => integer(4), // INT
  4: (metadata) => fixed(metadata.uint(1)), // FLOAT
  5: (metadata) => fixed(metadata.uint(1)), // DOUBLE
  6: () => fixed(0), // NULL
  7: () => fixed(4), // TIMESTAMP before MySQL 5.6
  8: () => integer(8), // BIGINT
  9: () => integer(3), // MEDIUMINT
  10: () => fixed(3), // DATE
  11: () => fixed(3), // TIME before MySQL 5.6
  12: () => fixed(8), // DATETIME before MySQL 5.6
  13: () => fixed(1), // YEAR
  14: () => fixed(3), // DATE
  15: (metadata) => string(metadata.uint(2), false), // VARCHAR, VARBINARY, MariaDB's VECTOR
  16: bitLength, // BIT
  17: (metadata) => fixed(4 + fraction(metadata)), // TIMESTAMP
  18: (metadata) => fixed(5 + fraction(metadata)), // DATETIME
  19: (metadata) => fixed(3 + fraction(metadata)), // TIME
  140: blob, // BLOB COMPRESSED of MariaDB
  141: (metadata) => string(metadata.uint(2), false, false), // VARCHAR COMPRESSED of MariaDB
  242: blob, // VECTOR
  [JSON_TYPE]: blob,
  246: decimalLength, // DECIMAL
  249: blob, // TINYBLOB
  250: blob, // MEDIUMBLOB
  251: blob, // LONGBLOB
  252: blob, // BLOB, TEXT
  253: (metadata) => string(metadata.uint(2), false), // VARCHAR, VARBINARY
  254: charLength, // CHAR, BINARY, ENUM, SET, MariaDB's UUID and INET
  255: blob, // GEOMETRY
}

function fixed(size: number): ColumnLength {
  return { prefix: 0, size }
}

function integer(size: number): ColumnLength {
  return { prefix: 0, size, stored: { type: 'integer', size, isPadded: false } }
}

function string(size: number, isPadded: boolean, isReadable = true): ColumnLength {
  const column = { prefix: size > 0xff ? 2 : 1, size: 0 }
  return isReadable ? { ...column, stored: { type: 'string', size, isPadded } } : column
}

function blob(metadata: ByteReader): ColumnLength | undefined {
  const prefix = metadata.uint(1)
  return prefix >= 1 && prefix <= 4 ? { prefix, size: 0 } : undefined
}

function bitLength(metadata: ByteReader): ColumnLength {
  const bits = metadata.uint(1)
  return fixed(metadata.uint(1) + (bits > 0 ? 1 : 0))
}

function decimalLength(metadata: ByteReader): ColumnLength {
  const precision = metadata.uint(1)
  const scale = metadata.uint(1)
  return fixed(digitBytes(precision - scale) + digitBytes(scale))
}

/** The first byte has the true type, and two bits of the length if the length needs them. */
function charLength(metadata: ByteReader): ColumnLength {
  const first = metadata.uint(1)
  const second = metadata.uint(1)
  const type = first | 0x30
  if (type === 0xf7 || type === 0xf8) return fixed(second) // ENUM, SET
  return string(second | (((first & 0x30) ^ 0x30) << 4), true)
}

function fraction(metadata: ByteReader): number {
  return (metadata.uint(1) + 1) >> 1
}

function digitBytes(digits: number): number {
  return Math.floor(digits / 9) * 4 + (DECIMAL_BYTES[digits % 9] ?? 0)
}
