import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type PostgresServer, startPostgres } from '../../tools/postgres/postgres-server.js'
import { describePostgres } from '../servers/index.js'
import { waitUntil } from '../servers/wait-until.js'
import { fastClock } from '../support/clocks.js'
import { interrupted } from './interrupted.js'
import { NOTICE_MS, Stage, TIMEOUT_MS } from './stage.js'

const SPEED = 8
const quick = { pollIntervalMs: 500, timeoutMs: TIMEOUT_MS * SPEED }

describePostgres('a connection that fails', ({ binDir, env }) => {
  let server: PostgresServer
  beforeAll(async () => {
    const settings = { fsync: 'off', synchronous_commit: 'off', max_connections: '300' }
    server = await startPostgres({ binDir, env, settings })
  })
  afterAll(() => server.stop('immediate'))

  describe.concurrent('half open', () => {
    test('is noticed while nothing happens, and the watch resumes', () =>
      Stage.live({ server }, async (stage) => {
        stage.proxy.halfOpen()
        await stage.query(`UPDATE items SET n = 1 WHERE id = 1`)
        expect(await stage.noticed()).toBeLessThan(NOTICE_MS)
        await stage.healed()
        expect([stage.relists, stage.reconnects, stage.errors.length]).toEqual([0, 1, 1])
      }))

    test('is noticed in the middle of a list, which is read again', () =>
      Stage.with({ server, rows: 12_000, rowLength: 1_000 }, async (stage) => {
        stage.proxy.delay(100)
        stage.informer.start()
        await stage.copying()
        stage.proxy.halfOpen()
        stage.proxy.delay(0)
        expect(await stage.noticed()).toBeLessThan(NOTICE_MS)
        await stage.healed()
        expect([stage.relists, stage.reconnects, stage.errors.length]).toEqual([0, 0, 1])
      }))

    test('is noticed in the middle of a list even if no other connection can be opened', () =>
      Stage.with({ server, rows: 12_000, rowLength: 1_000 }, async (stage) => {
        stage.proxy.delay(100)
        stage.informer.start()
        await stage.copying()
        stage.proxy.halfOpen({ newConnections: true })
        // One time-out for the list, one more for the connection that checks it.
        expect(await stage.noticed()).toBeLessThan(TIMEOUT_MS + NOTICE_MS)
        stage.proxy.pass()
        await stage.healedAfter(0)
      }))

    test('is noticed while connecting', () =>
      Stage.with({ server }, async (stage) => {
        stage.proxy.halfOpen({ newConnections: true })
        stage.informer.start()
        expect(await stage.noticed()).toBeLessThan(NOTICE_MS)
        stage.proxy.pass()
        await stage.healedAfter(0)
      }))
  })

  describe.concurrent('a network that is down', () => {
    test('for longer is tried once in each time-out, and the watch resumes', () =>
      Stage.live({ server }, async (stage) => {
        stage.load()
        const { connects } = stage
        stage.proxy.hold()
        await sleep(9_000)
        const tries = stage.connects - connects
        expect(tries).toBeGreaterThanOrEqual(2)
        expect(tries).toBeLessThanOrEqual(4)
        stage.proxy.pass()
        await stage.healedAfter(0)
      }))

    test('with a latency of 200 ms each way causes no error', () =>
      Stage.with({ server }, async (stage) => {
        stage.proxy.delay(200)
        await stage.live(30_000)
        stage.load()
        await sleep(3_000)
        await stage.healed()
        expect([stage.relists, stage.reconnects, stage.errors.length]).toEqual([0, 0, 0])
      }))
  })

  describe.concurrent('reset', () => {
    test('after some bytes of a list: the list is read again', () =>
      Stage.with({ server, rows: 20_000, rowLength: 100, clock: fastClock(SPEED), source: quick }, async (stage) => {
        const cuts = [1, 30, 400, 2_000, 10_000, 70_000, 500_000, 2_000_000]
        for (const [at, bytes] of cuts.entries()) {
          const cut = stage.proxy.cutAfter(bytes, 'toClient')
          stage.informer.start()
          await cut
          await waitUntil('the error', () => stage.errors.length === at + 1)
        }
        await stage.healed()
        expect([stage.relists, stage.connects]).toEqual([0, cuts.length + 2])
        expect(stage.states).not.toContain('failed')
      }))

    test('after some bytes of a delta: the watch resumes', () =>
      Stage.with({ server, rows: 3_000, rowLength: 100, clock: fastClock(SPEED), source: quick }, async (stage) => {
        const cuts = [1, 7, 100, 1_000, 20_000, 150_000, 300_000]
        for (const bytes of cuts) {
          await stage.live()
          const { reconnects } = stage
          const cut = stage.proxy.cutAfter(bytes, 'toClient')
          await stage.query(`UPDATE items SET n = n + ${bytes}`)
          await cut
          await waitUntil('the watch to be opened again', () => stage.reconnects > reconnects)
        }
        await stage.healedAfter(0)
        expect(stage.reconnects).toBeGreaterThanOrEqual(cuts.length)
        expect(stage.states).not.toContain('failed')
      }))

    test('after some bytes of a request: the request is sent again', () =>
      Stage.with({ server, clock: fastClock(SPEED), source: { ...quick, sql: 'n >= 0' } }, async (stage) => {
        for (const [at, bytes] of [1, 50, 300, 1_000, 1_600, 2_500, 4_000, 6_000, 8_000].entries()) {
          const cut = stage.proxy.cutAfter(bytes, 'toServer')
          stage.informer.start()
          await cut
          await waitUntil('the error', () => stage.errors.length === at + 1)
        }
        await stage.live()
        await stage.healedAfter(0)
        expect(stage.states).not.toContain('failed')
      }))

    test('30 times in 10 s, it connects about once a second', () =>
      Stage.live({ server }, async (stage) => {
        stage.load()
        const { connects } = stage
        for (let n = 0; n < 30; n++) {
          stage.proxy.reset()
          await sleep(333)
        }
        expect(stage.connects - connects).toBeLessThanOrEqual(12)
        await stage.healed(40_000)
        expect(stage.relists).toBe(0)
      }))

    test('[R12] a wait right after a killed connection: the first reconnect comes at once', () =>
      Stage.live({ server }, async (stage) => {
        const delays: (number | undefined)[] = []
        stage.informer.on('error', () => delays.push(stage.informer.status.retryInMs))
        const mark = await stage.ask(async (client) => {
          await client.query(
            `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${stage.database}' AND application_name = 'mirror'`,
          )
          await client.query('BEGIN; UPDATE items SET n = 7 WHERE id = 1')
          const taken = await stage.source.mark(client)
          await client.query('COMMIT')
          return taken
        })
        await stage.informer.waitFor(mark, { timeoutMs: 10_000 })
        expect(stage.informer.get('1')).toMatchObject({ n: 7 })
        expect(delays).toEqual([expect.any(Number)])
        expect(delays[0]).toBeLessThanOrEqual(200)
      }))

    test('refused for 3 s, it tries less and less often', () =>
      Stage.live({ server }, async (stage) => {
        stage.load()
        stage.proxy.reset()
        stage.proxy.refuse()
        await sleep(3_000)
        const { refused } = stage.proxy.counts
        expect(refused).toBeGreaterThanOrEqual(1)
        expect(refused).toBeLessThanOrEqual(5)
        stage.proxy.pass()
        await stage.healedAfter(0)
      }))
  })

  describe.concurrent('[I15] a stop within a second', () => {
    test('while a list is held up', () =>
      Stage.with({ server, rows: 12_000, rowLength: 1_000 }, async (stage) => {
        stage.proxy.delay(100)
        stage.informer.start()
        await stage.copying()
        stage.proxy.hold()
      }))

    test('while it connects to a silent server', () =>
      Stage.with({ server }, async (stage) => {
        stage.proxy.halfOpen({ newConnections: true })
        stage.informer.start()
        await waitUntil('the connection', () => stage.proxy.counts.open === 1)
      }))

    test('while a delta is held up', () =>
      Stage.live({ server }, async (stage) => {
        stage.proxy.hold()
        stage.load()
        await sleep(700)
      }))

    test('while the watch is half open', () =>
      Stage.live({ server }, async (stage) => {
        stage.proxy.halfOpen()
        await sleep(700)
      }))

    test('while it waits to try again', () =>
      Stage.live({ server }, async (stage) => {
        stage.proxy.reset()
        stage.proxy.refuse()
        await waitUntil('the wait', () => stage.state === 'backing-off')
      }))

    test('while the client is still being made; none is connected later', () => {
      const made = Promise.withResolvers<void>()
      return Stage.with(
        {
          server,
          client: async (config) => {
            await made.promise
            return new Client(config)
          },
        },
        async (stage) => {
          stage.informer.start()
          await waitUntil('the option connect to be called', () => stage.connects === 1)
          await stage.informer.stop()
          made.resolve()
          await sleep(300)
          expect(stage.proxy.counts.accepted).toBe(0)
        },
      )
    })
  })

  describe.concurrent('the condition of a mirror', () => {
    test('is not to blame for a connection that breaks while it is checked', () => {
      let isReset = false
      return Stage.with(
        {
          server,
          source: { sql: 'n >= 0' },
          client: (config, stage) =>
            interrupted(config, (text) => {
              if (isReset || !text.includes('listwatch_where')) return
              isReset = true
              stage.proxy.reset()
            }),
        },
        async (stage) => {
          await stage.live()
          expect(isReset).toBe(true)
          expect(stage.errors.map(({ code }) => code)).toEqual(['UNAVAILABLE'])
        },
      )
    })
  })
})
