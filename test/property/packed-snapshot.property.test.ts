import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { PackedContent, PackedPart, SavedRecord } from '../../src/contract/mirror-cache.js'
import { compareScalars, type Scalar, sameScalar } from '../../src/store/indexes/scalar.js'
import { compareTuples } from '../../src/store/indexes/sorted-tuples.js'
import { hashScalar, hashText } from '../../src/store/packed/hash-slots.js'
import { type NamedIndex, pack } from '../../src/store/packed/pack.js'
import { PackedHashIndex } from '../../src/store/packed/packed-hash-index.js'
import { PackedSnapshot } from '../../src/store/packed/packed-snapshot.js'
import { PackedSortedIndex } from '../../src/store/packed/packed-sorted-index.js'

const hostileKey = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 6 }),
  // Any code units, so also lone surrogates.
  fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 4 }).map((units) => String.fromCharCode(...units)),
  fc.constantFrom(
    '',
    '\0',
    'a\0',
    '\0a',
    '__proto__',
    'constructor',
    '\ud800',
    '\udc00',
    '\ud800x',
    'é',
    'ÿ',
    'Ā',
    '😀',
  ),
)

const scalar: fc.Arbitrary<Scalar> = fc.oneof(
  hostileKey,
  fc.double(),
  fc.constantFrom(0, -0, 1, Number.NaN, Infinity, -Infinity, true, false),
  fc.constantFrom(0n, 1n, 2n ** 53n, 2n ** 53n + 1n, -(2n ** 70n)),
  fc.date().map((date) => new Date(date)),
  fc.constant(new Date(Number.NaN)),
)

interface Item {
  readonly key: string
  readonly values: readonly Scalar[]
}

const items = fc.uniqueArray(
  fc.record({
    key: hostileKey,
    values: fc.uniqueArray(scalar, { maxLength: 3, comparator: (a, b) => sameScalar(a, b) }),
  }),
  { selector: ({ key }) => key, maxLength: 40 },
)

/** Captures the values of items whose ordinals have gaps, as two indexes. */
function capture(all: readonly Item[], ordinalOf: (i: number) => number): NamedIndex[] {
  const values: Scalar[] = []
  const ids = new Map<number, number[]>()
  for (const [i, item] of all.entries()) {
    const of = item.values.map((value) => {
      const found = values.findIndex((each) => sameScalar(each, value))
      return found < 0 ? values.push(value) - 1 : found
    })
    ids.set(ordinalOf(i), of)
  }
  const columns: (Scalar | undefined)[][] = [[], [], []]
  for (const [i, item] of all.entries()) {
    for (const [k, column] of columns.entries()) column[ordinalOf(i)] = item.values[k]
  }
  const order = Array.from(all.keys()).sort(
    (a, b) => compareTuples(all[a]?.values ?? [], all[b]?.values ?? []) || ordinalOf(a) - ordinalOf(b),
  )
  return [
    {
      name: 'hash',
      signature: 'one',
      captured: { kind: 'hash', values, each: (at, visit) => ids.get(at)?.forEach(visit) },
    },
    {
      name: 'order',
      signature: 'two',
      captured: { kind: 'sorted', order: Int32Array.from(order, ordinalOf), columns },
    },
  ]
}

function recordOf({ key }: Item): SavedRecord {
  return { type: 'entry', key, object: { key }, version: '1' }
}

interface Options {
  readonly seed?: number
  readonly isShared?: boolean
  readonly others?: readonly SavedRecord[]
}

/** Packs items, and opens the result in memory that is private or shared. */
function packed(all: readonly Item[], { seed = 7, isShared = false, others = [] }: Options = {}): PackedSnapshot {
  const ordinalOf = (i: number): number => i * 2 + 1
  const parts = pack(
    {
      size: all.length,
      ordinalLimit: all.length * 2 + 1,
      indexes: capture(all, ordinalOf),
      *records() {
        for (const [i, item] of all.entries()) yield [ordinalOf(i), recordOf(item)] as const
        for (const other of others) yield [undefined, other] as const
      },
    },
    (record) => JSON.stringify(record),
    seed,
  )
  return new PackedSnapshot(contentOf(parts, isShared))
}

function contentOf(parts: Iterable<PackedPart | undefined>, isShared: boolean): PackedContent {
  const sections = new Map<string, Uint8Array>()
  const blocks: Uint8Array[] = []
  for (const part of parts) {
    if (part === undefined) continue
    if ('block' in part) {
      blocks.push(placed([part.block], part.block.length, isShared))
      continue
    }
    expect(sections.has(part.name)).toBe(false)
    sections.set(part.name, placed(part.chunks, part.length, isShared))
  }
  return {
    sections,
    block: (index) => {
      const block = blocks[index]
      if (block === undefined) throw new RangeError('no block')
      return block
    },
    decode: (text) => JSON.parse(text) as SavedRecord,
  }
}

/** Shared memory is placed at an address that is not aligned. */
function placed(chunks: readonly Uint8Array[], length: number, isShared: boolean): Uint8Array {
  const bytes = isShared ? new Uint8Array(new SharedArrayBuffer(length + 3), 3) : new Uint8Array(length)
  let at = 0
  for (const chunk of chunks) {
    bytes.set(chunk, at)
    at += chunk.length
  }
  expect(at).toBe(length)
  return bytes
}

describe('a packed snapshot', () => {
  test('finds the same keys as a Map, whatever their code units are, in private and in shared memory', () => {
    fc.assert(
      fc.property(items, fc.array(hostileKey), fc.integer(), fc.boolean(), (all, strangers, seed, isShared) => {
        const snapshot = packed(all, { seed, isShared })
        const map = new Map(all.map(({ key }, i) => [key, i]))
        expect(snapshot.size).toBe(map.size)
        for (const key of [...map.keys(), ...strangers, ...[...map.keys()].map((each) => `${each}\0`)])
          expect(snapshot.ordinalOf(key)).toBe(map.get(key))
        for (const [key, i] of map) {
          expect(snapshot.keyAt(i)).toBe(key)
          expect(snapshot.recordAt(i)).toEqual({ type: 'entry', key, object: { key }, version: '1' })
        }
      }),
      { numRuns: 200 },
    )
  })

  test('finds the ordinals of each index value, as comparisons of all values do', () => {
    fc.assert(
      fc.property(items, fc.array(scalar), fc.integer(), fc.boolean(), (all, strangers, seed, isShared) => {
        const index = packed(all, { seed, isShared }).indexes.get('hash')
        if (!(index instanceof PackedHashIndex)) throw new TypeError('no hash index')
        expect(index.signature).toBe('one')
        const values = all.flatMap((item) => item.values)
        for (const value of [...values, ...strangers]) {
          const expected = [...all.keys()].filter((i) => all[i]?.values.some((each) => sameScalar(each, value)))
          expect(index.ordinalsWith(value)).toEqual(expected)
        }
        const distinct = Array.from(index.buckets(), ([value]) => value)
        for (const value of values) expect(distinct.filter((each) => sameScalar(each, value))).toHaveLength(1)
        expect(distinct.every((each) => values.some((value) => sameScalar(each, value)))).toBe(true)
      }),
      { numRuns: 200 },
    )
  })

  test('returns the spans of an ordered index, as a filter of the sorted values does', () => {
    fc.assert(
      fc.property(items, fc.option(scalar), fc.option(scalar), fc.boolean(), (all, from, to, isShared) => {
        const index = packed(all, { isShared }).indexes.get('order')
        if (!(index instanceof PackedSortedIndex)) throw new TypeError('no sorted index')
        const first = (value: readonly Scalar[]): Scalar | undefined => value[0]
        const isBefore = (value: readonly Scalar[]): boolean => {
          const head = first(value)
          return from !== null && (head === undefined || compareScalars(head, from) < 0)
        }
        const isWithin = (value: readonly Scalar[]): boolean => {
          const head = first(value)
          return to === null || head === undefined || compareScalars(head, to) < 0
        }
        const sorted = [...all.keys()].sort(
          (a, b) => compareTuples(all[a]?.values ?? [], all[b]?.values ?? []) || a - b,
        )
        const expected = sorted.filter((i) => {
          const value = all[i]?.values ?? []
          return !isBefore(value) && isWithin(value)
        })
        const [begin, end] = index.bounds({ isBefore, isWithin })
        const found = Array.from({ length: end - begin }, (_, nth) => index.ordinalAt(begin + nth))
        expect(found).toEqual(expected)
        for (let at = begin; at < end; at++)
          expect(compareTuples(index.tupleAt(at), all[index.ordinalAt(at)]?.values ?? [])).toBe(0)
      }),
      { numRuns: 200 },
    )
  })

  test('has the other records after the entries', () => {
    const others: SavedRecord[] = [
      { type: 'filtered', key: 'f', version: '2' },
      { type: 'invalid', key: 'i', version: '3', reason: 'bad' },
    ]
    const snapshot = packed([{ key: 'a', values: [] }], { others })
    expect([snapshot.size, snapshot.count]).toEqual([1, 3])
    expect([snapshot.recordAt(1), snapshot.recordAt(2)]).toEqual(others)
    expect(snapshot.ordinalOf('f')).toBeUndefined()
    expect(() => snapshot.recordAt(3)).toThrow(RangeError)
  })

  test('finds keys with equal hashes, and keys that fill several blocks', () => {
    const byHash = new Map<number, string>()
    const colliding: string[] = []
    for (let i = 0; colliding.length < 8; i++) {
      const hash = hashText(`k${i}`, 7)
      const other = byHash.get(hash)
      if (other !== undefined) colliding.push(other, `k${i}`)
      byHash.set(hash, `k${i}`)
    }
    const long = Array.from({ length: 300 }, (_, i) => `${i}-`.padEnd(3_000, 'x'))
    const all = [...colliding, ...long, `${'w'.repeat(2_000_000)}Ā`].map((key) => ({ key, values: [] }))
    const snapshot = packed(all)
    for (const [i, { key }] of all.entries()) {
      expect(snapshot.ordinalOf(key)).toBe(i)
      expect(snapshot.keyAt(i) === key).toBe(true)
      expect(snapshot.recordAt(i).key === key).toBe(true)
    }
  })

  test('equal scalars have equal hashes', () => {
    fc.assert(
      fc.property(scalar, scalar, fc.integer(), (a, b, seed) => {
        if (sameScalar(a, b)) expect(hashScalar(a, seed)).toBe(hashScalar(b, seed))
      }),
      { numRuns: 1_000 },
    )
    expect(hashScalar(1n, 5)).toBe(hashScalar(1, 5))
    expect(hashScalar(-0, 5)).toBe(hashScalar(0, 5))
  })

  test('refuses content that lacks a section, or has another byte order', () => {
    const parts = pack({ size: 0, ordinalLimit: 0, records: () => [], indexes: [] }, String, 1)
    const content = contentOf(parts, false)
    expect(new PackedSnapshot(content).size).toBe(0)
    for (const name of content.sections.keys()) {
      const sections = new Map(content.sections)
      sections.delete(name)
      expect(() => new PackedSnapshot({ ...content, sections }), name).toThrow(RangeError)
    }
    const swapped = new Map(content.sections).set('byte order', Uint8Array.of(1, 2, 3, 4))
    expect(() => new PackedSnapshot({ ...content, sections: swapped })).toThrow('byte order')
  })

  test('refuses a record of another key', () => {
    const all = [
      { key: 'a', values: [] },
      { key: 'b', values: [] },
    ]
    const parts = pack(
      {
        size: 2,
        ordinalLimit: 2,
        indexes: [],
        records: () => all.map((item, i) => [i, recordOf(item)] as const),
      },
      (record) => JSON.stringify({ ...record, key: 'a' }),
      1,
    )
    const snapshot = new PackedSnapshot(contentOf(parts, false))
    expect(snapshot.recordAt(0).key).toBe('a')
    expect(() => snapshot.recordAt(1)).toThrow('not the expected one')
  })
})
