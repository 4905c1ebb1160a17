import { expect, test } from 'vitest'
import { startFaultProxy } from '../servers/fault-proxy.js'
import { describePostgres } from '../servers/index.js'
import { waitUntil } from '../servers/wait-until.js'
import { type Database, expectMirrorEqualsTable, mirrorOf, useServer } from './support.js'

const BYTES_PER_SECOND = 1_000_000
const WAIT = { timeoutMs: 60_000 }

describePostgres.concurrent('over a line of 1 MB/s', (postgres) => {
  const at = useServer(postgres)

  test.for<[string, number, number]>([
    ['many rows', 12, 1_000_000],
    ['a large row', 1, 12_000_000],
  ])('[P12] a table with %s is listed at the first attempt, and so is a catch-up', async ([, rows, bytes], context) => {
    const db = await at.database(context.onTestFinished)
    await db.sql('CREATE TABLE t (id int PRIMARY KEY, n int, pad text)')
    await write(db, rows, bytes, 1)
    await db.install('t')
    const proxy = await startFaultProxy({ targetPort: at.server.port })
    context.onTestFinished(() => proxy[Symbol.asyncDispose]())
    proxy.throttle(BYTES_PER_SECOND)
    const mirror = mirrorOf(db, { table: 't', connection: { port: proxy.port } })
    const { informer, errors } = mirror
    informer.start()
    await informer.synced(WAIT)
    await waitUntil('the watch', () => informer.status.state === 'live')
    expect(errors).toEqual([])
    proxy.reset()
    proxy.refuse()
    await write(db, rows, bytes, 2)
    await waitUntil('the break to be noticed', () => errors.length > 0)
    proxy.pass()
    proxy.throttle(BYTES_PER_SECOND)
    await waitUntil('the catch-up', () => informer.list().every((row) => row['n'] === 2))
    const codes = new Set(errors.map(({ message }) => message.replace(/;.*/, '')))
    expect([informer.status.relists, [...codes].filter((each) => /no answer|no data|COPY stalled/.test(each))]).toEqual(
      [0, []],
    )
    proxy.throttle(0)
    await expectMirrorEqualsTable(mirror)
  })
})

/** Nothing is compressed on the connection. */
async function write(db: Database, rows: number, bytes: number, n: number): Promise<void> {
  await db.sql(
    `INSERT INTO t SELECT g, ${n}, repeat('x', ${bytes}) FROM generate_series(1, ${rows}) g ON CONFLICT (id) DO UPDATE SET n = ${n}`,
  )
}
