import { messageOf } from '../contract/errors.js'
import type { Proof, Status } from '../contract/status.js'
import type { DeclaredIndex } from '../store/indexes/index-builder.js'
import type { FailingKey } from '../subscriptions/controller-types.js'
import type { Feed } from '../subscriptions/feed.js'
import type { Subscription } from '../subscriptions/subscription-types.js'
import type { InformerContext } from './informer-context.js'
import { memoryOf } from './inspect-memory.js'
import type {
  FirstOf,
  IndexPicture,
  Inspection,
  ProofPicture,
  SourcePicture,
  SubscriptionPicture,
} from './inspect-types.js'
import type { Transition } from './transition-log.js'

/** The number of sources, of subscriptions and of indexes in a picture. */
const MAX_PARTS = 50
const MAX_INVALID = 20
/** The number of failing keys of each controller. */
const MAX_FAILING = 10
/** The number of the largest values of each index. */
const LARGEST = 10
/** The values of larger sorted indexes are not counted, because that takes too long. */
const MAX_SORTED = 100_000
/** The number of characters of a text. */
const MAX_TEXT = 200

/**
 * Describes an informer, with the status of all of it and of each source by name. All texts and collections in the
 * result have a limit.
 */
export function inspect<T>(
  name: string,
  { clock, indexer, subscriptions }: Pick<InformerContext<T>, 'clock' | 'indexer' | 'subscriptions'>,
  status: Status,
  sources: ReadonlyMap<string, Status>,
  transitions: readonly Transition[],
): Inspection {
  const now = clock.now()
  return {
    name: text(name),
    at: time(now),
    state: status.state,
    reason: text(status.reason),
    isSynced: status.isSynced,
    objects: indexer.size,
    transitions: transitions.map(({ at, source, from, to, reason }) => ({
      at: time(at),
      source: text(source),
      from,
      to,
      reason: text(reason),
    })),
    sources: firstOf(sources, MAX_PARTS, ([source, each]) => sourcePicture(source, each, now)),
    subscriptions: subscriptionPictures(subscriptions, now),
    indexes: firstOf([...indexer.declared.values()], MAX_PARTS, (each) => indexPicture(each, indexer.store.size)),
    invalid: firstOf(indexer.invalid, MAX_INVALID, ([key, error]) => ({ key: text(key), error: text(error.message) })),
    memory: memoryOf(
      indexer.store.readers,
      Array.from(indexer.declared.values(), ({ index }) => index),
      indexer.store.kept?.size ?? 0,
    ),
  }
}

function sourcePicture(name: string, status: Status, now: number): SourcePicture {
  const { state, reason, version, staleMs, lagMs, attempt, retryInMs, relists, reconnects, lastError, proof } = status
  const { savedAt } = status
  return {
    name: text(name),
    state,
    reason: text(reason),
    version: version === undefined ? null : text(version),
    staleMs,
    lagMs: lagMs ?? null,
    attempt,
    retryInMs: retryInMs ?? null,
    relists,
    reconnects,
    lastError: lastError === undefined ? null : text(lastError.message),
    proof: proof === undefined ? null : proofPicture(proof, now),
    savedAt: savedAt === undefined ? null : time(savedAt),
  }
}

function proofPicture({ version, at, by, foundDrift }: Proof, now: number): ProofPicture {
  return { version: text(version), at: time(at), ageMs: now - at, by, foundDrift }
}

function subscriptionPictures<T>(
  subscriptions: ReadonlyMap<Feed<T>, Subscription>,
  now: number,
): FirstOf<SubscriptionPicture> {
  const described = Array.from(subscriptions, ([feed, { backlog }]) => {
    const runningMs = now - (feed.reader.longestRunning?.since ?? now)
    return { feed, backlog, ageMs: Math.max(runningMs, backlog.oldestMs) }
  })
  described.sort((a, b) => b.ageMs - a.ageMs)
  return firstOf(described, MAX_PARTS, ({ feed, backlog }) => {
    const { name, reader, scope, counts } = feed
    const { kind, longestRunning, slowest } = reader
    const where = scope.where.slice(0, MAX_PARTS).map(([index, value]) => [text(index.name), valueText(value)] as const)
    const failing: ReadonlyMap<string, FailingKey> = reader.failing ?? new Map()
    return {
      name: name === undefined ? null : text(name),
      kind,
      scope: {
        key: scope.key === undefined ? null : text(scope.key),
        where: Object.fromEntries(where),
        isFiltered: scope.isFiltered,
      },
      isSynced: feed.isSynced,
      backlog: { keys: backlog.keys, oldestMs: backlog.oldestMs },
      running: longestRunning === undefined ? null : { key: text(longestRunning.key), ms: now - longestRunning.since },
      slowest:
        slowest === undefined ? null : { key: text(slowest.key), ms: slowest.ms, endedAt: time(slowest.endedAt) },
      succeeded: counts.succeeded,
      failed: counts.failed,
      failing: firstOf(failing, MAX_FAILING, ([key, { attempt, retryAt, lastError }]) => ({
        key: text(key),
        attempt,
        retryInMs: retryAt === undefined ? null : Math.max(0, retryAt - now),
        lastError: text(lastError),
      })),
    }
  })
}

function indexPicture<T>({ name, index }: DeclaredIndex<T>, objects: number): IndexPicture {
  const isCounted = index.valueCount !== undefined || objects <= MAX_SORTED
  const buckets = isCounted ? index.buckets?.() : undefined
  if (buckets === undefined) return { name: text(name), values: null, largest: [] }
  const largest: (readonly [value: unknown, count: number])[] = []
  let values = 0
  for (const bucket of buckets) {
    values++
    const [, count] = bucket
    const least = largest.at(-1)
    if (largest.length === LARGEST && least !== undefined && least[1] >= count) continue
    if (largest.length === LARGEST) largest.pop()
    const at = largest.findIndex((each) => each[1] < count)
    largest.splice(at === -1 ? largest.length : at, 0, bucket)
  }
  return {
    name: text(name),
    values,
    largest: largest.map(([value, count]) => ({ value: valueText(value), objects: count })),
  }
}

function firstOf<V, P>(
  all: { readonly size: number; [Symbol.iterator](): Iterator<V> } | readonly V[],
  limit: number,
  picture: (value: V) => P,
): FirstOf<P> {
  const first: P[] = []
  for (const each of all) {
    if (first.length === limit) break
    first.push(picture(each))
  }
  return { count: 'size' in all ? all.size : all.length, first }
}

function text(value: string): string {
  return value.length <= MAX_TEXT ? value : `${value.slice(0, MAX_TEXT - 1)}…`
}

/** A value of an index, or a tuple of them. */
function valueText(value: unknown): string {
  if (Array.isArray(value)) return text(value.map(valueText).join(', '))
  return text(value instanceof Date ? time(value.getTime()) : String(value))
}

function time(ms: number): string {
  try {
    return new Date(ms).toISOString()
  } catch (error) {
    return messageOf(error) // A time out of range.
  }
}
