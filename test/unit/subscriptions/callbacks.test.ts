import { describe, expect, test } from 'vitest'
import { memorySource } from '../../../adapters/memory/index.js'
import type { Informer, InformerOptions } from '../../../src/informer/informer-types.js'
import { sourceSet } from '../../../src/informer/sources/source-set.js'
import { Indexer } from '../../../src/store/indexer.js'
import { Fold } from '../../support/fold.js'
import { informerOf, mirrorOf } from '../../support/informers.js'
import { put } from '../../support/scripted-source.js'

/** Returns an informer of the sources `a` (a1, a2) and `b` (b1). Its function of the kind `by` calls `act`. */
async function world(by: 'transform' | 'schema' | 'equals' | 'index' | 'nothing') {
  const a = memorySource<number>({ name: 'a', entries: Object.entries({ a1: 1, a2: 1 }) })
  const set = sourceSet({ a, b: memorySource<number>({ name: 'b', entries: [['b1', 1]] }) })
  let act = (): void => {}
  const acting =
    <A extends readonly unknown[], R>(answer: (...args: A) => R) =>
    (...args: A): R => {
      act()
      return answer(...args)
    }
  const options: Record<typeof by, Partial<Omit<InformerOptions<number, { n: unknown }, number>, 'clock'>>> = {
    transform: { transform: acting((n: number) => n) },
    schema: {
      schema: {
        '~standard': { version: 1, vendor: 'test', validate: acting((value: unknown) => ({ value: value as number })) },
      },
    },
    equals: { equals: acting((x: number, y: number) => x === y) },
    index: { indexes: (ix) => ({ n: ix.equal(acting((n: number) => n)) }) },
    nothing: {},
  }
  const { clock, informer, errors } = informerOf<number, { n: unknown }, typeof set>(set, options[by])
  await informer.start().synced()
  await clock.advance(10)
  return {
    clock,
    set,
    a,
    informer,
    errors,
    /** The next calls of the user function call this one first. */
    set act(now: () => void) {
      act = now
    },
  }
}

const contents = (informer: Informer<number>): Record<string, number> => Object.fromEntries(informer.entries())

/** Returns a function that calls `act` only on its first call. */
function once(act: () => void): () => void {
  let isDone = false
  return () => {
    if (isDone) return
    isDone = true
    act()
  }
}

describe.each(['transform', 'schema', 'equals', 'index'] as const)('in a function of %s', (by) => {
  test.each([false, true])('[B4] a removed source disappears, and is listed if added again: %s', async (isAdded) => {
    const made = await world(by)
    const { clock, set, a, informer } = made
    const fold = new Fold<number>()
    informer.subscribe(fold.handlers)
    await clock.advance(0)
    made.act = once(() => {
      set.remove('a')
      if (isAdded) set.add('a', a)
    })
    a.transaction((tx) => {
      tx.put('a1', 2)
      tx.put('a3', 2)
    })
    await clock.advance(5_000)
    const expected = isAdded ? { a1: 2, a2: 1, a3: 2, b1: 1 } : { b1: 1 }
    expect([contents(informer), Object.fromEntries(fold.objects)]).toEqual([expected, expected])
  })

  test.each<[string, (informer: Informer<number>) => unknown]>([
    ['subscribe', (informer) => informer.subscribe({ add: () => {} })],
    ['changes', (informer) => informer.changes()],
    ['reconcile', (informer) => informer.reconcile(async () => {})],
    ['addIndex', (informer) => informer.addIndex('late', (ix) => ix.equal((n) => n))],
    ['snapshot', (informer) => informer.snapshot()],
  ])('[B3] %s is refused', async (call, use) => {
    const made = await world(by)
    const { clock, a, informer } = made
    let thrown: unknown
    made.act = once(() => {
      try {
        use(informer)
      } catch (error) {
        thrown = error
      }
    })
    a.put('a1', 2)
    await clock.advance(0)
    expect(thrown).toBeInstanceOf(TypeError)
    expect(String(thrown)).toMatch(new RegExp(`${call}: the store is being written; .* may only read`))
  })
})

test.each(['at a batch', 'at its beginning'])(
  '[B4] a source that a filter removes %s disappears once all consumers have received the batch',
  async (when) => {
    const { clock, set, a, informer } = await world('nothing')
    const remove = once(() => set.remove('a'))
    let isArmed = when === 'at its beginning'
    const filter = (): boolean => {
      if (isArmed) remove()
      return true
    }
    const folds = [new Fold<number>(), new Fold<number>()]
    for (const { handlers } of folds) informer.subscribe(handlers, { filter })
    await clock.advance(0)
    isArmed = true
    a.transaction((tx) => {
      tx.put('a1', 2)
      tx.put('a2', 2)
    })
    await clock.advance(5_000)
    for (const { objects } of folds) expect(Object.fromEntries(objects)).toEqual({ b1: 1 })
    expect(contents(informer)).toEqual({ b1: 1 })
  },
)

test('[B4] a source that is removed in the function of a new index is not in that index', async () => {
  const { set, informer } = await world('nothing')
  const remove = once(() => set.remove('a'))
  const index = await informer.addIndex('late', (ix) =>
    ix.equal((n) => {
      remove()
      return n
    }),
  )
  expect([contents(informer), index(1)]).toEqual([{ b1: 1 }, [1]])
})

test('a subscription that is closed in transform removes no change from the others', async () => {
  let act = (): void => {}
  const { clock, source, informer } = mirrorOf([['a', 1]], {
    transform: (n: number) => {
      act()
      return n
    },
    indexes: (ix) => ({ n: ix.equal((n: number) => n), even: ix.equal((n: number) => n % 2 === 0) }),
  })
  await informer.start().synced()
  const first = informer.subscribe({}, { where: { n: 7 } })
  const fold = new Fold<number>()
  informer.subscribe(fold.handlers, { where: { even: true } })
  await clock.advance(0)
  let isFirst = true
  act = () => {
    if (!isFirst) void first.close()
    isFirst = false
  }
  source.transaction((tx) => {
    tx.put('b', 2)
    tx.put('c', 4)
  })
  await clock.advance(0)
  expect(Object.fromEntries(fold.objects)).toEqual({ b: 2, c: 4 })
})

test('[B3] an indexer cannot be written by its own index functions', () => {
  let thrown: unknown
  const indexer = new Indexer<number, object>({
    indexes: (ix) => ({
      n: ix.equal((n) => {
        try {
          if (n === 1) void indexer.apply({ events: [put('b', 2)], version: '2' })
        } catch (error) {
          thrown = error
        }
        return n
      }),
    }),
  })
  void indexer.apply({ events: [put('a', 1)], version: '1' })
  expect(String(thrown)).toMatch(/^TypeError: apply: the store is being written/)
  void indexer.apply({ events: [put('c', 3)], version: '2' })
  expect([...indexer.keys()]).toEqual(['a', 'c'])
})
