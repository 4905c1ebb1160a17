import { SourceError } from '../../src/errors.js'
import { joinKey } from '../../src/key.js'
import type { Delete, Invalid, Put } from '../../src/source.js'
import { codeOf, expired } from './postgres-errors.js'
import { type PostgresVersion, parseSnapshot } from './postgres-version.js'
import type { RowCodec } from './row-codec.js'
import type { Session } from './session.js'
import { quoteLiteral, type Table } from './table.js'

/** What has happened to a table since a version, and where that leads. */
export interface Delta<T> {
  readonly events: readonly (Put<T> | Delete<T> | Invalid)[]
  readonly version: PostgresVersion
}

interface Header {
  readonly snapshot: string
  readonly epoch: string | null
  readonly covers: boolean | null
  readonly shape: string
  readonly generation: string | null
  readonly relid: string | null
  readonly keys: number
}

/**
 * One statement, and so one snapshot: the keys that transactions have logged which the version did not show as ended,
 * the rows of these keys as they are now, and everything by which a version expires. The order of the log does not
 * matter, because rows are read live; nothing is missed, because a transaction logs in itself what it changes.
 *
 * LATERAL with LIMIT holds the planner to the key's index: joined plainly it reads the whole table at each look.
 */
export function deltaSql(table: Table, where: string | undefined, maxKeys: number): string {
  const keys = table.keyColumns.map((_, i) => `k${i + 1}`)
  const isKey = table.keyColumns.map((column, i) => `t.${column} = d.k${i + 1}`).join(' AND ')
  const noKeys = keys.map(() => 'NULL').join(', ')
  const condition = where === undefined ? '' : ` AND (${where}\n)`
  return `WITH d AS MATERIALIZED (
  SELECT u.* FROM (
    SELECT op, ${keys.join(', ')} FROM ${table.log} WHERE xid >= $1::text::xid8
    UNION SELECT op, ${keys.join(', ')} FROM ${table.log} WHERE xid = ANY ($2::text[]::xid8[])
  ) u LIMIT ${maxKeys + 1}
), c AS MATERIALIZED (SELECT count(*) AS keys FROM d)
SELECT 'H', json_build_object('snapshot', pg_current_snapshot()::text, 'epoch', s.epoch, 'covers', listwatch.covers($3::text::pg_snapshot, s.floor),
    'shape', listwatch.shape(${table.relid}::oid), 'generation', obj_description(to_regclass(${quoteLiteral(table.log)}), 'pg_class')::jsonb->>'generation',
    'relid', to_regclass(${quoteLiteral(table.name)})::oid::int8::text, 'keys', c.keys)::text, NULL, ${noKeys}, ${table.columnList}
  FROM c LEFT JOIN listwatch.state s ON true LEFT JOIN ${table.name} t ON false
UNION ALL
SELECT d.op::text, NULL, CASE WHEN t.${table.keyColumns[0]} IS NOT NULL THEN 'y' END, ${keys.map((key) => `d.${key}`).join(', ')}, ${table.columnList}
  FROM c JOIN d ON c.keys <= ${maxKeys}
  LEFT JOIN LATERAL (SELECT t.* FROM ${table.name} t WHERE ${isKey}${condition} LIMIT 1) t ON true`
}

/** Runs it. Throws `VERSION_EXPIRED` where the log does not tell all. */
export async function readDelta<T>(
  session: Session,
  table: Table,
  sql: string,
  codec: RowCodec<T>,
  from: PostgresVersion,
): Promise<Delta<T>> {
  const { xmax, running } = parseSnapshot(from.snapshot, from.snapshot)
  const values = [String(xmax), Array.from(running, String), from.snapshot]
  const rows = await session.texts(sql, values, 'listwatch_delta').catch((error: unknown) => {
    const cause: unknown = Object(error).cause
    // Something that the statement names is gone or is another thing now.
    const isShape = ['42P01', '42703', '3F000', '42883', '42804'].includes(codeOf(cause) ?? '')
    if (isShape || /cached plan/.test(String(Object(cause).message)))
      throw expired('shape', String(Object(cause).message))
    throw error
  })
  const header = JSON.parse(rows.find(([kind]) => kind === 'H')?.[1] ?? '{}') as Header
  const events: (Put<T> | Delete<T> | Invalid)[] = []
  assertCurrent(header, rows, table, from)
  const keyCount = table.keyColumns.length
  for (const [kind, , found, ...texts] of rows) {
    if (kind === 'H') continue
    if (found === null) events.push({ type: 'delete', key: joinKey(texts.slice(0, keyCount).map(String)) })
    else events.push(codec.fromTexts(texts.slice(keyCount)))
  }
  return { events, version: { ...from, snapshot: header.snapshot } }
}

function assertCurrent(header: Header, rows: readonly (string | null)[][], table: Table, from: PostgresVersion): void {
  const { name } = table
  if (header.epoch !== from.epoch) {
    const message = 'the server has recovered from a crash, or was restored or promoted: commits may have been lost'
    throw new SourceError(message, { code: 'EPOCH_CHANGED' })
  }
  // Stopped in order and replaced by an older copy of its files, a server keeps its epoch.
  if (parseSnapshot(header.snapshot, header.snapshot).xmax < parseSnapshot(from.snapshot, from.snapshot).xmax) {
    const message = 'the server has not come as far as the version: it was replaced by an older copy of itself'
    throw new SourceError(message, { code: 'EPOCH_CHANGED' })
  }
  if (header.relid !== table.relid) throw expired('shape', `${name} is another table now`)
  if (header.generation !== from.generation) throw expired('generation', `the triggers of ${name} were installed again`)
  const isMarked = rows.some(([kind]) => kind === 'T')
  if (isMarked)
    throw expired('truncate or bulk change', `${name} was truncated, or one statement changed very many rows`)
  if (header.shape !== from.shape)
    throw expired('shape', `${name}, its types, partitions, policies or triggers were changed`)
  if (header.covers !== true) throw expired('trimmed', `the log of ${name} no longer reaches back so far`)
  if (header.keys > 0 && rows.length === 1) throw expired('too many changes', `reading ${name} again is cheaper`)
}
