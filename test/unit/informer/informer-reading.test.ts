import { describe, expect, test } from 'vitest'
import type { WatchBatch } from '../../../src/contract/source.js'
import { informerOf, mirrorOf, type Order, order, warnings } from '../../support/informers.js'
import { put, scripted } from '../../support/scripted-source.js'

describe('the store', () => {
  test('the store is empty before the first list', () => {
    const { informer } = mirrorOf<number, object>([['a', 1]])
    informer.start()
    expect([informer.size, informer.get('a'), informer.has('a'), informer.list(), informer.version]).toEqual([
      0,
      undefined,
      false,
      [],
      undefined,
    ])
    expect([[...informer.keys()], [...informer.entries()], [...informer.versions]]).toEqual([[], [], []])
  })

  test('the store holds the objects of the source', async () => {
    const { clock, source, informer } = mirrorOf<number, object>([
      ['a', 1],
      ['b', 2],
    ])
    informer.start()
    await clock.advance(0)
    source.put('c', 3)
    source.delete('a')
    await clock.advance(0)
    expect([[...informer.keys()], new Set(informer.list()), informer.size]).toEqual([['b', 'c'], new Set([2, 3]), 2])
    expect([informer.get('a'), informer.has('a'), informer.get('c'), informer.has('c')]).toEqual([
      undefined,
      false,
      3,
      true,
    ])
    expect(new Map(informer.entries())).toEqual(
      new Map([
        ['b', 2],
        ['c', 3],
      ]),
    )
  })

  test('version is the version of the source, and versions has it under the name of the source', async () => {
    const { clock, source, informer } = mirrorOf<number, object>([], { memory: { name: 'mine' } })
    informer.start()
    await clock.advance(0)
    const version = source.put('a', 1)
    await clock.advance(0)
    expect([informer.version, [...informer.versions]]).toEqual([version, [['mine', version]]])
  })

  test('equal objects keep their identity, and no change is delivered', async () => {
    const { clock, source, informer } = mirrorOf<Order, object>([['a', order(1)]])
    const told: string[] = []
    informer.subscribe({ update: ({ key }) => void told.push(key) })
    informer.start()
    await clock.advance(0)
    const before = informer.get('a')
    source.put('a', order(1))
    source.disconnect()
    source.compact()
    await clock.advance(5_000)
    expect(informer.status.relists).toBe(1)
    expect([informer.get('a') === before, told]).toEqual([true, []])
  })
})

// I8
describe('no read sees part of a list or of a batch', () => {
  test('the store goes from one version to the next in one step, for every reader', async () => {
    const { clock, source, informer } = mirrorOf<Order, object>([], {})
    informer.start()
    await clock.advance(0)
    const sums = new Set<number>()
    const look = (): void => void sums.add(informer.list().reduce((sum, { total }) => sum + total, 0))
    informer.subscribe({ add: look, update: look, delete: look })
    void informer
      .until('x', () => {
        look()
        return false
      })
      .catch(() => {})
    for (let i = 0; i < 20; i++) {
      source.transaction((tx) => {
        tx.put('a', order(i))
        tx.put('b', order(100 - i))
      })
      if (i === 10) {
        source.disconnect()
        source.compact()
      }
      await clock.advance(i === 10 ? 5_000 : 0)
    }
    expect(sums).toEqual(new Set([0, 100]))
  })

  test('no page of the first list is visible before the list is complete', async () => {
    const source = scripted<number>()
    const { clock, informer } = informerOf(source)
    const sizes = new Set<number>()
    informer.on('status', () => sizes.add(informer.size))
    informer.start()
    await clock.advance(0)
    for (let i = 0; i < 5; i++) {
      source.lists[0]?.page([put(`k${i}`, i)], '5')
      await clock.advance(0)
      sizes.add(informer.size)
    }
    source.lists[0]?.end()
    await clock.advance(0)
    expect([...sizes]).toEqual([0, 5])
  })

  test('an error listener that is called because of a batch sees the whole batch', async () => {
    const source = scripted<number>({ onList: (list) => list.answer([put('a', 0), put('b', 0)], '5') })
    const { clock, informer } = informerOf(source, {
      indexes: (ix) => ({
        broken: ix.equal((n) => {
          if (Number(n) > 0) throw new Error('no')
          return Number(n)
        }),
      }),
    })
    const seen: unknown[] = []
    informer.on('error', () => seen.push([informer.get('a'), informer.get('b'), informer.version]))
    informer.start()
    await clock.advance(0)
    source.watches[0]?.batch([put('a', 1), put('b', 1)], '6')
    await clock.advance(0)
    expect(seen).toEqual([[1, 1, '6']])
  })

  test('a subscription that an error listener begins in the middle of a batch receives each object of it once', async () => {
    const source = scripted<number>({ onList: (list) => list.answer([put('a', 0)], '5') })
    const { clock, informer } = informerOf(source, {
      transform: (n: number, key: string) => {
        if (key === 'bad') throw new Error('no')
        return n
      },
    })
    const told: string[] = []
    informer.on('error', () => {
      const tell = ({ type, key, object }: { type: string; key: string; object: number }): void =>
        void told.push(`${type} ${key}=${object}`)
      informer.subscribe({ add: tell, update: tell, delete: tell })
    })
    informer.start()
    await clock.advance(0)
    source.watches[0]?.batch([put('a', 1), put('bad', 1), put('b', 1)], '6')
    await clock.advance(0)
    expect(told).toEqual(['add a=1', 'add b=1'])
  })
})

describe('indexes', () => {
  // I9
  test('indexes of every type follow the changes of the store', async () => {
    const { clock, source, informer } = mirrorOf(
      [
        ['a', order(1)],
        ['b', order(2, 'other', ['x'])],
      ],
      {
        indexes: (ix) => ({
          tenant: ix.equal((o: Order) => o.tenant),
          tag: ix.multi((o: Order) => o.tags ?? []),
          total: ix.ordered((o: Order) => o.total),
          latest: ix.compound((o: Order) => [o.tenant, o.total]),
        }),
      },
    )
    informer.start()
    await clock.advance(0)
    source.put('a', order(5, 'other', ['x', 'y']))
    source.put('c', order(3, 'other'))
    await clock.advance(0)
    expect(informer.by.tenant('acme')).toEqual([])
    expect(informer.by.tenant.count('other')).toBe(3)
    expect(new Set(informer.by.tag('x').map(({ total }) => total))).toEqual(new Set([2, 5]))
    expect(informer.by.total({ gte: 3 }).map(({ total }) => total)).toEqual([3, 5])
    expect(informer.by.latest(['other'], { reverse: true, limit: 2 }).map(({ total }) => total)).toEqual([5, 3])
    expect([...informer.by.tenant.values()]).toEqual(['other'])
  })

  test('an index that is added to a full store has its objects and follows later changes', async () => {
    const { clock, source, informer } = mirrorOf([['a', order(1)]])
    informer.start()
    await clock.advance(0)
    const byTotal = await informer.addIndex('total', (ix) => ix.equal((o) => o.total))
    source.put('b', order(1))
    await clock.advance(0)
    expect([byTotal(1).length, byTotal.count(2)]).toEqual([2, 0])
  })

  test('addIndex can be called before the first list', async () => {
    const { clock, informer } = mirrorOf([['a', order(1)]])
    const byTotal = await informer.addIndex('total', (ix) => ix.equal((o) => o.total))
    informer.start()
    await clock.advance(0)
    expect(byTotal.count(1)).toBe(1)
  })

  test.each([
    [['', () => {}], 'addIndex: a name and a function are needed'],
    [['x', 5], 'addIndex: a name and a function are needed'],
    [
      ['total', (ix: { equal: (of: unknown) => unknown }) => ix.equal(() => 1)],
      'addIndex: there is an index "total" already',
    ],
  ])('addIndex refuses %j', (args, message) => {
    const { informer } = mirrorOf([['a', order(1)]], { indexes: (ix) => ({ total: ix.equal((o: Order) => o.total) }) })
    expect(() => Reflect.apply(informer.addIndex, informer, args)).toThrow(new TypeError(message))
  })

  test('an index function that throws leaves the object out, is reported once, and stops nothing', async () => {
    const { clock, source, informer, errors } = mirrorOf([['a', order(1)]], {
      indexes: (ix) => ({
        tenant: ix.equal((o: Order) => {
          if (o.total > 1) throw new Error('no')
          return o.tenant
        }),
      }),
    })
    informer.start()
    await clock.advance(0)
    source.put('b', order(2))
    source.put('c', order(3))
    await clock.advance(0)
    expect([informer.size, informer.by.tenant.count('acme')]).toEqual([3, 1])
    expect(errors).toMatchObject([{ code: 'DECODE', key: 'b', message: expect.stringContaining('"tenant"') }])
  })
})

describe('a snapshot', () => {
  test('a snapshot does not change while the store changes', async () => {
    const { clock, source, informer } = mirrorOf(
      [
        ['a', order(1)],
        ['b', order(2)],
      ],
      {
        indexes: (ix) => ({ tenant: ix.equal((o: Order) => o.tenant) }),
      },
    )
    informer.start()
    await clock.advance(0)
    using snapshot = informer.snapshot()
    const { version } = informer
    source.put('a', order(9, 'other'))
    source.delete('b')
    await clock.advance(0)
    expect([snapshot.size, snapshot.get('a')?.total, snapshot.has('b'), snapshot.version]).toEqual([
      2,
      1,
      true,
      version,
    ])
    expect([snapshot.by.tenant.count('acme'), informer.by.tenant.count('acme')]).toEqual([2, 0])
  })

  test('a read of a disposed snapshot throws STOPPED', async () => {
    const { clock, informer } = mirrorOf([['a', order(1)]])
    informer.start()
    await clock.advance(0)
    const snapshot = informer.snapshot()
    snapshot[Symbol.dispose]()
    expect(() => snapshot.get('a')).toThrow(expect.objectContaining({ code: 'STOPPED' }))
  })

  test('a snapshot from before the first list stays empty', async () => {
    const { clock, informer } = mirrorOf([['a', order(1)]])
    informer.start()
    using snapshot = informer.snapshot()
    await clock.advance(0)
    expect([snapshot.size, snapshot.version, informer.size]).toEqual([0, undefined, 1])
  })
})

describe('transform', () => {
  test('transform makes the stored object from the object of the source', async () => {
    const source = scripted<{ n: number }>({ onList: (list) => list.answer([put('a', { n: 1 })], '5') })
    const { clock, informer } = informerOf<{ n: number }, object, typeof source>(source, {
      transform: ({ n }, key) => ({ n: n * 10, key }),
    })
    informer.start()
    await clock.advance(0)
    expect(informer.get('a')).toEqual({ n: 10, key: 'a' })
  })

  test('transform runs once for each object that arrives, also in a relist', async () => {
    const runs: number[] = []
    const { clock, source, informer } = mirrorOf<number, object>(
      [
        ['a', 1],
        ['b', 2],
      ],
      {
        transform: (n) => {
          runs.push(n)
          return n
        },
      },
    )
    informer.start()
    await clock.advance(0)
    source.put('a', 3)
    const relisted = informer.relist()
    await clock.advance(5_000)
    await relisted
    expect(runs).toEqual([1, 2, 3, 2])
  })

  test('an object for which transform returns undefined is not stored, or is removed', async () => {
    const { clock, source, informer } = mirrorOf<number, object>(
      [
        ['a', 1],
        ['b', 20],
      ],
      {
        transform: (n) => (n < 10 ? n : undefined),
      },
    )
    const told: string[] = []
    informer.subscribe({ add: ({ key }) => void told.push(`+${key}`), delete: ({ key }) => void told.push(`-${key}`) })
    informer.start()
    await clock.advance(0)
    source.put('a', 30)
    source.put('b', 2)
    await clock.advance(0)
    expect([told, [...informer.keys()]]).toEqual([['+a', '-a', '+b'], ['b']])
  })

  test('[B15] a transform that throws makes the object invalid', async () => {
    const { clock, informer, errors } = mirrorOf<number, object>(
      [
        ['a', 1],
        ['b', 2],
      ],
      {
        transform: (n) => {
          if (n > 1) throw new Error('too large')
          return n
        },
      },
    )
    informer.start()
    await clock.advance(0)
    expect([[...informer.keys()], [...informer.invalid.keys()]]).toEqual([['a'], ['b']])
    expect(errors).toMatchObject([{ code: 'DECODE', key: 'b', cause: { message: 'too large' } }])
  })
})

describe('equals', () => {
  test('equals decides whether a change is delivered', async () => {
    const { clock, source, informer } = mirrorOf<Order, object>([['a', order(1)]], {
      equals: (a, b) => a.total === b.total,
    })
    const told: number[] = []
    informer.subscribe({ update: ({ object }) => void told.push(object.total) })
    informer.start()
    await clock.advance(0)
    source.put('a', order(1, 'other'))
    source.put('a', order(2, 'other'))
    await clock.advance(0)
    expect(told).toEqual([2])
  })

  test('[B16] an object whose comparison throws counts as changed, and the error is reported once', async () => {
    const { clock, source, informer, errors } = mirrorOf<Order, object>([['a', order(1)]], {
      equals: () => {
        throw new Error('no')
      },
    })
    const told: number[] = []
    informer.subscribe({ update: ({ object }) => void told.push(object.total) })
    informer.start()
    await clock.advance(0)
    source.put('a', order(1))
    source.put('a', order(1))
    await clock.advance(0)
    expect([told, errors.length]).toEqual([[1, 1], 1])
  })
})

describe('freezing', () => {
  test('[B13] a handler that changes a frozen object throws a TypeError, which is reported', async () => {
    const { clock, informer, errors } = mirrorOf<Order, object>([['a', order(1)]])
    informer.subscribe({
      add: ({ object }) => {
        Object.assign(object, { total: 7 })
      },
    })
    informer.start()
    await clock.advance(0)
    expect(errors).toMatchObject([{ code: 'HANDLER', cause: expect.any(TypeError) }])
    expect(informer.get('a')?.total).toBe(1)
  })

  test('freezing is deep, and does not freeze Dates and instances of classes', async () => {
    class Money {
      amount = 1
    }
    const object = { list: [{ n: 1 }], at: new Date(), money: new Money() }
    const { clock, informer } = mirrorOf([['a', object]])
    informer.start()
    await clock.advance(0)
    const stored = informer.get('a')
    expect([stored, stored?.list, stored?.list[0]].every((each) => Object.isFrozen(each))).toBe(true)
    expect([Object.isFrozen(stored?.at), Object.isFrozen(stored?.money)]).toEqual([false, false])
  })

  test('freeze: false stores objects that are not frozen', async () => {
    const { clock, informer } = mirrorOf<Order, object>([['a', order(1)]], { freeze: false })
    informer.start()
    await clock.advance(0)
    expect(Object.isFrozen(informer.get('a'))).toBe(false)
  })

  test('freeze is off by default if NODE_ENV is production', async () => {
    const { env } = process
    const before = env['NODE_ENV']
    env['NODE_ENV'] = 'production'
    const { clock, informer } = mirrorOf<Order, object>([['a', order(1)]])
    env['NODE_ENV'] = before
    informer.start()
    await clock.advance(0)
    expect(Object.isFrozen(informer.get('a'))).toBe(false)
  })

  test('the results of list and of an index are frozen', async () => {
    const { clock, informer } = mirrorOf<Order, { tenant: (v: string) => readonly Order[] }>([['a', order(1)]], {
      indexes: (ix) => ({ tenant: ix.equal((o) => o.tenant) }),
    })
    informer.start()
    await clock.advance(0)
    expect([Object.isFrozen(informer.list()), Object.isFrozen(informer.by.tenant('acme'))]).toEqual([true, true])
  })
})

test('an indexer that is used by hand without options emits its errors as process warnings', async () => {
  const { Indexer } = await import('../../../src/store/indexer.js')
  const said = warnings()
  const indexer = new Indexer({
    indexes: (ix: import('../../../src/store/indexes/index-types.js').IndexBuilder<number>) => ({
      broken: ix.equal((): string => {
        throw new Error('no')
      }),
    }),
  })
  const batch: WatchBatch<number> = { events: [put('a', 1)], version: '1' }
  void indexer.apply(batch)
  expect(said).toHaveLength(1)
})
