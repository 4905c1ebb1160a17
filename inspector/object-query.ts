import type { Informer } from '../src/informer/informer-types.js'
import { internalsOf, type WalkedSnapshot } from '../src/informer/internals.js'
import { compareComponents, SlotSort } from '../src/store/indexes/order/slot-sort.js'
import type { Scalar } from '../src/store/indexes/scalar.js'
import { fieldsOf, type ObjectField, sortValueOf, textOrder } from './object-fields.js'
import { type JsonValue, jsonOf, jsonTextOf } from './object-json.js'
import { TimeSlice } from './time-slice.js'

export interface ObjectQuery {
  /** A text that the key or the object contains, whatever its case. Empty: every object. */
  readonly text: string
  /** Values of indexes, as texts: all of them must match. Of a compound index also the first components alone. */
  readonly values: ReadonlyMap<string, string>
  /** The field that determines the order, with `-` in front for the descending order. Empty: the key. */
  readonly sort: string
}

export interface FoundKeys {
  readonly keys: readonly string[]
  readonly total: number
  /** Whether more objects match than were searched for. */
  readonly isCut: boolean
  /** Milliseconds since the store was in the state of the result; 0 if it still is. */
  readonly ageMs: number
}

export interface FacetValue {
  readonly value: string
  readonly count: number
}

export interface Facet {
  readonly index: string
  /** The number of values; null if it is not counted, because that would take long. */
  readonly size: number | null
  /** The values with the most objects. Empty for an index of very many values. */
  readonly largest: readonly FacetValue[]
}

const MAX_FACET_VALUES = 20
/** The values of an index with more of them, or of a sorted index of more objects, are not counted. */
const MAX_COUNTED = 100_000
const MAX_MATCHES = 1_000_000
const SAMPLED = 200
/** A search that took longer than this, in milliseconds, is reused for that many times its duration. */
const LONG_MS = 250
const REUSED = 10
/** The first rows of many are found without sorting all. */
const HEAD = 1_000
const MANY = 20_000

interface Index {
  values(): Iterable<unknown>
  count(value: unknown): number
  entries(value: unknown): Iterable<readonly [key: string, object: unknown]>
}

interface Matches {
  readonly keys: string[]
  /** By the position of the key: what it is sorted by. */
  readonly own: Scalar[]
  /** The values of the field that determines the order, if it is not the key. */
  readonly values: (Scalar | undefined)[] | undefined
}

interface Search {
  readonly matches: Promise<Matches>
  /** The first keys in their order, by the number of wanted ones. */
  readonly ordered: Map<number, Promise<readonly string[]>>
  readonly beganAt: number
  readonly commits: number
  /** The time that it has taken, in milliseconds. */
  tookMs: number
  /** When it has to be repeated if the store has changed. */
  until: number
}

/**
 * Answers queries over the objects of an informer. The keys of a query are kept until the store changes. A search that
 * takes long is not repeated for each change: its result may be older.
 */
export class ObjectQueries {
  readonly #informer: Informer<unknown, object>
  readonly #showsSecrets: boolean
  readonly #searches = new Map<string, Search>()

  constructor(informer: Informer<unknown, object>, showsSecrets: boolean) {
    this.#informer = informer
    this.#showsSecrets = showsSecrets
  }

  async facets(signal: AbortSignal): Promise<readonly Facet[]> {
    using view = this.#snapshot()
    const slice = new TimeSlice(signal)
    const facets: Facet[] = []
    for (const { name, index: its } of view.declared) {
      const largest: FacetValue[] = []
      let size = its.valueCount ?? null
      if ((size ?? view.size) <= MAX_COUNTED) {
        await slice.perform(its.prepare?.() ?? [])
        const { values, count: countOf } = indexOf(this.#informer.by, name)
        size = 0
        for (const value of values()) {
          size++
          const count = countOf(value)
          if (largest.length < MAX_FACET_VALUES || count > (largest.at(-1)?.count ?? 0)) {
            const at = largest.findIndex((each) => each.count < count)
            largest.splice(at === -1 ? largest.length : at, 0, { value: textOf(value), count })
            largest.splice(MAX_FACET_VALUES)
          }
          if (slice.isOver) await slice.end()
        }
      }
      facets.push({ index: name, size, largest })
    }
    return facets
  }

  async fields(signal: AbortSignal): Promise<readonly ObjectField[]> {
    using view = this.#snapshot()
    const slice = new TimeSlice(signal)
    const sample: [string, JsonValue][] = []
    for (const { key, object } of view.walk().take(SAMPLED)) {
      sample.push([key, jsonOf(object, this.#showsSecrets)])
      if (slice.isOver) await slice.end()
    }
    return fieldsOf(sample)
  }

  /** Returns at least the first `count` keys of the matching objects in their order. */
  async keys(query: ObjectQuery, count: number, signal: AbortSignal): Promise<FoundKeys> {
    const id = JSON.stringify([query.text, query.sort, ...query.values])
    const commits = internalsOf(this.#informer)?.signal.commits ?? 0
    const beganAt = performance.now()
    let search = this.#searches.get(id)
    const isKept = search !== undefined && (search.commits === commits || beganAt < search.until)
    if (search === undefined || !isKept) {
      const matches = this.#find(query, signal)
      search = { matches, ordered: new Map(), beganAt, commits, tookMs: 0, until: 0 }
      this.#searches.delete(id)
      this.#searches.set(id, search)
      for (const oldest of this.#searches.keys()) if (this.#searches.size > 4) this.#searches.delete(oldest)
      void this.#measure(id, search, matches)
    }
    try {
      const matches = await search.matches
      const total = matches.keys.length
      const wanted = count <= HEAD && total > MANY ? HEAD : Infinity
      let ordered = search.ordered.get(Infinity) ?? search.ordered.get(wanted)
      if (ordered === undefined) {
        ordered = sorted(matches, query.sort.startsWith('-'), wanted, signal)
        search.ordered.set(wanted, ordered)
        void this.#measure(id, search, ordered)
      }
      const keys = await ordered
      const ageMs = search.commits === commits ? 0 : Math.round(performance.now() - search.beganAt)
      return { keys, total, isCut: total >= MAX_MATCHES, ageMs }
    } catch (error) {
      // The client that began the search may have gone away.
      if (signal.aborted || !(error instanceof DOMException)) throw error
      return this.keys(query, count, signal)
    }
  }

  /** Adds the time of a part of a search, and forgets a search that failed. */
  async #measure(id: string, search: Search, part: Promise<unknown>): Promise<void> {
    const beganAt = performance.now()
    try {
      await part
      const now = performance.now()
      search.tookMs += now - beganAt
      if (search.tookMs > LONG_MS) search.until = now + REUSED * search.tookMs
    } catch {
      if (this.#searches.get(id) === search) this.#searches.delete(id)
    }
  }

  async #find({ text, values, sort }: ObjectQuery, signal: AbortSignal): Promise<Matches> {
    using view = this.#snapshot()
    const slice = new TimeSlice(signal)
    const [first, ...others] = await this.#lookups(view, values, slice)
    const rest: Set<string>[] = []
    for (const entries of others) rest.push(await keysOf(entries, slice))
    const wanted = text.toLowerCase()
    const path = sort.replace(/^-/, '')
    const matches: Matches = { keys: [], own: [], values: path === '' ? undefined : [] }
    for (const { key, object } of first ?? view.walk()) {
      if (rest.every((set) => set.has(key)) && this.#contains(key, object, wanted)) {
        matches.keys.push(key)
        matches.own.push(textOrder(key))
        matches.values?.push(sortValueOf(object, path, this.#showsSecrets))
      }
      if (matches.keys.length >= MAX_MATCHES) break
      if (slice.isOver) await slice.end()
    }
    return matches
  }

  async #lookups(
    view: WalkedSnapshot,
    values: ReadonlyMap<string, string>,
    slice: TimeSlice,
  ): Promise<readonly Iterable<{ readonly key: string; readonly object: unknown }>[]> {
    const lookups = []
    for (const [name, text] of values) {
      const declared = view.declared.find((each) => each.name === name)
      if (declared === undefined) {
        const names = view.declared.map((each) => each.name)
        throw new TypeError(`there is no index "${name}"; there are ${names.join(', ') || 'none'}`)
      }
      await slice.perform(declared.index.prepare?.() ?? [])
      const isTuple = declared.flawIn('') !== undefined
      const value = indexedValueOf(text, isTuple, indexOf(this.#informer.by, name))
      const pairs = indexOf(view.by, name).entries(value)
      lookups.push(Iterator.from(pairs).map(([key, object]) => ({ key, object })))
    }
    return lookups
  }

  #contains(key: string, object: unknown, wanted: string): boolean {
    if (wanted === '' || key.toLowerCase().includes(wanted)) return true
    return jsonTextOf(object, this.#showsSecrets).toLowerCase().includes(wanted)
  }

  #snapshot(): WalkedSnapshot {
    const internals = internalsOf(this.#informer)
    if (internals === undefined) throw new TypeError('an informer that createInformer returned is needed')
    return internals.snapshot()
  }
}

function indexOf(by: unknown, name: string): Index {
  return Reflect.get(Object(by), name)
}

function textOf(value: unknown): string {
  return Array.isArray(value) ? value.map(textOf).join(', ') : String(jsonOf(value, true))
}

/** Returns the value of an index that has this text; if there is none, the text. */
function indexedValueOf(text: string, isTuple: boolean, index: Index): unknown {
  if (!isTuple) return scalars(text).find((value) => index.count(value) > 0) ?? text
  return tupleOf(text.split(', '), [], index) ?? [text]
}

/** Returns a tuple of the index that begins with `prefix` and has these parts of its text. A text may have several. */
function tupleOf(parts: readonly string[], prefix: readonly Scalar[], index: Index): readonly Scalar[] | undefined {
  if (parts.length === 0) return prefix
  for (let size = 1; size <= parts.length; size++)
    for (const value of scalars(parts.slice(0, size).join(', '))) {
      const longer = [...prefix, value]
      const found = index.count(longer) > 0 ? tupleOf(parts.slice(size), longer, index) : undefined
      if (found !== undefined) return found
    }
  return undefined
}

function scalars(text: string): readonly Scalar[] {
  const others: Scalar[] = [Number(text), text === 'true', new Date(text)]
  if (/^-?\d{16,}$/.test(text)) others.unshift(BigInt(text))
  return [text, ...others.filter((each) => textOf(each) === text)]
}

/** Returns the first `count` keys by the values of a field, or by themselves. Keys without a value come last. */
async function sorted(
  { keys, own, values }: Matches,
  isDescending: boolean,
  count: number,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const slice = new TimeSlice(signal)
  const [present, missing]: [number[], number[]] = [[], []]
  for (let slot = 0; slot < keys.length; slot++) {
    if (values !== undefined && values[slot] === undefined) missing.push(slot)
    else present.push(slot)
    if (slice.isOver) await slice.end()
  }
  const result: string[] = []
  const sign = isDescending ? -1 : 1
  const columns = values === undefined ? [own, keys] : [values, own, keys]
  for (const slots of [present, missing]) {
    const left = count - result.length
    const first = left < slots.length ? await select(slots, columns, left, sign, slice) : slots
    for (const slot of await sort(first, columns, sign, slice)) if (result.length < count) result.push(keys[slot] ?? '')
  }
  return result
}

type Columns = readonly (readonly (Scalar | undefined)[])[]

async function sort(slots: readonly number[], columns: Columns, sign: number, slice: TimeSlice): Promise<Int32Array> {
  const ordered = Int32Array.from(slots)
  await slice.perform(new SlotSort(ordered, columns).steps())
  return sign < 0 ? ordered.reverse() : ordered
}

/** Returns the first `count` slots in any order, and some others. It compares most slots only with the last one. */
async function select(
  slots: readonly number[],
  columns: Columns,
  count: number,
  sign: number,
  slice: TimeSlice,
): Promise<readonly number[]> {
  let best: number[] = []
  let last: number | undefined
  for (const slot of slots) {
    if (last === undefined || sign * compare(columns, slot, last) < 0) best.push(slot)
    if (best.length >= 4 * HEAD) {
      best = [...(await sort(best, columns, sign, slice)).subarray(0, count)]
      last = best.at(-1)
    }
    if (slice.isOver) await slice.end()
  }
  return best
}

function compare(columns: Columns, a: number, b: number): number {
  for (const column of columns) {
    const order = compareComponents(column[a], column[b])
    if (order !== 0) return order
  }
  return 0
}

async function keysOf(entries: Iterable<{ readonly key: string }>, slice: TimeSlice): Promise<Set<string>> {
  const keys = new Set<string>()
  for (const { key } of entries) {
    keys.add(key)
    if (slice.isOver) await slice.end()
  }
  return keys
}
