import type { Redis } from 'ioredis'
import { redisCollection, redisKeys, redisStream } from '../../adapters/redis/index.js'
import type { SourceError } from '../../src/contract/errors.js'
import type {
  ListContext,
  ListerWatcher,
  ListPage,
  SourceContext,
  WatchBatch,
  WatchContext,
} from '../../src/contract/source.js'
import type { Version } from '../../src/contract/version.js'
import { createInformer } from '../../src/informer/create-informer.js'
import type { Informer } from '../../src/informer/informer-types.js'
import { fastClock } from '../postgres-faults/clocks.js'
import { HandlerHistory } from '../postgres-faults/handler-history.js'
import { waitUntil } from '../servers/wait-until.js'
import { userClient } from './drivers.js'
import type { Item } from './mirror.js'
import type { Pair } from './pair.js'

export const COLLECTION = 'fuzzed'
export const STREAM = 'stream'
/** What the stream says in all, and up to which entry. */
export const STREAM_TRUTH = 'stream-truth'
export const STREAM_AT = 'stream-at'
export const PREFIX = 'plain:'

const times = { blockMs: 400, timeoutMs: 5_000 }

/** What is so, by key. */
type Truth = (client: Redis) => Promise<ReadonlyMap<string, string>>

/** A mirror of one kind, and what it ought to show. */
export class Follower implements AsyncDisposable {
  readonly name: string
  readonly informer: Informer<Item>
  readonly told = new HandlerHistory<Item>()
  readonly errors: SourceError[] = []
  readonly flaws: string[] = []
  readonly #truth: Truth

  constructor(name: string, source: ListerWatcher<Item>, truth: Truth) {
    this.name = name
    this.#truth = truth
    this.informer = createInformer({
      source: source.hasReached === undefined ? source : new Witness(source, this.flaws),
      clock: fastClock(5),
      audit: false,
    })
    this.informer.on('error', (error) => this.errors.push(error))
    this.informer.subscribe(this.told.handlers)
  }

  /** The mirror has the expected objects, and so has a consumer of its changes. No version went back. */
  async healed(pair: Pair, ms: number): Promise<void> {
    let wrong: readonly string[] = []
    const isEqual = async (): Promise<boolean> => {
      wrong = this.#differences(await this.#truth(pair.client))
      return wrong.length === 0
    }
    await waitUntil('the mirror to be what the server has', isEqual, ms).catch((error: unknown) => {
      const { state, reason } = this.informer.status
      const errors = this.errors.slice(-5).map(({ code, message }) => `${code} ${message}`)
      const shown = `${wrong.length} keys differ: ${wrong.slice(0, 5).join(' ')}`
      const story = `it is ${state} (${reason}) at ${this.informer.version}; ${errors.join('; ')}`
      throw new Error(`${this.name}: ${shown}; ${story}`, { cause: error })
    })
    const flaws = [...this.told.violations, ...this.flaws]
    if (flaws.length > 0) throw new Error(`${this.name}: ${flaws.slice(0, 10).join('; ')}`)
  }

  #differences(truth: ReadonlyMap<string, string>): string[] {
    const [stored, told] = [new Map(this.#stored()), this.told.objects]
    const keys = new Set([...truth.keys(), ...stored.keys(), ...told.keys()])
    return [...keys].filter((key) => {
      const wanted = truth.get(key)
      const object = stored.get(key)
      return !Object.is(object, told.get(key)) || wanted !== (object === undefined ? undefined : String(object.n))
    })
  }

  *#stored(): Iterable<readonly [string, Item]> {
    for (const [key, object] of this.informer.entries()) yield [key, object]
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.informer.stop()
  }
}

/** A mirror of each kind, all at this port; the first is of the collection, or of another source in its place. */
export function followersAt(pair: Pair, port: number, instead?: (port: number) => ListerWatcher<Item>): Follower[] {
  const client = userClient('ioredis 6', port)
  const collection = instead?.(port) ?? redisCollection<Item>({ client, name: COLLECTION, ...times })
  const first = new Follower('collection', collection, async (redis) => {
    const values = Object.entries(await redis.hgetall(`{${COLLECTION}}:h`))
    return new Map(values.map(([key, value]) => [key, /\d+/.exec(value)?.[0] ?? '']))
  })
  if (instead !== undefined) return [first]
  const stream = redisStream<Item>({
    client,
    stream: STREAM,
    decode: (fields) => Array.from(fields, ([key, n]) => ({ key, object: n === '' ? undefined : { n: Number(n) } })),
    snapshot: () => snapshot(pair),
    ...times,
  })
  return [
    first,
    new Follower('stream', stream, async (redis) => new Map(Object.entries(await redis.hgetall(STREAM_TRUTH)))),
    new Follower('keys', redisKeys<Item>({ client, prefix: PREFIX, codec: itemOf, ...times }), plainKeys),
  ]
}

function itemOf(value: Uint8Array | string): Item {
  return { n: Number(String(value)) }
}

async function plainKeys(redis: Redis): Promise<ReadonlyMap<string, string>> {
  const keys = await redis.keys(`${PREFIX}*`)
  const values = keys.length === 0 ? [] : await redis.mget(keys)
  return new Map(keys.map((key, at) => [key, values[at] ?? 'gone']))
}

async function snapshot(
  pair: Pair,
): Promise<{ readonly entries: readonly (readonly [string, Item])[]; readonly after: string }> {
  const { generation } = pair
  const [[, truth] = [], [, after] = []] = (await pair.client.multi().hgetall(STREAM_TRUTH).get(STREAM_AT).exec()) ?? []
  if (pair.generation !== generation) throw new Error('it is of a history that is gone')
  const entries = Object.entries(Object(truth) as object).map(([key, n]) => [key, { n: Number(n) }] as const)
  return { entries, after: typeof after === 'string' ? after : '0-0' }
}

/** Holds the versions of a watch against what the source itself says of their order: none is before the one before it. */
class Witness<T> implements ListerWatcher<T> {
  readonly name: string
  readonly heartbeatMs: number
  readonly #source: ListerWatcher<T>
  readonly #flaws: string[]

  constructor(source: ListerWatcher<T>, flaws: string[]) {
    this.name = source.name
    this.heartbeatMs = source.heartbeatMs ?? 10_000
    this.#source = source
    this.#flaws = flaws
  }

  list(context: ListContext): AsyncIterable<ListPage<T>> {
    return this.#source.list(context)
  }

  async *watch(context: WatchContext): AsyncIterable<WatchBatch<T>> {
    let last = context.after
    for await (const batch of this.#source.watch(context)) {
      if (!this.#isAfter(batch.version, last)) this.#flaws.push(`version ${batch.version} was delivered after ${last}`)
      last = batch.version
      yield batch
    }
  }

  async head(context: SourceContext): Promise<Version> {
    return (await this.#source.head?.(context)) ?? ''
  }

  hasReached(at: Version, mark: Version): boolean {
    return this.#source.hasReached?.(at, mark) === true
  }

  #isAfter(version: Version, last: Version): boolean {
    try {
      return this.hasReached(version, last)
    } catch {
      return false
    }
  }
}
