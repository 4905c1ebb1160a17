import { joinKey } from '../../../src/util/join-key.js'

/**
 * How the bytes of a key column become the text of a key.
 *
 * | kind | columns | text |
 * |---|---|---|
 * | `integer` | TINYINT to BIGINT | decimal |
 * | `text` | CHAR, VARCHAR | the text, without the padding of CHAR |
 * | `binary` | BINARY, VARBINARY | hexadecimal in lower case, with the padding of BINARY |
 */
export type KeyKind =
  | { readonly type: 'integer'; readonly isUnsigned: boolean }
  /** `charset`: as in information_schema; `isKnownCharset` says which ones can be read. */
  | { readonly type: 'text'; readonly charset: string }
  | { readonly type: 'binary' }

export interface KeyColumn {
  /** Its position among the columns of the table, from 0. */
  readonly ordinal: number
  readonly kind: KeyKind
}

export interface LoggedTable {
  readonly database: string
  readonly table: string
  readonly columnCount: number
  /** In the order of the key's parts. */
  readonly key: readonly KeyColumn[]
  /**
   * The tables whose changes may change rows of this one without row events, because of foreign keys with CASCADE, SET
   * NULL or SET DEFAULT: in MariaDB, and in MySQL before 9.6. Also the indirect parents, and the table itself if it
   * references itself. `any`: they are not known. Undefined: there are none.
   */
  readonly cascadesFrom?: readonly ParentTable[] | 'any' | undefined
}

export function idOf({ database, table }: Pick<LoggedTable, 'database' | 'table'>): string {
  return joinKey([database, table])
}

export interface ParentTable {
  readonly database: string
  readonly table: string
  /** The ordinals of the referenced columns: an UPDATE that changes none of them has no effect on other tables. */
  readonly referenced: ReadonlySet<number> | 'any'
}

/** Why a table has to be listed: its columns may have changed, and later keys are those of the old columns. */
export type TouchedRows = { readonly keys: ReadonlySet<string> } | { readonly list: string }

/** A transaction, a DDL statement, or one part of an XA transaction. */
export interface LoggedTransaction {
  readonly type: 'transaction'
  /** MariaDB: `0-1-17`; MySQL: `<uuid>:17` or `<uuid>:<tag>:17`; undefined for an anonymous transaction of MySQL. */
  readonly gtid: string | undefined
  readonly file: string
  readonly start: number
  readonly end: number
  /** The checksum of its last event; undefined if the server writes none. */
  readonly crc: number | undefined
  /** When its last event was logged, by the server's clock, in milliseconds. MariaDB: whole seconds. */
  readonly committedAt: number
  /** MySQL 8: the time of its commit in microseconds, as the server wrote it. */
  readonly committedMicros: number | undefined
  /** By `joinKey([database, table])`. Only watched tables. */
  readonly tables: ReadonlyMap<string, TouchedRows>
}

/** The first event of each file. */
export interface LoggedFormat {
  readonly type: 'format'
  readonly file: string
  /** The position after the last event that has been read. */
  readonly position: number
  /** When the file was created, in milliseconds. */
  readonly createdAt: number
  /** A checksum over the event that does not depend on the position at which the stream began. */
  readonly crc: number
}

/** Events without a transaction have moved the position. */
export interface MovedPosition {
  readonly type: 'position'
  readonly file: string
  /** The position of the last event; equal to `position` if the log has no event before it. */
  readonly start: number
  readonly position: number
  readonly crc: number | undefined
}

/** The server is alive, and has no further events. */
export interface Heartbeat {
  readonly type: 'heartbeat'
}

export type BinlogItem = LoggedTransaction | LoggedFormat | MovedPosition | Heartbeat
