import { describe, expect, test } from 'vitest'
import type { IndexBuilder, Scalar } from '../../../../src/index.js'
import { drain, Mirror, tellAll } from '../../../support/feeds.js'
import { Fold } from '../../../support/fold.js'

type Item = { readonly at: Scalar; readonly n: number }

const day = (n: number): Date => new Date(Date.UTC(2026, 0, n))
const item = (at: Scalar, n = 1): Item => ({ at, n })

const declare = (ix: IndexBuilder<Item>) => ({
  equal: ix.equal((o) => o.at),
  multi: ix.multi((o) => [o.at]),
  ordered: ix.ordered((o) => o.at),
  compound: ix.compound((o) => [o.at] as const),
})

type Name = keyof ReturnType<typeof declare>
const names: readonly Name[] = ['equal', 'multi', 'ordered', 'compound']

function mirror(entries: readonly (readonly [string, Item])[] = []): Mirror<Item, ReturnType<typeof declare>> {
  return new Mirror<Item, ReturnType<typeof declare>>(declare).list(entries, '1')
}

function keysWith({ indexer }: ReturnType<typeof mirror>, name: Name, value: Scalar): string[] {
  const pairs = name === 'compound' ? indexer.by.compound.entries([value]) : indexer.by[name].entries(value)
  return Array.from(pairs, ([key]) => key)
}

const asked = (name: Name, value: Scalar): object => ({ where: { [name]: name === 'compound' ? [value] : value } })

test.each<[string, unknown, string]>([
  ['an array', ['a'], 'got an array'],
  ['an object', { at: 'a' }, 'got an object'],
])('a lookup with %s, which no index can have, is a TypeError that says so', (_what, value, got) => {
  const { by } = mirror([['1', item('a')]]).indexer
  for (const name of ['equal', 'multi'] as const) {
    const message = `index "${name}": the value must be a string, number, bigint, boolean or Date, ${got}`
    expect(() => by[name](value as never)).toThrow(new TypeError(message))
    expect(() => by[name].count(value as never)).toThrow(new TypeError(message))
  }
})

test('[B1] a wrong range, and a wrong prefix, name the index and what it got', () => {
  const { by } = mirror([['1', item('a')]]).indexer
  expect(() => by.ordered({ min: 1 } as never)).toThrow('index "ordered": unknown option "min"; allowed are gt, gte, ')
  expect(() => by.compound([], { min: 1 } as never)).toThrow('index "compound": unknown option "min"')
  const flaw = `index "compound": the prefix must be an array of scalars, such as ['acme']`
  expect(() => by.compound('a' as never)).toThrow(new TypeError(`${flaw}, got a string`))
  expect(() => by.compound(['a', null] as never)).toThrow(new TypeError(`${flaw}, got [a string, null]`))
})

describe.each(names)('an %s index of Dates', (name) => {
  test('[S6] an index keeps its own copy of a Date, which a handler cannot change', () => {
    const objects = [item(day(1)), item(day(2)), item(day(3))]
    const made = mirror(objects.map((object, i) => [`k${i}`, object]))
    expect(keysWith(made, name, day(2))).toEqual(['k1'])
    for (const { at } of objects) if (at instanceof Date) at.setUTCHours(23 * 30)
    made
      .put('k1', item(day(9)), '2')
      .delete('k2', '3')
      .put('k3', item(day(2)), '4')
    expect([1, 2, 3, 9].map((n) => keysWith(made, name, day(n)))).toEqual([['k0'], ['k3'], [], ['k1']])
    expect([made.indexer.size, made.indexer.by.ordered().length]).toEqual([3, 3])
  })

  test('a subscription by value is notified of the delete of an object whose Date was changed', () => {
    const made = mirror([['a', item(day(1))]])
    const feed = made.feed(asked(name, day(1)))
    const fold = new Fold<Item>()
    tellAll(feed, fold)
    for (const { at } of fold.objects.values()) if (at instanceof Date) at.setUTCFullYear(1999)
    made.delete('a', '2')
    expect(drain(feed)).toEqual(['delete a, @2'])
  })

  test('[S6] a subscription keeps its own copy of a Date in its scope', () => {
    const made = mirror()
    const mine = day(1)
    const feed = made.feed(asked(name, mine))
    drain(feed)
    mine.setUTCFullYear(1999)
    made.put('a', item(day(1)), '2').delete('a', '3')
    expect(drain(feed)).toEqual(['add a, @2', 'delete a, @3'])
  })

  test('changing a returned Date changes no index, and no snapshot', () => {
    const made = mirror(Object.entries({ a: item(day(1)), b: item(day(2)) }))
    using snapshot = made.indexer.snapshot()
    made.put('b', item(day(3)), '2')
    const spoil = (): void => {
      for (const value of [...made.indexer.by[name].values(), ...snapshot.by[name].values()].flat()) {
        if (value instanceof Date) value.setUTCFullYear(1999)
      }
    }
    spoil()
    made.put('a', item(day(4)), '3').delete('b', '4')
    expect([1, 3, 4].map((n) => keysWith(made, name, day(n)))).toEqual([[], [], ['a']])
    const values = Array.from<Scalar | readonly Scalar[]>(snapshot.by[name].values()).flat()
    expect(values.map(Number).toSorted((a, b) => a - b)).toEqual([day(1), day(2)].map(Number))
  })

  test.each(
    Object.entries<() => Date>({
      'whose getTime throws': () => Object.assign(day(1), { getTime: () => expect.unreachable() }),
      'that is an object with the prototype of Date': () => Object.create(Date.prototype),
      'that is a Proxy': () =>
        new Proxy(day(1), {
          getPrototypeOf: () => {
            throw new Error('hostile')
          },
        }),
    }),
  )('a Date %s harms no other object', (what, hostile) => {
    const made = mirror([['a', item(day(1))]])
    made
      .put('b', item(hostile()), '2')
      .put('c', item(day(1)), '3')
      .delete('b', '4')
    expect(keysWith(made, name, day(1))).toEqual(['a', 'c'])
    expect(made.errors.length > 0).toBe(what !== 'whose getTime throws')
  })
})

describe.each(names)('an %s index of numbers and bigints', (name) => {
  test.each<[string, Scalar, Scalar]>([
    ['2 and 2n', 2, 2n],
    ['2n and 2', 2n, 2],
    ['0n and -0', 0n, -0],
    ['2 ** 70 and 2n ** 70n', 2 ** 70, 2n ** 70n],
  ])('[S11] %s are one value: for reads, for the replay and for what follows', (_, asks, has) => {
    const made = mirror([['a', item(has)]])
    const feed = made.feed(asked(name, asks))
    expect([keysWith(made, name, asks), drain(feed)]).toEqual([['a'], ['add a, @1']])
    made.put('a', item(asks, 2), '2').put('a', item(has, 3), '3').delete('a', '4')
    expect(drain(feed)).toEqual(['update a, @2', 'update a, @3', 'delete a, @4'])
    expect([keysWith(made, name, asks), keysWith(made, name, has)]).toEqual([[], []])
  })
})
