import { expect, test } from 'vitest'
import { etcdCluster } from '../../adapters/etcd/index.js'
import { memoryDatabase } from '../../adapters/memory/index.js'
import { postgresDatabase } from '../../adapters/postgres/index.js'
import { redisDatabase } from '../../adapters/redis/index.js'
import { type CollectionBatch, isCollection, type SharedHistory } from '../../src/contract/shared-history.js'
import type { ListerWatcher } from '../../src/contract/source.js'
import { describeSharedHistory, type SharedHistorySubject } from '../../testing/index.js'
import { Follower, historyCases } from '../../testing/shared-history-conformance.js'
import { useEtcd } from '../etcd/support.js'
import { useServer } from '../postgres/support.js'
import { userClient } from '../redis/drivers.js'
import { useRedis } from '../redis/support.js'
import { describeEtcd, describePostgres, describeRedis } from '../servers/index.js'

type Write = SharedHistorySubject['write']

/** Collections in memory, whose history may be broken. */
function inMemory(breakIt: (history: SharedHistory) => SharedHistory['watch'] = (of) => (it) => of.watch(it)) {
  const database = memoryDatabase({ heartbeatMs: 20 })
  const inner = [database.collection<string>('a'), database.collection<string>('b')] as const
  if (!isCollection(inner[0])) throw new Error('a collection has a history')
  const history: SharedHistory = { name: 'memory', watch: breakIt(inner[0].history) }
  const broken = (source: ListerWatcher<string>): ListerWatcher<string> => ({ ...source, ...{ history } })
  const write: Write = (changes) => {
    database.commit((tx) => {
      for (const { to, key, value } of changes) tx.put(inner[to], key, value)
    })
  }
  return { sources: [broken(inner[0]), broken(inner[1])] as const, write }
}

await describeSharedHistory('collections in memory', () => inMemory())

describePostgres('tables of Postgres', useServer, async (at) => {
  await describeSharedHistory('of one database', async () => {
    const db = await at.database()
    const tables = ['a', 'b'] as const
    for (const table of tables) {
      await db.sql(`CREATE TABLE ${table} (id text PRIMARY KEY, value text)`)
      await db.install(table)
    }
    const { Client } = await import('pg')
    const database = postgresDatabase({ connect: () => new Client(db.config()), pollIntervalMs: 100 })
    const write: Write = async (changes) => {
      const values = changes.map(
        ({ to, key, value }) => `INSERT INTO ${tables[to]} VALUES ('${key}', '${value}')
          ON CONFLICT (id) DO UPDATE SET value = EXCLUDED.value`,
      )
      await db.sql(['BEGIN', ...values, 'COMMIT'].join('; '))
    }
    return { sources: [database.table({ table: 'a' }), database.table({ table: 'b' })], write }
  })
})

describeEtcd('prefixes of etcd', useEtcd, async (at) => {
  let cases = 0
  await describeSharedHistory('of one cluster', () => {
    const prefixes = [`/a-${++cases}/`, `/z-${cases}/`] as const
    const keyOf = (key: string, to: 0 | 1) => prefixes[to] + key
    const cluster = etcdCluster({ endpoints: at.etcd.endpoint })
    const client = at.etcd.client()
    const write: Write = async (changes) => {
      const success = changes.map(({ to, key, value }) => {
        return { request_put: { key: Buffer.from(keyOf(key, to)), value: Buffer.from(`"${value}"`) } }
      })
      await client.kv.txn({ success })
    }
    const [a, b] = prefixes
    return { sources: [cluster.collection({ prefix: a }), cluster.collection({ prefix: b })], write, keyOf }
  })
})

describeRedis('collections of Redis', useRedis, async (own) => {
  let names = 0
  await describeSharedHistory('of one database', () => {
    const database = redisDatabase({ client: userClient('ioredis 6', own.redis.port), database: `history-${++names}` })
    const sources = [database.collection<string>('a'), database.collection<string>('b')] as const
    const write: Write = (changes) =>
      database.commit((tx) => {
        for (const { to, key, value } of changes) tx.put(sources[to], key, value)
      })
    return { sources, write, dispose: () => database.close() }
  })
})

/** By case: a defect that it finds. */
const defects: readonly (readonly [string, (history: SharedHistory) => SharedHistory['watch']])[] = [
  [
    'a transaction that writes to two collections is in one batch',
    (history) =>
      async function* (context) {
        for await (const { parts, ...batch } of history.watch(context))
          for (const part of parts) yield { ...batch, parts: new Map([part]) }
      },
  ],
  [
    'the first batch brings collections that were listed at different versions to one version',
    (history) => (context) => {
      const [last = ''] = [...context.positions.values()].toReversed()
      return history.watch({ ...context, positions: new Map([...context.positions.keys()].map((key) => [key, last])) })
    },
  ],
  [
    'a watch that is opened again continues from its versions, without a gap',
    (history) => {
      let watches = 0
      return async function* (context) {
        const isFirst = ++watches === 1
        let isMissed = isFirst
        for await (const batch of history.watch(context)) {
          const parts: CollectionBatch['parts'] = isMissed ? batch.parts : new Map()
          isMissed = true
          yield { ...batch, parts }
        }
      }
    },
  ],
]

test.each(defects)('a broken history fails the case: %s', async (name, breakIt) => {
  const subject = inMemory(breakIt)
  const follower = new Follower(subject, 2_000)
  await expect(historyCases.get(name)?.(subject, follower)).rejects.toThrow()
  await follower.close()
})
