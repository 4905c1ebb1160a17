import { expect, test } from 'vitest'
import { OrderedTable } from '../../../src/util/ordered-table.js'

test('an ordered table finds each of 20 000 keys in segments of 100, through deletes and additions', () => {
  const table = new OrderedTable<number>(100)
  const model = new Map<string, number>()
  const keyAt = (i: number): string => `team-${i % 7}/pod-${i}`
  for (let i = 0; i < 20_000; i++) {
    table.set(keyAt(i), i)
    model.set(keyAt(i), i)
    if (i % 3 > 0) continue
    table.delete(keyAt(i / 3))
    model.delete(keyAt(i / 3))
    if (table.get(keyAt(i / 3)) !== undefined) expect.fail(`${keyAt(i / 3)} was deleted`)
  }
  expect(table.size).toBe(model.size)
  for (let i = 0; i < 20_000; i++) if (table.get(keyAt(i)) !== model.get(keyAt(i))) expect.fail(keyAt(i))
  expect([...table]).toEqual([...model])
})
