import type { Redis } from 'ioredis'
import { redisCollectionSource, redisDatabase, redisKeysSource, redisStreamSource } from '../../adapters/redis/index.js'
import { isCollection } from '../../src/contract/shared-history.js'
import type { ListerWatcher, WatchBatch, WatchContext } from '../../src/contract/source.js'
import type { Version } from '../../src/contract/version.js'
import { CheckedSource } from '../support/checked-source.js'
import { fastClock } from '../support/clocks.js'
import { Follower } from '../support/follower.js'
import { userClient } from './drivers.js'
import type { Item } from './mirror.js'
import type { Pair } from './pair.js'

export const COLLECTION = 'fuzzed'
/** The collections of a database, which always have the same objects. */
export const TWINS = ['a', 'b'] as const
export const STREAM = 'stream'
/** What the stream says in all, and up to which entry. */
export const STREAM_TRUTH = 'stream-truth'
export const STREAM_AT = 'stream-at'
export const PREFIX = 'plain:'

const times = { heartbeatMs: 400, timeoutMs: 5_000 }

type Truth = (client: Redis) => Promise<ReadonlyMap<string, string>>

export class KindFollower extends Follower<Item> {
  readonly name: string
  readonly #pair: Pair
  readonly #truth: Truth

  constructor(name: string, source: ListerWatcher<Item>, pair: Pair, truth: Truth) {
    const isAlone = source.hasReached !== undefined && !isCollection(source)
    const checker = isAlone ? { checker: new OrderChecker(source) } : {}
    super(source, { clock: fastClock(5), ...checker })
    this.name = name
    this.#pair = pair
    this.#truth = truth
  }

  override get story(): string {
    return `${this.name}: ${super.story}`
  }

  override truth(): Promise<ReadonlyMap<string, string>> {
    return this.#truth(this.#pair.client)
  }

  protected override textOf({ n }: Item): string {
    return String(n)
  }
}

/** A mirror of one of two collections that are always equal, which is compared with the other one at each change. */
class TwinFollower extends KindFollower {
  readonly #torn = new Set<string>()

  comparedWith({ informer: other }: KindFollower): void {
    const look = (): void => {
      const { informer } = this
      const [own, theirs] = [informer, other].map((each) =>
        Array.from(each.entries(), ([key, { n }]) => `${key} ${n}`)
          .toSorted()
          .join(),
      )
      // One that has left its history has another version.
      if (informer.version === other.version && own !== theirs) this.#torn.add(`torn at ${informer.version}`)
    }
    this.informer.subscribe({ add: look, update: look, delete: look })
  }

  override async differences(): Promise<string[]> {
    return [...this.#torn, ...(await super.differences())]
  }
}

export function followersAt(pair: Pair, port: number): KindFollower[] {
  const client = userClient('ioredis 6', port)
  const collection = redisCollectionSource<Item>({ client, collection: COLLECTION, ...times })
  const hash =
    (part: string): Truth =>
    async (redis) => {
      const values = Object.entries(await redis.hgetall(`{${COLLECTION}}:${part}`))
      return new Map(values.map(([key, value]) => [key, /\d+/.exec(value)?.[0] ?? '']))
    }
  const database = redisDatabase({ client, database: COLLECTION, ...times })
  const twins = TWINS.map((name) => new TwinFollower(name, database.collection(name), pair, hash(`h:${name}`)))
  for (const [at, twin] of twins.entries()) twin.comparedWith(twins[1 - at] ?? twin)
  const stream = redisStreamSource<Item>({
    client,
    stream: STREAM,
    decode: (fields) => Array.from(fields, ([key, n]) => ({ key, object: n === '' ? undefined : { n: Number(n) } })),
    snapshot: () => snapshot(pair),
    ...times,
  })
  return [
    new KindFollower('collection', collection, pair, hash('h')),
    ...twins,
    new KindFollower(
      'stream',
      stream,
      pair,
      async (redis) => new Map(Object.entries(await redis.hgetall(STREAM_TRUTH))),
    ),
    new KindFollower(
      'keys',
      redisKeysSource<Item>({ client, prefix: PREFIX, codec: itemOf, ...times }),
      pair,
      plainKeys,
    ),
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

async function snapshot(pair: Pair) {
  const { generation } = pair
  const [[, truth] = [], [, after] = []] = (await pair.client.multi().hgetall(STREAM_TRUTH).get(STREAM_AT).exec()) ?? []
  if (pair.generation !== generation) throw new Error('it is of a history that is gone')
  const entries = Object.entries(Object(truth) as object).map(([key, n]) => [key, { n: Number(n) }] as const)
  return { entries, after: typeof after === 'string' ? after : '0-0' }
}

/** Checks the versions of a watch by the order of the source itself: none is before its predecessor. */
class OrderChecker<T> extends CheckedSource<T> {
  override async *watch(context: WatchContext): AsyncIterable<WatchBatch<T>> {
    let last = context.after
    for await (const batch of super.watch(context)) {
      if (!this.#isAfter(batch.version, last)) this.flaw(`version ${batch.version} was delivered after ${last}`)
      last = batch.version
      yield batch
    }
  }

  #isAfter(version: Version, last: Version): boolean {
    try {
      return this.hasReached?.(version, last) === true
    } catch {
      return false
    }
  }
}
