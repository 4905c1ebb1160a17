import { createHash } from 'node:crypto'
import { OptionError } from '../../../src/contract/errors.js'
import type {
  Delete,
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
import {
  checkOptions,
  isCount,
  isName,
  isOneOf,
  isPositive,
  type OptionCheck,
} from '../../../src/util/validate-options.js'
import { isCodec } from '../../common/value-codec.js'
import { ResponseSizeLimit } from '../connection/adaptive-page-size.js'
import { assertGiven, clientFlaw, isCluster, keyPrefixOf, type RedisClient } from '../connection/client.js'
import { ClusterRoute } from '../connection/cluster-route.js'
import { EventCodec } from '../connection/codec.js'
import type { RedisCodecName, RedisDecode, RedisKeys } from '../connection/codec-types.js'
import { checkRole, warningsOf } from '../connection/server-checks.js'
import type { Session } from '../connection/session.js'
import { SessionRunner } from '../connection/session-runner.js'
import { TrackedKeys, type Values } from './tracked-keys.js'

/**
 * The options of `redisKeysSource`.
 *
 * @example
 * ```ts
 * import { Redis } from 'ioredis'
 *
 * const source = redisKeysSource<string>({
 *   client: new Redis(url, { lazyConnect: true }),
 *   prefix: 'feature:', // Only keys with strings are mirrored.
 *   codec: 'string', // Default: `json`.
 *   maxKeys: 1_000, // Default: 100 000.
 * })
 * ```
 */
export interface RedisKeysSourceOptions<T> {
  /** A `Redis` of ioredis, or a `Cluster` if the prefix has a whole hash tag. The source never closes it. */
  readonly client: RedisClient
  /** The prefix of the keys, after the client's `keyPrefix`. Only keys that hold strings are mirrored. */
  readonly prefix: string
  /** How a value becomes an object: `json` (default), `string` (UTF-8), `bytes`, or a function. */
  readonly codec?: RedisCodecName | RedisDecode<T>
  /** `string` (default): keys are UTF-8. `bytes`: a key is a string with one character for each byte. */
  readonly keys?: RedisKeys
  /** The maximum number of keys. With more keys the source fails with `PROTOCOL`. Default 100 000. */
  readonly maxKeys?: number
  /**
   * The time between two bookmarks of a silent watch, in milliseconds. After it, with or without messages, the source
   * checks that the server is a master and that no databases were swapped. Default 2 000.
   */
  readonly heartbeatMs?: number
  /**
   * A connection counts as lost if a response is pending and nothing arrives for this many milliseconds. Default 5 000.
   */
  readonly timeoutMs?: number
}

/**
 * Plain keys, as a source. Redis keeps no history of them: there are no marks to wait for, and after a lost connection
 * all keys are read again.
 *
 * @example
 * ```ts
 * import { Redis } from 'ioredis'
 *
 * const features = redisKeysSource<string>({ client: new Redis(url), prefix: 'feature:', codec: 'string' })
 * const informer = createInformer({ source: features })
 * await informer.start().synced()
 * await informer.until('feature:dark-mode', (value) => value === 'on', { signal }) // There are no marks to wait for.
 * ```
 */
export interface RedisKeysSource<T> extends ListerWatcher<T> {
  /** The longest silence of a healthy watch, in milliseconds: the options `heartbeatMs` and `timeoutMs`. */
  readonly heartbeatMs: number
}

const optionChecks: Readonly<Record<keyof RedisKeysSourceOptions<unknown>, OptionCheck>> = {
  client: clientFlaw,
  prefix: isName,
  codec: isCodec,
  keys: isOneOf('string', 'bytes'),
  maxKeys: isCount,
  heartbeatMs: isPositive,
  timeoutMs: isPositive,
}

/**
 * Creates a source for plain keys that hold strings, of Redis 7 or later, or Valkey. It opens no connection before the
 * first list or watch.
 * @returns The source, for the option `source` of `createInformer`.
 * @throws OptionError when an option is missing or not allowed.
 *
 * @example
 * ```ts
 * import { Redis } from 'ioredis'
 *
 * const source = redisKeysSource<Limit>({ client: new Redis(url, { lazyConnect: true }), prefix: 'limits:' })
 * const limits = createInformer({ source })
 * ```
 */
export function redisKeysSource<T = unknown>(options: RedisKeysSourceOptions<T>): RedisKeysSource<T> {
  checkOptions('redisKeysSource', options, optionChecks)
  assertGiven('redisKeysSource', options, ['client', 'prefix'])
  const { client, prefix } = options
  if (isCluster(client) && !/^[^{]*\{[^}]+\}/.test(keyPrefixOf(client) + prefix)) {
    throw new OptionError(
      `redisKeysSource: in a Cluster the option "prefix" must have a hash tag, such as "{user}:": other keys are on several servers`,
      { option: 'prefix' },
    )
  }
  return keysSource<T>(options)
}

function keysSource<T>(options: RedisKeysSourceOptions<T>): RedisKeysSource<T> {
  const { client, codec: format = 'json', keys: keyForm = 'string' } = options
  const { maxKeys = 100_000, heartbeatMs: blockMs = 2_000, timeoutMs = 5_000 } = options
  const clientPrefix = keyPrefixOf(client)
  const prefix = clientPrefix + options.prefix
  const name = `redis:${prefix}*`
  const codec = new EventCodec<T>(format, keyForm)
  const keyAt = Buffer.byteLength(clientPrefix)
  const warnings = warningsOf(name)
  const [route, responseSize] = [new ClusterRoute(client, prefix), new ResponseSizeLimit()]
  const runner = new SessionRunner({ route, warnings, blockMs, timeoutMs, mayEvict: true })
  let batches = 0

  const track = (session: Session, { signal, clock }: SourceContext): Promise<TrackedKeys> => {
    responseSize.begin(clock.now())
    return TrackedKeys.open(session, route, { signal, clock, timeoutMs, prefix, maxKeys, responseSize })
  }

  const changesOf = (values: Values): (Put<T> | Invalid | Delete<T>)[] =>
    Array.from(values, ([each, value]) => {
      const bytes = Buffer.from(each, 'latin1')
      return value === undefined ? codec.delete(bytes, keyAt) : codec.put(bytes, value, keyAt)
    })

  const eventsOf = (values: Values): (Put<T> | Invalid)[] =>
    changesOf(values).filter((event) => event.type !== 'delete')

  const replacement = (values: Values, version: Version): WatchBatch<T> => {
    const events = eventsOf(values)
    const entries = events.filter((event) => event.type === 'put')
    const invalid = events.filter((event) => event.type === 'invalid')
    return { events: [{ type: 'replace', entries }, ...invalid], version }
  }

  async function* list(session: Session, context: ListContext): AsyncGenerator<ListPage<T>> {
    const { pageSize: size } = context
    const keys = await track(session, context)
    const values = await keys.all()
    const events = eventsOf(values)
    for (let at = 0; at + size < events.length; at += size)
      yield { events: events.slice(at, at + size), remaining: events.length - at - size }
    const rest = events.length % size || Math.min(size, events.length)
    yield { events: events.slice(events.length - rest), version: versionOf(values) }
  }

  /** Begins with all keys, unless they have not changed since `after`. */
  async function* watch(session: Session, context: WatchContext): AsyncGenerator<WatchBatch<T>> {
    const { after, clock, random, warn } = context
    const keys = await track(session, context)
    // Versions after a change differ from the versions of all other watches: no watch can be resumed from them.
    const nonce = Math.floor(random.next() * 2 ** 48).toString(36)
    let version = after
    for (;;) {
      const all = await keys.all()
      const found = versionOf(all)
      yield found === version ? { events: [], version } : replacement(all, found)
      version = found
      for (let checkAt = clock.now() + blockMs; ; ) {
        const changes = await keys.changes(blockMs)
        if (changes === undefined) break
        if (changes.size === 0 || clock.now() >= checkAt) {
          await checkRole(session, warnings(warn))
          if (await keys.hasSwapped()) break
          checkAt = clock.now() + blockMs
        }
        if (changes.size > 0) version = `redisk1.${nonce}.${++batches}`
        yield { events: changesOf(changes), version }
      }
    }
  }

  return {
    name,
    selection: JSON.stringify([clientPrefix, String(format), keyForm]),
    heartbeatMs: blockMs + timeoutMs,
    list: (context) => runner.list(context, (session) => list(session, context)),
    watch: (context) => runner.watch(context, watch),
  }
}

/** The version of a set of keys and values: equal for equal sets. It is a sum of hashes, because keys have no order. */
function versionOf(values: Values): Version {
  const sums = [0, 0, 0, 0]
  for (const [name, value] of values) {
    if (value === undefined) continue
    const hash = createHash('sha1').update(`${name.length} ${name}`, 'latin1').update(value).digest()
    for (let at = 0; at < sums.length; at++) sums[at] = ((sums[at] ?? 0) + hash.readUInt32LE(4 * at)) >>> 0
  }
  return `redisk1.${sums.map((sum) => sum.toString(16).padStart(8, '0')).join('')}`
}
