import { Client } from 'pg'
import { type PostgresSource, postgresDatabase } from '../../adapters/postgres/index.js'
import type { Version } from '../../src/contract/version.js'
import type { ConformanceChange, ListerWatcherHarness, ListerWatcherSubject } from '../../testing/index.js'
import type { Database, TestServer } from '../postgres/support.js'

type Row = { readonly id: string; readonly value: string }

/** What a row may have; one with more cannot be decoded. */
const MAX_ROW = 2 * 1024 * 1024
const SOURCE = 'conformance-source'

/** A table of a database of its own for each case: followed alone, or as a table of `postgresDatabase`. */
export function postgresHarness(server: TestServer, isOfDatabase = false): ListerWatcherHarness<Row> {
  return {
    create: async () => await subjectOf(await server.database(), isOfDatabase),
    unsupported: { versions: 'a row has no version' },
  }
}

async function subjectOf(database: Database, isOfDatabase: boolean): Promise<ListerWatcherSubject<Row>> {
  await database.sql('CREATE TABLE items (id text PRIMARY KEY, value text NOT NULL)')
  await database.install('items')
  const free: Client[] = []
  const write = async (changes: readonly ConformanceChange[]): Promise<Version> => {
    const writer = free.pop() ?? (await database.connect())
    const mark = await change(writer, alone, changes)
    await writer.query('COMMIT')
    free.push(writer)
    return mark
  }
  const table = { table: 'items', maxObjectBytes: MAX_ROW }
  const alone: PostgresSource<Row> = database.source<Row>({ ...table, connection: { application_name: SOURCE } })
  const connect = (): Client => new Client(database.config({ application_name: SOURCE }))
  const source = isOfDatabase ? postgresDatabase({ connect, pollIntervalMs: 200 }).table<Row>(table) : alone
  const ofSource = `FROM pg_stat_activity WHERE application_name = '${SOURCE}' AND datname = current_database()`
  return {
    source,
    read: ({ value }) => value,
    refuses: (key) =>
      key.includes('\u0000') || !key.isWellFormed()
        ? 'a text of Postgres holds only whole characters, and no NUL'
        : undefined,
    write,
    begin: async (changes) => {
      const writer = await database.connect()
      const mark = await change(writer, alone, changes)
      return async () => {
        await writer.query('COMMIT')
        return mark
      }
    },
    compact: async () => void (await database.sql(`SELECT listwatch.trim('0 s')`)),
    restore: async () =>
      void (await database.sql('TRUNCATE listwatch.state, listwatch.mark; SELECT listwatch.epoch()')),
    corrupt: async (key) => void (await write([{ key, value: 'x'.repeat(MAX_ROW + 1) }])),
    disconnect: async () => void (await database.sql(`SELECT pg_terminate_backend(pid) ${ofSource}`)),
    connections: async () => Number(await database.value(`SELECT count(*) ${ofSource}`)),
  }
}

/** Makes changes in a transaction that it leaves open; returns its mark. */
async function change(
  writer: Client,
  source: PostgresSource<Row>,
  changes: readonly ConformanceChange[],
): Promise<Version> {
  await writer.query('BEGIN')
  for (const run of runsOf(changes)) {
    const [keys, values] = [run.map(({ key }) => key), run.map(({ value }) => value)]
    if (run[0]?.value === undefined) await writer.query('DELETE FROM items WHERE id = ANY ($1)', [keys])
    else {
      await writer.query(
        `INSERT INTO items SELECT * FROM unnest($1::text[], $2::text[])
         ON CONFLICT (id) DO UPDATE SET value = EXCLUDED.value`,
        [keys, values],
      )
    }
  }
  return await source.mark(writer)
}

/** Changes that one statement can make: of one kind, and of different keys. */
function runsOf(changes: readonly ConformanceChange[]): ConformanceChange[][] {
  const runs: ConformanceChange[][] = []
  for (const change of changes) {
    const run = runs.at(-1)
    const isOfRun = (run?.[0]?.value === undefined) === (change.value === undefined)
    if (run === undefined || !isOfRun || run.some(({ key }) => key === change.key)) runs.push([change])
    else run.push(change)
  }
  return runs
}
