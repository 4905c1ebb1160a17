import { notFound, refused } from '../../common/source-errors.js'
import { idOf, type KeyColumn, type KeyKind, type LoggedTable, type ParentTable } from '../binlog/binlog-types.js'
import { isKnownCharset } from '../binlog/key-text.js'
import type { Session } from '../connection/session.js'
import type { Server } from '../server.js'
import { quotedName, text } from '../sql-text.js'

export interface NamedKeyColumn extends KeyColumn {
  readonly name: string
}

export interface Table extends LoggedTable {
  readonly id: string
  readonly sql: string
  /** All columns that `SELECT *` returns. */
  readonly columns: readonly string[]
  readonly bigints: ReadonlySet<string>
  readonly key: readonly NamedKeyColumn[]
}

const KEY_TYPES: Readonly<Record<string, KeyKind['type']>> = {
  tinyint: 'integer',
  smallint: 'integer',
  mediumint: 'integer',
  int: 'integer',
  bigint: 'integer',
  char: 'text',
  varchar: 'text',
  binary: 'binary',
  varbinary: 'binary',
}

/** Returns the database and the name of a table: `orders`, `shop.orders`, or each in backticks. */
export function parseTableName(
  table: string,
): { readonly database: string | undefined; readonly name: string } | undefined {
  const parts = /^(?:(`(?:[^`]|``)+`|[^`.]+)\.)?(`(?:[^`]|``)+`|[^`.]+)$/.exec(table)
  if (parts?.[2] === undefined) return undefined
  const plain = (part: string): string => (part.startsWith('`') ? part.slice(1, -1).replaceAll('``', '`') : part)
  return { database: parts[1] === undefined ? undefined : plain(parts[1]), name: plain(parts[2]) }
}

export async function findTable(session: Session, server: Server, given: string): Promise<Table> {
  const { database: wanted, name: wantedName } = parseTableName(given) ?? { database: undefined, name: given }
  const [current] = await session.query('SELECT DATABASE() AS name')
  const schema = wanted ?? current?.['name']
  if (typeof schema !== 'string')
    throw refused(`the connection has no database, so the table needs one: 'shop.${given}' instead of '${given}'`)
  const [found] = await session.query(
    `SELECT table_schema AS s, table_name AS t, table_type AS type, engine AS engine FROM information_schema.tables
    WHERE table_schema = ${text(schema)} AND table_name = ${text(wantedName)}`,
  )
  if (found === undefined) {
    const others = await session.query(
      `SELECT table_name AS t FROM information_schema.tables WHERE table_schema = ${text(schema)} ORDER BY table_name LIMIT 20`,
    )
    const names = others.map((row) => String(row['t'])).join(', ') || 'no tables'
    const message = `there is no table ${quotedName(schema, wantedName)}, or the user may not read it; the user can read ${names}`
    throw notFound(message)
  }
  const [database, name] = [String(found['s']), String(found['t'])]
  const sql = quotedName(database, name)
  if (found['type'] !== 'BASE TABLE') throw refused(`${sql} is not a table, but a ${String(found['type'])}`)
  if (found['engine'] !== 'InnoDB')
    throw refused(`${sql} uses the engine ${String(found['engine'])}; only tables of InnoDB have consistent snapshots`)
  const all = await session.query(
    `SELECT column_name AS name, data_type AS data, column_type AS type, extra AS extra, character_set_name AS charset
    FROM information_schema.columns
    WHERE table_schema = ${text(database)} AND table_name = ${text(name)} ORDER BY ordinal_position`,
  )
  const keyNames = await session.query(
    `SELECT column_name AS name, sub_part AS part FROM information_schema.statistics
    WHERE table_schema = ${text(database)} AND table_name = ${text(name)} AND index_name = 'PRIMARY' ORDER BY seq_in_index`,
  )
  if (keyNames.length === 0) throw refused(`${sql} has no primary key; add one (a unique key is not enough)`)
  const key = keyNames.map((row) => {
    const ordinal = all.findIndex((each) => each['name'] === row['name'])
    const { type, data, charset } = all[ordinal] ?? {}
    const column = String(row['name'])
    const kind = KEY_TYPES[String(data)]
    const allowed = 'integers, CHAR, VARCHAR, BINARY and VARBINARY'
    if (kind === undefined || row['part'] != null)
      throw refused(
        `the key column ${quotedName(column)} of ${sql} has the type ${String(type)}; allowed are ${allowed}`,
      )
    return {
      name: column,
      ordinal,
      kind: keyKind(kind, String(type), String(charset), `${quotedName(column)} of ${sql}`),
    }
  })
  return {
    id: idOf({ database, table: name }),
    database,
    table: name,
    sql,
    columns: all.flatMap((row) => (/invisible/i.test(String(row['extra'])) ? [] : [String(row['name'])])),
    columnCount: all.length,
    bigints: new Set(all.flatMap((row) => (row['data'] === 'bigint' ? [String(row['name'])] : []))),
    key,
    cascadesFrom: server.logsCascades ? [] : await cascadesOf(session, database, sql),
  }
}

function keyKind(type: KeyKind['type'], declared: string, charset: string, column: string): KeyKind {
  if (type === 'integer') return { type, isUnsigned: declared.includes('unsigned') }
  if (type === 'binary') return { type }
  if (isKnownCharset(charset)) return { type, charset }
  throw refused(`the key column ${column} has the character set ${charset}; convert it to utf8mb4`)
}

/** A parent that is changed by a parent of its own makes every other table such a one. */
async function cascadesOf(session: Session, database: string, sql: string): Promise<LoggedTable['cascadesFrom']> {
  const parents = parentsIn(await definitionOf(session, sql), database)
  const found: ParentTable[] = []
  for (const { database, table, columns } of parents) {
    const name = quotedName(database, table)
    const names = await session.query(
      `SELECT column_name AS name FROM information_schema.columns
      WHERE table_schema = ${text(database)} AND table_name = ${text(table)} ORDER BY ordinal_position`,
    )
    // The user may have no right to read the parent.
    if (names.length === 0) return 'any'
    if (name !== sql && parentsIn(await definitionOf(session, name), database).length > 0) return 'any'
    const referenced = columns.map((column) => names.findIndex((row) => row['name'] === column))
    found.push({ database, table, referenced: referenced.includes(-1) ? 'any' : new Set(referenced) })
  }
  return found
}

/** The views of information_schema need more rights than SELECT. */
async function definitionOf(session: Session, sql: string): Promise<string> {
  const [row] = await session.rows(`SHOW CREATE TABLE ${sql}`)
  return String(row?.[1])
}

/** The tables whose changes a definition passes on, each with the referenced columns. */
function parentsIn(definition: string, own: string) {
  const rules = definition.matchAll(
    / REFERENCES ((?:`(?:[^`]|``)+`\.)?`(?:[^`]|``)+`) \((.*?)`\).* ON (?:DELETE|UPDATE) (?:CASCADE|SET)/g,
  )
  return Array.from(rules, ([, table = '', columns = '']) => {
    const { database = own, name } = parseTableName(table) ?? { database: own, name: table }
    const names = Array.from(`${columns}\``.matchAll(/`((?:[^`]|``)+)`/g), ([, each = '']) =>
      each.replaceAll('``', '`'),
    )
    return { database, table: name, columns: names }
  })
}
