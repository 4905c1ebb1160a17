import { setTimeout as sleep } from 'node:timers/promises'
import { installChangeLog, postgresSource } from 'listwatch/postgres'
import pg from 'pg'
import { type Engine, ROWS, type Row } from './engine.ts'

/** A procedure commits each transaction: a client would wait for the answer of each. */
const SETUP = `CREATE TABLE bench (id int PRIMARY KEY, tenant text NOT NULL, shelf int NOT NULL, quantity int NOT NULL, note text NOT NULL, sent float8 NOT NULL) WITH (fillfactor = 50);
INSERT INTO bench SELECT g, 'tenant-' || g % 1000, g % 97, g % 10000, repeat('x', 100), 0 FROM generate_series(0, ${ROWS - 1}) g;
CREATE PROCEDURE write_rows(first int, total int, together int) LANGUAGE plpgsql AS $$
BEGIN
  FOR at IN first .. first + total - 1 BY together LOOP
    UPDATE bench SET shelf = (shelf + 31) % 97, quantity = (quantity + 7919) % 10000, sent = extract(epoch FROM clock_timestamp()) * 1000
     WHERE id >= at AND id < at + together;
    COMMIT;
  END LOOP;
END $$`

/** Keys whose transactions had not ended at a snapshot, and their rows, as the source reads them. */
const deltaSql = (log: string): string => `WITH d AS MATERIALIZED (
  SELECT k1 FROM ${log} WHERE xid >= $1::text::xid8 UNION SELECT k1 FROM ${log} WHERE xid = ANY ($2::text[]::xid8[]))
SELECT pg_current_snapshot()::text AS snapshot, t.* FROM d LEFT JOIN LATERAL (SELECT * FROM bench WHERE id = d.k1 LIMIT 1) t ON true`

export const postgres: Engine = {
  together: [1, 100],
  leastPerSecond: 20_000,
  lanes: 4,
  async start() {
    const { startPostgres } = await import('../../dist/tools/postgres/postgres-server.js')
    const server = await startPostgres({ settings: { synchronous_commit: 'off' } })
    const client = await connected(server.url)
    await client.query(SETUP)
    await installChangeLog(client, { table: 'bench' })
    await client.query('ANALYZE bench')
    await client.end()
    return { address: server.url, [Symbol.asyncDispose]: () => server.stop() }
  },
  async connectWriter(address) {
    const client = await connected(address)
    return async (first, count, together) => {
      await client.query({ name: 'write', text: 'CALL write_rows($1, $2, $3)', values: [first, count, together] })
    }
  },
  source: (address) =>
    postgresSource<Row>({ connect: () => new pg.Client({ connectionString: address }), table: 'bench' }),
  async follow(address, onRow) {
    const client = await connected(address)
    const found = await client.query<{ log: string }>('SELECT log::text FROM listwatch.logs()')
    const text = deltaSql(found.rows[0]?.log ?? '')
    await client.query(`SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; SET jit = off`)
    const { rows } = await client.query<{ snapshot: string }>('SELECT pg_current_snapshot()::text AS snapshot')
    void (async () => {
      for (let snapshot = rows[0]?.snapshot ?? ''; ; ) {
        const [, xmax, running = ''] = snapshot.split(':')
        const values = [xmax, running === '' ? [] : running.split(',')]
        const delta = await client.query<Row & { readonly snapshot: string }>({ name: 'delta', text, values })
        for (const row of delta.rows) onRow(row)
        snapshot = delta.rows[0]?.snapshot ?? snapshot
        await sleep(delta.rows.length > 0 ? 5 : 1) // As the source does, to leave time to the writers.
      }
    })()
  },
}

async function connected(connectionString: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString })
  await client.connect()
  return client
}
