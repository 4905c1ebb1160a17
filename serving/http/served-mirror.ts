import { SEVERAL_SOURCES } from '../../adapters/common/upstream-versions.js'
import type { Clock } from '../../src/contract/clock.js'
import { OptionError } from '../../src/contract/errors.js'
import type { Entry } from '../../src/contract/source.js'
import type { Status } from '../../src/contract/status.js'
import type { Version } from '../../src/contract/version.js'
import type { Informer } from '../../src/informer/informer-types.js'
import { commonVersion, internalsOf } from '../../src/informer/internals.js'
import { isRouting, JoinedChanges, joinedVersion } from '../../src/informer/joined-changes.js'
import type { StoreView } from '../../src/store/store-view.js'
import type { ChangeBatch, ChangeStream, SubscribeOptions } from '../../src/subscriptions/subscription-types.js'
import { CountingMap } from '../../src/util/counting-map.js'
import type { Wait } from '../../src/util/deadline.js'
import { checkOptions, isWhere } from '../../src/util/validate-options.js'
import { type EncodedParts, encodedParts } from './encoded-parts.js'

/** The objects that a caller may read: those with these values in these indexes. */
export type Where = Readonly<Record<string, unknown>>

/** By the names of their collections; a single informer by "". */
type Informers<T> = ReadonlyMap<string, Informer<T, object>>

export type Sources = Readonly<Record<string, Status>>

/** A stream of changes, as a feed reads it. */
export interface ServedChanges<T>
  extends Pick<ChangeStream<T>, 'version' | 'synced'>,
    AsyncIterable<Pick<ChangeBatch<T>, 'changes' | 'version' | 'isSynced'>> {
  readonly backlog: { readonly keys: number }
}

/** An informer, or several collections that followers see as one mirror: each in commits of all. */
export class ServedMirror<T> {
  readonly #informers: Informers<T>
  /** The informer, if it is served alone. Its keys have no prefix. */
  readonly #only: Informer<T, object> | undefined
  readonly #clock: Clock
  /** The invalid objects of all collections, and the number of changes of each of their maps. */
  #invalid: { readonly all: CountingMap<string, unknown>; readonly changes: readonly number[] }

  constructor(informers: Informers<T>, clock: Clock) {
    this.#only = informers.get('')
    this.#informers = informers
    this.#clock = clock
    this.#invalid = { all: new CountingMap(), changes: [] }
  }

  get name(): string {
    return [...this.#informers.values()].map(({ name }) => name).join()
  }

  /** The versions of all collections that readers see. */
  get version(): Version | undefined {
    return this.#only === undefined ? joinedVersion(this.#informers.values()) : this.#only.version
  }

  /** The upstream version after a batch; empty if there is none. Of several collections, the one that all have. */
  upstreamAt(version: Version = ''): string {
    if (this.#only !== undefined && this.#only.status.sources === undefined) return version
    const inputs = [...this.#informers.values()].flatMap((each) => internalsOf(each) ?? [])
    const isKnown = inputs.length === this.#informers.size
    return (isKnown ? commonVersion(inputs, version.split('\n')) : undefined) ?? SEVERAL_SOURCES
  }

  /** Whether readers see no commit after this version of a stream, in which this number of keys is queued. */
  isAt(version: Version | undefined, queued: number): boolean {
    return !isRouting(this.#informers.values()) && version === this.version && queued === 0
  }

  /** The invalid objects by key: the same map until they change. */
  get invalid(): ReadonlyMap<string, unknown> {
    if (this.#only !== undefined) return this.#only.invalid
    const changes = Array.from(this.#informers.values(), ({ invalid }) =>
      invalid instanceof CountingMap ? invalid.changes : Number.NaN,
    )
    if (changes.some((each, i) => each !== this.#invalid.changes[i])) {
      const all = new CountingMap<string, unknown>()
      for (const [collection, { invalid }] of this.#informers)
        for (const [key, error] of invalid) all.set(prefixed(collection, key), error)
      this.#invalid = { all, changes }
    }
    return this.#invalid.all
  }

  get sources(): Sources {
    const all: Record<string, Status> = {}
    for (const [collection, { status }] of this.#informers) Object.assign(all, sourcesOf(collection, status))
    return all
  }

  /** Calls `listener` with the sources of an informer whose status changes. Returns a function that ends that. */
  onStatus(listener: (sources: Sources, before: Sources) => void): () => void {
    const ends = Array.from(this.#informers, ([collection, informer]) => {
      const changed = (status: Status, before: Status): void =>
        listener(sourcesOf(collection, status), sourcesOf(collection, before))
      informer.on('status', changed)
      return () => informer.off('status', changed)
    })
    return () => {
      for (const end of ends) end()
    }
  }

  async synced(wait: Wait): Promise<void> {
    await Promise.all(Array.from(this.#informers.values(), (each) => each.synced(wait)))
  }

  async fresh(wait: Wait): Promise<void> {
    await Promise.all(Array.from(this.#informers.values(), (each) => each.fresh(wait)))
  }

  entry(key: string): Entry<T> | undefined {
    if (this.#only !== undefined) return this.#only.entry(key)
    const at = key.indexOf('/')
    const entry = this.#informers.get(key.slice(0, at))?.entry(key.slice(at + 1))
    return entry && { ...entry, key }
  }

  changes(where: Where, signal: AbortSignal): ServedChanges<T> {
    if (this.#only !== undefined) return this.#only.changes({ where, signal })
    const optionsOf = (collection: string): SubscribeOptions<T, object> => ({
      where: this.#whereOf(where, collection),
      signal,
    })
    const joined = new JoinedChanges(this.#informers, this.#clock, optionsOf)
    return {
      get version() {
        return joined.version
      },
      get backlog() {
        return joined.backlog
      },
      synced: () => joined.synced(),
      async *[Symbol.asyncIterator]() {
        for await (const { parts, ...batch } of joined) {
          const changes = [...parts].flatMap(([collection, part]) =>
            part.map((change) => ({ ...change, key: prefixed(collection, change.key) })),
          )
          yield { ...batch, changes }
        }
      },
    }
  }

  /**
   * A collection that a scope misspells or leaves out would be served whole.
   * @throws OptionError for an unknown collection, for one that is missing, and for values that are not a plain object.
   */
  assertWhere(where: object): void {
    const names = Object.keys(where)
    if (this.#only !== undefined || names.length === 0) return
    const call = 'serveHttp: the collections of a scope'
    checkOptions(call, where, Object.fromEntries(Array.from(this.#informers.keys(), (each) => [each, isWhere])))
    const missing = [...this.#informers.keys()].find((each) => !names.includes(each))
    if (missing === undefined) return
    throw new OptionError(`${call}: "${missing}" is missing; {} selects all its objects`, { option: missing })
  }

  /** Whether several informers are served by name. One informer has no name, and its keys are served as they are. */
  get hasCollections(): boolean {
    return this.#only === undefined
  }

  has(collection: string): boolean {
    return this.#informers.has(collection)
  }

  scopeName(where: Where): string {
    return [...this.#informers.keys()].map((each) => scopeName(this.#whereOf(where, each))).join()
  }

  /** Encodes the objects of a scope that readers see now, by collection: by "" if there is one informer. */
  async encode(where: Where, invalid: Iterable<string>, isShared: boolean): Promise<ReadonlyMap<string, EncodedParts>> {
    const views = Array.from(this.#informers, ([collection, informer]) => ({ collection, view: informer.snapshot() }))
    try {
      const left = [...invalid]
      const all = new Map<string, EncodedParts>()
      for (const { collection, view } of views) {
        const prefix = prefixed(collection, '')
        const own = new Set(left.flatMap((key) => (key.startsWith(prefix) ? [key.slice(prefix.length)] : [])))
        const keys = keysIn(view, this.#whereOf(where, collection))
        all.set(collection, await encodedParts(view, keys, own, { clock: this.#clock, isShared, prefix }))
      }
      return all
    } finally {
      for (const { view } of views) view[Symbol.dispose]()
    }
  }

  #whereOf(where: Where, collection: string): Where {
    if (this.#only !== undefined) return where
    return Object.hasOwn(where, collection) ? (where[collection] as Where) : {}
  }
}

/** That of a single informer stays as it is. */
function prefixed(collection: string, key: string): string {
  return collection === '' ? key : `${collection}/${key}`
}

/** A single source has the name of its collection. */
function sourcesOf(collection: string, status: Status): Sources {
  const { sources } = status
  if (sources === undefined) return { [collection]: status }
  return Object.fromEntries(Object.entries(sources).map(([name, each]) => [prefixed(collection, name), each]))
}

function* keysIn<T>(view: StoreView<T, object>, where: Where): Generator<string> {
  const [first, ...rest] = Object.entries(where)
  if (first === undefined) return yield* view.keys()
  const others = rest.map((each) => new Set(keysWith(view, each)))
  for (const key of keysWith(view, first)) if (others.every((keys) => keys.has(key))) yield key
}

/** Returns the name of a scope. Two scopes with different values have different names. */
function scopeName(where: Where): string {
  const selected = Object.entries(where).sort(([a], [b]) => (a < b ? -1 : 1))
  return JSON.stringify(selected.map(([index, value]) => [index, textOf(value)]))
}

function* keysWith<T>(view: StoreView<T, object>, [name, value]: [string, unknown]): Generator<string> {
  const index = (view.by as Record<string, { entries(value: unknown): Iterable<[string, T]> }>)[name]
  for (const [key] of index?.entries(value) ?? []) yield key
}

/** Distinguishes values of an index that have the same JSON, such as `1n` and `"1"`. */
function textOf(value: unknown): string {
  if (Array.isArray(value)) return JSON.stringify(value.map(textOf))
  if (value instanceof Date) return `date ${value.getTime()}`
  return `${typeof value} ${Object.is(value, -0) ? '-0' : String(value)}`
}
