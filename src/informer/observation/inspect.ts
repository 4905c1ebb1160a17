import { messageOf } from '../../contract/errors.js'
import type { Proof, Status } from '../../contract/status.js'
import type { DeclaredIndex } from '../../store/indexes/index-builder.js'
import type { StoreIndex } from '../../store/indexes/store-index.js'
import type { Store } from '../../store/store.js'
import type { FailingKey } from '../../subscriptions/controller/controller-types.js'
import type { Feed } from '../../subscriptions/feed.js'
import type { Subscription } from '../../subscriptions/subscription-types.js'
import type { InformerContext } from '../informer-context.js'
import type { ViewInputs } from '../sources/view-inputs.js'
import type { Inspection } from './inspect-types.js'

/** The number of sources, of subscriptions and of indexes in a picture. */
const MAX_PARTS = 50
const MAX_INVALID = 20
const MAX_FAILING = 10
const LARGEST = 10
/** More values are not read, because that takes too long. A sorted index may have one for each object. */
const MAX_READ = 100_000
const MAX_TEXT = 200

export type Transition = Omit<Inspection['transitions'][number], 'at'> & { readonly at: number }

export function inspect<T>(
  name: string,
  { clock, indexer, subscriptions }: Pick<InformerContext<T>, 'clock' | 'indexer' | 'subscriptions'>,
  status: Status,
  sources: ReadonlyMap<string, Status>,
  transitions: readonly Transition[],
  view: Pick<ViewInputs, 'names' | 'work'> | undefined,
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
    view: view === undefined ? null : viewPicture(view),
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

function viewPicture({ names, work }: Pick<ViewInputs, 'names' | 'work'>): NonNullable<Inspection['view']> {
  const { evaluations, reads, changes, followed } = work
  const evaluationsPerChange = changes === 0 ? null : Math.round((followed / changes) * 100) / 100
  return { inputs: firstOf(names, MAX_PARTS, text), evaluations, evaluationsPerChange, reads }
}

function sourcePicture(name: string, status: Status, now: number): Inspection['sources']['first'][number] {
  const { state, reason, version, silentMs, lagMs, attempt, retryInMs, relists, reconnects, lastError, proof } = status
  const { savedAt } = status
  return {
    name: text(name),
    state,
    reason: text(reason),
    version: version === undefined ? null : text(version),
    silentMs,
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

function proofPicture(
  { version, at, by, foundDrift }: Proof,
  now: number,
): Inspection['sources']['first'][number]['proof'] {
  return { version: text(version), at: time(at), ageMs: now - at, by, foundDrift }
}

function subscriptionPictures<T>(
  subscriptions: ReadonlyMap<Feed<T>, Subscription>,
  now: number,
): Inspection['subscriptions'] {
  const described = Array.from(subscriptions, ([feed, { backlog }]) => {
    const runningMs = now - (feed.reader.slow?.longest?.since ?? now)
    return { feed, backlog, ageMs: Math.max(runningMs, backlog.oldestMs) }
  })
  described.sort((a, b) => b.ageMs - a.ageMs)
  return firstOf(described, MAX_PARTS, ({ feed, backlog }) => {
    const { name, reader, scope, counts } = feed
    const { kind, slow } = reader
    const { longest: running, slowest } = slow ?? {}
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
      running: running === undefined ? null : { key: text(running.key), ms: now - running.since },
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

function indexPicture<T>({ name, index }: DeclaredIndex<T>, objects: number): Inspection['indexes']['first'][number] {
  const { valueCount } = index
  const buckets = (valueCount ?? objects) <= MAX_READ ? index.buckets?.() : undefined
  if (buckets === undefined) return { name: text(name), values: valueCount ?? null, largest: [] }
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
): { readonly count: number; readonly first: readonly P[] } {
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

const SAMPLES = 100
const MAX_VALUES = 10_000
/** The key, the entry and its place in the table, in bytes. */
const ENTRY_BYTES = 150
/** The place of an object in an index, and a value of an index by equality. */
const INDEXED_BYTES = 40
const VALUE_BYTES = 170
/** V8 has a text of JSON of at most this length once. */
const SHARED_TEXT = 10

/** An estimate from a sample. `packed` objects are not in the store itself. */
function memoryOf(
  store: Pick<Store<unknown>, 'size' | 'ordinalStart' | 'ordinalLimit' | 'entryAt'>,
  indexes: readonly Pick<StoreIndex<unknown>, 'valueCount'>[],
  packed: number,
): Inspection['memory'] {
  const { size, ordinalStart, ordinalLimit } = store
  const step = Math.max(1, Math.floor((ordinalLimit - ordinalStart) / SAMPLES))
  const seen = new Set<unknown>()
  let [sampled, total] = [0, 0]
  for (let ordinal = ordinalStart; ordinal < ordinalLimit && sampled < SAMPLES; ordinal += step) {
    const entry = store.entryAt(ordinal)
    if (entry === undefined) continue
    total += bytesOf(entry.object, seen)
    sampled++
  }
  const bytesPerObject = sampled === 0 ? 0 : Math.round(total / sampled)
  let bytes = (size - packed) * (bytesPerObject + ENTRY_BYTES + INDEXED_BYTES * indexes.length)
  for (const { valueCount = 0 } of indexes) bytes += VALUE_BYTES * valueCount
  return { bytes, bytesPerObject, sampled }
}

/** Each object and each shared text of the sample counts once, as V8 stores it. Adds them to `seen`. */
function bytesOf(root: unknown, seen: Set<unknown>): number {
  const pending: unknown[] = [root]
  let bytes = 0
  for (let visited = 0; pending.length > 0 && visited < MAX_VALUES; visited++) {
    const value = pending.pop()
    if (typeof value === 'bigint') bytes += 24
    else if (typeof value === 'number') bytes += Number.isInteger(value) ? 0 : 16
    else if (typeof value === 'string') {
      if (value.length > SHARED_TEXT || !seen.has(value)) bytes += textBytes(value)
      if (value.length <= SHARED_TEXT) seen.add(value)
    } else if (typeof value === 'object' && value !== null && !seen.has(value)) {
      seen.add(value)
      const parts = partsOf(value)
      bytes += parts.bytes
      for (const part of parts.values) pending.push(part)
    }
  }
  return bytes
}

function textBytes(text: string): number {
  const isWide = /[\u0100-\uffff]/.test(text.slice(0, 1_000))
  return 16 + text.length * (isWide ? 2 : 1)
}

function partsOf(value: object): { readonly bytes: number; readonly values: readonly unknown[] } {
  try {
    if (ArrayBuffer.isView(value)) return { bytes: 100 + value.byteLength, values: [] }
    if (value instanceof Date) return { bytes: 88, values: [] }
    if (value instanceof Map) return { bytes: 130 + 40 * value.size, values: [...value.entries()].flat() }
    if (value instanceof Set) return { bytes: 130 + 30 * value.size, values: [...value] }
    if (Array.isArray(value)) return { bytes: 48 + 8 * value.length, values: value }
    const values: readonly unknown[] = Object.values(value)
    return { bytes: 24 + 8 * values.length, values }
  } catch {
    return { bytes: 0, values: [] } // A getter or a proxy of the user threw.
  }
}
