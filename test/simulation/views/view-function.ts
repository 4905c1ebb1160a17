import { derive, deriveMany, groupBy, type ViewOptions } from '../../../src/index.js'
import type { Index } from '../../../src/store/indexes/index-types.js'
import { joinKey } from '../../../src/util/join-key.js'
import type { Item } from '../backend/history.js'
import { type IndexesOf, RANKS, TAGS, TENANTS } from '../workload/declared-indexes.js'
import { mix, type Stream } from '../workload/random-decisions.js'
import { type Place, placeOf, READS, type Read, type Reader } from './view-reads.js'

/** What one call is for: an object, a group, or the whole view. */
export interface Row {
  readonly id: string
  /** A number of its object or its group. */
  readonly n: number
}

/** A row, as the inputs show it. */
export interface ShownRow extends Row {
  /** What decides whether it is called again, besides what it reads. */
  readonly own: readonly unknown[]
  /** Whether an object of its group has no number. */
  readonly isFailing?: boolean
}

export type Result = readonly [name: string, item: Item]
export type Dependency = () => readonly unknown[]
type Options = ViewOptions<Item, IndexesOf>
type Call = (row: Row) => readonly Result[]

/** The kind of a view. */
interface Shape {
  /** What it is derived from. */
  readonly from?: Reader
  create(options: Options, call: Call): Reader
  rows(): readonly ShownRow[]
  /** Returns the results of a call by the keys that they have in the view. */
  keyed(id: string, results: readonly Result[]): readonly Result[]
}

const MOST_READS = 3

/** A random function over random inputs: that of a view, and its model. What it has read determines what it reads next. */
export class ViewFunction {
  readonly shape: Shape
  readonly inputs: readonly Reader[]
  readonly reads: readonly Reader[]
  readonly isPure: boolean
  /** What it reads of each of `reads`, and the place, if all calls read the same one. */
  readonly #asked: readonly { readonly read: Read; readonly fixed: Place | undefined }[]
  readonly #keys: readonly string[]
  readonly #mayThrow: boolean
  readonly #isCoarse: boolean

  constructor(draw: Stream, all: readonly Reader[], keys: readonly string[]) {
    this.#keys = keys
    this.reads = Array.from({ length: draw.below(MOST_READS + 1) }, () => draw.pick(all))
    this.#asked = this.reads.map(() => ({
      read: draw.pick(READS),
      fixed: draw.chance(0.4) ? placeOf(mix(draw.below(1_000)), keys) : undefined,
    }))
    this.#mayThrow = draw.chance(0.3)
    this.#isCoarse = draw.chance(0.4)
    this.isPure = draw.chance(0.85)
    const numberOf = this.#mayThrow ? ({ rank }: Item) => (rank === 3 ? Number.NaN : rank) : ({ rank }: Item) => rank
    this.shape = shapeOf(draw, draw.pick(all), this.reads.length > 0, draw.chance(0.6) ? numberOf : undefined)
    this.inputs = [...new Set([...(this.shape.from === undefined ? [] : [this.shape.from]), ...this.reads])]
  }

  /** Calls it. Adds what decides whether it is called again to `depends`. An impure one depends on `outside`, too. */
  call({ n }: Row, outside: number, depends: Dependency[] = []): readonly Result[] {
    let digest = mix(this.isPure ? n : n + outside)
    for (const [nth, { read, fixed }] of this.#asked.entries()) {
      const { ask, depends: decides = ask } = read
      const from = this.reads[nth]
      const at = fixed ?? placeOf(digest, this.#keys)
      if (from === undefined || digest % 5 === 4) break
      depends.push(() => decides(from, at))
      digest = mix(digest ^ ask(from, at).reduce(added, 0))
    }
    if (this.#mayThrow && digest % 5 === 0) throw new Error('planted')
    const names = digest % 11 === 0 ? ['x', 'x'] : TAGS.slice(0, digest % 3)
    return (digest % 7 === 0 ? [] : names).map((name, nth) => [
      name,
      itemOf(this.#isCoarse ? digest % 4 : digest + nth),
    ])
  }
}

function shapeOf(draw: Stream, from: Reader, hasReads: boolean, numberOf: ((item: Item) => number) | undefined): Shape {
  const { by } = from
  const rows = (): readonly ShownRow[] => Array.from(from.entries(), ([id, item]) => ({ id, n: item.n, own: [item] }))
  const shapes: readonly (() => Shape)[] = [
    () => ({
      from,
      rows,
      keyed: first,
      create: (options, call) => derive({ ...options, from, each: ({ n }, id) => call({ id, n })[0]?.[1] }),
    }),
    () => ({
      from,
      rows,
      keyed: (id, results) => results.map(([name, item]) => [joinKey([id, name]), item]),
      create: (options, call) => deriveMany({ ...options, from, each: ({ n }, id) => call({ id, n }) }),
    }),
    () => ({
      rows: () => [{ ...WHOLE, own: [] }],
      keyed: (_id, results) => results,
      create: (options, call) => deriveMany({ ...options, each: () => call(WHOLE) }),
    }),
    () => groups(from, draw.chance(0.5) ? by.tenant : by.tag, numberOf),
    () => groups(from, by.rank, numberOf),
    () => groups(from, by.since, numberOf),
    () => groups(from, by.latest, numberOf),
  ]
  return draw.pick(hasReads ? [...shapes, ...shapes.slice(0, 2)] : shapes.filter((_, nth) => nth !== 2))()
}

/** A view with one result for each object has the first one. */
function first(id: string, results: readonly Result[]): readonly Result[] {
  return results.slice(0, 1).map(([, item]) => [id, item])
}

const WHOLE: Row = { id: '', n: 0 }

function groups<V>(from: Reader, index: Index<Item, V>, numberOf: ((item: Item) => number) | undefined): Shape {
  const numbered = (count: number, total = 0): number => 31 * count + total
  const sums = numberOf && { sums: { total: numberOf } }
  return {
    from,
    create: (options, call) =>
      groupBy<Item, V, Item, IndexesOf, 'total'>({
        ...options,
        ...sums,
        index,
        each: (value, { count, total }) => call({ id: textOf(value), n: numbered(count, total) })[0]?.[1],
      }),
    rows: () =>
      Array.from(index.values(), (value) => {
        const members = [...index.entries(value)]
        const numbers = members.map(([, item]) => numberOf?.(item) ?? 0)
        const total = numbers.reduce((sum, each) => sum + each, 0)
        const own = members.map(([key], nth) => `${key} ${numbers[nth]}`)
        return { id: textOf(value), n: numbered(members.length, total), own, isFailing: Number.isNaN(total) }
      }),
    keyed: first,
  }
}

/** The key of the group of a value. */
function textOf(value: unknown): string {
  if (Array.isArray(value)) return joinKey(value.map(textOf))
  return value instanceof Date ? value.toISOString() : String(value)
}

function itemOf(n: number): Item {
  const tags = TAGS.filter((_, nth) => (n >>> nth) & 1)
  return { n, tenant: TENANTS[n % TENANTS.length] ?? '', tags, rank: (n >>> 3) % RANKS }
}

/** Adds an answer, in any order. */
function added(sum: number, answer: unknown): number {
  const n = answer instanceof Object && 'n' in answer ? answer.n : answer
  return (sum + mix(Number(n ?? -1) + 1)) | 0
}
