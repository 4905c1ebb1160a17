import { describe, expect, test } from 'vitest'
import type { Change, Updated } from '../../../src/queue/change.js'
import { SeededRandom } from '../../../testing/seeded-random.js'
import { Fold } from '../../support/fold.js'
import { begun, mirrorOf, type Order, order } from '../../support/informers.js'

/** Only updates that change the integer part. */
const when = ({ object, previous }: Updated<number>): boolean => Math.floor(object) !== Math.floor(previous)

const texts = (changes: readonly Change<number>[]): readonly string[] =>
  changes.map(({ type, key, previous, object }) => `${type} ${key} ${previous} → ${object}`)

describe('when', () => {
  test('[law 9a] leaves out the updates for which it returns false, and no add, delete or resync', async () => {
    const { clock, source, informer } = mirrorOf([['a', 1]])
    const fold = new Fold<number>()
    informer.subscribe(fold.handlers, { when, resyncMs: 1_000 })
    const runs: unknown[] = []
    informer.reconcile(async (key, { reason, object }) => void runs.push([key, reason, object]), { when })
    await begun(informer, clock)
    for (const write of [() => source.put('a', 1.5), () => source.put('a', 2.5), () => source.put('b', 3)]) {
      write()
      await clock.advance(0)
    }
    source.put('b', 3.5)
    await clock.advance(1_000)
    source.delete('b')
    await clock.advance(0)
    expect(texts(fold.changes)).toEqual([
      'add a undefined → 1',
      'update a 1 → 2.5',
      'add b undefined → 3',
      'update a 2.5 → 2.5',
      'update b 3 → 3.5',
      'delete b 3.5 → 3.5',
    ])
    expect(runs).toEqual([
      ['a', 'initial', 1],
      ['a', 'changed', 2.5],
      ['b', 'changed', 3],
      ['b', 'changed', undefined],
    ])
  })

  test('[law 9b] is called once for each update, with the last object that was not left out as previous', async () => {
    const { clock, source, informer } = mirrorOf<number, object>([['a', 0]])
    const calls: string[] = []
    const fold = new Fold<number>()
    const options = {
      when: (change: Updated<number>): boolean => {
        calls.push(`${change.previous} → ${change.object}`)
        return change.object - change.previous >= 3
      },
      delivery: 'latest',
    } as const
    const release = Promise.withResolvers<void>()
    const update = async (change: Change<number>): Promise<void> => {
      fold.record(change)
      await release.promise
    }
    informer.subscribe({ add: update, update, delete: update }, options)
    await begun(informer, clock)
    for (let n = 1; n <= 9; n++) {
      source.put('a', n)
      await clock.advance(0)
    }
    release.resolve()
    await clock.advance(0)
    const expected = [1, 2, 3, 4, 5, 6, 7, 8, 9].map((n) => `${Math.floor((n - 1) / 3) * 3} → ${n}`)
    expect([calls, texts(fold.changes)]).toEqual([expected, ['add a undefined → 0', 'update a 0 → 9']])
  })

  test('[law 9a] a delete, an out-of-scope object and another uid follow left out updates', async () => {
    const { clock, source, informer } = mirrorOf([['a', order(1)]] as const, {
      indexes: (ix) => ({ tenant: ix.equal((o: Order) => o.tenant) }),
    })
    const folds = [new Fold<Order>(), new Fold<Order>()] as const
    informer.subscribe(folds[0].handlers, { when: () => false })
    informer.subscribe(folds[1].handlers, { when: () => false, where: { tenant: 'acme' } })
    await begun(informer, clock)
    for (const next of [order(2), order(3), order(4, 'other'), order(5), order(6), undefined, order(7)]) {
      if (next === undefined) source.delete('a')
      else source.put('a', next)
      await clock.advance(0)
    }
    expect(folds.map(({ changes }) => changes.map(({ type, object }) => `${type} ${object.total}`))).toEqual([
      ['add 1', 'delete 6', 'add 7'],
      ['add 1', 'delete 1', 'add 5', 'delete 6', 'add 7'],
    ])
  })

  test('[B16b] an update for which it throws or is asynchronous is delivered, and that is reported once', async () => {
    const { clock, source, informer, errors } = mirrorOf<number, object>([['a', 0]])
    const told: number[] = []
    const update = ({ object }: Change<number>): number => told.push(object)
    const rejecting = (async () => Promise.reject(new Error('no'))) as never
    informer.subscribe({ update }, { name: 'late', when: rejecting })
    informer.subscribe(
      { update },
      {
        when: () => {
          throw new Error('broken')
        },
      },
    )
    await begun(informer, clock)
    for (const n of [1, 2]) {
      source.put('a', n)
      await clock.advance(0)
    }
    expect(told).toEqual([1, 1, 2, 2])
    expect(errors.map(({ code, message }) => `${code} ${message}`)).toEqual([
      'HANDLER the function `when` of "late" on memory failed: the function `when` is asynchronous; only synchronous ones can be used here; such updates are delivered',
      'HANDLER the function `when` on memory failed: broken; such updates are delivered',
    ])
  })

  test.each(['every', 'latest'] as const)(
    '[law 9c] with delivery `%s`, at rest only an update for which it returns false is missing, also after relists',
    async (delivery) => {
      const random = new SeededRandom(36)
      const keys = ['a', 'b', 'c']
      const first: [string, number][] = [['a', 1]]
      const { clock, source, informer } = mirrorOf(first, {
        indexes: (ix) => ({ parity: ix.equal((n) => Math.floor(n) % 2) }),
      })
      const all = { fold: new Fold<number>(), scope: {}, has: () => true }
      const odd = {
        fold: new Fold<number>(),
        scope: { where: { parity: 1 } },
        has: (n: number) => Math.floor(n) % 2 === 1,
      }
      const judged = ({ object, previous }: Updated<number>): boolean => Math.abs(object - previous) >= 2
      for (const { fold, scope } of [all, odd]) {
        const slow = async (change: Change<number>): Promise<void> => {
          fold.record(change)
          await clock.sleep(random.below(4))
        }
        informer.subscribe({ add: slow, update: slow, delete: slow }, { ...scope, when: judged, delivery, capacity: 5 })
      }
      informer.start()
      for (let step = 0; step < 1_000; step++) {
        const key = keys[random.below(3)] ?? ''
        const dice = random.below(20)
        if (dice < 14) source.put(key, random.below(60) / 10)
        else if (dice < 16) source.delete(key)
        else if (dice === 16) source.compact()
        else if (dice === 17) source.disconnect()
        else await clock.advance(random.below(5))
        if (step % 50 < 49) continue
        await clock.advance(60_000)
        for (const { fold, has } of [all, odd]) {
          const shown = [...informer.entries()].filter(([, object]) => has(object))
          expect(new Set(fold.objects.keys())).toEqual(new Set(shown.map(([shownKey]) => shownKey)))
          for (const [shownKey, object] of shown)
            expect(Math.abs(object - (fold.objects.get(shownKey) ?? Infinity))).toBeLessThan(2)
        }
      }
      expect(all.fold.changes.length).toBeGreaterThan(100)
    },
  )
})
