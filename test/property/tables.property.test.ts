import fc from 'fast-check'
import { expect, test } from 'vitest'
import { KeyTable } from '../../src/util/key-table.js'
import { OrderedTable } from '../../src/util/ordered-table.js'

const key = fc.integer({ min: 0, max: 40 }).map(String)
const step = fc.oneof(
  fc.record({ type: fc.constant('set' as const), key, value: fc.nat() }),
  fc.record({ type: fc.constant('delete' as const), key }),
)

test('an ordered table with many small segments has the same entries in the same order as a Map', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 8 }), fc.array(step, { maxLength: 200 }), (segmentKeys, steps) => {
      const table = new OrderedTable<number>(segmentKeys)
      const model = new Map<string, number>()
      for (const each of steps) {
        if (each.type === 'set') {
          table.set(each.key, each.value)
          model.set(each.key, each.value)
        } else {
          table.delete(each.key)
          model.delete(each.key)
        }
        expect([table.size, table.get(each.key)]).toEqual([model.size, model.get(each.key)])
      }
      expect([...table]).toEqual([...model])
      expect([[...table.keys()], [...table.values()]]).toEqual([[...model.keys()], [...model.values()]])
    }),
  )
})

test('an iteration over an ordered table includes keys that are added meanwhile, and no keys that are deleted before', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 8 }), fc.array(step, { maxLength: 60 }), (segmentKeys, steps) => {
      const table = new OrderedTable<number>(segmentKeys)
      const model = new Map<string, number>()
      for (let i = 0; i < 20; i++) {
        table.set(`${i}`, i)
        model.set(`${i}`, i)
      }
      const found: string[] = []
      let at = 0
      for (const [each] of table) {
        found.push(each)
        table.delete(each)
        model.delete(each)
        const next = steps[at++]
        if (next?.type === 'set' && !model.has(next.key)) {
          table.set(next.key, next.value)
          model.set(next.key, next.value)
        } else if (next?.type === 'delete') {
          table.delete(next.key)
          model.delete(next.key)
        }
        expect(table.get(each)).toBe(model.get(each))
      }
      // A key that is added when all others are deleted may come after the iteration.
      expect([...table.keys()]).toEqual([...model.keys()])
      expect(found.length).toBeGreaterThan(0)
    }),
  )
})

test('a table of keys has the same values as a Map, also while it is divided into parts', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 30 }), fc.array(step, { maxLength: 200 }), (dividedFrom, steps) => {
      const table = new KeyTable<number>(dividedFrom)
      const model = new Map<string, number>()
      for (const each of steps) {
        if (each.type === 'delete') {
          table.delete(each.key)
          model.delete(each.key)
        } else if (!model.has(each.key)) {
          table.add(each.key, each.value)
          model.set(each.key, each.value)
        }
        expect(table.size).toBe(model.size)
        for (let i = 0; i <= 40; i++) expect(table.get(`${i}`)).toBe(model.get(`${i}`))
      }
    }),
  )
})
