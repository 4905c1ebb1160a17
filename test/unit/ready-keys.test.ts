import { describe, expect, test } from 'vitest'
import { OrderedKeys, PrioritizedKeys, type ReadyKeys } from '../../src/queue/ready-keys.js'
import { SeededRandom } from '../../testing/seeded-random.js'

function takeAll(keys: ReadyKeys): string[] {
  const taken: string[] = []
  for (let key = keys.take(); key !== undefined; key = keys.take()) taken.push(key)
  return taken
}

describe('ordered keys', () => {
  test('are those that are last after all others', () => {
    const keys = new OrderedKeys()
    expect([keys.add('a', true), keys.add('b', false), keys.add('c', true), keys.add('d', false)]).toEqual([
      true,
      true,
      true,
      true,
    ])
    expect([keys.size, keys.has('a'), keys.has('x')]).toEqual([4, true, false])
    expect(takeAll(keys)).toEqual(['b', 'd', 'a', 'c'])
    expect(keys.size).toBe(0)
  })

  test('a key moves forward, and not back', () => {
    const keys = new OrderedKeys()
    for (const key of ['a', 'b']) keys.add(key, true)
    keys.add('c', false)
    expect([keys.add('b', false), keys.add('c', true), keys.add('a', true), keys.size]).toEqual([
      false,
      false,
      false,
      3,
    ])
    expect(takeAll(keys)).toEqual(['c', 'b', 'a'])
  })
})

test('prioritized keys equal a sorted list, whatever happens to their priorities', () => {
  const random = new SeededRandom(7)
  const below = (n: number): number => Math.floor(random.next() * n)
  const priorities = new Map<string, number>()
  const keys = new PrioritizedKeys((key) => priorities.get(key) ?? 0)
  let model: { key: string; priority: number }[] = []
  for (let step = 0; step < 5_000; step++) {
    if (random.next() < 0.6) {
      const key = `${below(40)}`
      const priority = below(5) - 2
      priorities.set(key, priority)
      const known = model.find((each) => each.key === key)
      expect(keys.add(key)).toBe(known === undefined)
      if (known?.priority !== priority) {
        model = model.filter((each) => each.key !== key)
        model.push({ key, priority })
      }
    } else {
      const first = model.toSorted((a, b) => b.priority - a.priority)[0]
      expect(keys.take()).toBe(first?.key)
      model = model.filter((each) => each !== first)
    }
    expect(keys.size).toBe(model.length)
  }
  keys.clear()
  expect([keys.size, keys.take()]).toEqual([0, undefined])
})
