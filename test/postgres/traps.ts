import { Client } from 'pg'
import type { PostgresServer } from '../../tools/postgres/postgres-server.js'

/** Every test database has this search path. What the schema `traps` contains raises, or is refused. */
export const TRAPPED_PATH = '"$user", public, traps'

/**
 * Operands for which Postgres converts one of them. An operator with exactly these operands is preferred to its own, so
 * the SQL of tests that needs such an operator converts the operand itself.
 */
const OPERATORS: readonly (readonly [operator: string, left: string, right: string])[] = [
  ['=', 'oid', 'regclass'],
  ['=', 'regclass', 'oid'],
  ['=', 'regclass', 'regclass'],
  ['=', 'varchar', 'text'],
  ['=', 'text', 'varchar'],
  ['~~', 'name', 'name'],
  ['!~~', 'name', 'name'],
  ['->>', 'jsonb', 'jsonb'],
  ['*', 'numeric', 'int4'],
  ['*', 'float8', 'int4'],
  ['||', 'text', 'name'],
  ['||', 'name', 'text'],
]

/** Functions whose signatures fit calls better than those of Postgres do. */
const FUNCTIONS: readonly (readonly [signature: string, result: string])[] = [
  ['unnest(xid8[])', 'SETOF xid8'],
  ['unnest(oid[])', 'SETOF oid'],
  ['to_json(text[])', 'json'],
  ['obj_description(regclass, text)', 'text'],
  ['has_table_privilege(regclass, text)', 'boolean'],
  ['pg_total_relation_size(oid)', 'bigint'],
  ['convert_from(bytea, text)', 'text'],
  ['lower(name)', 'text'],
  ['format(text, name, name)', 'text'],
  ['concat_ws(text, name, text)', 'text'],
  ['concat_ws(text, name, text, text)', 'text'],
  ['concat_ws(text, text, xid8, bigint)', 'text'],
  ['json_build_object(text, text, text, boolean)', 'json'],
  ['make_interval(secs int)', 'interval'],
  ['make_interval(secs numeric)', 'interval'],
]

/** Temporary tables. Their names, and those of their types, are found before the names in pg_catalog. */
const TEMPORARY = [
  ...['text', 'oid', 'xid8', 'jsonb', 'json', 'name', 'regclass', 'pg_snapshot', 'int8', 'float8', 'void', 'record'],
  ...['pg_class', 'pg_trigger', 'pg_proc', 'pg_attribute', 'pg_namespace', 'pg_index', 'pg_roles', 'pg_stat_activity'],
  ...['state', 'mark'],
]

const RESULTS: Readonly<Record<string, string>> = { '->>': 'text', '||': 'text', '*': 'float8' }

const TEMPLATE = 'with_traps'
const templates = new WeakMap<PostgresServer, Promise<string>>()

/** Returns the name of the database of this server that test databases are copies of. */
export function trappedTemplate(server: PostgresServer): Promise<string> {
  const template = templates.get(server) ?? createTemplate(server)
  templates.set(server, template)
  return template
}

async function createTemplate({ url }: PostgresServer): Promise<string> {
  // A server whose data is a copy has the database already.
  await run(url, `CREATE DATABASE ${TEMPLATE} STRATEGY FILE_COPY`).catch((error: unknown) => {
    if (Object(error).code !== '42P04') throw error
  })
  await run(url.replace(/postgres$/, TEMPLATE), `DROP SCHEMA IF EXISTS traps CASCADE; ${trapsSql()}`)
  return TEMPLATE
}

function trapsSql(): string {
  const raise = (what: string): string => `LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'trapped: ${what}'; END $$`
  const functions = FUNCTIONS.map(
    ([signature, result]) => `CREATE FUNCTION traps.${signature} RETURNS ${result} ${raise(signature)}`,
  )
  const operators = OPERATORS.map(([operator, left, right]) => {
    const name = `traps."${operator}"`
    return `CREATE FUNCTION ${name}(${left}, ${right}) RETURNS ${RESULTS[operator] ?? 'boolean'} ${raise(`${left} ${operator} ${right}`)};
      CREATE OPERATOR traps.${operator} (LEFTARG = ${left}, RIGHTARG = ${right}, FUNCTION = ${name})`
  })
  return ['CREATE SCHEMA traps', 'GRANT USAGE ON SCHEMA traps TO PUBLIC', ...functions, ...operators].join(';\n')
}

async function run(url: string, sql: string): Promise<void> {
  const client = new Client(url)
  await client.connect()
  try {
    await client.query(sql)
  } finally {
    await client.end()
  }
}

const DECOYS = TEMPORARY.map((name) => `CREATE TEMPORARY TABLE ${name} ()`).join('; ')

/** A client whose session has the temporary tables, if its role may create them. */
export class TrappedClient extends Client {
  override async connect(): Promise<this> {
    await super.connect()
    await this.query(`BEGIN READ WRITE; ${DECOYS}; COMMIT`).catch(() => this.query('ROLLBACK'))
    return this
  }
}
