import { expect, test } from 'vitest'
import { memoryDatabase } from '../../../adapters/memory/index.js'
import { createInformer, groupInformers } from '../../../src/index.js'
import { JoinedChanges } from '../../../src/informer/joined-changes.js'
import { VirtualClock } from '../../../testing/virtual-clock.js'

test('a batch of several informers has whole commits, and follows from the batch before', async () => {
  const clock = new VirtualClock()
  const shop = memoryDatabase()
  const [a, b] = [shop.collection<number>('a', [['1', 1]]), shop.collection<number>('b')]
  const informers = new Map([a, b].map((source, i) => [`${i}`, createInformer({ source, clock })]))
  await using group = groupInformers([...informers.values()])
  group.start()
  await clock.advance(10)
  const batches = new JoinedChanges(informers, clock, () => ({}))[Symbol.asyncIterator]()
  const next = async () => {
    const taken = batches.next()
    await clock.advance(10)
    const { value } = await taken
    return [...(value?.parts ?? [])].flatMap(([name, changes]) =>
      changes.map(({ type, object, previous }) => `${name} ${type} ${object} ${previous}`),
    )
  }
  expect(await next()).toEqual(['0 add 1 undefined'])
  for (const n of [2, 3]) {
    shop.commit((tx) => {
      tx.put(a, '1', n)
      tx.put(b, `${n}`, n)
    })
    await clock.advance(10)
  }
  shop.commit((tx) => tx.delete(b, '3'))
  await clock.advance(10)
  expect(await next()).toEqual(['0 update 3 1', '1 add 2 undefined'])
})
