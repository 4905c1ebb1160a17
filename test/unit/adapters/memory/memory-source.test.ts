import { describe, expect, test } from 'vitest'
import { memoryDatabase, memorySource } from '../../../../adapters/memory/index.js'
import { begun, mirrorOf } from '../../../support/informers.js'

test('a transaction that throws has written nothing', async () => {
  const source = memorySource<number>()
  const head = await source.head()
  expect(() =>
    source.transaction((tx) => {
      tx.put('a', 1)
      throw new Error('no')
    }),
  ).toThrow('no')
  expect(await source.head()).toBe(head)
})

test.each([
  [10, 0],
  [11, 1],
])('of %i changes that a mirror misses, a history of 10 leads to %i lists', async (count, relists) => {
  const { clock, source, informer } = mirrorOf<number, object>([], { memory: { history: 10 } })
  await begun(informer, clock)
  source.disconnect()
  for (let n = 0; n < count; n++) source.put(`k${n}`, n)
  await clock.advance(10_000)
  expect([informer.size, informer.status.relists]).toEqual([count, relists])
})

describe('versions', () => {
  test('those of another collection are of another epoch', async () => {
    const [one, two] = [memorySource<number>(), memorySource<number>()]
    expect(() => one.hasReached(one.put('a', 1), two.put('a', 1))).toThrow(
      expect.objectContaining({ code: 'EPOCH_CHANGED' }),
    )
  })

  test.each(['x', '', '1', '1.1', '1.1.', '1.1.1.1', '1.1.-1', '1.1.1e3', '1.1. 1', '1.1.0x1', '..'])(
    '"%s" is invalid: PROTOCOL',
    async (mark) => {
      const source = memorySource<number>()
      const head = await source.head()
      const [id] = head.split('.')
      expect(() => source.hasReached(head, mark.replace(/^1/, id ?? ''))).toThrow(
        expect.objectContaining({ code: 'PROTOCOL' }),
      )
    },
  )
})

test('a write inside a transaction of the same key is another version', async () => {
  const { clock, source, informer } = mirrorOf<number, object>([])
  await begun(informer, clock)
  source.transaction((tx) => {
    source.put('a', 1)
    tx.put('a', 2)
  })
  await clock.advance(0)
  expect(informer.get('a')).toBe(2)
})

test('a write after a restore is another version than the one of the same number before', async () => {
  const { clock, source, informer } = mirrorOf<number, object>([['a', 0]])
  await begun(informer, clock)
  source.put('a', 1)
  source.put('a', 2)
  await clock.advance(0)
  source.restore([['a', 0]])
  source.corrupt('a', 'bad') // What the mirror shows of it stays from before.
  await clock.advance(10_000)
  expect([informer.get('a'), [...informer.invalid.keys()]]).toEqual([2, ['a']])
  source.put('a', 3)
  await clock.advance(0)
  expect(informer.get('a')).toBe(3)
})

test.each([
  [{ heartbeatMs: 0 }, 'heartbeatMs'],
  [{ history: 0.5 }, 'history'],
  [{ name: '' }, 'name'],
  [{ entires: [] }, 'entires'],
  [{ entries: { a: 1 } }, 'entries'],
])('%j is an OptionError that names it', (options, name) => {
  expect(() => Reflect.apply(memorySource, undefined, [options])).toThrow(
    expect.objectContaining({ name: 'OptionError', message: expect.stringContaining(`"${name}"`) }),
  )
})

test.each<[string, () => unknown]>([
  ['entries', () => memorySource({ entries: [1] as never })],
  ['put', () => memorySource().put(42 as never, {})],
  ['delete', () => memorySource().delete(42 as never)],
])('a key of %s that is not a string is a TypeError', (call, use) => {
  expect(use).toThrow(`${call}: the key must be a string, got `)
})

test.each([
  ['"orders"', 'orders'],
  ['the source "other"', memorySource({ name: 'other' })],
])('a commit of a memory database to %s is a TypeError that names it', (given, collection) => {
  const database = memoryDatabase({ name: 'shop' })
  expect(() => database.commit((tx) => tx.put(collection as never, 'a', 1))).toThrow(
    `commit: ${given} is not a source that shop.collection() has returned`,
  )
})
