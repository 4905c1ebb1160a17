import { describe, expect, test } from 'vitest'
import { KeyTable } from '../../src/util/key-table.js'

describe('a table of keys', () => {
  const many: readonly (readonly [about: string, keyAt: (i: number) => string])[] = [
    ['different ends', (i) => `team-${i % 7}/pod-${i}`],
    ['equal ends', (i) => `${i}/a key that ends with the same text`],
    ['few characters', (i) => String.fromCharCode(i)],
  ]
  test.each(many)('finds each of 4 000 keys with %s, through deletes and additions', (_about, keyAt) => {
    const table = new KeyTable(1_000)
    const expected = new Map<string, number>([['', -1]])
    table.add('', -1)
    for (let i = 0; i < 4_000; i++) {
      table.add(keyAt(i), i)
      expected.set(keyAt(i), i)
      if (i % 3 > 0) continue
      table.delete(keyAt(i / 3))
      expected.delete(keyAt(i / 3))
    }
    expect(table.size).toBe(expected.size)
    for (let i = 0; i < 4_000; i++) if (table.get(keyAt(i)) !== expected.get(keyAt(i))) expect.fail(keyAt(i))
    expect(table.get('')).toBe(-1)
  })

  test('has no keys after it was cleared', () => {
    const table = new KeyTable(1_000)
    for (let i = 0; i < 2_000; i++) table.add(`${i}`, i)
    table.clear()
    table.delete('7')
    expect([table.size, table.get('7')]).toEqual([0, undefined])
    table.add('7', 3)
    expect([table.size, table.get('7')]).toEqual([1, 3])
  })
})
