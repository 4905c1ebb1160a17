import type { Informer } from '../src/informer/informer-types.js'
import { jsonTextOf } from './object-json.js'
import { sortInSlices } from './sort-in-slices.js'
import { TimeSlice } from './time-slice.js'

/** Selects objects of an informer. */
export interface ObjectQuery {
  /** A text that the key or the object contains, whatever its case. Empty: every object. */
  readonly text: string
  /** Values of indexes, as texts: all of them must match. */
  readonly values: ReadonlyMap<string, string>
}

/** A value of an index, with the number of its objects. */
export interface FacetValue {
  readonly value: string
  readonly count: number
}

/** The values of an index. */
export interface Facet {
  readonly index: string
  /** The number of values. */
  readonly size: number
  /** The values with the most objects. */
  readonly largest: readonly FacetValue[]
}

const MAX_FACET_VALUES = 20
/** A search ends after this many matches. */
export const MAX_MATCHES = 1_000_000

interface EqualIndex {
  values(): Iterable<unknown>
  count(value: unknown): number
  entries(value: unknown): Iterable<readonly [key: string, object: unknown]>
}

/** Answers queries over the objects of an informer. The keys of a query are kept until the store changes. */
export class ObjectQueries {
  readonly #informer: Informer<unknown, object>
  readonly #showsSecrets: boolean
  /** The result of the last queries, with the store's list at that time: another list is another state. */
  readonly #cache = new Map<string, { readonly state: readonly unknown[]; readonly keys: Promise<readonly string[]> }>()

  constructor(informer: Informer<unknown, object>, showsSecrets: boolean) {
    this.#informer = informer
    this.#showsSecrets = showsSecrets
  }

  /** Returns the indexes that have values for lookups by equality, with their largest values. */
  async facets(signal: AbortSignal): Promise<readonly Facet[]> {
    const slice = new TimeSlice()
    const facets: Facet[] = []
    for (const [name, index] of indexesOf(this.#informer.by)) {
      const largest: FacetValue[] = []
      let size = 0
      for (const value of index.values()) {
        size++
        const count = index.count(value)
        if (largest.length < MAX_FACET_VALUES || count > (largest.at(-1)?.count ?? 0)) {
          const at = largest.findIndex((each) => each.count < count)
          largest.splice(at === -1 ? largest.length : at, 0, { value: String(value), count })
          largest.splice(MAX_FACET_VALUES)
        }
        await slice.end(signal)
      }
      facets.push({ index: name, size, largest })
    }
    return facets
  }

  /** Returns the keys of all matching objects, sorted. */
  async keys(query: ObjectQuery, signal: AbortSignal): Promise<readonly string[]> {
    const id = JSON.stringify([query.text, [...query.values]])
    const state = this.#informer.list()
    const cached = this.#cache.get(id)
    if (cached?.state === state)
      return cached.keys.catch((error: unknown) => {
        // The client that began the search may have gone away.
        if (signal.aborted || !(error instanceof DOMException)) throw error
        return this.keys(query, signal)
      })
    const keys = this.#find(query, signal)
    this.#cache.delete(id)
    this.#cache.set(id, { state, keys })
    for (const oldest of this.#cache.keys()) if (this.#cache.size > 4) this.#cache.delete(oldest)
    keys.catch(() => {
      if (this.#cache.get(id)?.keys === keys) this.#cache.delete(id)
    })
    return keys
  }

  async #find({ text, values }: ObjectQuery, signal: AbortSignal): Promise<readonly string[]> {
    const isStopped = this.#informer.status.state === 'stopped'
    using snapshot = isStopped ? undefined : this.#informer.snapshot()
    const view = snapshot ?? this.#informer // The store of a stopped informer does not change.
    const [first, ...others] = [...values].map(([index, value]) => lookup(view.by, index, value))
    const wanted = text.toLowerCase()
    const slice = new TimeSlice()
    const rest: Set<string>[] = []
    for (const entries of others) rest.push(await keysOf(entries, slice, signal))
    const keys: string[] = []
    for (const [key, object] of first ?? view.entries()) {
      if (rest.every((set) => set.has(key)) && this.#contains(key, object, wanted)) keys.push(key)
      if (keys.length >= MAX_MATCHES) break
      await slice.end(signal)
    }
    return await sortInSlices(keys, slice, signal)
  }

  #contains(key: string, object: unknown, wanted: string): boolean {
    if (wanted === '' || key.toLowerCase().includes(wanted)) return true
    return jsonTextOf(object, this.#showsSecrets).toLowerCase().includes(wanted)
  }
}

/** The indexes of a store, or of a snapshot of it. */
function indexesOf(by: object): readonly (readonly [name: string, index: EqualIndex])[] {
  return Object.entries(by).filter((entry): entry is [string, EqualIndex] => typeof entry[1]?.values === 'function')
}

async function keysOf(
  entries: Iterable<readonly [string, unknown]>,
  slice: TimeSlice,
  signal: AbortSignal,
): Promise<Set<string>> {
  const keys = new Set<string>()
  for (const [key] of entries) {
    keys.add(key)
    await slice.end(signal)
  }
  return keys
}

function lookup(by: object, name: string, text: string): Iterable<readonly [string, unknown]> {
  const indexes = indexesOf(by)
  const index = indexes.find(([each]) => each === name)?.[1]
  if (index === undefined) {
    const names = indexes.map(([each]) => each)
    throw new TypeError(`there is no index "${name}"; there are ${names.join(', ') || 'none'}`)
  }
  for (const value of index.values()) if (String(value) === text) return index.entries(value)
  return []
}
