import type { KeyKind } from './binlog-types.js'

export type KeyDecoder = (bytes: Buffer, start: number, end: number) => string

/**
 * Single-byte character sets of the servers, and their names in the Encoding Standard. Each byte has the same meaning in
 * both, which a test compares. Others, such as cp866, greek and latin5, differ in some characters.
 */
const SINGLE_BYTE: ReadonlyMap<string, string> = new Map([
  ['latin2', 'iso-8859-2'],
  ['cp1250', 'windows-1250'],
  ['cp1251', 'windows-1251'],
  ['cp1256', 'windows-1256'],
  ['cp1257', 'windows-1257'],
  ['koi8r', 'koi8-r'],
  ['latin7', 'iso-8859-13'],
  ['macroman', 'macintosh'],
])

/** The characters 0x80 to 0x9f of the servers' latin1, which is Windows-1252. */
const LATIN1 = '€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ'

type Decode = (bytes: Buffer) => string

/** Whether keys in this character set can be read. The name is as in information_schema. */
export function isKnownCharset(charset: string): boolean {
  return decodeOf(charset) !== undefined
}

const utf8: Decode = (bytes) => bytes.toString('utf8')
const utf16: Decode = (bytes) => Buffer.from(bytes).swap16().toString('utf16le')
const DECODERS: ReadonlyMap<string, Decode> = new Map([
  ['utf8mb4', utf8],
  ['utf8mb3', utf8],
  ['utf8', utf8],
  ['ascii', utf8],
  ['latin1', latin1],
  ['utf16le', (bytes) => bytes.toString('utf16le')],
  ['ucs2', utf16],
  ['utf16', utf16],
  ['utf32', utf32],
])

function decodeOf(charset: string): Decode | undefined {
  const label = SINGLE_BYTE.get(charset)
  if (label === undefined) return DECODERS.get(charset)
  try {
    const decoder = new TextDecoder(label)
    return (bytes) => decoder.decode(bytes)
  } catch {
    return undefined // A Node without all of ICU does not have it.
  }
}

function latin1(bytes: Buffer): string {
  return bytes.toString('latin1').replace(/[\x80-\x9f]/g, (each) => LATIN1.charAt(each.charCodeAt(0) - 0x80))
}

function utf32(bytes: Buffer): string {
  let text = ''
  for (let at = 0; at < bytes.length; at += 4) text += String.fromCodePoint(bytes.readUInt32BE(at))
  return text
}

export interface StoredType {
  readonly type: 'integer' | 'string' | 'other'
  /** The greatest number of bytes. */
  readonly size: number
  /** Whether trailing padding is not stored: CHAR and BINARY. */
  readonly isPadded: boolean
}

/** Returns undefined if a column of this kind cannot be stored so: the table has changed. */
export function keyDecoder(kind: KeyKind, stored: StoredType): KeyDecoder | undefined {
  if (kind.type === 'integer')
    return stored.type === 'integer' ? integerDecoder(stored.size, kind.isUnsigned) : undefined
  if (stored.type !== 'string') return undefined
  if (kind.type === 'binary') return binaryDecoder(stored)
  const decode = decodeOf(kind.charset)
  if (decode === undefined) return undefined
  return (bytes, start, end) => {
    const text = decode(bytes.subarray(start, end))
    return stored.isPadded ? text.replace(/ +$/, '') : text
  }
}

function binaryDecoder({ size, isPadded }: StoredType): KeyDecoder {
  if (!isPadded) return (bytes, start, end) => bytes.toString('hex', start, end)
  return (bytes, start, end) => bytes.toString('hex', start, end).padEnd(2 * size, '0')
}

function integerDecoder(size: number, isUnsigned: boolean): KeyDecoder {
  if (size === 8) return isUnsigned ? unsigned64 : signed64
  return isUnsigned
    ? (bytes, start) => String(bytes.readUIntLE(start, size))
    : (bytes, start) => String(bytes.readIntLE(start, size))
}

function unsigned64(bytes: Buffer, start: number): string {
  const high = bytes.readUInt32LE(start + 4)
  if (high < 0x200000) return String(high * 0x100000000 + bytes.readUInt32LE(start))
  return String(bytes.readBigUInt64LE(start))
}

function signed64(bytes: Buffer, start: number): string {
  const high = bytes.readInt32LE(start + 4)
  if (high >= -0x200000 && high < 0x200000) return String(high * 0x100000000 + bytes.readUInt32LE(start))
  return String(bytes.readBigInt64LE(start))
}
