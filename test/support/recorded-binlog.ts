import { crc32 } from 'node:zlib'
import type { LoggedTable } from '../../adapters/mysql/binlog/binlog-types.js'
import recorded from './recorded-binlog.json' with { type: 'json' }

/** The table of the recorded events: `(id INT, k VARCHAR(8), j JSON, b BINARY(4), d DECIMAL(9,2), PRIMARY KEY (id, k, b))`. */
export const recordedTable: LoggedTable = {
  database: 'test',
  table: 't',
  columnCount: 5,
  key: [
    { ordinal: 0, kind: { type: 'integer', isUnsigned: false } },
    { ordinal: 1, kind: { type: 'text', charset: 'utf8mb4' } },
    { ordinal: 3, kind: { type: 'binary' } },
  ],
}

/**
 * What servers have sent, from the artificial rotate event to a heartbeat: an insert, an update of a key and a part of a
 * JSON value, a delete by XA, a TRUNCATE and an insert. MariaDB compresses rows and statements, and logs the last one as a
 * statement. MySQL writes the TRUNCATE with a tag, and compresses the last transaction.
 */
export const recordedEvents = {
  'MariaDB 10.11': eventsOf(recorded['MariaDB 10.11']),
  'MySQL 9.7': eventsOf(recorded['MySQL 9.7']),
}

function eventsOf(base64: string): readonly Buffer[] {
  const bytes = Buffer.from(base64, 'base64')
  const events: Buffer[] = []
  for (let at = 0; at < bytes.length; at += bytes.readUInt32LE(at + 9))
    events.push(bytes.subarray(at, at + bytes.readUInt32LE(at + 9)))
  return events
}

/** The event with this content after its header, and with the size and the checksum that belong to the content. */
export function sealed(event: Buffer): Buffer {
  const bytes = Buffer.from(event)
  bytes.writeUInt32LE(bytes.length, 9)
  bytes.writeUInt32LE(crc32(bytes.subarray(0, -4)), bytes.length - 4)
  return bytes
}
