import type pg from 'pg'
import { postgresSource } from '../../../adapters/postgres/index.js'
import { failureOf, withCommands } from '../advice.js'
import { Failure } from '../failure.js'
import { durationOf, type MirrorFlags, mirror, type Row } from '../mirror.js'
import { checkPostgresUrl, loadPg, withPg } from '../postgres-driver.js'

export interface WatchFlags extends MirrorFlags {
  readonly table: string
  readonly columns?: readonly string[]
  readonly where?: string
  readonly rls?: 'row-local'
}

/** Mirrors a table of the user's, and tells of it: as NDJSON, or as a live picture. */
export async function watch(url: string, flags: WatchFlags): Promise<void> {
  durationOf(flags) // Before anything is opened.
  const connectionString = checkPostgresUrl(url)
  const driver = await loadPg()
  const { table, where, rls, columns: wanted } = flags
  if (flags.index.length > 0) await withPg({ url, table }, (client) => assertColumns(client, flags))
  const source = postgresSource<Row>({
    client: () => new driver.Client({ connectionString, application_name: 'listwatch' }),
    table,
    ...(wanted === undefined ? {} : { columns: wanted }),
    ...(where === undefined ? {} : { where }),
    ...(rls === undefined ? {} : { rls }),
  })
  const asked = { url, table }
  await mirror(source, flags, {
    kind: 'postgres',
    of: table,
    failure: (error) => failureOf(error, asked),
    message: (text) => withCommands(text, asked),
  })
}

/** An index on a column that is not mirrored would stay empty without a word. A table that is not there is told of later. */
async function assertColumns(client: pg.Client, { table, index, columns }: WatchFlags): Promise<void> {
  const sql = `SELECT attname::text AS name FROM pg_attribute WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped ORDER BY attnum`
  const names = (await client.query<{ name: string }>(sql, [table])).rows.map(({ name }) => name)
  if (names.length === 0) return
  const missing = index.find((column) => !names.includes(column))
  if (missing !== undefined)
    throw new Failure(`--index: ${table} has no column "${missing}"; it has ${names.join(', ')}`)
  const unmirrored = index.find((column) => columns !== undefined && !columns.includes(column))
  if (unmirrored !== undefined) throw new Failure(`--index: "${unmirrored}" is not mirrored; add it to --columns`)
}
