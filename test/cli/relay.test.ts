import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import type { PostgresSource } from '../../adapters/postgres/index.js'
import { redisRelayStore } from '../../adapters/redis/index.js'
import { relaySource } from '../../serving/relay/index.js'
import { createInformer, type Informer, type SourceError } from '../../src/index.js'
import { SeededRandom } from '../../testing/seeded-random.js'
import { type Database, useServer } from '../postgres/support.js'
import { userClient } from '../redis/drivers.js'
import { useRedis } from '../redis/support.js'
import { describeServer } from '../servers/index.js'
import { RedisServer } from '../servers/redis.js'
import { waitUntil } from '../servers/wait-until.js'
import type { Child } from '../support/child.js'
import { expectEnd, listwatch, refusalOf, urlOf } from './support.js'

type Pair = { readonly id: string; readonly n: string }

interface Follower {
  readonly rows: Informer<Pair>
  readonly errors: SourceError[]
  /** States in which the rows of one transaction differ. */
  readonly torn: string[]
}

const SEED = Number(process.env['LISTWATCH_RELAY_SEED'] ?? 1)

function followerOf(db: Database, redis: RedisServer, name: string, upstream: PostgresSource<Pair>): Follower {
  const store = redisRelayStore({ client: userClient('ioredis 6', redis.port), relay: name, heartbeatMs: 300 })
  const rows = createInformer({ source: relaySource<Pair>({ store, upstream }), random: { next: () => 0 } })
  const errors: SourceError[] = []
  const torn: string[] = []
  rows.on('error', (error) => errors.push(error))
  // Each transaction writes the same number to the rows "a" and "b".
  const look = (): void => {
    const [a, b] = [rows.get('a')?.n, rows.get('b')?.n]
    if (a !== b) torn.push(`${a} ${b}`)
  }
  rows.subscribe({ add: look, update: look, delete: look })
  rows.start()
  db.atEnd(() => rows.stop())
  return { rows, errors, torn }
}

/** A table with the rows "a" and "b", and a function that writes both in one transaction and returns its mark. */
async function tableIn(db: Database): Promise<{ source: PostgresSource<Pair>; write: (n: number) => Promise<string> }> {
  await db.sql(`CREATE TABLE pairs (id text PRIMARY KEY, n text); INSERT INTO pairs VALUES ('a', '0'), ('b', '0')`)
  await db.install('pairs')
  const source = db.source<Pair>({ table: 'pairs' })
  const client = await db.connect()
  const write = async (n: number): Promise<string> => {
    await client.query('BEGIN')
    const mark = await source.mark(client)
    await client.query(`UPDATE pairs SET n = $1 WHERE id IN ('a', 'b')`, [String(n)])
    if (n % 3 === 0) await client.query('INSERT INTO pairs VALUES ($1, $2)', [`x${n}`, String(n)])
    if (n % 6 === 0) await client.query('DELETE FROM pairs WHERE id = $1', [`x${n - 3}`])
    await client.query('COMMIT')
    return mark
  }
  return { source, write }
}

async function contentOf(db: Database): Promise<Record<string, unknown>> {
  const rows = await db.sql('SELECT id, n FROM pairs ORDER BY id')
  return Object.fromEntries(rows.map(({ id, n }) => [String(id), n]))
}

function stored({ rows }: Follower): Record<string, unknown> {
  return Object.fromEntries(
    Array.from(rows.entries(), ([id, { n }]) => [id, n] as const).sort(([a], [b]) => (a < b ? -1 : 1)),
  )
}

const isLive = (child: Child): boolean => child.lines.some((line) => line.includes('"state":"live"'))
const live = (child: Child): Promise<void> => waitUntil('the relay to be live', () => isLive(child), 30_000)

describe('a relay of a table behind Redis', () => {
  describeServer('postgres 18', 'with Postgres', useServer, (at) => {
    describeServer('redis 7.0', 'and Redis', useRedis, (own, found) => {
      const relay = (db: Database, name: string, redis = own.redis): Child =>
        listwatch(['relay', urlOf(db), '--table', 'pairs', '--to', redis.url, '--as', name], {
          onTestFinished: db.atEnd,
        })

      test.concurrent('[Y2] prints its status as NDJSON, passes on marks, and writes pending changes before it ends', async (context) => {
        const db = await at.database(context.onTestFinished)
        const { source, write } = await tableIn(db)
        const child = relay(db, 'status')
        await live(child)
        const follower = followerOf(db, own.redis, 'status', source)
        await follower.rows.synced({ timeoutMs: 10_000 })
        for (let n = 1; n <= 20; n++) {
          await follower.rows.waitFor(await write(n), { timeoutMs: 10_000 })
          expect(follower.rows.get('a')?.n).toBe(String(n))
        }
        const mark = await write(21)
        await expectEnd(child, 'SIGINT')
        const lines = child.lines.map((line) => JSON.parse(line))
        expect(lines.at(-1)).toMatchObject({ type: 'status', state: 'stopped', backlog: { keys: 0 } })
        expect(new Set(lines.map(({ type }) => type))).toEqual(new Set(['status']))
        // A relay that starts again continues.
        const second = relay(db, 'status')
        await follower.rows.waitFor(mark, { timeoutMs: 20_000 })
        expect([stored(follower), follower.rows.status.relists, follower.torn]).toEqual([await contentOf(db), 0, []])
        const watch = listwatch(['watch', own.redis.url, '--relay', 'status', '--json'], context)
        await watch.until(() => watch.lines.some((line) => line.includes('"synced"')), 'the first list')
        expect(watch.lines.map((line) => JSON.parse(line).object?.id)).toContain('a')
        for (const each of [watch, second]) each.kill('SIGTERM')
        await Promise.all([watch.ended, second.ended])
      })

      test.concurrent('[Y4] killed at random moments, two at once: followers list once, and see whole transactions', async (context) => {
        const random = new SeededRandom(SEED)
        const db = await at.database(context.onTestFinished)
        const { source, write } = await tableIn(db)
        let relays = [relay(db, 'killed'), relay(db, 'killed')]
        await waitUntil('a relay to be live', () => relays.some(isLive), 60_000)
        const followers = [1, 2].map(() => followerOf(db, own.redis, 'killed', source))
        for (const { rows } of followers) await rows.synced({ timeoutMs: 20_000 })
        let isOver = false
        let mark = ''
        const writing = (async (): Promise<void> => {
          for (let n = 1; !isOver; n++) {
            mark = await write(n)
            await sleep(random.below(20))
          }
        })()
        for (let kills = 0; kills < 6; kills++) {
          await sleep(500 + random.below(4_000))
          const at = random.below(2)
          const killed = relays[at]
          killed?.kill('SIGKILL')
          await killed?.ended
          relays = relays.map((each, i) => (i === at ? relay(db, 'killed') : each))
        }
        isOver = true
        await writing
        for (const follower of followers) {
          await follower.rows.waitFor(mark, { timeoutMs: 60_000 }).catch((error: unknown) => {
            throw new Error(relays.map(({ output, errors }) => `${output}\n${errors}`).join('\n'), { cause: error })
          })
          expect(stored(follower), `seed ${SEED}`).toEqual(await contentOf(db))
          expect([follower.torn, follower.rows.status.relists]).toEqual([[], 0])
          expect(follower.errors.map(({ message }) => message)).toEqual([])
        }
        for (const child of relays) child.kill('SIGINT')
        await Promise.all(relays.map(({ ended }) => ended))
      })

      test('[Y8] Redis restarts, loses writes and is flushed: followers see another epoch, and then the table', async () => {
        await using redis = await RedisServer.start({ server: found, isDurable: true })
        const db = await at.database()
        const { source, write } = await tableIn(db)
        const child = relay(db, 'lost', redis)
        await live(child)
        const follower = followerOf(db, redis, 'lost', source)
        await follower.rows.synced({ timeoutMs: 10_000 })
        const current = async (mark: string): Promise<void> => {
          await waitUntil(
            'the follower to have the table',
            async () => JSON.stringify(stored(follower)) === JSON.stringify(await contentOf(db)),
            60_000,
          )
          await follower.rows.waitFor(mark, { timeoutMs: 60_000 })
        }
        await follower.rows.waitFor(await write(1), { timeoutMs: 10_000 })
        await redis.kill()
        const restarted = await write(2)
        await redis.start()
        await current(restarted)
        const { relists } = follower.rows.status
        const length = await redis.written()
        for (let n = 3; n <= 6; n++) await follower.rows.waitFor(await write(n), { timeoutMs: 10_000 })
        await redis.cutTo(length)
        await redis.start()
        await current(await write(7))
        expect(follower.rows.status.relists).toBeGreaterThan(relists)
        const before = follower.rows.status.relists
        await redis.client().flushall()
        await current(await write(8))
        expect(follower.rows.status.relists).toBeGreaterThan(before)
        expect(follower.errors.map(({ code }) => code)).toContain('EPOCH_CHANGED')
        expect(follower.torn).toEqual([])
        child.kill('SIGINT')
        await child.ended
      })

      test('wrong options are refused', async () => {
        const db = await at.database()
        const refused = (...args: string[]): Promise<string> => refusalOf(listwatch(['relay', ...args]))
        expect(await refused(urlOf(db), '--table', 'pairs')).toContain("required option '--to <url>' not specified")
        const to = ['--to', own.redis.url]
        expect(await refused(urlOf(db), '--table', 'no', ...to)).toContain('"no"')
        expect(await refused(urlOf(db), '--table', 'pairs', '--to', 'mysql://a')).toContain('--to must name an engine')
        expect(await refused(urlOf(db), '--table', 'pairs', ...to, '--as', '{a}')).toContain('without { and }')
        expect(await refused(urlOf(db), '--table', 'pairs', ...to, '--retention', 'x')).toContain('a whole number')
        expect(await refusalOf(listwatch(['watch', own.redis.url, '--relay', 'a', '--codec', 'json']))).toContain(
          '--codec',
        )
      })
    })
  })
})
