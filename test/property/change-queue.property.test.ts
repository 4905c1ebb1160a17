import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Change } from '../../src/queue/change.js'
import { ChangeQueue, type QueuedBatch } from '../../src/queue/change-queue.js'
import { finish } from '../../src/util/steps.js'
import { keys, runs } from '../support/property.js'

/** What happens to the store, and to the queue behind it. */
type Step =
  | { readonly does: 'commit'; readonly fates: readonly (readonly [string, number | undefined])[] }
  | { readonly does: 'take' }
  | { readonly does: 'merge' }

const fate = fc.tuple(keys, fc.option(fc.integer({ min: 0, max: 3 }), { nil: undefined, freq: 2 }))
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ does: fc.constant('commit'), fates: fc.array(fate, { maxLength: 4 }) }) },
  { weight: 4, arbitrary: fc.record({ does: fc.constant('take') }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('merge') }) },
)
const steps = fc.array(step, { maxLength: 60 })
const deliveries = fc.constantFrom('every', 'latest')
const capacities = fc.integer({ min: 1, max: 12 })

/** A store whose changes are queued as an informer does it, and a reader who folds what is taken. */
class World {
  readonly queue: ChangeQueue<number>
  readonly store = new Map<string, number>()
  readonly held = new Map<string, number>()
  /** What was pushed and not yet taken, as it was pushed. */
  waiting: QueuedBatch<number>[] = []
  isMerged: boolean
  readonly #delivery: 'every' | 'latest'
  #version = 0

  constructor(delivery: 'every' | 'latest', capacity: number) {
    this.#delivery = delivery
    this.isMerged = delivery === 'latest'
    this.queue = new ChangeQueue({ delivery, capacity })
  }

  commit(fates: readonly (readonly [string, number | undefined])[]): void {
    const version = String(++this.#version)
    const changes: Change<number>[] = []
    for (const [key, object] of fates) {
      const previous = this.store.get(key)
      const base = { key, version, origin: 'watch' } as const
      if (object === undefined) {
        if (previous !== undefined)
          changes.push({ ...base, type: 'delete', object: previous, previous, finalState: 'known' })
        this.store.delete(key)
        continue
      }
      if (previous === undefined) changes.push({ ...base, type: 'add', object, previous })
      else changes.push({ ...base, type: 'update', object, previous })
      this.store.set(key, object)
    }
    const position = { commit: this.#version, version, history: this.#version % 3 }
    if (!this.queue.push(changes, position)) this.merge()
    const last = this.waiting.at(-1)
    if (last?.changes.length === 0 && changes.length === 0) this.waiting.pop()
    this.waiting.push({ changes, position, source: undefined, at: 0 })
  }

  merge(): void {
    finish(this.queue.merge())
    this.isMerged = true
  }

  /** The expected and the actual next batch. A reader that takes everything has caught up. */
  take(): { readonly expected: readonly QueuedBatch<number>[]; readonly taken: QueuedBatch<number> | undefined } {
    const expected = this.isMerged ? this.waiting : this.waiting.slice(0, 1)
    this.waiting = this.waiting.slice(expected.length)
    const taken = this.queue.take()
    if (taken !== undefined && this.waiting.length === 0) this.isMerged = this.#delivery === 'latest'
    for (const change of taken?.changes ?? []) {
      if (change.type === 'delete') this.held.delete(change.key)
      else this.held.set(change.key, change.object)
    }
    return { expected, taken }
  }

  run(step: Step): void {
    switch (step.does) {
      case 'commit':
        this.commit(step.fates)
        break
      case 'take':
        this.take()
        break
      case 'merge':
        this.merge()
        break
    }
  }
}

function waitingKeys({ waiting, held }: World): string[] {
  const now = new Map<string, number | undefined>()
  for (const { changes } of waiting) {
    for (const { type, key, object } of changes) {
      now.set(key, type === 'delete' ? undefined : object)
      if (!held.has(key) && type === 'delete') now.delete(key)
    }
  }
  return [...now.keys()]
}

describe('the queue of a subscription', () => {
  test('[law 2][law 4b][law 4c][law 4d][law 6][I4] folding the taken changes results in the store at that version, and what was taken is final', () => {
    fc.assert(
      fc.property(deliveries, capacities, steps, (delivery, capacity, all) => {
        const world = new World(delivery, capacity)
        const stores = new Map<string | undefined, ReadonlyMap<string, number>>()
        const told = new Map<string, number>()
        const batches: [QueuedBatch<number>, string][] = []
        const take = (): boolean => {
          const { taken } = world.take()
          if (taken === undefined) return false
          // Each key is taken as an add, updates, a delete. The previous object is the one that was last delivered.
          for (const { type, key, object, previous } of taken.changes) {
            expect([key, previous]).toEqual([key, told.get(key)])
            expect(type === 'add').toBe(!told.has(key))
            if (type === 'delete') told.delete(key)
            else told.set(key, object)
          }
          expect(told).toEqual(stores.get(taken.position.version))
          expect(taken.position.commit).toBeGreaterThan(batches.at(-1)?.[0].position.commit ?? 0)
          batches.push([taken, JSON.stringify(taken)])
          return true
        }
        for (const each of all) {
          if (each.does === 'take') take()
          else {
            world.run(each)
            stores.set(world.queue.position.version, new Map(world.store))
          }
        }
        while (take());
        expect(told).toEqual(world.store)
        if (batches.length > 0) expect(batches.at(-1)?.[0].position).toBe(world.queue.position)
        for (const [batch, then] of batches) expect(JSON.stringify(batch)).toBe(then)
      }),
      runs(3_000),
    )
  })

  test('[law 1][law 4a][law 8b] every returns the batches as they came until it is merged, then everything pending as one', () => {
    fc.assert(
      fc.property(deliveries, capacities, steps, (delivery, capacity, all) => {
        const world = new World(delivery, capacity)
        for (const each of all) {
          // A merged queue has exactly the keys of which a change is left, in the order in which they entered.
          const waiting = waitingKeys(world)
          const wasMerged = world.isMerged
          if (wasMerged) expect(world.queue.keys).toBe(waiting.length)
          if (each.does !== 'take') {
            world.run(each)
            continue
          }
          const { expected, taken } = world.take()
          if (!wasMerged) expect(taken).toEqual(expected[0])
          else {
            expect(taken?.position).toBe(expected.at(-1)?.position)
            expect([...new Set(taken?.changes.map(({ key }) => key))]).toEqual(waiting)
          }
        }
      }),
      runs(3_000),
    )
  })

  test('[law 8a][law 8c][I12] every holds at most capacity changes, a merged queue at most two a key', () => {
    fc.assert(
      fc.property(deliveries, capacities, steps, (delivery, capacity, all) => {
        const world = new World(delivery, capacity)
        const takeAll = (): void => {
          const wasMerged = world.isMerged
          const taken: Change<number>[] = []
          while (!world.queue.isEmpty) taken.push(...(world.take().taken?.changes ?? []))
          const perKey = Map.groupBy(taken, ({ key }) => key)
          if (wasMerged) for (const changes of perKey.values()) expect(changes.length).toBeLessThanOrEqual(2)
          else expect(taken.length).toBeLessThanOrEqual(capacity)
        }
        for (const each of all) {
          if (each.does === 'take') takeAll()
          else world.run(each)
        }
        takeAll()
      }),
      runs(1_500),
    )
  })
})
