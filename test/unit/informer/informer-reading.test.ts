import { expect, test, vi } from 'vitest'
import { informerOf, mirrorOf, type Order, order } from '../../support/informers.js'
import { heard, listed, running } from '../../support/running.js'
import { put } from '../../support/scripted-source.js'

test('[I8] the store goes from one version to the next in one step, for every reader', async () => {
  const { clock, source, informer } = await running(mirrorOf<Order, object>([], {}))
  const sums = new Set<number>()
  const look = (): void => void sums.add(informer.list().reduce((sum, { total }) => sum + total, 0))
  informer.subscribe({ add: look, update: look, delete: look })
  void informer.until('x', () => look() === null).catch(() => {})
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

test('[I8] a subscription that an error listener begins in the middle of a batch receives each object of it once', async () => {
  const source = listed<number>([put('a', 0)], '5')
  const { clock, informer } = informerOf(source, {
    transform: (n: number, key: string) => {
      if (key === 'bad') throw new Error('no')
      return n
    },
  })
  let told: readonly string[] = []
  informer.on('error', () => (told = heard(informer, ({ type, key, object }) => `${type} ${key}=${object}`)))
  await running({ clock, informer })
  source.watches[0]?.batch([put('a', 1), put('bad', 1), put('b', 1)], '6')
  await clock.advance(0)
  expect(told).toEqual(['add a=1', 'add b=1'])
})

test('transform runs once for each object that arrives, also in a relist; undefined is not stored, or removes', async () => {
  const runs: number[] = []
  const transform = (n: number): number | undefined => {
    runs.push(n)
    return n < 10 ? n * 2 : undefined
  }
  const { clock, source, informer } = mirrorOf(Object.entries({ a: 1, b: 20 }), { transform })
  const told = heard(informer, ({ type, key, object }) => `${type} ${key} ${object}`)
  await running({ clock, informer })
  source.put('a', 30)
  source.put('b', 2)
  await clock.advance(0)
  const relisted = informer.relist()
  await clock.advance(5_000)
  await relisted
  expect(told).toEqual(['add a 2', 'delete a 2', 'add b 4'])
  expect(runs).toEqual([1, 20, 30, 2, 30, 2])
})

test('[B15] a transform that throws makes the object invalid', async () => {
  const { informer, errors } = await running(
    mirrorOf<number, object>(Object.entries({ a: 1, b: 2 }), {
      transform: (n) => {
        if (n > 1) throw new Error('too large')
        return n
      },
    }),
  )
  expect([[...informer.keys()], [...informer.invalid.keys()]]).toEqual([['a'], ['b']])
  expect(errors).toMatchObject([{ code: 'DECODE', key: 'b', cause: { message: 'too large' } }])
})

test('[B16] an object whose comparison throws counts as changed, and the error is reported once', async () => {
  const { clock, source, informer, errors } = mirrorOf<Order, object>([['a', order(1)]], {
    equals: () => {
      throw new Error('no')
    },
  })
  const told: number[] = []
  informer.subscribe({ update: ({ object }) => void told.push(object.total) })
  await running({ clock, informer })
  source.put('a', order(1))
  source.put('a', order(1))
  await clock.advance(0)
  expect([told, errors.length]).toEqual([[1, 1], 1])
})

test('[B16a] an asynchronous equals, filter or index function is reported, and none of its promises counts', async () => {
  const rejecting = (async () => Promise.reject(new Error('no'))) as never
  const { clock, source, informer, errors } = mirrorOf([['a', 1]], {
    equals: rejecting,
    indexes: (ix) => ({ n: ix.equal<number>(rejecting) }),
  })
  const told: number[] = []
  informer.subscribe({ update: ({ object }) => void told.push(object) })
  informer.subscribe({ add: ({ object }) => void told.push(-object) }, { filter: rejecting })
  await running({ clock, informer })
  source.put('a', 2)
  await clock.advance(0)
  expect([told, [...informer.by.n.values()]]).toEqual([[2], []])
  expect(errors.filter(({ message }) => /is asynchronous|a promise/.test(message))).toHaveLength(3)
})

test('[S1a] an instance with private fields counts as changed, and its class is reported once', async () => {
  class Row implements Order {
    readonly #row: Order
    constructor(row: Order) {
      this.#row = row
    }
    get total(): number {
      return this.#row.total
    }
    get tenant(): string {
      return this.#row.tenant
    }
  }
  const { clock, source, informer, errors } = mirrorOf<Order, object>([['a', order(1)]], {
    transform: (row) => new Row(row),
  })
  await running({ clock, informer })
  source.put('a', order(2))
  source.put('a', order(3))
  await clock.advance(0)
  expect(informer.get('a')?.total).toBe(3)
  expect(errors.map(({ message }) => message)).toEqual([expect.stringMatching(/class Row; .* "equals"/)])
})

test('[B13] a handler that changes a frozen object throws a TypeError, which is reported', async () => {
  const { clock, informer, errors } = mirrorOf<Order, object>([['a', order(1)]])
  informer.subscribe({ add: ({ object }) => void Object.assign(object, { total: 7 }) })
  await running({ clock, informer })
  expect(errors).toMatchObject([{ code: 'HANDLER', cause: expect.any(TypeError) }])
  expect(informer.get('a')?.total).toBe(1)
})

test.each<readonly [NODE_ENV: string, freeze: boolean | undefined, isFrozen: boolean]>([
  ['production', undefined, false],
  ['production', true, true],
  ['test', undefined, true],
  ['test', false, false],
])('with NODE_ENV %s and the option freeze %s stored objects are frozen: %s', async (NODE_ENV, freeze, isFrozen) => {
  vi.stubEnv('NODE_ENV', NODE_ENV)
  const { informer } = await running(mirrorOf([['a', order(1)]], freeze === undefined ? {} : { freeze }))
  vi.unstubAllEnvs()
  expect(Object.isFrozen(informer.get('a'))).toBe(isFrozen)
})
