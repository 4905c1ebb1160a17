import { describe, expect, test } from 'vitest'
import type { IndexBuilder, SubscribeOptions } from '../../../src/index.js'
import { Fold } from '../../support/fold.js'
import { mirrorOf, type Order, order } from '../../support/informers.js'
import { running } from '../../support/running.js'

const indexes = (ix: IndexBuilder<Order>) => ({
  tenant: ix.equal((o) => {
    if (o.total > 100) throw new Error('no')
    return o.tenant
  }),
  tag: ix.multi((o) => o.tags ?? []),
  latest: ix.compound((o) => [o.tenant, o.total]),
})

function started(...entries: (readonly [string, Order])[]) {
  return running(mirrorOf(entries, { indexes }))
}

describe('a scope', () => {
  test.each<[string, SubscribeOptions<Order, ReturnType<typeof indexes>>, readonly string[]]>([
    ['key', { key: 'a' }, ['add a', 'update a', 'delete a', 'add a']],
    ['`where`', { where: { tenant: 'acme' } }, ['add a', 'update a', 'delete a', 'add b', 'add a', 'delete b']],
    ['`where` of a multi index', { where: { tag: 'x' } }, ['add a', 'delete a', 'add a']],
    ['`where` of two indexes', { where: { tenant: 'acme', tag: 'x' } }, ['add a', 'delete a', 'add a']],
    [
      '`where` and filter',
      { where: { tenant: 'acme' }, filter: ({ total }) => total === 1 },
      ['add a', 'delete a', 'add b', 'delete b'],
    ],
    ['all options', { key: 'a', where: { tag: 'x' }, filter: ({ total }) => total === 1 }, ['add a', 'delete a']],
    ['`where` of a compound index', { where: { latest: ['acme', 1] } }, ['add a', 'delete a', 'add b', 'delete b']],
    [
      'filter',
      { filter: ({ total }) => total % 2 === 1 },
      ['add a', 'add b', 'delete a', 'update b', 'add a', 'update b'],
    ],
  ])('a subscription by %s receives what enters, changes and leaves its scope', async (_what, scope, told) => {
    const { clock, source, informer } = await started(['a', order(1, 'acme', ['x'])], ['b', order(1, 'other')])
    const fold = new Fold<Order>()
    informer.subscribe(fold.handlers, scope)
    await clock.advance(0)
    source.put('a', order(2))
    source.delete('a')
    source.put('b', order(1))
    source.put('a', order(3, 'acme', ['x', 'y']))
    source.put('b', order(101)) // Its index function throws.
    await clock.advance(0)
    expect(fold.told).toEqual(told)
  })

  test('a change stream and a controller have the scope of their options', async () => {
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

  test('`where` accepts an index that was added to a full store, and names the existing ones if it is unknown', async () => {
    const { clock, source, informer } = await started(['a', order(1)], ['b', order(2)])
    expect(() => informer.subscribe({}, { where: { odd: true } as object })).toThrow(
      expect.objectContaining({
        message: 'subscribe: where: there is no index "odd"; allowed are tenant, tag, latest',
      }),
    )
    await informer.addIndex('odd', (ix) => ix.equal(({ total }) => total % 2 === 1))
    const fold = new Fold<Order>()
    informer.subscribe(fold.handlers, { where: { odd: true } as object })
    source.put('b', order(3))
    await clock.advance(0)
    expect(fold.told).toEqual(['add a', 'add b'])
  })
})
