import { expect, test } from 'vitest'
import { ReadyKeys } from '../../../src/queue/ready-keys.js'
import { SeededRandom } from '../../../testing/seeded-random.js'
import { AllKeyRecords } from '../../support/key-records.js'

function ordered() {
  const keys = new ReadyKeys()
  const records = new AllKeyRecords()
  const add = (key: string, isLast: boolean): boolean => keys.add(records.of(key), isLast)
  return { keys, add }
}

test('[N9] ordered keys equal two arrays, whatever is added and taken', () => {
  const random = new SeededRandom(5)
  const { keys, add } = ordered()
  let [first, last]: [string[], string[]] = [[], []]
  for (let step = 0; step < 5_000; step++) {
    const key = `${random.below(40)}`
    if (random.next() < 0.6) {
      const isLast = random.next() < 0.5
      expect(add(key, isLast)).toBe(![...first, ...last].includes(key))
      if (isLast) last = [...last, ...([...first, ...last].includes(key) ? [] : [key])]
      else {
        last = last.filter((each) => each !== key)
        first = [...first, ...(first.includes(key) ? [] : [key])]
      }
    } else expect(keys.take()).toBe(first.shift() ?? last.shift())
    expect(keys.size).toBe(first.length + last.length)
  }
})

test('[N9] prioritized keys equal a sorted list, whatever happens to their priorities', () => {
  const random = new SeededRandom(7)
  const below = (n: number): number => Math.floor(random.next() * n)
  const priorities = new Map<string, number>()
  const keys = new ReadyKeys((key) => priorities.get(key) ?? 0)
  const records = new AllKeyRecords()
  let model: { key: string; priority: number }[] = []
  for (let step = 0; step < 5_000; step++) {
    if (random.next() < 0.6) {
      const key = `${below(40)}`
      const priority = below(5) - 2
      priorities.set(key, priority)
      const known = model.find((each) => each.key === key)
      expect(keys.add(records.of(key), random.next() < 0.5)).toBe(known === undefined)
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
