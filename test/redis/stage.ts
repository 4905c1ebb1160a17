import {
  type RedisChange,
  type RedisCollectionOptions,
  type RedisWriter,
  type RedisWriterOptions,
  redisCollection,
  redisWriter,
} from '../../adapters/redis/index.js'
import type { SourceError } from '../../src/contract/errors.js'
import type { ListerWatcher } from '../../src/contract/source.js'
import type { Version } from '../../src/contract/version.js'
import { createInformer } from '../../src/informer/create-informer.js'
import type { Informer } from '../../src/informer/informer-types.js'
import { CountingClock, fastClock } from '../postgres-faults/clocks.js'
import { HandlerHistory } from '../postgres-faults/handler-history.js'
import { type FaultProxy, startFaultProxy } from '../servers/fault-proxy.js'
import type { RedisServer } from '../servers/redis.js'
import { waitUntil } from '../servers/wait-until.js'
import { type DriverName, userClient } from './drivers.js'

export interface Item {
  readonly n: number
}

export interface StageOptions {
  readonly redis: RedisServer
  /** Default `ioredis 6`. */
  readonly driver?: DriverName
  readonly source?: Partial<Omit<RedisCollectionOptions<Item>, 'shards'>>
  readonly writer?: Partial<Omit<RedisWriterOptions<Item>, 'shards'>>
  /** Another source than ours in its place, such as one that is broken on purpose. */
  readonly instead?: (source: ListerWatcher<Item>) => ListerWatcher<Item>
}

/** The factor by which the time of a mirror is faster: a response times out after 2 s. */
const SPEED = 5

let stages = 0

/** A collection of its own, a proxy before the server, a mirror that sees it through the proxy, and a writer that does not. */
export class Stage implements AsyncDisposable {
  readonly redis: RedisServer
  readonly name = `stage-${++stages}`
  readonly proxy: FaultProxy
  readonly source: ListerWatcher<Item>
  readonly informer: Informer<Item>
  readonly writer: RedisWriter<Item>
  readonly told = new HandlerHistory<Item>()
  readonly errors: SourceError[] = []
  readonly clock = new CountingClock(fastClock(SPEED))

  private constructor(
    { redis, driver = 'ioredis 6', source, writer, instead = (own) => own }: StageOptions,
    proxy: FaultProxy,
  ) {
    this.redis = redis
    this.proxy = proxy
    const { name } = this
    const own = { client: userClient(driver, proxy.port), name, blockMs: 200, timeoutMs: 10_000 }
    this.source = instead(redisCollection<Item>({ ...own, ...source }))
    this.writer = redisWriter<Item>({ client: userClient(driver, redis.port), name, ...writer })
    this.informer = createInformer({ source: this.source, clock: this.clock, audit: false })
    this.informer.on('error', (error) => this.errors.push(error))
    this.informer.subscribe(this.told.handlers)
  }

  static async open(options: StageOptions): Promise<Stage> {
    return new Stage(options, await startFaultProxy({ targetPort: options.redis.port }))
  }

  get relists(): number {
    return this.informer.status.relists
  }

  get codes(): readonly string[] {
    return this.errors.map(({ code }) => code)
  }

  key(part: 'h' | 's' | 'm'): string {
    return `{${this.name}}:${part}`
  }

  /** The first list is in, and the watch is open. */
  async live(): Promise<void> {
    this.informer.start()
    await this.until('the watch to be live', () => this.informer.status.state === 'live')
  }

  async until(what: string, isSo: () => boolean, ms = 90_000): Promise<void> {
    await waitUntil(what, isSo, ms).catch((error: unknown) => {
      throw new Error(this.story, { cause: error })
    })
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

  /** The mirror is what the server has, and so is what the subscription knows. */
  async healed(ms = 60_000): Promise<void> {
    let wrong: readonly string[] = []
    const isEqual = async (): Promise<boolean> => {
      wrong = await this.differences().catch((error: unknown) => [String(error)])
      return wrong.length === 0 && this.told.objects.size === this.informer.size
    }
    await waitUntil('the mirror to be what the server has', isEqual, ms).catch((error: unknown) => {
      throw new Error(`${wrong.length} keys differ: ${wrong.slice(0, 5).join(' ')}; ${this.story}`, { cause: error })
    })
    if (this.told.violations.length > 0) throw new Error(this.told.violations.join('; '))
  }

  /** The keys whose values differ. */
  async differences(): Promise<string[]> {
    const wanted = new Map(Object.entries(await this.redis.client().hgetall(this.key('h'))))
    const wrong: string[] = []
    for (const [key, object] of this.informer.entries()) {
      if (wanted.get(key) !== JSON.stringify(object)) wrong.push(key)
      wanted.delete(key)
    }
    return [...wrong, ...wanted.keys()]
  }

  /** What happened, for those who must find out why. */
  get story(): string {
    const { state, reason } = this.informer.status
    const errors = this.errors.slice(-5).map(({ code, message }) => `${code} ${message}`)
    return `it is ${state} (${reason}) at ${this.informer.version}; ${errors.join('; ')}`
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.informer.stop()
    await this.writer.close()
    await this.proxy[Symbol.asyncDispose]()
  }
}
