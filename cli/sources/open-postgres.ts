import type pg from 'pg'
import { type PostgresDatabase, postgresDatabase, postgresSource } from '../../adapters/postgres/index.js'
import { CliError } from '../output/cli-error.js'
import { cliErrorOf, withCommands } from '../output/error-hints.js'
import { checkPostgresUrl, loadPg, withPg } from './pg-client.js'
import type { OpenSource, Row, SourceOptions, TableFlags } from './source-types.js'

export async function openTables(
  url: string,
  tables: readonly string[],
  flags: SourceOptions,
): Promise<readonly OpenSource[]> {
  if (flags.rls !== undefined)
    throw new CliError('give one --table with --rls: a table to which row security applies is mirrored alone')
  const database = postgresDatabase({ connect: await connector(url) })
  const opened: OpenSource[] = []
  for (const table of tables) opened.push(await openPostgres(url, { ...flags, table }, database))
  return opened
}

export async function openPostgres(url: string, flags: TableFlags, database?: PostgresDatabase): Promise<OpenSource> {
  const connect = await connector(url)
  const { table, sql, rls, columns } = flags
  if ([flags.index, flags.fields, flags.compared].some((paths = []) => paths.length > 0))
    await withPg({ url, table }, (client) => assertColumns(client, flags))
  const options = { table, ...(columns === undefined ? {} : { columns }), ...(sql === undefined ? {} : { sql }) }
  const source =
    database === undefined
      ? postgresSource<Row>({ ...options, connect, ...(rls === undefined ? {} : { rls }) })
      : database.table<Row>(options)
  const target = { url, table }
  const isField = /^[\w.]+!?=[\w.-]+$/.test(sql ?? '')
  const advice = (text: string): string =>
    isField && text.includes(`sql: "${sql}"`)
      ? `${text}; it is SQL, such as status = 'open'; listwatch query compares fields: --where ${sql}`
      : text
  return {
    source,
    kind: 'postgres',
    of: table,
    toCliError: (error) => {
      const { message, exitCode } = cliErrorOf(error, target)
      const alone = database === undefined ? '$&' : 'mirror this table alone, with --rls row-local'
      return new CliError(advice(message).replace('add --rls row-local', alone), exitCode)
    },
    message: (text) => withCommands(text, target),
    [Symbol.dispose]: () => {},
  }
}

async function connector(url: string): Promise<() => pg.Client> {
  const connectionString = checkPostgresUrl(url)
  const driver = await loadPg()
  return () => new driver.Client({ connectionString, application_name: 'listwatch' })
}

/** Throws for a column that is not mirrored: it would stay empty. The mirror reports a table that does not exist. */
async function assertColumns(
  client: pg.Client,
  { table, index = [], fields = [], compared = [], columns }: TableFlags,
): Promise<void> {
  const sql = `SELECT a.attname::pg_catalog.text AS name FROM pg_catalog.pg_attribute a
    WHERE a.attrelid OPERATOR(pg_catalog.=) pg_catalog.to_regclass($1::pg_catalog.text) AND a.attnum OPERATOR(pg_catalog.>) 0::pg_catalog.int2 AND NOT a.attisdropped ORDER BY a.attnum`
  const names = (await client.query<{ name: string }>(sql, [table])).rows.map(({ name }) => name)
  if (names.length === 0) return
  const assert = (option: string, path: string): void => {
    const column = names.includes(path) ? path : (path.split('.')[0] ?? path)
    if (!names.includes(column))
      throw new CliError(`${option}: ${table} has no column "${column}"; it has ${names.join(', ')}`)
    if (columns?.includes(column) === false)
      throw new CliError(`${option}: "${column}" is not mirrored; add it to --columns`)
  }
  for (const path of index) assert('--index', path)
  for (const path of fields) assert('--fields', path)
  for (const path of compared) assert('--where', path)
}
