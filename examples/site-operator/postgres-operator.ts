// The same operator over tables of Postgres: each row of sites has as many rows of workers as it says.
//   psql $DATABASE_URL -f examples/site-operator/schema.sql
//   listwatch pg install $DATABASE_URL --table sites; listwatch pg install $DATABASE_URL --table workers
//   listwatch pg install-leases $DATABASE_URL
//   DATABASE_URL=postgres://… node examples/site-operator/postgres-operator.ts
import { once } from 'node:events'
import { createInformer, groupInformers, type ReconcileContext } from 'listwatch'
import { postgresLeases, postgresSource } from 'listwatch/postgres'
import pg from 'pg'

type Site = { name: string; page: string; workers: number; deleted: boolean; running: number }
type Worker = { site: string; n: number; page: string }

const connectionString = process.env['DATABASE_URL']
const connect = () => new pg.Client({ connectionString })
const pool = new pg.Pool({ connectionString })
pool.on('error', (error) => console.warn(error.message)) // An idle connection broke; the pool makes another.
const leasePool = new pg.Pool({ connectionString, max: 2 }) // Runs that wait for connections must not delay renewals.
leasePool.on('error', (error) => console.warn(error.message))

const sites = createInformer({ source: postgresSource<Site>({ connect, table: 'sites' }) })
const workers = createInformer({ source: postgresSource<Worker>({ connect, table: 'workers' }) })

async function reconcile(key: string, { object, lastObject, fence, signal }: ReconcileContext<Site>): Promise<void> {
  const { name, page = '' } = object ?? lastObject ?? {}
  if (name === undefined) return
  const isGone = object === undefined || object.deleted
  const count = isGone ? 0 : object.workers
  const tx = await pool.connect()
  try {
    await tx.query('BEGIN')
    // A replica that was paused has a smaller fence than the next owner of the site. The row is locked until the commit.
    const { rowCount } = await tx.query(
      'INSERT INTO fences AS old VALUES ($1, $2) ON CONFLICT (site) DO UPDATE SET fence = $2 WHERE old.fence <= $2',
      [name, fence],
    )
    if (rowCount === 0) throw new Error(`a later owner has written ${name}`)
    await tx.query(
      `INSERT INTO workers SELECT $1, n, $3 FROM generate_series(0, $2::int - 1) n
       ON CONFLICT (site, n) DO UPDATE SET page = $3 WHERE workers.page <> $3`,
      [name, count, page],
    )
    await tx.query('DELETE FROM workers WHERE site = $1 AND n >= $2', [name, count])
    if (isGone) await tx.query('DELETE FROM sites WHERE name = $1 AND deleted', [name])
    else await tx.query('UPDATE sites SET running = $2 WHERE name = $1 AND running <> $2', [name, count])
    signal.throwIfAborted()
    await tx.query('COMMIT')
  } catch (error) {
    await tx.query('ROLLBACK').catch(() => {}) // The connection may be lost.
    throw error
  } finally {
    tx.release()
  }
  console.log(`${key}: ${isGone ? 'gone' : `${count} workers`}`)
}

sites.reconcile(reconcile, {
  concurrency: 4,
  timeoutMs: 30_000,
  watches: [{ informer: workers, keys: ({ site }) => [site] }],
  leases: postgresLeases({
    pool: leasePool,
    group: 'site-operator',
    leaseMs: Number(process.env['LEASE_MS'] ?? 10_000),
  }),
})
for (const informer of [sites, workers]) informer.on('error', ({ message }) => console.warn(message))
const group = groupInformers([sites, workers]).start()
await group.synced()
console.log('ready')
await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')])
await group.stop({ drainMs: 5_000 })
await Promise.all([pool.end(), leasePool.end()])
