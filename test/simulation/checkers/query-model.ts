import type { Entry } from '../../../src/contract/source.js'
import type { Index, IndexRange } from '../../../src/store/indexes/index-types.js'
import type { Scalar } from '../../../src/store/indexes/scalar.js'
import type { StoreView } from '../../../src/store/store-view.js'
import type { Item } from '../backend/history.js'
import { nameOf, type Scenario } from '../system/scenario.js'
import type { IndexesOf } from '../workload/declared-indexes.js'
import type { Stream } from '../workload/random-decisions.js'
import { Traits } from '../workload/traits.js'

type Tuple = readonly Scalar[]

interface Row {
  readonly key: string
  readonly item: Item
  readonly tuple: Tuple
}

type View = Omit<StoreView<Item, IndexesOf>, 'version'>

const QUESTIONS = 1
/** The number of entries up to which all are checked one by one. */
const MANY = 50

/**
 * A model of the query API, by a walk over all entries. It shares neither code nor the order of scalars with the
 * indexes.
 */
export class QueryModel {
  readonly #scenario: Scenario
  readonly #traits: Traits
  readonly #stream: Stream

  constructor(scenario: Scenario) {
    this.#scenario = scenario
    this.#traits = new Traits(scenario.decisions.seed)
    this.#stream = scenario.decisions.of('questions')
  }

  /** Every accessor of a view returns the same objects as its entries (I9). */
  check(view: View, entries: ReadonlyMap<string, Entry<Item>>, what: string): void {
    this.#checkView(view, entries, what)
    // An index is not updated for a field that changes by itself.
    if (!this.#scenario.settings.flips) this.#checkIndexes(view, entries, what)
  }

  /** With many entries, only one index is checked, because all of them take long. */
  #checkIndexes({ by }: View, entries: ReadonlyMap<string, Entry<Item>>, what: string): void {
    const { owner, score, pair, labels } = this.#traits
    const rows = {
      owner: () => rowsOf(entries, (item) => [[owner(item)]]),
      labels: () => rowsOf(entries, (item) => labels(item).map((label) => [label])),
      score: () => rowsOf(entries, (item) => [[score(item)]]),
      age: () => rowsOf(entries, ({ n }) => [[n]]),
      pair: () => rowsOf(entries, (item) => [pair(item)]),
    }
    const checks: readonly (() => void)[] = [
      () => this.#equal(`${what}: owner`, by.owner, rows.owner()),
      () => this.#equal(`${what}: labels`, by.labels, rows.labels()),
      () => this.#ordered(`${what}: score`, by.score, rows.score(), true),
      () => this.#ordered(`${what}: age`, by.age, rows.age(), false),
      () => this.#compound(`${what}: pair`, by.pair, rows.pair()),
    ]
    if (entries.size > MANY) this.#stream.pick(checks)()
    else for (const check of checks) check()
  }

  #checkView(view: View, entries: ReadonlyMap<string, Entry<Item>>, what: string): void {
    const { settings } = this.#scenario
    const objects = new Set<Item>()
    for (const { object } of entries.values()) objects.add(object)
    const pairs = [...view.entries()]
    const list = view.list()
    const isRight =
      view.size === entries.size &&
      pairs.length === entries.size &&
      pairs.every(([key, object]) => entries.get(key)?.object === object) &&
      isSame([...view.keys()], [...entries.keys()]) &&
      list.length === entries.size &&
      list.every((object) => objects.has(object))
    if (!isRight) this.#wrong(`${what} has another content than it had, or its accessors do not agree`)
    if (entries.size > 0 && view.list() !== list) this.#wrong(`${what} makes a new list for each call`)
    const keys = entries.size > MANY ? [this.#stream.pick([...entries.keys()])] : entries.keys()
    for (const key of new Set([...settings.keys, ...keys])) {
      const [is, right] = [view.entry(key), entries.get(key)]
      const isSo = is?.object === right?.object && is?.version === right?.version && is?.uid === right?.uid
      if (!isSo || view.get(key) !== right?.object || view.has(key) !== (right !== undefined))
        this.#wrong(`${what} and its entries differ at ${nameOf(key)}`)
    }
  }

  #equal(what: string, index: Index<Item, Scalar> & ((value: Scalar) => readonly Item[]), rows: readonly Row[]): void {
    for (const value of this.#queryValues(rows)) {
      const right = rows.filter(({ tuple }) => order(tuple[0], value) === 0)
      this.#same(`${what} ${show(value)}`, index(value), right, false)
      this.#values(what, index, value, right)
    }
    this.#distinct(what, Array.from(index.values(), single), rows, false)
  }

  #ordered(
    what: string,
    index: IndexesOf['score'] | IndexesOf['age'],
    rows: readonly Row[],
    hasPrefixes: boolean,
  ): void {
    const accessor = index as IndexesOf['score']
    this.#same(what, accessor(), rows, true)
    for (let nth = 0; nth < QUESTIONS; nth++) {
      const range = legal(this.#range(rows, 0), rows, [])
      const drawn = hasPrefixes && this.#stream.chance(0.2) ? this.#stream.pick(['', 'a', 'ab', '0', '😀']) : undefined
      const { prefix } = legal({ prefix: drawn }, rows, [])
      const right = within(rows, [], range, prefix)
      const query = `${what} ${show(prefix)} ${showRange(range)}`
      this.#same(query, accessor({ ...range, ...(prefix !== undefined && { prefix }) }), right, true)
      if (prefix === undefined) this.#samePairs(query, accessor.entriesIn(range), right, true)
    }
    const [value] = this.#queryValues(rows)
    if (value !== undefined)
      this.#values(
        what,
        accessor,
        value,
        rows.filter(({ tuple }) => order(tuple[0], value) === 0),
      )
    this.#distinct(what, Array.from(accessor.values(), single), rows, true)
  }

  #compound(what: string, index: IndexesOf['pair'], rows: readonly Row[]): void {
    this.#same(what, index([]), rows, true)
    for (let nth = 0; nth < QUESTIONS; nth++) {
      const [first, second] = this.#tuple(rows)
      const heads: readonly Tuple[] = [[], [first], [first, second]]
      const head = this.#stream.pick(heads)
      const range = legal(this.#range(rows, head.length), rows, head)
      this.#same(`${what} ${head.map(show)} ${showRange(range)}`, index(head, range), within(rows, head, range), true)
    }
    const value = this.#tuple(rows)
    const right = rows.filter(({ tuple }) => compare(tuple, value) === 0)
    this.#values(what, index, value, right)
    this.#distinct(what, [...index.values()], rows, true)
  }

  #values<V>(what: string, index: Index<Item, V>, value: V, right: readonly Row[]): void {
    this.#samePairs(`${what} at ${show(value)}`, index.entries(value), right, false)
    const count = index.count(value)
    if (count !== right.length) this.#wrong(`${what} counts ${count} at ${show(value)}, and there are ${right.length}`)
  }

  #distinct(what: string, values: readonly Tuple[], rows: readonly Row[], isOrdered: boolean): void {
    const right = rows
      .map(({ tuple }) => tuple)
      .filter((tuple, at, all) => at === 0 || compare(all[at - 1] as Tuple, tuple) !== 0)
    const found = isOrdered ? values : [...values].sort(compare)
    if (found.length !== right.length || found.some((tuple, at) => compare(tuple, right[at] as Tuple) !== 0))
      this.#wrong(`${what} has the values ${found.map(show).join(' ')}, not ${right.map(show).join(' ')}`)
  }

  #samePairs(what: string, pairs: Iterable<[string, Item]>, right: readonly Row[], isOrdered: boolean): void {
    const found = [...pairs]
    this.#same(
      what,
      found.map(([, item]) => item),
      right,
      isOrdered,
    )
    const keys = new Map(right.map(({ key, item }) => [item, key]))
    for (const [key, item] of found)
      if (keys.get(item) !== key)
        this.#wrong(`${what} returns an object of ${nameOf(keys.get(item) ?? '?')} as ${nameOf(key)}`)
  }

  #same(what: string, found: readonly Item[], right: readonly Row[], isOrdered: boolean): void {
    const wanted = right.map(({ item }) => item)
    const isRight =
      found.length === wanted.length &&
      (isOrdered ? found.every((item, at) => item === wanted[at]) : isSame(found, wanted))
    if (!isRight) this.#wrong(`${what} returns [${numbers(found)}], and the model [${numbers(wanted)}]`)
  }

  #wrong(message: string): void {
    this.#scenario.violate('I9', message)
  }

  #queryValues(rows: readonly Row[]): readonly Scalar[] {
    const some = rows.length === 0 ? [] : [this.#stream.pick(rows).tuple[0]]
    return [...some, this.#stream.pick(this.#traits.pool)]
      .filter((value) => value !== null && value !== undefined)
      .map((value) => this.#disguised(value))
  }

  #tuple(rows: readonly Row[]): readonly [Scalar, Scalar] {
    const { tuple } = rows.length === 0 ? { tuple: [1, 1] } : this.#stream.pick(rows)
    const [first = 1] = tuple
    const other = this.#stream.pick(this.#traits.pool)
    const second = other === null || other === undefined || this.#stream.chance(0.5) ? (tuple[1] ?? 1) : other
    return [this.#disguised(first), this.#disguised(second)]
  }

  /** Bounds: values of the component at `at`, of a row or of the pool. */
  #range(rows: readonly Row[], at: number): IndexRange<Scalar> {
    const bound = (): Scalar => {
      const value =
        rows.length > 0 && this.#stream.chance(0.7)
          ? this.#stream.pick(rows).tuple[at]
          : this.#stream.pick(this.#traits.pool)
      return this.#disguised(value ?? 1)
    }
    return {
      ...(this.#stream.chance(0.3) && { gt: bound() }),
      ...(this.#stream.chance(0.3) && { gte: bound() }),
      ...(this.#stream.chance(0.3) && { lt: bound() }),
      ...(this.#stream.chance(0.3) && { lte: bound() }),
      ...(this.#stream.chance(0.5) && { reverse: true }),
      ...(this.#stream.chance(0.4) && { limit: 1 + this.#stream.below(4) }),
    }
  }

  /** The same value in another representation. */
  #disguised(value: Scalar): Scalar {
    if (value instanceof Date) return new Date(value)
    if (this.#stream.chance(0.5)) return value
    if (typeof value === 'number' && Number.isInteger(value)) return BigInt(value)
    if (typeof value === 'bigint' && BigInt(Number(value)) === value) return Number(value)
    return value
  }
}

/**
 * The sorted rows of an index. `of` returns the values of an object, each of them a tuple. A tuple with null or
 * undefined has no row.
 */
function rowsOf(entries: ReadonlyMap<string, Entry<Item>>, of: (item: Item) => readonly unknown[]): readonly Row[] {
  const rows: Row[] = []
  for (const [key, { object: item }] of entries) {
    const seen: Tuple[] = []
    for (const value of of(item)) {
      if (!Array.isArray(value) || value.some((each) => each === null || each === undefined)) continue
      const tuple = value as unknown as Tuple
      if (seen.some((other) => compare(other, tuple) === 0)) continue
      seen.push(tuple)
      rows.push({ key, item, tuple })
    }
  }
  return rows.sort((a, b) => compare(a.tuple, b.tuple) || (a.key < b.key ? -1 : a.key > b.key ? 1 : 0))
}

/** Leaves out bounds that an index refuses: invalid Dates, and those of a type that no value after `head` has. */
function legal<R extends object>(range: R, rows: readonly Row[], head: Tuple): R {
  const following = rows.filter(({ tuple }) => head.every((each, at) => order(tuple[at], each) === 0))
  const typed = [0, 2, 3, 7]
  const types = following.map(({ tuple }) => place(tuple[head.length])).filter((type) => typed.includes(type))
  const isLegal = ([name, bound]: [string, Scalar | undefined]): boolean => {
    const type = place(bound)
    const isOfAType = typed.includes(type) && name !== 'reverse' && name !== 'limit'
    return type !== 4 && (!isOfAType || types.length === 0 || types.includes(type))
  }
  return Object.fromEntries(Object.entries(range).filter(isLegal)) as R
}

function within(
  rows: readonly Row[],
  head: Tuple,
  { gt, gte, lt, lte, reverse, limit }: IndexRange<Scalar>,
  prefix?: string,
): readonly Row[] {
  const isBounded = [gt, gte, lt, lte, prefix].some((bound) => bound !== undefined)
  const found = rows.filter(({ tuple }) => {
    if (head.some((each, at) => order(tuple[at], each) !== 0)) return false
    const value = tuple[head.length]
    if (value === undefined) return !isBounded
    return (
      (gt === undefined || order(value, gt) > 0) &&
      (gte === undefined || order(value, gte) >= 0) &&
      (lt === undefined || order(value, lt) < 0) &&
      (lte === undefined || order(value, lte) <= 0) &&
      (prefix === undefined || (typeof value === 'string' && value.startsWith(prefix)))
    )
  })
  if (reverse) found.reverse()
  return found.slice(0, limit)
}

function compare(a: Tuple, b: Tuple): number {
  for (let at = 0; at < Math.max(a.length, b.length); at++) {
    const is = order(a[at], b[at])
    if (is !== 0) return is
  }
  return 0
}

/** The order: undefined, booleans, -Infinity, numbers of both kinds, Dates, Infinity, NaN, and strings. */
function order(a: Scalar | undefined, b: Scalar | undefined): number {
  if (a === b) return 0
  if (typeof a === 'number' && typeof b === 'number' && (a < b || a > b)) return a < b ? -1 : 1
  const [left, right] = [place(a), place(b)]
  if (left !== right) return left - right
  const [p, q] = [plain(a) as number, plain(b) as number]
  return p < q ? -1 : p > q ? 1 : 0
}

function plain(value: Scalar | undefined): string | number | bigint | boolean | undefined {
  return value instanceof Date ? value.getTime() : value
}

function place(value: Scalar | undefined): number {
  if (value === undefined) return -1
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 4 : 3
  if (typeof value === 'number' && !Number.isFinite(value)) return value === -Infinity ? 1 : value === Infinity ? 5 : 6
  return { boolean: 0, number: 2, bigint: 2, string: 7 }[typeof value as 'boolean' | 'number' | 'bigint' | 'string']
}

function single(value: Scalar): Tuple {
  return [value]
}

function isSame<V>(a: readonly V[], b: readonly V[]): boolean {
  if (a.length !== b.length) return false
  const counts = new Map<V, number>()
  for (const each of a) counts.set(each, (counts.get(each) ?? 0) + 1)
  for (const each of b) {
    const left = counts.get(each) ?? 0
    if (left === 0) return false
    counts.set(each, left - 1)
  }
  return true
}

function numbers(items: readonly Item[]): string {
  return items.map(({ n }) => `n${n}`).join(' ')
}

function show(value: unknown): string {
  if (Array.isArray(value)) return `(${value.map(show).join()})`
  if (value instanceof Date) return `Date ${value.getTime()}`
  return typeof value === 'bigint' ? `${value}n` : (JSON.stringify(value) ?? 'nothing')
}

function showRange(range: IndexRange<Scalar>): string {
  return Object.entries(range)
    .map(([name, value]) => `${name} ${show(value)}`)
    .join(' ')
}
