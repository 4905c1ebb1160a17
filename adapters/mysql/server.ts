import type { Properties } from '../common/properties.js'
import { refused, unavailable } from '../common/source-errors.js'
import type { Row, Session } from './connection/session.js'
import { parseGtidPosition, parseGtidSet, union } from './gtid.js'
import { type MariaDbPosition, type MySqlPosition, numberOf, type Position } from './position.js'
import { text } from './sql-text.js'

export interface Server {
  readonly flavor: 'mariadb' | 'mysql'
  readonly id: string
  /** Whether the binlog has the rows that foreign keys change. */
  readonly logsCascades: boolean
}

/** A snapshot shows everything up to `lower`, and nothing after `upper`. */
export interface Snapshot {
  readonly lower: Position
  readonly upper: Position
  /** The rows of each statement that was sent with its begin. */
  readonly rows: readonly (readonly Row[])[]
}

/** Everything that was committed before the query, as a mark. No right is needed. */
const MARK_SQL: Readonly<Record<Server['flavor'], string>> = {
  mariadb: 'SELECT @@global.gtid_binlog_pos AS mark',
  // A commit is visible before its GTID counts as executed.
  mysql: 'SELECT @@global.gtid_owned AS owned, @@global.gtid_executed AS mark',
}

export const FLAVOR_SQL = 'SELECT VERSION() AS version'

export function flavorOf(version: unknown): Server['flavor'] {
  return /mariadb/i.test(String(version)) ? 'mariadb' : 'mysql'
}

export type Query = (sql: string) => Promise<readonly Properties[]>

/** Returns the GTIDs of finished commits, and `all`: these and the GTIDs of commits that have begun. */
export async function readGtids(
  query: Query,
  flavor: Server['flavor'],
): Promise<{ readonly executed: string; readonly all: string }> {
  const [row] = await query(MARK_SQL[flavor])
  const { owned, mark } = row ?? {}
  return { executed: String(mark ?? ''), all: gtidsOf(owned, mark) }
}

/** An owned GTID has the number of its connection: `<uuid>:3#17`. */
function gtidsOf(owned: unknown, executed: unknown): string {
  const all = [executed, owned].map((each) => String(each ?? '').replaceAll(/#\d+/g, ''))
  return all.filter(Boolean).join(',')
}

export async function identify(session: Session): Promise<Server> {
  const [found] = await session.query(FLAVOR_SQL)
  const version = found?.['version']
  const flavor = flavorOf(version)
  const own =
    flavor === 'mariadb' ? '@@global.server_uid AS id' : '@@global.server_uuid AS id, @@global.gtid_mode AS gtids'
  const [row] = await session.query(`SELECT @@global.log_bin AS log_bin, @@global.binlog_format AS format, ${own}`)
  const { log_bin: isLogged, format, id, gtids } = row ?? {}
  if (Number(isLogged) !== 1) throw refused('the server writes no binlog; start the server with --log-bin')
  if (format !== 'ROW')
    throw refused(`binlog_format is ${String(format)}, which does not name the changed rows; set binlog_format = ROW`)
  await assertLogsReceived(session, flavor)
  if (flavor === 'mysql' && gtids !== 'ON') throw refused(`gtid_mode is ${String(gtids)}; set gtid_mode = ON`)
  return { flavor, id: String(id), logsCascades: flavor === 'mysql' && (await logsCascades(session, String(version))) }
}

async function assertLogsReceived(session: Session, flavor: Server['flavor']): Promise<void> {
  const [setting] = await session.query(
    `SHOW GLOBAL VARIABLES WHERE Variable_name IN ('log_slave_updates', 'log_replica_updates')`,
  )
  if (setting?.['Value'] !== 'OFF') return
  // The default of MariaDB is OFF. A server that was never a replica has no such position.
  const [replica] = flavor === 'mariadb' ? await session.query('SELECT @@global.gtid_slave_pos AS received') : []
  if (replica === undefined || replica['received'] !== '')
    throw refused(
      `the binlog lacks what the server receives as a replica; set ${String(setting['Variable_name'])} = ON`,
    )
}

/** MySQL has foreign keys in its SQL layer since 9.6, unless this option moves them back to InnoDB. */
async function logsCascades(session: Session, version: string): Promise<boolean> {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if (major < 9 || (major === 9 && minor < 6)) return false
  const [native] = await session.query(`SHOW GLOBAL VARIABLES LIKE 'innodb_native_foreign_keys'`)
  return native?.['Value'] !== 'ON'
}

/** Returns the bounds of a snapshot in the binlog. `reads`: statements that are sent in the same packet. */
export async function beginSnapshot(
  session: Session,
  server: Server,
  reads: readonly string[] = [],
): Promise<Snapshot> {
  const begin = 'START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY'
  if (server.flavor === 'mariadb') {
    const [, found = [], ...rows] = await session.queries([begin, `SHOW STATUS LIKE 'binlog_snapshot_%'`], reads)
    const status = new Map(found.map(([name, value]) => [String(name).toLowerCase(), String(value)]))
    const file = status.get('binlog_snapshot_file') ?? ''
    const position = Number(status.get('binlog_snapshot_position'))
    if (file === '' || !Number.isSafeInteger(position)) throw unavailable('the snapshot has no position in the binlog')
    const at: MariaDbPosition = {
      flavor: 'mariadb',
      server: server.id,
      file,
      position,
      gtids: new Map(),
      format: undefined,
      last: undefined,
    }
    return { lower: at, upper: at, rows }
  }
  const statements = ['SELECT @@global.gtid_executed', begin, MARK_SQL.mysql]
  const [[[before] = []] = [], , [[owned, executed] = []] = [], ...rows] = await session.queries(statements, reads)
  const lower = parsed(String(before))
  return { lower, upper: { ...lower, gtids: union(parsed(gtidsOf(owned, executed)).gtids, lower.gtids) }, rows }
}

function parsed(text: string): MySqlPosition {
  const gtids = parseGtidSet(text)
  if (gtids === undefined) throw unavailable(`the server returned GTIDs in an unknown format: ${text.slice(0, 60)}`)
  return { flavor: 'mysql', gtids, last: undefined }
}

/** Whether the current file of the server is before that of a position, so that the history is another one. */
export async function isBehind(session: Session, server: Server, { file }: MariaDbPosition): Promise<boolean> {
  const { upper } = await beginSnapshot(session, server)
  await session.endSnapshot()
  return upper.flavor === 'mariadb' && numberOf(upper.file) < numberOf(file)
}

/** Adds the GTIDs of a position in the binlog of MariaDB. The server reads the file, so only lists do this. */
export async function withServerGtids(session: Session, position: MariaDbPosition): Promise<MariaDbPosition> {
  const [row] = await session.query(`SELECT BINLOG_GTID_POS(${text(position.file)}, ${position.position}) AS gtids`)
  return { ...position, gtids: parseGtidPosition(String(row?.['gtids'] ?? '')) ?? new Map() }
}
