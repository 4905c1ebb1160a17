import { describe, expect, test } from 'vitest'
import { OrdinalTable } from '../../../src/store/ordinal-table.js'

describe('a table of ordinals', () => {
  const many: readonly (readonly [about: string, keyAt: (i: number) => string])[] = [
    ['different ends', (i) => `team-${i % 7}/pod-${i}`],
    ['equal ends', (i) => `${i}/a key that ends with the same text`],
    ['few characters', (i) => String.fromCharCode(i)],
  ]
  test.each(many)('finds each of 4 000 keys with %s, through deletes and additions', (_about, keyAt) => {
    const keys: (string | undefined)[] = []
    const table = new OrdinalTable((ordinal, key) => keys[ordinal] === key, 1_000)
    for (let i = 0; i < 4_000; i++) {
      keys[i] = keyAt(i)
      table.add(keyAt(i), i)
      if (i % 3 > 0) continue
      keys[i / 3] = undefined
      table.delete(keyAt(i / 3), i / 3)
      if (table.get(keyAt(i / 3)) !== undefined) expect.fail(`${keyAt(i / 3)} was deleted`)
    }
    expect(table.size).toBe(keys.filter((key) => key !== undefined).length)
    for (let i = 0; i < 4_000; i++) {
      if (table.get(keyAt(i)) !== (keys[i] === undefined ? undefined : i)) expect.fail(keyAt(i))
    }
  })

  test('compares the keys themselves, not only their hashes', () => {
    const keys = ['a']
    const table = new OrdinalTable((ordinal, key) => keys[ordinal] === key, 1)
    table.add('a', 0)
    expect(table.get('a')).toBe(0)
    keys[0] = 'another key with the same hash'
    expect(table.get('a')).toBeUndefined()
  })

  test('has no keys after it was cleared', () => {
    const table = new OrdinalTable((ordinal, key) => `${ordinal}` === key, 1_000)
    for (let i = 0; i < 2_000; i++) table.add(`${i}`, i)
    table.clear()
    table.delete('7', 7)
    expect([table.size, table.get('7')]).toEqual([0, undefined])
    table.add('7', 7)
    expect([table.size, table.get('7')]).toEqual([1, 7])
  })
})
