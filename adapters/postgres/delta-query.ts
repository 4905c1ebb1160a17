import { SourceError } from '../../src/contract/errors.js'
import type { Delete, Invalid, Put } from '../../src/contract/source.js'
import { joinKey } from '../../src/util/join-key.js'
import { type Properties, propertiesOf } from '../common/properties.js'
import { fingerprintSql, shapeSql } from './called-functions.js'
import { codeOf, expired, isTooLong } from './connection/postgres-errors.js'
import type { Session } from './connection/session.js'
import { assertNotBehind, type PostgresVersion, parseSnapshot } from './postgres-version.js'
import { quoteLiteral } from './schema/quoting.js'
import type { RowCodec } from './table/row-codec.js'
import { accessSql, type Table } from './table/table-catalog.js'

export interface Delta<T> {
  /** Undefined if there are changes, and row security does not allow to read which. */
  readonly events: readonly (Put<T> | Delete<T> | Invalid)[] | undefined
  readonly version: PostgresVersion
  /** The fingerprint of the table's definition in the same snapshot, for the next poll of the same session. */
  readonly fingerprint: string
}

/**
 * SQL of the delta. One statement has one snapshot, in which it reads:
 * - the keys that were logged by transactions that had not ended at the version;
 * - the current rows of these keys;
 * - everything that makes a version expire.
 *
 * The order of the log does not matter, because the rows are current. No change is missed, because a transaction writes
 * its changes and their log entries together.
 *
 * The shape is the most expensive part. It is computed only if the fingerprint differs from the known one ($4).
 *
 * LATERAL with LIMIT makes the planner use the index of the key. With a plain join it reads the whole table at each
 * poll. If the index may miss rows, the statement reads the whole table. The statement is refused before it is planned if a key column has another type than at the look-up: it may have
 * its own cast, a function of the table's owner.
 *
 * If row security applies to the reader, the statement reads no keys, but only whether there are any.
 */
export function deltaSql(table: Table, where: string | undefined, maxKeys = 250_000): string {
  const keys = table.keyColumns.map((_, i) => `k${i + 1}`)
  const isKey = table.keyColumns.map((column, i) => `t.${column} OPERATOR(pg_catalog.=) d.k${i + 1}`).join(' AND ')
  // The planner removes this. Arrays of two types have no equality, and are not converted.
  const isKnown = table.keyColumns.map(
    (column, i) =>
      `CASE WHEN true THEN true ELSE ARRAY[CASE WHEN false THEN t.${column} END] OPERATOR(pg_catalog.=) '{}'::${table.keyTypes[i]}[] END`,
  )
  const noKeys = keys.map(() => 'NULL').join(', ')
  const condition = where === undefined ? '' : ` AND (${where}\n)`
  const fingerprint = `f AS MATERIALIZED (SELECT ${fingerprintSql(table)} AS value)`
  const header = headerSql(table)
  if (table.isSecured) {
    const hasChanges = `${table.log}_changes($1::pg_catalog.text::pg_catalog.xid8, $2::pg_catalog.text[]::pg_catalog.xid8[])`
    return `WITH c AS MATERIALIZED (SELECT CASE WHEN ${hasChanges} THEN 1 ELSE 0 END AS keys), ${fingerprint}
SELECT 'H', ${header} FROM c CROSS JOIN f LEFT JOIN listwatch.state s ON true`
  }
  return `WITH d AS MATERIALIZED (
  SELECT u.* FROM (
    SELECT l.op, ${keys.join(', ')} FROM ${table.log} l WHERE l.xid OPERATOR(pg_catalog.>=) $1::pg_catalog.text::pg_catalog.xid8
    UNION SELECT l.op, ${keys.join(', ')} FROM ${table.log} l WHERE l.xid OPERATOR(pg_catalog.=) ANY ($2::pg_catalog.text[]::pg_catalog.xid8[])
  ) u LIMIT ${maxKeys + 1}
), c AS MATERIALIZED (SELECT pg_catalog.count(*) AS keys FROM d
), ${fingerprint}
SELECT 'H', ${header}, NULL, ${noKeys}, ${table.columnList}
  FROM c CROSS JOIN f LEFT JOIN listwatch.state s ON true LEFT JOIN ${table.name} t ON false
UNION ALL
SELECT d.op::pg_catalog.text, NULL, CASE WHEN t.${table.keyColumns[0]} IS NOT NULL THEN 'y' END, ${keys.map((key) => `d.${key}`).join(', ')}, ${table.columnList}
  FROM c JOIN d ON c.keys OPERATOR(pg_catalog.<=) ${maxKeys}::pg_catalog.int8
  LEFT JOIN LATERAL (SELECT ${table.columnList} FROM ${table.rows} WHERE ${isKnown.join(' AND ')} AND ${isKey}${condition}${table.hasOutdatedIndexes ? '' : ' LIMIT 1'}) t ON true`
}

/** SQL of a JSON text: everything that makes a version expire. */
function headerSql(table: Table): string {
  const { relid, log, name } = table
  return `pg_catalog.json_build_object('snapshot', pg_catalog.pg_current_snapshot()::pg_catalog.text, 'epoch', s.epoch, 'covers', ${COVERS_FLOOR},
    'prepared', EXISTS (SELECT FROM pg_catalog.unnest(s.prepared) x WHERE pg_catalog.pg_visible_in_snapshot(x, pg_catalog.pg_current_snapshot()) AND NOT pg_catalog.pg_visible_in_snapshot(x, $3::pg_catalog.text::pg_catalog.pg_snapshot)),
    'shape', CASE WHEN f.value OPERATOR(pg_catalog.=) $4::pg_catalog.int8 THEN NULL ELSE ${shapeSql(table)} END, 'fingerprint', f.value::pg_catalog.text, 'access', ${accessSql(relid)},
    'generation', pg_catalog.obj_description(pg_catalog.to_regclass(${quoteLiteral(log)}), 'pg_class')::pg_catalog.jsonb OPERATOR(pg_catalog.->>) 'generation'::pg_catalog.text,
    'relid', pg_catalog.to_regclass(${quoteLiteral(name)})::pg_catalog.oid::pg_catalog.int8::pg_catalog.text, 'keys', c.keys)::pg_catalog.text`
}

/** Whether the version ($3) misses nothing that was trimmed. */
const COVERS_FLOOR = `NOT EXISTS (SELECT FROM listwatch.floor g WHERE NOT listwatch.covers($3::pg_catalog.text::pg_catalog.pg_snapshot, g.snap))`

/** Throws `VERSION_EXPIRED` if the log lacks changes. `fingerprint`: that of this session's last poll. */
export async function readDelta<T>(
  session: Session,
  table: Table,
  sql: string,
  codec: RowCodec<T>,
  from: PostgresVersion,
  fingerprint: string | undefined,
  name = 'listwatch_delta',
): Promise<Delta<T>> {
  const values = [...logPosition(from), from.snapshot, fingerprint]
  const rows = await run(session, sql, values, name)
  const header = propertiesOf(JSON.parse(rows.find(([kind]) => kind === 'H')?.[1] ?? '{}'))
  const events: (Put<T> | Delete<T> | Invalid)[] = []
  assertCurrent(header, rows, table, from)
  const at = {
    version: { ...from, snapshot: String(header['snapshot']) },
    fingerprint: String(header['fingerprint']),
  }
  if (table.isSecured && Number(header['keys']) > 0) return { events: undefined, ...at }
  const keyCount = table.keyColumns.length
  for (const [kind, , found, ...texts] of rows) {
    if (kind === 'H') continue
    if (found === null) events.push({ type: 'delete', key: joinKey(texts.slice(0, keyCount).map(String)) })
    else events.push(codec.fromTexts(texts.slice(keyCount)))
  }
  return { events, ...at }
}

/**
 * SQL of the probe, for polls that expect no change. It does not read the table, and needs a version with a known
 * fingerprint. If the snapshot is unchanged, no transaction has ended, and nothing else is checked. If a transaction
 * that ran at the version has ended, the delta is needed, whatever the transaction logged.
 */
export function probeSql(table: Table, at = 'H', access = '$5', fingerprint = '$6'): string {
  const { relid, log, name } = table
  const isUnlogged = table.isSecured
    ? `NOT ${log}_changes($1::pg_catalog.text::pg_catalog.xid8, '{}'::pg_catalog.xid8[])`
    : [
        `NOT EXISTS (SELECT FROM ${log} l WHERE l.xid OPERATOR(pg_catalog.>=) $1::pg_catalog.text::pg_catalog.xid8)`,
        // Without this right the log shows nothing.
        ...table.columns
          .filter(({ keyPosition }) => keyPosition !== undefined)
          .map(
            (column) =>
              `pg_catalog.has_column_privilege(${relid}::pg_catalog.oid, ${quoteLiteral(column.name)}, 'SELECT')`,
          ),
      ].join(' AND ')
  return `SELECT '${at}', pg_catalog.json_build_object('snapshot', pg_catalog.pg_current_snapshot()::pg_catalog.text, 'isSame', s.epoch OPERATOR(pg_catalog.=) $4::pg_catalog.text AND ${accessSql(relid)} OPERATOR(pg_catalog.=) ${access}::pg_catalog.text
    AND CASE WHEN pg_catalog.pg_current_snapshot()::pg_catalog.text OPERATOR(pg_catalog.=) $3::pg_catalog.text THEN true
      ELSE ${isUnlogged} AND NOT EXISTS (SELECT FROM pg_catalog.unnest($2::pg_catalog.text[]::pg_catalog.xid8[]) x WHERE pg_catalog.pg_visible_in_snapshot(x, pg_catalog.pg_current_snapshot()))
        AND ${COVERS_FLOOR} AND pg_catalog.to_regclass(${quoteLiteral(name)})::pg_catalog.oid OPERATOR(pg_catalog.=) ${relid}::pg_catalog.oid
        AND ${fingerprintSql(table)} OPERATOR(pg_catalog.=) ${fingerprint}::pg_catalog.int8 END)::pg_catalog.text
  FROM listwatch.state s`
}

/** Runs the probe. Returns a later version at which the table is unchanged; undefined if a delta is needed. */
export async function readProbe(
  session: Session,
  sql: string,
  from: PostgresVersion,
  fingerprint: string,
): Promise<PostgresVersion | undefined> {
  const values = [...logPosition(from), from.snapshot, from.epoch, from.access, fingerprint]
  const [row] = await run(session, sql, values, 'listwatch_probe')
  const { snapshot, isSame } = propertiesOf(JSON.parse(row?.[1] ?? '{}'))
  if (isSame !== true || typeof snapshot !== 'string') return undefined
  const isLater = parseSnapshot(snapshot, snapshot).xmax >= parseSnapshot(from.snapshot, from.snapshot).xmax
  return isLater ? { ...from, snapshot } : undefined
}

export interface ProbedTable {
  readonly table: Table
  readonly from: PostgresVersion
  readonly fingerprint: string
}

/** SQL of the probes of several tables at one snapshot, as one statement. */
export function probesSql(tables: readonly ProbedTable[]): string {
  const probes = tables.map(({ table, from, fingerprint }, at) =>
    probeSql(table, String(at), quoteLiteral(from.access), quoteLiteral(fingerprint)),
  )
  return probes.join('\nUNION ALL ')
}

export async function changedTables<P extends ProbedTable>(
  session: Session,
  sql: string,
  tables: readonly P[],
  name: string,
): Promise<readonly P[]> {
  const [first] = tables
  if (first === undefined) return []
  const { from } = first
  const rows = await run(session, sql, [...logPosition(from), from.snapshot, from.epoch], name)
  const unchanged = new Set<number>()
  for (const [at, text] of rows)
    if (propertiesOf(JSON.parse(text ?? '{}'))['isSame'] === true) unchanged.add(Number(at))
  return tables.filter((_, at) => !unchanged.has(at))
}

/** Later changes are logged under transaction ids from the first value on, and under the ids of the second. */
function logPosition({ snapshot }: PostgresVersion): readonly [string, readonly string[]] {
  const { xmax, running } = parseSnapshot(snapshot, snapshot)
  return [String(xmax), Array.from(running, String)]
}

/** Runs a statement. If something that it names was dropped or changed, the version has expired. */
async function run(
  session: Session,
  sql: string,
  values: readonly unknown[],
  name: string,
): Promise<(string | null)[][]> {
  return await session.texts(sql, values, name).catch((error: unknown) => {
    const cause: unknown = Object(error).cause
    // A list reads the other rows, and reports this one.
    if (isTooLong(error))
      throw expired('too large', `a row cannot be read as a change: ${String(Object(cause).message)}`)
    const isShape = ['42P01', '42703', '3F000', '42883', '42804', '42P21', '42P22', '42725', '55000'].includes(
      codeOf(cause) ?? '',
    )
    if (isShape || /cached plan/.test(String(Object(cause).message)))
      throw expired('shape', String(Object(cause).message))
    throw error
  })
}

function assertCurrent(
  header: Properties,
  rows: readonly (string | null)[][],
  table: Table,
  from: PostgresVersion,
): void {
  const { name } = table
  const { snapshot, epoch, relid, generation, access, shape, prepared, covers, keys } = header
  if (epoch !== from.epoch) {
    const message = 'the server has recovered from a crash, or was restored or promoted: commits may have been lost'
    throw new SourceError(message, { code: 'EPOCH_CHANGED' })
  }
  assertNotBehind(String(snapshot), from)
  if (relid !== table.relid) throw expired('shape', `${name} is another table now`)
  if (generation !== from.generation) throw expired('generation', `the triggers of ${name} were installed again`)
  const isMarked = rows.some(([kind]) => kind === 'T')
  if (isMarked)
    throw expired(
      'truncate or bulk change',
      `${name} was truncated, or one statement changed more rows than the option bulk allows`,
    )
  if (access !== from.access) throw expired('access', `row security of ${name} now applies to this role differently`)
  // Null if the fingerprint is unchanged.
  if (shape !== null && shape !== from.shape)
    throw expired('shape', `${name}, its types, partitions, policies or triggers were changed`)
  if (prepared === true)
    throw expired(
      'prepared transaction',
      'a transaction ended that was prepared before the server recovered from a crash',
    )
  if (covers !== true) throw expired('trimmed', `the log of ${name} was trimmed after the version`)
  if (Number(keys) > 0 && rows.length === 1 && !table.isSecured)
    throw expired('too many changes', `a list of ${name} is cheaper`)
}
