import { installChangeLog } from 'listwatch/postgres'
import pg from 'pg'
import { startPostgres } from '../dist/tools/postgres/postgres-server.js'
import { atLeast, atMost, type Benchmark, contest, inTurn, median, medianRatio } from './figures.ts'

const ROWS = 200_000
const ROUNDS = 5

interface Result {
  readonly ms: number
  readonly rssMb: number
}

const TABLE_SQL = `CREATE TABLE bench (id bigint PRIMARY KEY, tenant text NOT NULL, quantity int NOT NULL, note text NOT NULL,
  price numeric NOT NULL, is_open bool NOT NULL, data jsonb NOT NULL, created_at timestamptz NOT NULL);
INSERT INTO bench SELECT g, 'tenant-' || g % 1000, g % 97, repeat('x', 30), g * 1.01, g % 2 = 0, jsonb_build_object('a', g, 'tags', '["p", "q"]'::jsonb),
  now() - g * interval '1 s' FROM generate_series(1, ${ROWS}) g;
ANALYZE bench`

/** A table of eight columns into an indexed store, from connecting to synced. */
export const postgresList: Benchmark = {
  name: 'postgres-list',
  about: `a table of ${ROWS} rows and 8 columns into a store with two indexes, against a bare COPY and a query into a Map`,
  async run() {
    const server = await startPostgres({ settings: { fsync: 'off' } })
    try {
      const client = new pg.Client({ connectionString: server.url })
      await client.connect()
      await client.query(TABLE_SQL)
      await installChangeLog(client, { table: 'bench' })
      await client.end()
      const run = (contestant: string) => () => contest<Result>('postgres-list', [contestant, server.url])
      const results = await inTurn(ROUNDS, { listwatch: run('listwatch'), floor: run('floor'), query: run('query') })
      const ms = (name: string): number[] => (results[name] ?? []).map((result) => result.ms)
      const perSecond = (name: string): number => Math.round((ROWS / median(ms(name))) * 1_000)
      const value = medianRatio(ms('listwatch'), ms('floor'))
      const peers = {
        'listwatch rows/s': perSecond('listwatch'),
        'COPY drain rows/s': perSecond('floor'),
        'pg query into a Map rows/s': perSecond('query'),
      }
      const rate = medianRatio(ms('query'), ms('listwatch'))
      return [
        atMost(4, { name: 'postgres list', value, unit: '× a bare COPY drain', peers }),
        atLeast(1, { name: 'postgres list, rate', value: rate, unit: '× a query into a Map', peers: {} }),
      ]
    } finally {
      await server.stop()
    }
  },
}
