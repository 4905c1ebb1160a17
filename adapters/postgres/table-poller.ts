import { SourceError } from '../../src/contract/errors.js'
import type { CollectionBatch } from '../../src/contract/shared-history.js'
import type { WatchBatch, WatchEvent } from '../../src/contract/source.js'
import type { Version } from '../../src/contract/version.js'
import { refused } from '../common/source-errors.js'
import { isLockTimeout } from './connection/postgres-errors.js'
import type { Session } from './connection/session.js'
import { changedTables, type Delta, probeSql, probesSql, readDelta, readProbe } from './delta-query.js'
import { formatVersion, type PostgresVersion, parseVersion } from './postgres-version.js'
import type { RowCodec } from './table/row-codec.js'
import type { Table } from './table/table-catalog.js'

export interface PolledTable {
  readonly collection: string
  /** The name of its prepared statement. Of a longer name than 63 bytes the server ignores the rest. */
  readonly statement: string
  readonly table: Table
  readonly sql: string
  readonly codec: RowCodec<unknown>
  /** Reads all rows, as one batch, for changes that row security does not allow to read. */
  list(floor: Version): Promise<WatchBatch<unknown>>
  /** Its version, and the fingerprint that its last delta has reported on this session. */
  from: PostgresVersion
  fingerprint: string | undefined
}

type Parts = CollectionBatch['parts']

export class Poller {
  readonly #session: Session
  #probe: { readonly sql: string; readonly name: string } | undefined
  #probes = 0

  constructor(session: Session) {
    this.#session = session
  }

  /**
   * Brings the tables to the version of one snapshot. Those whose changes cannot be read are added to `lost`. Returns
   * undefined if a table is locked: then no table was changed.
   */
  async poll(
    tables: readonly PolledTable[],
    expectsChanges: boolean,
    lost: Map<string, SourceError>,
  ): Promise<Parts | undefined> {
    const [first, ...others] = tables
    if (first !== undefined && others.length === 0) return await this.#pollOne(first, expectsChanges, lost)
    if (!expectsChanges && (await this.#isUnchanged(tables))) return new Map()
    for (;;) {
      const left = tables.filter(({ collection }) => !lost.has(collection))
      const { size } = lost
      try {
        return await this.#session.inSnapshot(() => this.#read(left, lost), lockSql(left))
      } catch (error) {
        if (isLockTimeout(error)) return undefined
        if (lost.size === size) await this.#findFailing(left, lost)
        // A table that fails ends the transaction. The others are read again in another one.
        if (lost.size === size) throw error
      }
    }
  }

  /** One statement reads the changes of one table: it needs neither a transaction nor a right to lock the table. */
  async #pollOne(
    each: PolledTable,
    expectsChanges: boolean,
    lost: Map<string, SourceError>,
  ): Promise<Parts | undefined> {
    const { collection, table, sql, codec, from, fingerprint } = each
    const session = this.#session
    try {
      const delta = await session.isolated(async (): Promise<Delta<unknown>> => {
        if (fingerprint !== undefined && !expectsChanges) {
          const version = await readProbe(session, probeSql(table), from, fingerprint)
          if (version !== undefined) return { events: [], version, fingerprint }
        }
        return await readDelta(session, table, sql, codec, from, fingerprint)
      })
      const version = formatVersion(delta.version)
      const batch = delta.events === undefined ? await each.list(version) : { events: delta.events, version }
      each.from = parseVersion(batch.version)
      each.fingerprint = delta.fingerprint
      return new Map(batch.events.length > 0 ? [[collection, batch.events]] : [])
    } catch (error) {
      if (isLockTimeout(error)) return undefined
      lost.set(collection, ofOneTable(error))
      return new Map()
    }
  }

  /** Adds the tables to `lost` that cannot be locked, because they were dropped or their rights were revoked. */
  async #findFailing(tables: readonly PolledTable[], lost: Map<string, SourceError>): Promise<void> {
    for (const each of tables) {
      try {
        await this.#session.inSnapshot(async () => {}, lockSql([each]))
      } catch (error) {
        if (!isLockTimeout(error)) lost.set(each.collection, ofOneTable(error))
      }
    }
  }

  /** Whether no transaction has ended since the common version of all tables. */
  async #isUnchanged(tables: readonly PolledTable[]): Promise<boolean> {
    const [first] = tables
    if (first === undefined || tables.some(({ from }) => from.snapshot !== first.from.snapshot)) return false
    const [row] = await this.#session.isolated(() =>
      this.#session.query(
        'SELECT pg_catalog.pg_current_snapshot()::pg_catalog.text AS snapshot, epoch FROM listwatch.state',
      ),
    )
    return row?.['snapshot'] === first.from.snapshot && row['epoch'] === first.from.epoch
  }

  async #read(tables: readonly PolledTable[], lost: Map<string, SourceError>): Promise<Parts> {
    const parts = new Map<string, readonly WatchEvent<unknown>[]>()
    const read = new Map<PolledTable, { readonly from: PostgresVersion; readonly fingerprint: string }>()
    const [current] = await this.#session.query('SELECT pg_catalog.pg_current_snapshot()::pg_catalog.text AS snapshot')
    const snapshot = String(current?.['snapshot'])
    for (const each of await this.#changed(tables)) {
      const { collection, statement, table, sql, codec, from, fingerprint } = each
      try {
        const delta = await readDelta(this.#session, table, sql, codec, from, fingerprint, statement)
        if (delta.version.snapshot !== snapshot) throw refused('the tables were read in two snapshots')
        read.set(each, { from: delta.version, fingerprint: delta.fingerprint })
        if (delta.events !== undefined && delta.events.length > 0) parts.set(collection, delta.events)
      } catch (error) {
        if (!isLockTimeout(error)) lost.set(collection, ofOneTable(error))
        throw error
      }
    }
    for (const table of tables) Object.assign(table, read.get(table) ?? { from: { ...table.from, snapshot } })
    return parts
  }

  /** The tables that may have changed since their version: all whose fingerprint is not known, or is another one. */
  async #changed(tables: readonly PolledTable[]): Promise<readonly PolledTable[]> {
    const [first] = tables
    const known = tables.flatMap((each) =>
      each.fingerprint === undefined ? [] : [{ ...each, fingerprint: each.fingerprint, polled: each }],
    )
    const isCommon = known.every(({ from }) => from.snapshot === first?.from.snapshot)
    if (known.length < tables.length || !isCommon) return tables
    const sql = probesSql(known)
    if (this.#probe?.sql !== sql) this.#probe = { sql, name: `listwatch_probe_${++this.#probes}` }
    const changed = await changedTables(this.#session, sql, known, this.#probe.name)
    return changed.map(({ polled }) => polled)
  }
}

/**
 * A snapshot that is older than a truncation, or a rewrite, finds the table empty. So the locks come before it. They are
 * not waited for: DDL on several tables would wait in a circle with the poll, and the server would end one of both.
 */
function lockSql(tables: readonly PolledTable[]): string {
  const names = tables.map(({ table }) => table.name)
  return names.length === 0 ? '' : `LOCK TABLE ${names.join(', ')} IN ACCESS SHARE MODE NOWAIT`
}

/** Returns the error if it concerns one table; throws any other one. */
export function ofOneTable(error: unknown): SourceError {
  const isOfTable =
    error instanceof SourceError &&
    ['VERSION_EXPIRED', 'NOT_FOUND', 'UNAUTHORIZED', 'PROTOCOL', 'DECODE'].includes(error.code)
  if (isOfTable) return error
  throw error
}
