import { ByteReader, malformed } from './byte-reader.js'

export interface TransactionStart {
  readonly gtid: string | undefined
  readonly committedMicros: number | undefined
  /** Whether further events follow until one that ends the transaction. Otherwise the next one decides. */
  readonly isOpen: boolean
}

const HIGHEST_BIT = 0x80
/** The group is one event, such as a statement of DDL. */
const MARIADB_STANDALONE = 1
const LOGICAL_TIMESTAMPS_BYTES = 17

/** The event of MySQL for a transaction without a tag, or without a GTID. */
export function untaggedGtid(body: Buffer, hasGtid: boolean): TransactionStart {
  const reader = new ByteReader(body)
  reader.skip(1)
  const uuid = uuidText(reader.take(16))
  const number = reader.uint64()
  reader.skip(Math.min(LOGICAL_TIMESTAMPS_BYTES, reader.left))
  // MySQL 5.7 has no time. The highest bit says whether the time of another server follows.
  const committedMicros = reader.left < 7 ? undefined : reader.uint(6) + (reader.uint(1) & ~HIGHEST_BIT) * 2 ** 48
  return { gtid: hasGtid ? `${uuid}:${number}` : undefined, committedMicros, isOpen: false }
}

/**
 * The event of MySQL for a transaction with a tag: a message of numbered fields, as the server's documentation "MySQL
 * Serialization Library" describes.
 */
export function taggedGtid(body: Buffer): TransactionStart {
  const reader = new ByteReader(body)
  const version = variable(reader)
  if (version !== 1) throw malformed('an unknown version of the GTID event')
  variable(reader) // its size
  variable(reader) // the last field that must be understood
  const uuid = Buffer.alloc(16)
  let number = 0
  let tag = ''
  let committedMicros: number | undefined
  while (reader.left > 0 && committedMicros === undefined) {
    const field = variable(reader)
    if (field === 1) for (let index = 0; index < uuid.length; index++) uuid[index] = variable(reader)
    else if (field === 2)
      number = variable(reader) / 2 // Its lowest bit is the sign.
    else if (field === 3) tag = reader.text(variable(reader))
    else if (field === 6) committedMicros = variable(reader)
    else if (field > 6) break
    else variable(reader)
  }
  if (!Number.isInteger(number) || number === 0) throw malformed('a GTID has no number')
  return { gtid: [uuidText(uuid), ...(tag === '' ? [] : [tag]), number].join(':'), committedMicros, isOpen: false }
}

/** The event of MariaDB. `server`: the id of the server that has written it. */
export function mariadbGtid(body: Buffer, server: number): TransactionStart {
  const reader = new ByteReader(body)
  const sequence = reader.uint64()
  const domain = reader.uint(4)
  const isOpen = (reader.uint(1) & MARIADB_STANDALONE) === 0
  return { gtid: `${domain}-${server}-${sequence}`, committedMicros: undefined, isOpen }
}

/** An integer of 1 to 9 bytes: as many as its first byte has ones at its low end, and one. */
function variable(reader: ByteReader): number {
  const first = reader.uint(1)
  const more = 31 - Math.clz32(~first & -~first)
  let value = more >= 8 ? 0 : first >> (more + 1)
  let factor = more >= 8 ? 1 : 2 ** (7 - more)
  for (let index = 0; index < more; index++) {
    value += reader.uint(1) * factor
    factor *= 256
  }
  if (!Number.isSafeInteger(value)) throw malformed('a number is too large')
  return value
}

function uuidText(bytes: Buffer): string {
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}
