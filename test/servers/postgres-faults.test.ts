import { Client } from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { type PostgresServer, startPostgres } from '../../tools/postgres/postgres-server.js'
import { type FaultProxy, startFaultProxy } from './fault-proxy.js'
import { describeServer } from './index.js'
import { startPgbouncer } from './pgbouncer.js'
import { waitUntil } from './wait-until.js'

describeServer('postgres 18', 'through the fault proxy', () => {
  let server: PostgresServer
  let proxy: FaultProxy
  let near: Client
  let far: Client

  beforeAll(async () => {
    server = await startPostgres({ settings: { fsync: 'off' } })
  })
  afterAll(() => server.stop('immediate'))

  /** `near` speaks to the server, `far` through the proxy. */
  beforeEach(async () => {
    proxy = await startFaultProxy({ targetPort: server.port })
    near = await connected(server.port)
    far = await connected(proxy.port)
  })
  afterEach(async () => {
    await near.end()
    await proxy[Symbol.asyncDispose]()
  })

  test('what was notified while the network was down arrives when it is up again, all of it and in order', async () => {
    const heard = { near: notes(near), far: notes(far) }
    await near.query('LISTEN changes')
    await far.query('LISTEN changes')
    proxy.hold()
    for (let n = 0; n < 20; n++) await near.query(`NOTIFY changes, '${n}'`)
    await waitUntil('the notes, here', () => heard.near.length === 20)
    expect(heard.far).toEqual([])
    proxy.pass()
    await waitUntil('the notes, there', () => heard.far.length === 20)
    expect(heard.far).toEqual(heard.near)
  })

  test('a query on a half-open connection gets no answer and no error, and later connections work', async () => {
    const pid = await backend(far)
    proxy.halfOpen()
    let isSettled = false
    const settle = (): void => {
      isSettled = true
    }
    far.query('SELECT 1').then(settle, settle)
    await waitUntil('the server to notice', async () => {
      const { rowCount } = await near.query('SELECT FROM pg_stat_activity WHERE pid = $1', [pid])
      return rowCount === 0
    })
    const next = await connected(proxy.port)
    expect(await backend(next)).not.toBe(pid)
    expect(isSettled).toBe(false)
  })

  test('a reset fails the query under way', async () => {
    const pid = await backend(far)
    const query = far.query('SELECT pg_sleep(60)')
    await waitUntil('the query to run', async () => {
      const { rows } = await near.query('SELECT state FROM pg_stat_activity WHERE pid = $1', [pid])
      return rows[0]?.state === 'active'
    })
    proxy.reset()
    await expect(query).rejects.toMatchObject({ code: 'ECONNRESET' })
  })

  test('a result cut off in its middle fails the query, and one that is chopped is whole', async () => {
    const text = `SELECT repeat('x', 200000) AS x`
    proxy.chop(1000)
    const { rows } = await far.query(text)
    expect(rows[0].x.length).toBe(200_000)
    proxy.pass()
    const cut = proxy.cutAfter(100_000, 'toClient')
    await expect(far.query(text)).rejects.toMatchObject({ code: 'ECONNRESET' })
    await cut
  })
})

describeServer('pgbouncer', 'behind a pooler', () => {
  let server: PostgresServer
  beforeAll(async () => {
    server = await startPostgres({ settings: { fsync: 'off' } })
  })
  afterAll(() => server.stop('immediate'))

  test('two clients share one server connection, and are not told its real process id', async () => {
    await using pooler = await startPgbouncer({ targetPort: server.port, poolMode: 'transaction', poolSize: 1 })
    const [one, two] = [await connected(pooler.port), await connected(pooler.port)]
    const pids = [await backend(one), await backend(two)]
    await one.end()
    await two.end()
    expect(pids[0]).toBe(pids[1])
    expect(processIdOf(one)).not.toBe(pids[0])
  })

  test('a session pooler has one connection for each client', async () => {
    await using pooler = await startPgbouncer({ targetPort: server.port, poolMode: 'session' })
    const [one, two] = [await connected(pooler.port), await connected(pooler.port)]
    expect(await backend(one)).not.toBe(await backend(two))
    await one.end()
    await two.end()
  })
})

async function connected(port: number): Promise<Client> {
  const client = new Client({ host: '127.0.0.1', port, user: 'postgres', database: 'postgres' })
  client.on('error', () => {})
  await client.connect()
  return client
}

async function backend(client: Client): Promise<number> {
  const { rows } = await client.query('SELECT pg_backend_pid() AS pid')
  return rows[0].pid
}

/** What the server, or the pooler, said at the start. */
function processIdOf(client: Client): unknown {
  return 'processID' in client ? client.processID : undefined
}

function notes(client: Client): (string | undefined)[] {
  const heard: (string | undefined)[] = []
  client.on('notification', ({ payload }) => heard.push(payload))
  return heard
}
