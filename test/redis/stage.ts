import {
  type RedisChange,
  type RedisCollectionSourceOptions,
  type RedisWriter,
  type RedisWriterOptions,
  redisCollectionSource,
  redisWriter,
} from '../../adapters/redis/index.js'
import type { ListerWatcher, Version } from '../../src/index.js'
import { type FaultProxy, startFaultProxy } from '../servers/fault-proxy.js'
import type { RedisServer } from '../servers/redis.js'
import { BackendStage } from '../support/backend-stage.js'
import { CountingClock, fastClock } from '../support/clocks.js'
import { type DriverName, userClient } from './drivers.js'

export interface Item {
  readonly n: number
}

export interface StageOptions {
  readonly redis: RedisServer
  /** Default `ioredis 6`. */
  readonly driver?: DriverName
  readonly source?: Partial<Omit<RedisCollectionSourceOptions<Item>, 'shardCount'>>
  readonly writer?: Partial<Omit<RedisWriterOptions<Item>, 'shardCount'>>
  /** Another source than ours in its place, such as one that is broken on purpose. */
  readonly instead?: (source: ListerWatcher<Item>) => ListerWatcher<Item>
}

/** The factor by which the time of a mirror is faster: a response times out after 2 s. */
const SPEED = 5

let stages = 0

/** A collection of its own, a proxy before the server, a mirror that reads through the proxy, and a writer that does not. */
export class Stage extends BackendStage<Item> {
  readonly redis: RedisServer
  readonly name: string
  readonly writer: RedisWriter<Item>

  private constructor(
    { redis, driver = 'ioredis 6', source, writer, instead = (own) => own }: StageOptions,
    proxy: FaultProxy,
  ) {
    const name = `stage-${++stages}`
    const own = { client: userClient(driver, proxy.port), collection: name, heartbeatMs: 200, timeoutMs: 10_000 }
    super(proxy, instead(redisCollectionSource<Item>({ ...own, ...source })), {
      clock: new CountingClock(fastClock(SPEED)),
    })
    this.redis = redis
    this.name = name
    this.writer = redisWriter<Item>({ client: userClient(driver, redis.port), collection: name, ...writer })
  }

  static async open(options: StageOptions): Promise<Stage> {
    return new Stage(options, await startFaultProxy({ targetPort: options.redis.port }))
  }

  /** One that mirrors some keys already. */
  static async live(options: StageOptions, keys = 20): Promise<Stage> {
    const stage = await Stage.open(options)
    await stage.fill(keys)
    await stage.live()
    return stage
  }

  key(part: 'h' | 's' | 'm'): string {
    return `{${this.name}}:${part}`
  }

  /** Writes at one moment; without a value the key is deleted. */
  put(...changes: readonly (readonly [key: string, n: number | undefined])[]): Promise<Version> {
    return this.writer.apply(
      changes.map(([key, n]): RedisChange<Item> => (n === undefined ? { delete: key } : { put: key, object: { n } })),
    )
  }

  /** Many keys, `k0` and so on, a hundred at a time. */
  async fill(count: number, n = 0): Promise<void> {
    for (let at = 0; at < count; at += 100) {
      await this.put(...Array.from({ length: Math.min(100, count - at) }, (_, i) => [`k${at + i}`, n] as const))
    }
  }

  override async truth(): Promise<ReadonlyMap<string, string>> {
    return new Map(Object.entries(await this.redis.admin.hgetall(this.key('h'))))
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    await super[Symbol.asyncDispose]()
    await this.writer.close()
  }
}
