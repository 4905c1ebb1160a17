import fc from 'fast-check'
import { expect, test } from 'vitest'
import { OrdinalTable } from '../../src/store/ordinal-table.js'
import { OrderedTable } from '../../src/util/ordered-table.js'

const key = fc.integer({ min: 0, max: 40 }).map(String)
const step = fc.oneof(
  fc.record({ type: fc.constant('set' as const), key, value: fc.nat() }),
  fc.record({ type: fc.constant('delete' as const), key }),
)

type Step = { readonly type: 'set'; readonly key: string; readonly value: number } | { type: 'delete'; key: string }
type Table = Pick<OrderedTable<number>, 'size' | 'get' | 'set' | 'delete'> & Iterable<[key: string, value: number]>

function perform(each: Step, table: Pick<Table, 'set' | 'delete'>): void {
  if (each.type === 'set') table.set(each.key, each.value)
  else table.delete(each.key)
}

test('an ordered table with many small segments has the same entries in the same order as a Map', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 8 }), fc.array(step, { maxLength: 200 }), (segmentKeys, steps) => {
      const table = new OrderedTable<number>(segmentKeys)
      const model = new Map<string, number>()
      for (const each of steps) {
        perform(each, table)
        perform(each, model)
        expect([table.size, table.get(each.key)]).toEqual([model.size, model.get(each.key)])
      }
      expect([...table]).toEqual([...model])
      expect([[...table.keys()], [...table.values()]]).toEqual([[...model.keys()], [...model.values()]])
    }),
  )
})

/** Iterates over a table, deletes each key that it reaches, and performs a step after each. */
function consume(table: Table, steps: readonly Step[]): { readonly found: string[]; readonly wasEmpty: boolean } {
  for (let i = 0; i < 20; i++) table.set(`${i}`, i)
  const found: string[] = []
  let wasEmpty = false
  for (const [key] of table) {
    const next = steps[found.length]
    found.push(key)
    table.delete(key)
    wasEmpty ||= table.size === 0
    if (next?.type === 'delete' || (next !== undefined && table.get(next.key) === undefined)) perform(next, table)
  }
  return { found, wasEmpty }
}

test('an iteration over an ordered table includes keys that are added meanwhile, and no keys that are deleted before', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 8 }), fc.array(step, { maxLength: 60 }), (segmentKeys, steps) => {
      const table = new OrderedTable<number>(segmentKeys)
      const { found, wasEmpty } = consume(table, steps)
      const expected = consume(new Map(), steps).found
      // A key that is added when there is no other key may come after the iteration.
      expect(found).toEqual(wasEmpty ? expected.slice(0, found.length) : expected)
      expect(wasEmpty || table.size === 0).toBe(true)
    }),
  )
})

test('a table of ordinals has the same values as a Map, also while it moves its keys into parts', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 30 }), fc.array(step, { maxLength: 200 }), (hashedFrom, steps) => {
      const keys: (string | undefined)[] = []
      const table = new OrdinalTable((ordinal, key) => keys[ordinal] === key, hashedFrom)
      const model = new Map<string, number>()
      for (const { type, key } of steps) {
        const ordinal = model.get(key)
        if (type === 'set' && ordinal === undefined) {
          table.add(key, keys.length)
          model.set(key, keys.length)
          keys.push(key)
        } else if (type === 'delete' && ordinal !== undefined) {
          keys[ordinal] = undefined
          table.delete(key, ordinal)
          model.delete(key)
        }
        expect(table.size).toBe(model.size)
        for (let i = 0; i <= 40; i++) expect(table.get(`${i}`)).toBe(model.get(`${i}`))
      }
    }),
  )
})
