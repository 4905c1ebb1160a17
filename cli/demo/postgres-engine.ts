import type pg from 'pg'
import { installChangeLog, postgresSource } from '../../adapters/postgres/index.js'
import { messageOf } from '../../src/contract/errors.js'
import { systemRandom } from '../../src/contract/random.js'
import { startPostgres } from '../../tools/postgres/postgres-server.js'
import { CliError } from '../output/cli-error.js'
import { withPg } from '../sources/pg-client.js'
import type { Row } from '../sources/source-types.js'
import { type DemoPackages, demoPackages } from './demo-packages.js'
import { type DemoEngine, DemoWriter, type Order, type WriterConnection } from './demo-writer.js'

const MIRROR = 'listwatch-demo-mirror'

const TABLE_SQL = `CREATE TABLE orders (
  id         bigint      PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
  tenant     text        NOT NULL,
  status     text        NOT NULL,
  cents      integer     NOT NULL,
  updated_at timestamptz NOT NULL
)`

/**
 * Starts a Postgres server, or creates a database on the server of the URL. `say` is called with what it does, `warn`
 * with what it downloads. Rejects with a CliError, or with the signal's reason if it aborts.
 */
export async function postgresEngine(
  url: string | undefined,
  say: (line: string) => void,
  warn: (line: string) => void,
  signal: AbortSignal,
): Promise<DemoEngine> {
  const packages = await demoPackages(url !== undefined, warn, signal)
  say(url === undefined ? 'starting a Postgres server …' : 'creating a database on the server …')
  const server = await (url === undefined ? startServer(packages, signal) : createDatabase(url, packages))
  const clientFor = (application_name: string): pg.Client => {
    const client = new packages.driver.Client({ connectionString: server.url, application_name })
    return client.on('error', () => {}) // The pending query rejects with the same error.
  }
  const [control, writing] = [clientFor('listwatch-demo-control'), clientFor('listwatch-demo-writer')]
  const connection: WriterConnection<Date> = {
    run: (sql, values = []) => writing.query(sql, values),
    timeOf: (ms) => new Date(ms),
  }
  const engine = { transactions: 0 }
  const writer = new DemoWriter(connection, () => engine.transactions++)
  return Object.assign(engine, {
    victim: 'connection' as const,
    source: postgresSource<Order>({ connect: () => clientFor(MIRROR), table: 'orders' }),
    async open() {
      await Promise.all([control.connect(), writing.connect()])
      await control.query(TABLE_SQL)
      await writer.fillTable()
      await installChangeLog(control, { table: 'orders' })
    },
    startWriter: () => writer.start(),
    stopWriter: () => writer.stop(),
    async kill() {
      const sql =
        'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1 AND datname = current_database()'
      await control.query(sql, [MIRROR])
    },
    rows: async () => (await control.query<Row>('SELECT * FROM orders')).rows,
    async close() {
      try {
        await Promise.all([control.end(), writing.end()])
      } finally {
        await server.stop()
      }
    },
  })
}

interface DemoServer {
  readonly url: string
  stop(): Promise<void>
}

const MAY_CREATE = 'SELECT 1 FROM pg_roles WHERE rolname = current_user AND (rolsuper OR rolcreatedb)'

/** Starts a Postgres server with an empty database. Rejects with a CliError, or with the signal's reason if it aborts. */
async function startServer({ binDir }: DemoPackages, signal: AbortSignal): Promise<DemoServer> {
  try {
    return await startPostgres({ binDir, settings: { synchronous_commit: 'off' }, signal })
  } catch (error) {
    signal.throwIfAborted()
    throw new CliError(messageOf(error))
  }
}

/** Creates an empty database on the user's server, whose URL has been checked. The demo then cannot touch the user's tables. */
async function createDatabase(given: string, { driver }: DemoPackages): Promise<DemoServer> {
  const name = `listwatch_demo_${Math.floor(systemRandom.next() * 2 ** 32).toString(36)}`
  const url = new URL(given)
  const target = { url: url.href }
  const create = async (client: pg.Client): Promise<void> => {
    const { rowCount } = await client.query(MAY_CREATE)
    if (rowCount === 0) throw new CliError('the user of the URL may not create a database; run: ALTER ROLE … CREATEDB')
    await client.query(`CREATE DATABASE ${name}`)
  }
  await withPg(target, create, driver)
  url.pathname = `/${name}`
  const drop = `DROP DATABASE ${name} WITH (FORCE)`
  return { url: url.href, stop: async () => void (await withPg(target, (client) => client.query(drop), driver)) }
}
