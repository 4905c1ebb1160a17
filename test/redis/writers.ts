import { Redis } from 'ioredis'
import {
  type RedisChange,
  type RedisDatabase,
  RedisWriteError,
  type RedisWriter,
  redisDatabase,
  redisWriter,
} from '../../adapters/redis/index.js'
import type { ListerWatcher, Version } from '../../src/index.js'
import type { SeededRandom } from '../../testing/seeded-random.js'
import { userClient } from './drivers.js'
import { COLLECTION, PREFIX, STREAM, STREAM_AT, STREAM_TRUTH, TWINS } from './followers.js'
import type { Item } from './mirror.js'

/** The written keys: few, so that each is written, deleted and created again. */
const KEYS = 200

/** One entry, and what the stream says in all with it. */
const ADD = `
local id = redis.call('XADD', KEYS[1], '*', unpack(ARGV))
for i = 1, #ARGV, 2 do
  if ARGV[i + 1] == '' then redis.call('HDEL', KEYS[2], ARGV[i]) else redis.call('HSET', KEYS[2], ARGV[i], ARGV[i + 1]) end
end
redis.call('SET', KEYS[3], id)
return id`

/** Writes a collection and a database, and less often a stream and plain keys, over a network that fails. */
export class FuzzWriter implements AsyncDisposable {
  #n = 0
  readonly #writer: RedisWriter<Item>
  readonly #database: RedisDatabase
  readonly #twins: readonly ListerWatcher<Item>[]
  readonly #plain: Redis
  #version: Version | undefined

  constructor(port: number) {
    const of = { client: userClient('ioredis 6', port), retention: 500, timeoutMs: 700 }
    this.#writer = redisWriter<Item>({ ...of, collection: COLLECTION })
    const database = redisDatabase({ ...of, database: COLLECTION })
    this.#database = database
    this.#twins = TWINS.map((name) => database.collection<Item>(name))
    this.#plain = new Redis({
      ...{ port, host: '127.0.0.1', commandTimeout: 700, retryStrategy: () => 50 },
      ...{ maxRetriesPerRequest: 0, autoResendUnfulfilledCommands: false, enableOfflineQueue: false },
    })
    this.#plain.on('error', () => {})
  }

  async write(random: SeededRandom, signal: AbortSignal): Promise<void> {
    const name = (): string => `k${random.below(KEYS)}`
    const names = random.chance(0.25) ? [...new Set([name(), name(), name(), name()])] : [name()]
    const changes = names.map((key) => [key, random.chance(0.3) ? undefined : ++this.#n] as const)
    const kind = random.next()
    if (kind < 0.3) await this.#commit(changes)
    else if (kind < 0.7) await this.#apply(changes, random.chance(0.3), signal)
    else if (kind < 0.85) await this.#add(changes)
    else await this.#set(changes)
  }

  /** Creates the collections of the existing fields, if they do not exist. */
  async begin(): Promise<void> {
    await this.#writer.apply([])
    await this.#database.commit(() => {})
  }

  async #commit(changes: Changes): Promise<void> {
    await this.#database.commit((tx) => {
      for (const twin of this.#twins)
        for (const [key, n] of changes) {
          if (n === undefined) tx.delete(twin, key)
          else tx.put(twin, key, { n })
        }
    })
  }

  async #apply(changes: Changes, isConditional: boolean, signal: AbortSignal): Promise<void> {
    const told = changes.map(
      ([key, n]): RedisChange<Item> => (n === undefined ? { delete: key } : { put: key, object: { n } }),
    )
    const condition = isConditional && this.#version !== undefined ? { ifVersion: this.#version } : {}
    for (;;) {
      try {
        this.#version = await this.#writer.apply(told, condition)
        return
      } catch (error) {
        if (!(error instanceof RedisWriteError)) throw error
        if (error.code === 'CONFLICT') this.#version = error.version
        if (error.code !== 'OUTCOME_UNKNOWN' || !('ifVersion' in condition) || signal.aborted) throw error
      }
    }
  }

  async #add(changes: Changes): Promise<void> {
    const fields = changes.flatMap(([key, n]) => [key, n === undefined ? '' : String(n)])
    await this.#plain.eval(ADD, 3, STREAM, STREAM_TRUTH, STREAM_AT, ...fields)
  }

  async #set(changes: Changes): Promise<void> {
    const transaction = this.#plain.multi()
    for (const [key, n] of changes) {
      if (n === undefined) transaction.del(PREFIX + key)
      else transaction.set(PREFIX + key, n)
    }
    await transaction.exec()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#plain.disconnect()
    await this.#writer.close()
    await this.#database.close()
  }
}

type Changes = readonly (readonly [key: string, n: number | undefined])[]
