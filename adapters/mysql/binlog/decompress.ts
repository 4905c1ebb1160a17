import * as zlib from 'node:zlib'
import { ByteReader, malformed } from './byte-reader.js'

/** The greatest event of the servers: `max_allowed_packet`. */
const MOST_BYTES = 2 ** 30

/** The content of a compressed part of an event of MariaDB (`log_bin_compress`). */
export function inflated(bytes: Buffer): Buffer {
  const reader = new ByteReader(bytes)
  const first = reader.uint(1)
  const lengthBytes = first & 0x07
  // The highest bit is set; three bits have the algorithm, and 0 is zlib.
  if ((first & 0xf0) !== 0x80 || lengthBytes < 1 || lengthBytes > 4) throw malformed('an unknown compression')
  const length = bytes.readUIntBE(reader.skip(lengthBytes), lengthBytes)
  return decompressed(length, (maxOutputLength) => zlib.inflateSync(reader.rest(), { maxOutputLength }))
}

/** A larger transaction would block the process, and take much memory. */
const MOST_PAYLOAD_BYTES = 64 * 2 ** 20
const PAYLOAD_END = 0
const PAYLOAD_SIZE = 1
const PAYLOAD_COMPRESSION = 2
const PAYLOAD_LENGTH = 3
const ZSTD = 0
const NOT_COMPRESSED = 255

/** The events in a transaction that MySQL has compressed (`binlog_transaction_compression`), or why they are not read. */
export function decompressedPayload(body: Buffer): Buffer | string {
  const reader = new ByteReader(body)
  let compression = ZSTD
  let length = 0
  let size: number | undefined
  for (let field = reader.length(); field !== PAYLOAD_END; field = reader.length()) {
    const value = new ByteReader(reader.take(reader.length()))
    if (field === PAYLOAD_SIZE) size = value.length()
    else if (field === PAYLOAD_COMPRESSION) compression = value.length()
    else if (field === PAYLOAD_LENGTH) length = value.length()
  }
  const payload = reader.take(size ?? reader.left)
  if (compression === NOT_COMPRESSED) return payload
  if (compression !== ZSTD) throw malformed('an unknown compression')
  const decompress: typeof zlib.zstdDecompressSync | undefined = zlib.zstdDecompressSync
  if (decompress === undefined) return 'a compressed transaction, which Node can read from 22.15 on'
  if (length > MOST_PAYLOAD_BYTES) return 'a large compressed transaction'
  return decompressed(length, (maxOutputLength) => decompress(payload, { maxOutputLength }))
}

function decompressed(length: number, decompress: (maxOutputLength: number) => Buffer): Buffer {
  if (length > MOST_BYTES) throw malformed('a compressed part is too large')
  let bytes: Buffer
  try {
    bytes = decompress(Math.max(length, 1))
  } catch {
    throw malformed('a compressed part is damaged')
  }
  if (bytes.length !== length) throw malformed('a compressed part has the wrong length')
  return bytes
}
