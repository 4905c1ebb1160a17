import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Int32List } from '../../src/store/indexes/int32-list.js'
import { OrdinalLists } from '../../src/store/indexes/ordinal-lists.js'
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

test('a list of integers has the numbers that were set in it, 0 at all other positions', () => {
  const at = fc.oneof(fc.nat(600), fc.integer({ min: 65_500, max: 65_600 }), fc.nat(300_000))
  fc.assert(
    fc.property(fc.array(fc.tuple(at, fc.integer({ min: 1, max: 9 })), { maxLength: 30 }), (steps) => {
      const list = new Int32List()
      const model = new Map<number, number>()
      for (const [position, value] of steps) {
        list.set(position, value)
        model.set(position, value)
      }
      const copy = list.copy()
      for (const position of [...steps.map(([position]) => position), 0, 255, 256, 65_535, 65_536, 400_000]) {
        expect(list.get(position)).toBe(model.get(position) ?? 0)
        expect(copy[position] ?? 0).toBe(model.get(position) ?? 0)
      }
      expect(copy.filter((value) => value !== 0)).toHaveLength(model.size)
      list.clear()
      for (const position of model.keys()) expect(list.get(position)).toBe(0)
    }),
  )
})

test('lists of ordinals in one array have the same elements as arrays, each at the position that it was given', () => {
  const list = fc.nat(2)
  const action = fc.oneof(
    fc.record({ type: fc.constant('push' as const), list, count: fc.nat(40) }),
    fc.record({ type: fc.constant('pop' as const), list, count: fc.nat(40) }),
    fc.record({ type: fc.constant('set' as const), list, count: fc.nat(40) }),
  )
  fc.assert(
    fc.property(fc.array(action, { maxLength: 40 }), (actions) => {
      const lists = new OrdinalLists()
      const model = Array.from({ length: 3 }, () => ({ list: { last: 0, length: 0 }, ordinals: [0], positions: [0] }))
      for (const each of model) each.positions[0] = lists.push(each.list, 0)
      let next = 1
      for (const { type, list, count } of actions) {
        const { list: end, ordinals, positions } = model[list] as (typeof model)[number]
        if (type === 'set' && count < ordinals.length) {
          lists.set(positions[count] ?? 0, next)
          ordinals[count] = next++
        }
        for (let i = 0; i < count && type === 'push'; i++) {
          positions.push(lists.push(end, next))
          ordinals.push(next++)
        }
        for (let i = 0; i < count && type === 'pop' && ordinals.length > 0; i++) {
          lists.pop(end)
          positions.pop()
          ordinals.pop()
        }
        for (const { list, ordinals, positions } of model) {
          expect(lists.ordinalsOf(list)).toEqual(ordinals)
          expect(list).toEqual({ last: positions.at(-1) ?? 0, length: ordinals.length })
          expect(positions.map((position) => lists.get(position))).toEqual(ordinals)
          expect(positions.map((position) => lists.countBefore(position))).toEqual(ordinals.map((_, i) => i))
          for (const ordinal of [ordinals[0], ordinals.at(-1), next])
            expect(lists.some(list, (each) => each === ordinal)).toBe(ordinals.includes(ordinal ?? -1))
        }
      }
    }),
  )
})
