import type { ListContext, ListerWatcher, SourceContext, VersionPage } from '../../src/contract/source.js'
import type { Version } from '../../src/contract/version.js'
import { assertPresent, checkOptions, isPositive, type OptionCheck } from '../../src/util/validate-options.js'
import { isCodec } from '../common/value-codec.js'
import { isNatsClient, type NatsClient } from './connection/nats-client.js'

/**
 * Returns the object for the value that is stored under a key. If it throws, this one object is invalid.
 *
 * @example
 * ```ts
 * import type { NatsCodec } from 'listwatch/nats'
 *
 * const decode: NatsCodec<Limit> = (value, key) => {
 *   const [rps = NaN, burst = NaN] = new TextDecoder().decode(value).split(',').map(Number)
 *   if (Number.isNaN(burst)) throw new Error(`"${key}" has no burst`) // Only this object is invalid.
 *   return { tenant: key, rps, burst }
 * }
 * const source = natsKvSource({ client: connection, bucket: 'limits', codec: decode })
 * ```
 */
export type NatsCodec<T> = (value: Uint8Array, key: string) => T

/**
 * The options of `natsKvSource`.
 *
 * @example
 * ```ts
 * const source = natsKvSource<{ readonly state: string }>({
 *   client: connection,
 *   bucket: 'work',
 *   subjects: ['jobs.*', 'batches.>'], // Default: all keys.
 *   timeoutMs: 5_000, // Default: 10 000.
 *   verifyMs: 60_000, // Default: 10 000.
 * })
 * ```
 */
export interface NatsKvSourceOptions<T> {
  /**
   * A `NatsConnection` of the package @nats-io/transport-node 3.x. The source never closes it: stop the informer before
   * you do.
   */
  readonly client: NatsClient
  /** The name of the bucket. */
  readonly bucket: string
  /**
   * Which keys, as NATS selects subjects: `jobs.*` or `jobs.>`. Several of them must not select the same key. Default:
   * all keys.
   */
  readonly subjects?: string | readonly string[]
  /** How a value becomes an object: `json` (default), `string` (UTF-8), `bytes`, or a function. */
  readonly codec?: 'json' | 'string' | 'bytes' | NatsCodec<T>
  /** The JetStream domain of the bucket. Default: that of the connection. */
  readonly domain?: string
  /** The longest silence of a healthy watch, in milliseconds. Default 10 000. */
  readonly heartbeatMs?: number
  /**
   * A request without a response, or a consumer that is silent, counts as lost after this many milliseconds. Default
   * 10 000.
   */
  readonly timeoutMs?: number
  /** How often the watch searches keys that were removed without a delete marker, in milliseconds. Default 10 000. */
  readonly verifyMs?: number
}

/**
 * A JetStream key-value bucket, as a source. A mark is the revision of a write, as a string.
 *
 * @example
 * ```ts
 * import { Kvm } from '@nats-io/kv'
 *
 * const limits = createInformer({ source: natsKvSource<Limit>({ client: connection, bucket: 'limits' }) })
 * await limits.start().synced()
 * const bucket = await new Kvm(connection).open('limits')
 * const revision = await bucket.put('acme', '{"tenant":"acme","rps":5,"burst":10}')
 * await limits.waitFor(String(revision)) // The mark of the write.
 * ```
 */
export interface NatsKvSource<T> extends ListerWatcher<T> {
  /** The longest silence of a healthy watch, in milliseconds. */
  readonly heartbeatMs: number
  /**
   * Reads all keys with their revisions, for audits.
   * @throws SourceError UNAVAILABLE when JetStream does not respond; NOT_FOUND when the bucket does not exist.
   */
  versions(context: ListContext): AsyncIterable<VersionPage>
  /**
   * Reads the last sequence of the bucket from the leader of its stream.
   * @throws SourceError UNAVAILABLE when JetStream does not respond; NOT_FOUND when the bucket does not exist.
   */
  head(context: SourceContext): Promise<Version>
  /**
   * Whether a mirror at `at` includes `mark`.
   * @throws SourceError EPOCH_CHANGED when they are of different streams; PROTOCOL when one is not a bucket's version.
   */
  hasReached(at: Version, mark: Version): boolean
}

export const CLIENT_EXAMPLE = 'await connect({ servers }) of @nats-io/transport-node'

export const isClient: OptionCheck = (value) =>
  isNatsClient(value) ? undefined : 'must be a NatsConnection of the package @nats-io/transport-node 3.x'

export const isToken: OptionCheck = (value) =>
  typeof value === 'string' && /^[\w-]+$/.test(value) ? undefined : 'must consist of letters, digits, "-" and "_"'

const isSubject = (value: unknown): boolean =>
  typeof value === 'string' && /^([^\s.*>]+|\*)(\.([^\s.*>]+|\*))*(\.>)?$|^>$/.test(value)

const isSubjects: OptionCheck = (value) => {
  const all: readonly unknown[] = Array.isArray(value) ? value : [value]
  if (all.length > 0 && all.every(isSubject)) return undefined
  return 'must be a subject such as "jobs.*" or "jobs.>", or an array of these'
}

const optionChecks: Readonly<Record<keyof NatsKvSourceOptions<unknown>, OptionCheck>> = {
  client: isClient,
  bucket: isToken,
  subjects: isSubjects,
  codec: isCodec,
  domain: isToken,
  heartbeatMs: isPositive,
  timeoutMs: isPositive,
  verifyMs: isPositive,
}

/** Throws an OptionError that names the option and says what is allowed. */
export function checkNatsOptions<T>(options: NatsKvSourceOptions<T>): void {
  checkOptions('natsKvSource', options, optionChecks)
  assertPresent('natsKvSource', options, 'client', CLIENT_EXAMPLE)
  assertPresent('natsKvSource', options, 'bucket', "'limits'")
}
