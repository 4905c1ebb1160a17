import { SourceError } from '../../../src/contract/errors.js'
import { shellQuoted } from '../../../src/util/shell-quoted.js'
import { elementsOf, propertiesOf } from '../../common/properties.js'
import { notFound, refused, unavailable } from '../../common/source-errors.js'
import { calledFunctionsSql, definitionsSql } from '../called-functions.js'
import type { TextRecord } from '../connection/client-factory.js'
import { codeOf } from '../connection/postgres-errors.js'
import type { Session } from '../connection/session.js'
import type { PostgresSourceOptions } from '../postgres-options.js'
import { outdatedCollationsSql } from '../schema/outdated-collations.js'
import { quoteIdentifier } from '../schema/quoting.js'
import { SCHEMA_VERSION } from '../schema/schema-sql.js'
import type { Column } from './row-codec.js'

export interface Table {
  readonly relid: string
  /** Qualified and quoted, for SQL. */
  readonly name: string
  /** Whether a look-up by an index may miss rows, because the library of a collation was upgraded. */
  readonly hasOutdatedIndexes: boolean
  /** The name, with the alias `t`, and with a clause that reads no index if one may miss rows. */
  readonly rows: string
  readonly log: string
  readonly generation: string
  readonly columns: readonly Column[]
  /** The mirrored columns, for SQL: `t."id", t."tenant"`. */
  readonly columnList: string
  /** The columns of the key in their order, for SQL. The log names them k1, k2, … */
  readonly keyColumns: readonly string[]
  /** The names of their types, for SQL; of a domain, that of its base type. */
  readonly keyTypes: readonly string[]
  readonly isSecured: boolean
  readonly functions: readonly string[]
}

/** Looks the table up. Throws a SourceError for a table that cannot be mirrored completely. */
export async function findTable(
  session: Session,
  { table, columns: wanted, rls }: PostgresSourceOptions,
): Promise<Table> {
  const [found] = await session.query(findSql(session.serverVersion), [table]).catch((error: unknown) => {
    if (codeOf(Object(error).cause) === '42602') throw notFound(`"${table}" is not a valid name of a table`)
    throw error
  })
  if (found?.['relid'] === undefined || found['relid'] === null) throw await noSuchTable(session, table)
  const relid = String(found['relid'])
  const name = `${quoteIdentifier(String(found['schema']))}.${quoteIdentifier(String(found['name']))}`
  if (found['is_table'] !== 't') {
    throw refused(`${name} is not a table; name a table: one that a view reads, for example`)
  }
  const isSecured = found['is_secured'] === 't'
  const hasOutdatedIndexes = found['is_outdated'] === 't'
  if (isSecured && rls !== 'row-local') {
    const message = `row security of ${name} applies to this role: a row whose visibility depends on other rows would be missed; set rls: 'row-local' if no policy reads other rows`
    throw new SourceError(message, { code: 'UNAUTHORIZED' })
  }
  const { log, generation, keyNames } = await findLog(session, relid, name).catch((error: unknown) => {
    throw explainMissingLog(found, name, error)
  })
  const { columns, keyTypes } = await findColumns(session, relid, name, keyNames, wanted)
  return {
    relid,
    name,
    hasOutdatedIndexes,
    rows: hasOutdatedIndexes ? `${name} t TABLESAMPLE pg_catalog.system (100)` : `${name} t`,
    log,
    generation,
    columns,
    columnList: columns.map((column) => `t.${quoteIdentifier(column.name)}`).join(', '),
    keyColumns: keyNames.map(quoteIdentifier),
    keyTypes,
    isSecured,
    functions: [],
  }
}

/**
 * SQL of the access that row security grants this role: an empty text if row security does not apply, else a hash of
 * the role's name, of its policies, and of the functions that policies call. It is read each time, because the server's
 * plan cache does not notice changes of memberships.
 */
export function accessSql(relid: string): string {
  const policies = `SELECT 'pg_catalog.pg_policy'::pg_catalog.regclass::pg_catalog.oid, q.oid FROM pg_catalog.pg_policy q WHERE q.polrelid OPERATOR(pg_catalog.=) ${relid}::pg_catalog.oid`
  const functions = definitionsSql(`ARRAY (${calledFunctionsSql(policies)})`)
  return `CASE WHEN pg_catalog.row_security_active(${relid}::pg_catalog.oid) THEN (
    SELECT pg_catalog.md5(pg_catalog.concat_ws(',', current_user, pg_catalog.string_agg(p.oid::pg_catalog.text, ',' ORDER BY p.oid), ${functions})) FROM pg_catalog.pg_policy p
     WHERE p.polrelid OPERATOR(pg_catalog.=) ${relid}::pg_catalog.oid AND (0::pg_catalog.oid OPERATOR(pg_catalog.=) ANY (p.polroles)
       OR EXISTS (SELECT FROM pg_catalog.unnest(p.polroles) r(id) WHERE pg_catalog.pg_has_role(r.id, 'USAGE'))))
  ELSE '' END`
}

/** `has_key` is whether there is any unique index. The installation checks whether an index can be the key. */
const findSql = (
  serverVersion: number,
): string => `SELECT c.oid::pg_catalog.text AS relid, n.nspname AS schema, c.relname AS name, c.relkind OPERATOR(pg_catalog.=) ANY (ARRAY['r', 'p']::pg_catalog."char"[]) AS is_table,
    pg_catalog.row_security_active(c.oid) AS is_secured, pg_catalog.cardinality(${outdatedCollationsSql('c.oid', serverVersion)}) OPERATOR(pg_catalog.>) 0::pg_catalog.int4 AS is_outdated,
    EXISTS (SELECT FROM pg_catalog.pg_index i WHERE i.indrelid OPERATOR(pg_catalog.=) c.oid AND i.indisunique) AS has_key,
    c.relkind OPERATOR(pg_catalog.=) 'r'::pg_catalog."char" AND EXISTS (SELECT FROM pg_catalog.pg_inherits h WHERE h.inhparent OPERATOR(pg_catalog.=) c.oid) AS has_heirs
  FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
 WHERE c.oid OPERATOR(pg_catalog.=) pg_catalog.to_regclass($1::pg_catalog.text)`

async function findLog(
  session: Session,
  relid: string,
  name: string,
): Promise<{ readonly log: string; readonly generation: string; readonly keyNames: readonly string[] }> {
  const sql = `SELECT (SELECT pg_catalog.format('listwatch.%I', c.relname) FROM pg_catalog.pg_class c WHERE c.oid OPERATOR(pg_catalog.=) l.log) AS log, l.options,
    listwatch.schema_version() AS version, pg_catalog.to_json(listwatch.problems(l.relid)) AS problems, pg_catalog.has_table_privilege(l.log, 'SELECT') AS is_readable
    FROM listwatch.logs() l WHERE l.relid OPERATOR(pg_catalog.=) $1::pg_catalog.text::pg_catalog.oid`
  if (!session.hasSchema) throw notInstalled(name)
  const [found] = await session.query(sql, [relid]).catch((error: unknown) => {
    const code = codeOf(Object(error).cause)
    if (code === '3F000' || code === '42883') throw notInstalled(name)
    throw error
  })
  if (found === undefined) throw notInstalled(name)
  if (Number(found['version']) !== SCHEMA_VERSION) {
    const message = `the schema listwatch is of version ${found['version']}, and this program needs ${SCHEMA_VERSION}; run: ${installCommand(name)}`
    throw refused(message)
  }
  // NULL means that the log was dropped since the statement began: its triggers are being installed again.
  if (found['is_readable'] == null) throw unavailable(`${name} was changed during its look-up`)
  if (found['is_readable'] !== 't') {
    // A list does not need this right, but the watch after it does.
    const message = `permission denied for the log of ${name}; as the owner of the table run: ${session.grantCommand}`
    throw new SourceError(message, { code: 'UNAUTHORIZED' })
  }
  const { generation, keyColumns } = propertiesOf(JSON.parse(found['options'] ?? '{}'))
  if (typeof generation !== 'string' || !Array.isArray(keyColumns)) throw notInstalled(name)
  const [problem] = elementsOf(JSON.parse(found['problems'] ?? '[]'))
  if (problem !== undefined)
    throw notFound(`the log of ${name} misses changes: ${problem}; run: ${installCommand(name)}`)
  return { log: String(found['log']), generation, keyNames: keyColumns.map(String) }
}

/** Returns an error that explains why `listwatch pg install` cannot create the log; else the given error. */
function explainMissingLog(found: TextRecord, name: string, error: unknown): unknown {
  if (!(error instanceof SourceError) || error.code !== 'NOT_FOUND') return error
  if (found['has_heirs'] === 't') {
    const message = `${name} has tables that inherit from it, whose rows its triggers do not see; name those that inherit, or use declarative partitioning`
    return refused(message)
  }
  if (found['has_key'] === 't') return error
  return refused(`${name} has no key that identifies its rows; add one: ALTER TABLE ${name} ADD PRIMARY KEY (…)`)
}

async function findColumns(
  session: Session,
  relid: string,
  name: string,
  keyNames: readonly string[],
  wanted: readonly string[] | undefined,
): Promise<{ readonly columns: readonly Column[]; readonly keyTypes: readonly string[] }> {
  const rows = await session.query(COLUMNS_SQL, [relid])
  const known = rows.map((row) => String(row['name']))
  const missing = wanted?.find((column) => !known.includes(column))
  if (missing !== undefined) throw refused(`${name} has no column "${missing}"; it has ${known.join(', ')}`)
  const columns = rows
    .map((row) => ({ name: String(row['name']), typeId: Number(row['type']) }))
    .filter(({ name: column }) => wanted === undefined || wanted.includes(column) || keyNames.includes(column))
    .map((column) => {
      const position = keyNames.indexOf(column.name)
      return { ...column, keyPosition: position === -1 ? undefined : position }
    })
  const keyTypes = keyNames.map((key) => rows.find((row) => row['name'] === key)?.['type_name'] ?? 'pg_catalog.void')
  return { columns, keyTypes }
}

/** Resolves domains to their base types: the server reports these with rows, and parsers are registered for them. */
const COLUMNS_SQL = `WITH RECURSIVE base(attnum, attname, typ) AS (
  SELECT a.attnum, a.attname, a.atttypid FROM pg_catalog.pg_attribute a
   WHERE a.attrelid OPERATOR(pg_catalog.=) $1::pg_catalog.text::pg_catalog.oid AND a.attnum OPERATOR(pg_catalog.>) 0::pg_catalog.int2 AND NOT a.attisdropped
  UNION ALL SELECT b.attnum, b.attname, t.typbasetype FROM base b JOIN pg_catalog.pg_type t ON t.oid OPERATOR(pg_catalog.=) b.typ
   WHERE t.typtype OPERATOR(pg_catalog.=) 'd'::pg_catalog."char"
)
SELECT b.attname AS name, b.typ::pg_catalog.int8::pg_catalog.text AS type, pg_catalog.format('%I.%I', n.nspname, t.typname) AS type_name
  FROM base b JOIN pg_catalog.pg_type t ON t.oid OPERATOR(pg_catalog.=) b.typ JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) t.typnamespace WHERE t.typtype OPERATOR(pg_catalog.<>) 'd'::pg_catalog."char" ORDER BY b.attnum`

async function noSuchTable(session: Session, table: string): Promise<SourceError> {
  const sql = `SELECT pg_catalog.current_database() AS database, (SELECT pg_catalog.string_agg(pg_catalog.format('%I.%I', n.nspname, c.relname), ', ')
    FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
    WHERE c.relkind OPERATOR(pg_catalog.=) ANY (ARRAY['r', 'p']::pg_catalog."char"[]) AND pg_catalog.lower(c.relname) OPERATOR(pg_catalog.=) pg_catalog.lower($1::pg_catalog.text)
      AND NOT pg_catalog.starts_with(n.nspname, 'pg_')) AS alike`
  const bare = (table.split('.').at(-1) ?? table).replaceAll('"', '')
  const [row] = await session.query(sql, [bare])
  const alike =
    row?.['alike'] == null
      ? `; name it as in SQL, such as orders, shop.orders or "Orders"`
      : `; there is ${row['alike']}`
  return notFound(`there is no table "${table}" in database "${row?.['database']}" on its search path${alike}`)
}

function notInstalled(name: string): SourceError {
  return notFound(`the triggers of listwatch are not installed on ${name}; run: ${installCommand(name)}`)
}

/** The command for a shell, without unnecessary quotes around the name. */
function installCommand(name: string): string {
  const table = name.replace(/^"([a-z_][a-z0-9_]*)"(?=\.)/, '$1').replace(/(?<=\.)"([a-z_][a-z0-9_]*)"$/, '$1')
  return `npx listwatch pg install <url> --table ${shellQuoted(table)}`
}
