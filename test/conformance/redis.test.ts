import { redisCollectionSource, redisDatabase, redisWriter } from '../../adapters/redis/index.js'
import type { ListerWatcher } from '../../src/contract/source.js'
import { type ConformanceChange, describeListerWatcher, type ListerWatcherHarness } from '../../testing/index.js'
import { type DriverName, driverNames, userClient } from '../redis/drivers.js'
import { useRedis } from '../redis/support.js'
import { describeRedis } from '../servers/index.js'
import type { RedisServer } from '../servers/redis.js'
import { drawn } from '../support/draw.js'
import { behindProxy } from './behind-proxy.js'

type Item = { readonly value: string }

/** What differs between a collection of its own and one of a database. */
interface Form {
  /** What the names of its keys end with. */
  readonly history: readonly [log: string, position: string]
  source(port: number): ListerWatcher<Item>
  writer(port: number): {
    write(changes: readonly ConformanceChange[]): Promise<string>
    /** Writes a value that is not JSON. */
    corrupt(key: string): Promise<unknown>
    close(): Promise<void>
  }
}

type FormOf = (driver: DriverName, name: string, heartbeatMs: number) => Form

const collectionForm: FormOf = (driver, name, heartbeatMs) => ({
  history: ['s', 'm'],
  source: (port) => redisCollectionSource<Item>({ client: userClient(driver, port), collection: name, heartbeatMs }),
  writer: (port) => {
    const client = userClient(driver, port)
    const writer = redisWriter<Item>({ client, collection: name })
    const raw = redisWriter<string>({ client, collection: name, codec: 'string' })
    return {
      write: (changes) =>
        writer.apply(
          changes.map(({ key, value }) => (value === undefined ? { delete: key } : { put: key, object: { value } })),
        ),
      corrupt: (key) => raw.apply([{ put: key, object: '{' }]),
      close: async () => {
        await writer.close()
        await raw.close()
      },
    }
  },
})

const databaseForm: FormOf = (driver, name, heartbeatMs) => ({
  history: ['log', 'meta'],
  source: (port) =>
    redisDatabase({ client: userClient(driver, port), database: name, heartbeatMs }).collection<Item>('items'),
  writer: (port) => {
    const client = userClient(driver, port)
    const database = redisDatabase({ client, database: name })
    const [items, others] = [database.collection<Item>('items'), database.collection<Item>('others')]
    const raw = redisDatabase({ client, database: name })
    const texts = raw.collection<string>('items', { codec: 'string' })
    return {
      write: (changes) =>
        database.commit((tx) => {
          tx.put(others, 'other', { value: 'of another collection' })
          for (const { key, value } of changes) {
            if (value === undefined) tx.delete(items, key)
            else tx.put(items, key, { value })
          }
        }),
      corrupt: (key) => raw.commit((tx) => tx.put(texts, key, '{')),
      close: async () => {
        await database.close()
        await raw.close()
      },
    }
  },
})

/** A collection of its own for each case. */
function harness(own: { readonly redis: RedisServer }, driver: DriverName, formOf: FormOf): ListerWatcherHarness<Item> {
  let cases = 0
  return {
    unsupported: {
      openTransactions: 'an apply is one script',
      versions: 'a field of a hash has no version',
      progressRequests: 'every commit is delivered at once, so a progress request has no effect',
    },
    async create({ heartbeatMs }) {
      const { redis } = own
      const name = `${formOf.name} ${driver} ${++cases}`
      const [port, proxied] = await behindProxy(redis.port)
      const form = formOf(driver, name, heartbeatMs)
      const writer = form.writer(redis.port)
      const [log, position] = form.history.map((part) => `{${name}}:${part}`)
      const admin = redis.client()
      return {
        source: form.source(port),
        read: ({ value }) => value,
        refuses: (key) => (key.isWellFormed() ? undefined : 'its unpaired surrogate is not UTF-8'),
        write: (changes) => writer.write(changes),
        compact: async () => void (await admin.xtrim(String(log), 'MAXLEN', 0)),
        restore: async () => {
          await admin.del(String(log), String(position))
          await writer.write([])
        },
        corrupt: async (key) => void (await writer.corrupt(key)),
        ...proxied,
        dispose: async () => {
          await writer.close()
          await proxied.dispose()
        },
      }
    },
  }
}

describeRedis('a collection of Redis', useRedis, async (own) => {
  const forms = [
    ...driverNames.map((driver) => [driver, collectionForm] as const),
    ['ioredis 6', databaseForm] as const,
  ]
  for (const [driver, form] of drawn(forms, 'form'))
    await describeListerWatcher(form === databaseForm ? 'of a database' : `with ${driver}`, harness(own, driver, form))
})
