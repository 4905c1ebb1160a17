import { Client, Pool } from 'pg'
import { afterAll, beforeAll } from 'vitest'
import { installLeases, postgresLeases } from '../../../adapters/postgres/index.js'
import { leasesConformance } from '../../../testing/index.js'
import { Database, useServer } from '../../postgres/support.js'
import { describePostgres, describeServer, postgresVersions } from '../../servers/index.js'
import { Pgbouncer } from '../../servers/pgbouncer.js'

describePostgres('leases in Postgres', useServer, async (at) => {
  const pools: Pool[] = []
  let database: Database
  beforeAll(async () => (database = await installed(at.server.port)))
  afterAll(() => Promise.all(pools.map((pool) => pool.end())))
  await leasesConformance('with a pool', {
    create: (group) => {
      const pool = pools[0] ?? new Pool(database.config())
      pools[0] = pool
      const connect = () => new Client(database.config())
      return postgresLeases({ pool, group: `test:${group}`, leaseMs: 5_000, connect })
    },
  })
})

const [postgres] = await postgresVersions()

describeServer('pgbouncer', 'leases in Postgres behind a pooler', async () => {
  if (postgres === undefined) throw new Error('there is no Postgres here: run npm run servers')
  const at = useServer(postgres)
  let pooler: Pgbouncer
  let pool: Pool
  beforeAll(async () => {
    const database = await installed(at.server.port)
    pooler = await Pgbouncer.start({ targetPort: at.server.port, poolMode: 'transaction', poolSize: 3 })
    pool = new Pool({ ...database.config(), port: pooler.port })
  })
  afterAll(async () => {
    await pool.end()
    await pooler[Symbol.asyncDispose]()
  })
  await leasesConformance('of transactions', {
    create: (group) => postgresLeases({ pool, group, leaseMs: 5_000 }),
    withoutHints: 'behind a pooler nothing can listen',
  })
})

async function installed(port: number): Promise<Database> {
  const database = new Database('postgres', port)
  const client = new Client(database.config())
  await client.connect()
  await installLeases(client)
  await client.end()
  return database
}
