import { SourceError } from '../../src/contract/errors.js'
import type { Version } from '../../src/contract/version.js'
import { unavailable } from '../common/source-errors.js'
import { shapeSql } from './called-functions.js'
import type { Session } from './connection/session.js'
import { formatHead, incarnationChange, type PostgresVersion } from './postgres-version.js'
import { assertTrusted } from './schema/trusted-owner.js'
import { accessSql, type Table } from './table/table-catalog.js'

const HEAD_SQL = `SELECT listwatch.system_id() AS system, listwatch.database_id()::pg_catalog.int8::pg_catalog.text AS database, listwatch.seeded() AS epoch, pg_catalog.pg_current_snapshot()::pg_catalog.text AS snapshot`

export async function readHead(session: Session): Promise<Version> {
  if (!session.hasSchema) assertTrusted('')
  const [row] = await session.query(HEAD_SQL)
  return formatHead(
    { system: String(row?.['system']), database: String(row?.['database']), epoch: row?.['epoch'] ?? undefined },
    String(row?.['snapshot']),
  )
}

/** The version of a list, in its open snapshot. `unlocked`: the table before it was locked. */
export async function readListVersion(session: Session, table: Table, unlocked: Table): Promise<PostgresVersion> {
  const { relid, name, log, generation, isSecured } = table
  const facts = `${shapeSql(table)} AS shape, ${accessSql(relid)} AS access, pg_catalog.to_regclass($1::pg_catalog.text)::pg_catalog.oid::pg_catalog.text AS relid, pg_catalog.to_regclass($2::pg_catalog.text) IS NOT NULL AS has_log`
  const [row] = await session.query(HEAD_SQL.replace('SELECT ', `SELECT ${facts}, `), [name, log])
  const isSame = row?.['relid'] === relid && name === unlocked.name && (row['access'] !== '') === isSecured
  if (row?.['epoch'] == null || row['has_log'] !== 't' || !isSame)
    throw unavailable(`${name} was changed during its look-up`)
  return {
    system: String(row['system']),
    database: String(row['database']),
    epoch: String(row['epoch']),
    generation,
    shape: String(row['shape']),
    access: String(row['access']),
    snapshot: String(row['snapshot']),
  }
}

/** Throws `EPOCH_CHANGED` for a version of another server or database, which a delta does not notice. */
export async function assertSameDatabase(session: Session, version: PostgresVersion): Promise<void> {
  const [row] = await session.query(
    'SELECT listwatch.system_id() AS system, listwatch.database_id()::pg_catalog.int8::pg_catalog.text AS database',
  )
  const current = { system: String(row?.['system']), database: String(row?.['database']), epoch: version.epoch }
  const change = incarnationChange(current, version)
  if (change !== undefined) throw new SourceError(`this is ${change} than the version's`, { code: 'EPOCH_CHANGED' })
}
