import { Redis } from 'ioredis'
import { redisStreamSource, type StreamChange, type StreamSnapshot } from '../../adapters/redis/index.js'
import type {
  ConformanceChange,
  ConformanceOptions,
  ListerWatcherHarness,
  ListerWatcherSubject,
} from '../../testing/index.js'
import { startFaultProxy } from '../servers/fault-proxy.js'
import type { RedisServer } from '../servers/redis.js'

type Item = { readonly value: string }

/** The state from which a list begins. */
export type StreamForm = 'oldest entry' | 'snapshot'

/** A stream of its own for each case, and a proxy before the server that can end connections. */
export function redisStreamHarness(
  server: { readonly redis: RedisServer },
  form: StreamForm,
): ListerWatcherHarness<Item> {
  let cases = 0
  return {
    create: (wish) => subjectOf(server.redis, form, `${form} ${++cases}`, wish),
    unsupported: {
      openTransactions: 'an entry is written by one command',
      versions: 'the objects of a stream have no versions of their own',
      progressRequests: 'every entry is delivered at once, so a progress request has no effect',
      ...(form === 'snapshot' ? {} : { compaction: 'what is trimmed cannot be listed without a snapshot' }),
    },
  }
}

async function subjectOf(
  redis: RedisServer,
  form: StreamForm,
  stream: string,
  { heartbeatMs }: ConformanceOptions,
): Promise<ListerWatcherSubject<Item>> {
  const proxy = await startFaultProxy({ targetPort: redis.port })
  const writer = redis.client()
  const client = new Redis({ port: proxy.port, host: '127.0.0.1', lazyConnect: true })
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
  const source = redisStreamSource<Item>({
    client,
    stream,
    decode: (fields) => {
      const changes = JSON.parse(fields.get('changes') ?? '') as ConformanceChange[]
      const isBroken = fields.get('broken') === 'true'
      return changes.map(
        ({ key, value }): StreamChange<Item> =>
          isBroken ? { key, error: new Error('broken') } : { key, object: value === undefined ? undefined : { value } },
      )
    },
    ...(form === 'snapshot' ? { snapshot } : {}),
    heartbeatMs,
    timeoutMs: Math.max(5_000, heartbeatMs / 2),
  })
  return {
    source,
    read: ({ value }) => value,
    write: (changes) => add(changes),
    ...(form === 'snapshot' ? { compact: async () => void (await writer.xtrim(stream, 'MAXLEN', 0)) } : {}),
    restore: async () => {
      await last
      await writer.del(stream)
      after = '0-0'
      for (const [key, { value }] of [...state]) await add([{ key, value }])
    },
    corrupt: async (key) => void (await add([{ key, value: 'broken' }], true)),
    disconnect: () => proxy.reset(),
    connections: () => proxy.counts.open,
    dispose: async () => {
      client.disconnect()
      await proxy[Symbol.asyncDispose]()
    },
  }
}
