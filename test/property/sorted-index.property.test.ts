import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { IndexRange, OptionError } from '../../src/index.js'
import { compareScalars, type Scalar } from '../../src/store/indexes/scalar.js'
import { SortedIndex } from '../../src/store/indexes/sorted-index.js'
import { Store } from '../../src/store/store.js'
import { finish } from '../../src/util/steps.js'
import { SeededRandom } from '../../testing/seeded-random.js'
import { runs, scalars } from '../support/property.js'

type Tuple = readonly Scalar[]
type Item = { readonly key: string; readonly at: Tuple | undefined }

function sorted() {
  const store = new Store<Item>()
  const index = new SortedIndex<Item>(store, ({ object }) => object.at)
  finish(store.addIndex(index))
  const put = (item: Item): void => void store.set({ key: item.key, object: item })
  return { store, index, put, all: () => store.list() }
}

/** Component by component; a tuple that ends before stands before. */
function compare(a: Tuple, b: Tuple): number {
  for (const [i, each] of a.entries()) {
    const other = b[i]
    if (other === undefined) return 1
    const order = compareScalars(each, other)
    if (order !== 0) return order
  }
  return a.length - b.length
}

const byKey = (a: Item, b: Item): number => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0)

function answer(items: readonly Item[], head: Tuple, range: IndexRange<Scalar> & { prefix?: string }): Item[] {
  const { gt, gte, lt, lte, prefix, reverse = false, limit = Infinity } = range
  const isBounded = [gt, gte, lt, lte, prefix].some((bound) => bound !== undefined)
  const isIn = (at: Tuple): boolean => {
    if (at.length < head.length || compare(at.slice(0, head.length), head) !== 0) return false
    const next = at[head.length]
    if (next === undefined) return !isBounded
    if (gt !== undefined && compareScalars(next, gt) <= 0) return false
    if (gte !== undefined && compareScalars(next, gte) < 0) return false
    if (lt !== undefined && compareScalars(next, lt) >= 0) return false
    if (lte !== undefined && compareScalars(next, lte) > 0) return false
    return prefix === undefined || (typeof next === 'string' && next.startsWith(prefix))
  }
  const found = items.filter(({ at }) => at !== undefined && isIn(at))
  found.sort((a, b) => compare(a.at ?? [], b.at ?? []) || byKey(a, b))
  return (reverse ? found.toReversed() : found).slice(0, limit)
}

/** The answer, or the name of a bound whose type no value has that follows `head`. */
function outcome(items: readonly Item[], head: Tuple, range: IndexRange<Scalar>): Item[] | string {
  const typeOf = (value: Scalar | undefined): string | undefined => {
    if (typeof value === 'number') return Number.isFinite(value) ? 'number' : undefined
    if (value instanceof Date) return Number.isNaN(value.getTime()) ? undefined : 'Date'
    return typeof value === 'bigint' ? 'number' : typeof value
  }
  const isInvalid = (bound: unknown): boolean => bound instanceof Date && Number.isNaN(bound.getTime())
  const invalid = Object.entries(range).find(([, bound]) => isInvalid(bound))
  if (invalid !== undefined) return invalid[0]
  const following = items.filter(({ at }) => at !== undefined && compare(at.slice(0, head.length), head) === 0)
  const types = new Set(following.map(({ at }) => typeOf(at?.[head.length])).filter((type) => type !== 'undefined'))
  types.delete(undefined)
  for (const [name, bound] of Object.entries(range)) {
    const type = typeOf(bound as Scalar)
    const isBound = /^[gl]te?$/.test(name) && type !== undefined && types.size > 0
    if (isBound && !types.has(type)) return name
  }
  return answer(items, head, range)
}

function attempt(read: () => readonly Item[]): readonly Item[] | string {
  try {
    return read()
  } catch (error) {
    return (error as OptionError).option
  }
}

const bound = { nil: undefined, freq: 2 }
const range: fc.Arbitrary<IndexRange<Scalar>> = fc.record(
  {
    gt: scalars,
    gte: scalars,
    lt: scalars,
    lte: scalars,
    reverse: fc.boolean(),
    limit: fc.integer({ min: 1, max: 6 }),
  },
  { requiredKeys: [] },
)
const item = fc.record({
  key: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g', '__proto__', ''),
  at: fc.option(fc.array(scalars, { minLength: 1, maxLength: 1 }), bound),
})
const tuples = fc.record({ key: item.map(({ key }) => key), at: fc.option(fc.array(scalars, { maxLength: 3 }), bound) })

test('[I9] every range of an ordered index is right, at the first read and after changes', () => {
  fc.assert(
    fc.property(fc.array(item, { maxLength: 20 }), fc.array(item, { maxLength: 20 }), range, (first, later, asked) => {
      const { index, put, all } = sorted()
      const by = index.ordered<Scalar>()
      for (const each of first) put(each)
      expect(attempt(() => by(asked))).toEqual(outcome(all(), [], asked))
      for (const each of later) put(each)
      expect(attempt(() => by(asked))).toEqual(outcome(all(), [], asked))
      expect(attempt(() => Array.from(by.entriesIn(asked), ([, object]) => object))).toEqual(attempt(() => by(asked)))
    }),
    runs(1_000),
  )
})

test('[I9] every prefix of strings is right', () => {
  const text = fc.string({ maxLength: 3, unit: fc.constantFrom('a', 'b', '\u0000', '\ud800', '\udc00', '\uffff') })
  fc.assert(
    fc.property(fc.array(text, { maxLength: 20 }), text, fc.boolean(), (texts, prefix, reverse) => {
      const { index, put, all } = sorted()
      for (const [at, each] of texts.entries()) put({ key: `${at}`, at: [each] })
      put({ key: 'n', at: [1] })
      put({ key: 'o', at: [new Date(0)] })
      put({ key: 'p', at: ['a'] })
      expect(index.ordered<Scalar>()({ prefix, reverse })).toEqual(answer(all(), [], { prefix, reverse }))
    }),
    runs(500),
  )
})

test('[I9] entries, count and values are right for every value', () => {
  fc.assert(
    fc.property(fc.array(item, { maxLength: 20 }), scalars, (items, value) => {
      const { index, put, all } = sorted()
      const by = index.ordered<Scalar>()
      for (const each of items) put(each)
      const expected = answer(all(), [], { gte: value, lte: value })
      expect(Array.from(by.entries(value), ([, object]) => object)).toEqual(expected)
      expect(by.count(value)).toBe(expected.length)
      const values = [...by.values()]
      for (const [i, each] of values.slice(1).entries()) expect(compareScalars(values[i] ?? each, each)).toBeLessThan(0)
      for (const { at } of all()) {
        if (at !== undefined) expect(values.some((each) => compareScalars(each, at[0] ?? each) === 0)).toBe(true)
      }
    }),
    runs(500),
  )
})

test('[I9] every prefix and range of a compound index is right, also with tuples of several lengths', () => {
  const prefix = fc.array(scalars, { maxLength: 3 })
  fc.assert(
    fc.property(fc.array(tuples, { maxLength: 30 }), prefix, range, fc.boolean(), (items, head, asked, isKept) => {
      const { index, put, all } = sorted()
      const by = index.compound<Tuple>()
      if (isKept) by([])
      for (const each of items) put(each)
      for (const from of [head, ...all().map(({ at }) => at?.slice(0, head.length) ?? [])]) {
        expect(attempt(() => by(from, asked))).toEqual(outcome(all(), from, asked))
        expect(by.count(from)).toBe(answer(all(), from, {}).length)
      }
    }),
    runs(500),
  )
})

describe('[I9] over thousands of objects, in many chunks', () => {
  test('an index equals the recomputed one through writes, deletes and clears', () => {
    fc.assert(
      fc.property(fc.integer(), (seed) => {
        const random = new SeededRandom(seed)
        const { store, index, put, all } = sorted()
        const by = index.compound<Tuple>()
        const span = random.pick([5, 50, 5_000])
        // Ranges that are read again: the index keeps what they have read.
        const ranges: IndexRange<Scalar>[] = []
        const grow = (count: number): void => {
          for (let n = 0; n < count; n++) {
            const key = `k${random.below(4_000)}`
            if (random.chance(0.3)) store.delete(key)
            else put({ key, at: random.chance(0.05) ? undefined : [random.below(3), random.below(span)] })
          }
        }
        for (let round = 0; round < 6; round++) {
          grow(random.below(2_500))
          if (random.chance(0.05)) store.clear()
          const steps = index.prepare()
          while (random.chance(0.8) && steps.next().done !== true) grow(random.below(40))
          const low = random.below(span)
          const [reverse, limit] = [random.chance(0.5), 1 + random.below(900)]
          ranges.push({ gte: low, lt: low + random.below(span), reverse, limit })
          for (const asked of [...ranges, ...ranges]) {
            expect(by([1], asked)).toEqual(answer(all(), [1], asked))
            store.delete(`k${random.below(4_000)}`)
          }
          expect(by([])).toEqual(answer(all(), [], {}))
          expect(by.count([2])).toBe(answer(all(), [2], {}).length)
        }
      }),
      runs(20),
    )
  })

  test('after the last step of its preparation, an index contains what was written between the steps', () => {
    fc.assert(
      fc.property(fc.integer(), (seed) => {
        const random = new SeededRandom(seed)
        const { store, index, put, all } = sorted()
        const write = (count: number): void => {
          for (let n = 0; n < count; n++) {
            const key = `k${random.below(3_000)}`
            if (random.chance(0.3)) store.delete(key)
            else put({ key, at: random.chance(0.1) ? undefined : [random.below(50)] })
          }
        }
        write(3_000)
        let count = 0
        for (const steps = index.prepare(); steps.next().done !== true; count++) {
          write(random.below(100))
          if (random.chance(0.02)) store.clear()
        }
        expect(count).toBeLessThan(1_000)
        expect(index.ordered<Scalar>()()).toEqual(answer(all(), [], {}))
      }),
      runs(20),
    )
  })
})
