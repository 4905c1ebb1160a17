import { describe, expect, test } from 'vitest'
import { Fold } from '../support/fold.js'
import { mirrorOf, type Order, order } from '../support/informers.js'

async function started(...entries: (readonly [string, Order])[]) {
  const world = mirrorOf(entries, {
    indexes: (ix) => ({
      tenant: ix.equal((o: Order) => o.tenant),
      tag: ix.multi((o: Order) => o.tags ?? []),
      latest: ix.compound((o: Order) => [o.tenant, o.total]),
    }),
  })
  world.informer.start()
  await world.clock.advance(0)
  return world
}

describe('a scope', () => {
  test('by key sees one key', async () => {
    const { clock, source, informer } = await started(['a', order(1)], ['b', order(1)])
    const fold = new Fold<Order>()
    informer.subscribe(fold.handlers, { key: 'a' })
    source.put('b', order(2))
    source.put('a', order(2))
    source.delete('a')
    await clock.advance(0)
    expect(fold.told).toEqual(['add a', 'update a', 'delete a'])
  })

  test('by where sees what has these values: what leaves is a delete, what enters an add', async () => {
    const { clock, source, informer } = await started(['a', order(1)], ['b', order(1, 'other')])
    const fold = new Fold<Order>()
    informer.subscribe(fold.handlers, { where: { tenant: 'acme' } })
    await clock.advance(0)
    source.put('a', order(1, 'other'))
    source.put('b', order(1))
    source.put('b', order(2))
    await clock.advance(0)
    expect(fold.told).toEqual(['add a', 'delete a', 'add b', 'update b'])
  })

  test('by a compound index asks for the whole tuple', async () => {
    const { clock, source, informer } = await started(['a', order(1)])
    const fold = new Fold<Order>()
    informer.subscribe(fold.handlers, { where: { latest: ['acme', 1] } })
    source.put('b', order(2))
    source.put('c', order(1))
    await clock.advance(0)
    expect(fold.told).toEqual(['add a', 'add c'])
  })

  test('by filter sees what it gives true for', async () => {
    const { clock, source, informer } = await started(['a', order(1)])
    const fold = new Fold<Order>()
    informer.subscribe(fold.handlers, { filter: ({ total }) => total % 2 === 1 })
    source.put('a', order(2))
    source.put('a', order(3))
    await clock.advance(0)
    expect(fold.told).toEqual(['add a', 'delete a', 'add a'])
  })

  test('holds through a relist', async () => {
    const { clock, source, informer } = await started(['a', order(1)], ['b', order(1, 'other')], ['c', order(1)])
    const fold = new Fold<Order>()
    informer.subscribe(fold.handlers, { where: { tenant: 'acme' } })
    await clock.advance(0)
    source.disconnect()
    source.put('a', order(1, 'other'))
    source.put('b', order(1))
    source.delete('c')
    source.compact()
    await clock.advance(5_000)
    expect([...fold.objects.keys()]).toEqual(['b'])
    expect(fold.changes.slice(2).every(({ origin }) => origin === 'relist')).toBe(true)
  })

  test('holds with delivery latest, behind a slow handler', async () => {
    const { clock, source, informer } = await started(['a', order(1)])
    const fold = new Fold<Order>()
    const tell = async (change: Parameters<typeof fold.tell>[0]): Promise<void> => {
      fold.tell(change)
      await clock.sleep(100)
    }
    informer.subscribe({ add: tell, update: tell, delete: tell }, { where: { tenant: 'acme' }, delivery: 'latest' })
    for (let i = 0; i < 50; i++) {
      source.put('a', order(i, i % 3 === 0 ? 'other' : 'acme'))
      await clock.advance(10)
    }
    source.put('a', order(99))
    await clock.advance(1_000)
    expect(fold.objects).toEqual(new Map([['a', order(99)]]))
  })

  test('of a change stream and of a controller is the same', async () => {
    const { clock, source, informer } = await started(['a', order(1)], ['b', order(1, 'other')])
    const [runs, told]: [string[], string[]] = [[], []]
    informer.reconcile(async (key, { object }) => void runs.push(`${key} ${object?.tenant}`), {
      where: { tenant: 'acme' },
    })
    const read = async (): Promise<void> => {
      for await (const { changes } of informer.changes({ where: { tenant: 'acme' } }))
        for (const { type, key } of changes) told.push(`${type} ${key}`)
    }
    const end = read()
    await clock.advance(0)
    source.put('b', order(2, 'other'))
    source.put('a', order(2, 'other'))
    await clock.advance(0)
    expect(runs).toEqual(['a acme', 'a undefined'])
    expect(told).toEqual(['add a', 'delete a'])
    await informer.stop()
    await end
  })

  test('on an index that was added to a full store', async () => {
    const { clock, source, informer } = await started(['a', order(1)], ['b', order(2)])
    informer.addIndex('odd', (ix) => ix.equal(({ total }) => total % 2 === 1))
    const fold = new Fold<Order>()
    const where: object = { odd: true }
    informer.subscribe(fold.handlers, { where })
    source.put('b', order(3))
    await clock.advance(0)
    expect(fold.told).toEqual(['add a', 'add b'])
  })

  test('an object that its index could not take is out of scope', async () => {
    const { clock, source, informer } = mirrorOf([['a', order(1)]], {
      indexes: (ix) => ({
        tenant: ix.equal((o: Order) => {
          if (o.total > 1) throw new Error('no')
          return o.tenant
        }),
      }),
    })
    const fold = new Fold<Order>()
    informer.subscribe(fold.handlers, { where: { tenant: 'acme' } })
    informer.start()
    await clock.advance(0)
    source.put('a', order(2))
    await clock.advance(0)
    expect(fold.told).toEqual(['add a', 'delete a'])
  })

  test('a misspelt index is a TypeError that names those that there are', async () => {
    const { informer } = await started()
    expect(() => informer.subscribe({}, { where: { tennant: 'acme' } as object })).toThrow(
      new TypeError('subscribe: where: there is no index "tennant"; allowed are tenant, tag, latest'),
    )
  })
})
