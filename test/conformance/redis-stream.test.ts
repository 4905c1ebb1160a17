import { Redis } from 'ioredis'
import { redisStreamSource, type StreamChange, type StreamSnapshot } from '../../adapters/redis/index.js'
import { type ConformanceChange, describeListerWatcher, type ListerWatcherHarness } from '../../testing/index.js'
import { useRedis } from '../redis/support.js'
import { describeRedis } from '../servers/index.js'
import type { RedisServer } from '../servers/redis.js'
import { drawn } from '../support/draw.js'
import { behindProxy } from './behind-proxy.js'

type Item = { readonly value: string }

/** A stream of its own for each case. `form`: the state from which a list begins. */
function harness(own: { readonly redis: RedisServer }, form: 'oldest entry' | 'snapshot'): ListerWatcherHarness<Item> {
  const isOfSnapshots = form === 'snapshot'
  let cases = 0
  return {
    unsupported: {
      openTransactions: 'an entry is written by one command',
      versions: 'the objects of a stream have no versions of their own',
      progressRequests: 'every entry is delivered at once, so a progress request has no effect',
      ...(isOfSnapshots ? {} : { compaction: 'what is trimmed cannot be listed without a snapshot' }),
    },
    async create({ heartbeatMs }) {
      const stream = `${form} ${++cases}`
      const [port, proxied] = await behindProxy(own.redis.port)
      const writer = own.redis.client()
      const client = new Redis({ port, host: '127.0.0.1', lazyConnect: true })
      const state = new Map<string, Item>()
      let after = '0-0'
      let last: Promise<unknown> = Promise.resolve()
      /** The last entry before an undecodable one, which lists from here read. */
      let sound: StreamSnapshot<Item> | undefined
      const snapshot = async (): Promise<StreamSnapshot<Item>> => sound ?? { entries: new Map(state), after }
      const add = (changes: readonly ConformanceChange[], isBroken = false): Promise<string> => {
        const added = last.then(async () => {
          if (isBroken) sound ??= await snapshot()
          const id = await writer.xadd(stream, '*', 'changes', JSON.stringify(changes), 'broken', String(isBroken))
          for (const { key, value } of changes)
            if (value === undefined) state.delete(key)
            else if (!isBroken) state.set(key, { value })
          after = id ?? ''
          return after
        })
        last = added.catch(() => {})
        return added
      }
      return {
        source: redisStreamSource<Item>({
          client,
          stream,
          decode: (fields) =>
            (JSON.parse(fields.get('changes') ?? '') as ConformanceChange[]).map(
              ({ key, value }): StreamChange<Item> => {
                if (fields.get('broken') === 'true') return { key, error: new Error('broken') }
                return { key, object: value === undefined ? undefined : { value } }
              },
            ),
          ...(isOfSnapshots ? { snapshot } : {}),
          heartbeatMs,
          timeoutMs: Math.max(5_000, heartbeatMs / 2),
        }),
        read: ({ value }) => value,
        write: (changes) => add(changes),
        ...(isOfSnapshots ? { compact: async () => void (await writer.xtrim(stream, 'MAXLEN', 0)) } : {}),
        restore: async () => {
          await last
          await writer.del(stream)
          after = '0-0'
          for (const [key, { value }] of [...state]) await add([{ key, value }])
        },
        corrupt: async (key) => void (await add([{ key, value: 'broken' }], true)),
        ...proxied,
        dispose: async () => {
          client.disconnect()
          await proxied.dispose()
        },
      }
    },
  }
}

describeRedis('a Redis stream that others write', useRedis, async (own) => {
  for (const first of drawn(['oldest entry', 'snapshot'] as const, 'form'))
    await describeListerWatcher(`from its ${first} on`, harness(own, first))
})
