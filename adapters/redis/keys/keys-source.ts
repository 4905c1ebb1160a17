import { createHash } from 'node:crypto'
import { OptionError } from '../../../src/contract/errors.js'
import type {
  Invalid,
  ListContext,
  ListerWatcher,
  ListPage,
  Put,
  SourceContext,
  WatchBatch,
  WatchContext,
} from '../../../src/contract/source.js'
import type { Version } from '../../../src/contract/version.js'
import { withSignsOfLife } from '../../../src/util/keep-alive.js'
import {
  checkOptions,
  isCount,
  isName,
  isOneOf,
  isPositive,
  type OptionCheck,
} from '../../../src/util/validate-options.js'
import { ResponseSizeLimit } from '../connection/adaptive-page-size.js'
import { asCluster, assertGiven, clientFlaw, keyPrefixOf, type RedisClient } from '../connection/client.js'
import { ClusterRoute } from '../connection/cluster-route.js'
import { EventCodec, type RedisCodecName, type RedisDecode, type RedisKeys } from '../connection/codec.js'
import { redisError } from '../connection/redis-errors.js'
import { checkRole, checkServer, Warnings } from '../connection/server-checks.js'
import type { Values } from './key-reader.js'
import { TrackedKeys } from './tracked-keys.js'

export interface RedisKeysOptions<T> {
  /** Your own `Redis` of ioredis, or a `Cluster` where the prefix has a whole hash tag. It stays yours. */
  readonly client: RedisClient
  /** All keys that begin so and hold strings. The client's `keyPrefix` comes before it. */
  readonly prefix: string
  /** What values are: `json` (default), `string` (UTF-8), `bytes`, or a function that makes an object of one. */
  readonly codec?: RedisCodecName | RedisDecode<T>
  /** Keys are UTF-8 (`string`, the default), or strings with one character for each byte (`bytes`). */
  readonly keys?: RedisKeys
  /** Most keys that there may be. Default 100 000. */
  readonly maxKeys?: number
  /** After so many milliseconds of silence the server is asked whether it is there. Default 2 000. */
  readonly blockMs?: number
  /** A connection counts as lost if an answer is due and nothing is received for this many milliseconds. Default 5 000. */
  readonly timeoutMs?: number
}

/**
 * Plain keys, as a source. Redis keeps no history of them: there are no marks to wait for, and after a lost connection all
 * of them are read again.
 */
export interface RedisKeysSource<T> extends ListerWatcher<T> {
  readonly heartbeatMs: number
}

const optionChecks: Readonly<Record<keyof RedisKeysOptions<unknown>, OptionCheck>> = {
  client: clientFlaw,
  prefix: isName,
  codec: (value) => (typeof value === 'function' ? undefined : isOneOf('json', 'string', 'bytes')(value)),
  keys: isOneOf('string', 'bytes'),
  maxKeys: isCount,
  blockMs: isPositive,
  timeoutMs: isPositive,
}

/** Mirrors plain keys of Redis 6 or later that hold strings. Opens nothing by itself. */
export function redisKeys<T = unknown>(options: RedisKeysOptions<T>): RedisKeysSource<T> {
  checkOptions('redisKeys', options, optionChecks)
  assertGiven('redisKeys', options, ['client', 'prefix'])
  const { client, prefix } = options
  if (asCluster(client) !== undefined && !/^[^{]*\{[^}]+\}/.test(keyPrefixOf(client) + prefix)) {
    throw new OptionError(
      `redisKeys: in a Cluster the option "prefix" must have a hash tag, such as "{user}:": other keys are on many servers`,
      { option: 'prefix' },
    )
  }
  return new KeysSource<T>(options)
}

class KeysSource<T> implements RedisKeysSource<T> {
  readonly name: string
  readonly heartbeatMs: number
  readonly #codec: EventCodec<T>
  readonly #clientPrefix: Buffer
  readonly #prefix: string
  readonly #route: ClusterRoute
  readonly #warnings: Warnings
  readonly #answers = new ResponseSizeLimit()
  readonly #maxKeys: number
  readonly #blockMs: number
  readonly #timeoutMs: number
  #batches = 0

  constructor(options: RedisKeysOptions<T>) {
    const { client, prefix, codec = 'json', keys = 'string' } = options
    const { maxKeys = 100_000, blockMs = 2_000, timeoutMs = 5_000 } = options
    this.#codec = new EventCodec(codec, keys)
    this.#clientPrefix = Buffer.from(keyPrefixOf(client))
    this.#prefix = keyPrefixOf(client) + prefix
    this.#maxKeys = maxKeys
    this.#blockMs = blockMs
    this.#timeoutMs = timeoutMs
    this.heartbeatMs = blockMs + timeoutMs
    this.name = `redis:${this.#prefix}*`
    this.#route = new ClusterRoute(client, this.#prefix)
    this.#warnings = new Warnings(this.name)
  }

  async *list(context: ListContext): AsyncGenerator<ListPage<T>> {
    const list = async function* (this: KeysSource<T>, keys: TrackedKeys): AsyncGenerator<ListPage<T>> {
      const values = await keys.all()
      const events = this.#events(values)
      const size = context.pageSize
      for (let at = 0; at + size < events.length; at += size)
        yield { events: events.slice(at, at + size), remaining: events.length - at - size }
      const rest = events.length % size || Math.min(size, events.length)
      yield { events: events.slice(events.length - rest), version: versionOf(values) }
    }
    yield* this.#visit(context, list, () => ({ events: [] }))
  }

  /** Begins with all there is, unless that is what it was at `after`: what happened since, nobody knows. */
  async *watch(context: WatchContext): AsyncGenerator<WatchBatch<T>> {
    const watch = async function* (this: KeysSource<T>, keys: TrackedKeys): AsyncGenerator<WatchBatch<T>> {
      // Makes versions that name a change differ from all others: nothing can be resumed from them.
      const word = Math.floor(context.random.next() * 2 ** 48).toString(36)
      let version = context.after
      for (;;) {
        const all = await keys.all()
        const found = versionOf(all)
        yield found === version ? { events: [], version } : this.#replacement(all, found)
        version = found
        for (;;) {
          const changes = await keys.changes(this.#blockMs)
          if (changes === undefined) break
          if (changes.size === 0) await checkRole(keys.session, this.#warnings.through(context.warn))
          else version = `redisk1.${word}.${++this.#batches}`
          yield { events: this.#events(changes, true), version }
        }
      }
    }
    yield* this.#visit(context, watch, (last) => ({ events: [], version: last?.version ?? context.after }))
  }

  /** One list or one watch, over connections of its own; `sign` is a sign of life while much is read. */
  async *#visit<V>(
    { signal, clock, warn }: Pick<SourceContext, 'signal' | 'clock' | 'warn'>,
    act: (this: KeysSource<T>, keys: TrackedKeys) => AsyncGenerator<V>,
    sign: (last: V | undefined) => V,
  ): AsyncGenerator<V> {
    const [prefix, maxKeys, timeoutMs] = [this.#prefix, this.#maxKeys, this.#timeoutMs]
    let keys: TrackedKeys | undefined
    try {
      this.#answers.begin(clock.now())
      keys = await TrackedKeys.open(this.#route, { signal, clock, timeoutMs, prefix, maxKeys, answers: this.#answers })
      await checkServer(keys.session, this.#warnings.through(warn), { mayEvict: true })
      const { session } = keys
      yield* withSignsOfLife(act.call(this, keys), { session, clock, everyMs: this.#blockMs, sign })
    } catch (error) {
      this.#route.noteFailure(error)
      throw error instanceof OptionError ? error : redisError(error)
    } finally {
      keys?.close()
    }
  }

  #replacement(values: Values, version: Version): WatchBatch<T> {
    const events = this.#events(values)
    const entries = events.filter((event) => event.type === 'put')
    const invalid = events.filter((event) => event.type === 'invalid')
    return { events: [{ type: 'replace', entries }, ...invalid], version }
  }

  #events(values: Values): (Put<T> | Invalid)[]
  #events(values: Values, withDeletes: true): WatchBatch<T>['events'][number][]
  #events(values: Values, withDeletes = false): WatchBatch<T>['events'][number][] {
    const events: WatchBatch<T>['events'][number][] = []
    for (const [name, value] of values) {
      const key = Buffer.from(name, 'latin1').subarray(this.#clientPrefix.length)
      if (value !== undefined) events.push(this.#codec.put(key, value))
      else if (withDeletes) events.push(this.#codec.delete(key))
    }
    return events
  }
}

/** What there is makes the version: equal where all is as it was. The sum of the hashes, because keys have no order. */
function versionOf(values: Values): Version {
  const sums = [0, 0, 0, 0]
  for (const [name, value] of values) {
    if (value === undefined) continue
    const hash = createHash('sha1').update(`${name.length} ${name}`, 'latin1').update(value).digest()
    for (let at = 0; at < sums.length; at++) sums[at] = ((sums[at] ?? 0) + hash.readUInt32LE(4 * at)) >>> 0
  }
  return `redisk1.${sums.map((sum) => sum.toString(16).padStart(8, '0')).join('')}`
}
