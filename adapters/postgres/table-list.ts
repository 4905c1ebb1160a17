import type { ListContext, ListEvent, ListPage } from '../../src/contract/source.js'
import { unlessAborted } from '../../src/util/abort-listeners.js'
import { CopyOut } from './connection/copy-out-stream.js'
import { isLockTimeout, isPermissionDenied } from './connection/postgres-errors.js'
import type { Session } from './connection/session.js'
import { readListVersion } from './head-query.js'
import { assertNotBehind, formatVersion, incarnationChange, parseVersion } from './postgres-version.js'
import type { TableAccess } from './table/table-access.js'
import type { Table } from './table/table-catalog.js'

const TRANSACTION = 'ISOLATION LEVEL REPEATABLE READ READ ONLY'

export async function* listTable<T>(access: TableAccess<T>, context: ListContext): AsyncGenerator<ListPage<T>> {
  const session = await access.connect(context)
  const stopReports = session.reportActivity(() => context.alive?.())
  try {
    yield* copyTable(access, session, context)
  } finally {
    stopReports()
    await session.close()
  }
}

async function* copyTable<T>(
  access: TableAccess<T>,
  session: Session,
  context: ListContext,
): AsyncGenerator<ListPage<T>> {
  const unlocked = await access.findTable(session)
  await session.write('SELECT listwatch.epoch()')
  // While another session changes the table and holds its lock, the server is alive.
  while (!(await begin(access, session, unlocked, context))) context.alive?.()
  // Looked up again: a column that was added before the lock is in the version's shape, and must be in its rows.
  const table = await access.findTableAgain(session, unlocked)
  const codec = access.codec(session, table)
  const version = await readListVersion(session, table, unlocked)
  if (context.floor !== undefined) {
    const before = parseVersion(context.floor)
    if (incarnationChange(version, before) === undefined) assertNotBehind(version.snapshot, before)
  }
  const { sql: where, rls } = access.options
  // Row security may begin to apply after the version was read, by a change of roles, which takes no lock on the table.
  // The server then refuses the COPY, instead of leaving hidden rows out.
  if (rls === undefined) await session.query('SET LOCAL row_security = off')
  const condition = where === undefined ? '' : ` WHERE (${where}\n)`
  const copy = `COPY (SELECT ${table.columnList} FROM ${table.rows}${condition}) TO STDOUT`
  const rows = new CopyOut<ListEvent<T>>(
    copy,
    context.pageSize,
    (line, bytes, at) => codec.fromCopyLine(line, bytes, at),
    (fields, length) => codec.fromLongLine(fields, length),
  )
  for await (const events of session.copy(rows, () => isCopying(access, session, context))) yield { events }
  await session.query('COMMIT')
  await unlessAborted(context.signal, () => access.clients.assertNewClients())
  yield { events: [], version: formatVersion(version) }
}

/** Begins the transaction of a list. Returns false if another session holds a lock on the table. */
async function begin(
  access: TableAccess<unknown>,
  session: Session,
  table: Table,
  context: ListContext,
): Promise<boolean> {
  try {
    // The lock comes before the snapshot: a snapshot that is older than a rewrite finds the table empty.
    await session.begin(TRANSACTION)
    await session.query(`LOCK TABLE ${table.name} IN ACCESS SHARE MODE`)
    return true
  } catch (error) {
    await session.query('ROLLBACK')
    if (isLockTimeout(error)) return false
    if (!isPermissionDenied(error)) throw error
    return await beginGuarded(access, session, table, context)
  }
}

/**
 * Begins the transaction of a list for a role that may read only some columns, for which LOCK fails. A query takes its
 * lock after its snapshot, so a second session keeps the table unchanged until the first one has both.
 */
async function beginGuarded(
  access: TableAccess<unknown>,
  session: Session,
  table: Table,
  context: ListContext,
): Promise<boolean> {
  const touch = `SELECT ${table.keyColumns[0]} FROM ${table.name} LIMIT 0`
  const guard = await access.connect(context)
  try {
    await guard.begin('ISOLATION LEVEL READ COMMITTED READ ONLY')
    await guard.query(touch)
    await session.begin(TRANSACTION)
    await session.query(touch)
    return true
  } catch (error) {
    await session.query('ROLLBACK')
    if (isLockTimeout(error)) return false
    throw error
  } finally {
    await guard.close()
  }
}

/**
 * Over a second connection. A silent COPY may be reading rows that the condition excludes. A server with track_activities
 * off reports for what a process waits, but not its state.
 */
async function isCopying(access: TableAccess<unknown>, copying: Session, context: ListContext): Promise<boolean> {
  const session = await access.connect(context)
  try {
    const sql = `SELECT FROM pg_catalog.pg_stat_activity a WHERE a.pid OPERATOR(pg_catalog.=) $1::pg_catalog.int4
      AND coalesce(a.wait_event, '') OPERATOR(pg_catalog.<>) ALL (ARRAY['ClientRead', 'ClientWrite'])`
    const isActive = (await session.isolated(() => session.query(sql, [copying.processId]))).length > 0
    if (isActive) context.alive?.()
    return isActive
  } finally {
    await session.close()
  }
}
