import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Change } from '../../src/queue/change.js'
import { ChangeQueue, type QueuedBatch } from '../../src/queue/change-queue.js'
import { keys, runs } from '../support/property.js'

/** What happens to the store, and to the queue behind it. */
type Step =
  | { readonly does: 'commit'; readonly fates: readonly (readonly [string, number | undefined])[] }
  | { readonly does: 'take' }
  | { readonly does: 'coalesce' }

const fate = fc.tuple(keys, fc.option(fc.integer({ min: 0, max: 3 }), { nil: undefined, freq: 2 }))
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ does: fc.constant('commit'), fates: fc.array(fate, { maxLength: 4 }) }) },
  { weight: 4, arbitrary: fc.record({ does: fc.constant('take') }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('coalesce') }) },
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
        if (previous !== undefined) {
          changes.push({ ...base, type: 'delete', object: previous, previous, finalState: 'known' })
        }
        this.store.delete(key)
        continue
      }
      if (previous === undefined) changes.push({ ...base, type: 'add', object, previous })
      else changes.push({ ...base, type: 'update', object, previous })
      this.store.set(key, object)
    }
    const history = Number(version) % 3
    if (!this.queue.push(changes, version, 0, undefined, history)) this.coalesce()
    const last = this.waiting.at(-1)
    if (last?.changes.length === 0 && changes.length === 0) this.waiting.pop()
    this.waiting.push({ changes, version, source: undefined, history })
  }

  coalesce(): void {
    this.queue.coalesce()
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
      case 'coalesce':
        this.coalesce()
        break
    }
  }
}

/** The keys with queued changes, in the order in which they were added. */
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
  test('[law 2][law 4b] folding the taken changes results in the store at that version', () => {
    fc.assert(
      fc.property(deliveries, capacities, steps, (delivery, capacity, all) => {
        const world = new World(delivery, capacity)
        const stores = new Map<string | undefined, ReadonlyMap<string, number>>()
        for (const each of all) {
          if (each.does !== 'take') {
            world.run(each)
            stores.set(world.queue.version, new Map(world.store))
            continue
          }
          const { taken } = world.take()
          if (taken !== undefined) expect(world.held).toEqual(stores.get(taken.version))
        }
        while (world.take().taken !== undefined);
        expect(world.held).toEqual(world.store)
      }),
      runs(3_000),
    )
  })

  test('[law 4a][law 8b] every returns the batches as they came until it is coalesced, then everything pending as one', () => {
    fc.assert(
      fc.property(deliveries, capacities, steps, (delivery, capacity, all) => {
        const world = new World(delivery, capacity)
        for (const each of all) {
          const wasMerged = world.isMerged
          if (each.does !== 'take') {
            world.run(each)
            continue
          }
          const { expected, taken } = world.take()
          if (wasMerged) expect(taken?.version).toBe(expected.at(-1)?.version)
          else expect(taken).toEqual(expected[0])
        }
      }),
      runs(3_000),
    )
  })

  test('[law 4c][I4] each key is taken as an add, updates, a delete; previous is what was last delivered', () => {
    fc.assert(
      fc.property(deliveries, capacities, steps, (delivery, capacity, all) => {
        const world = new World(delivery, capacity)
        const told = new Map<string, number>()
        for (const each of all) {
          if (each.does !== 'take') {
            world.run(each)
            continue
          }
          for (const { type, key, object, previous } of world.take().taken?.changes ?? []) {
            expect([key, previous]).toEqual([key, told.get(key)])
            expect(type === 'add').toBe(!told.has(key))
            if (type === 'delete') told.delete(key)
            else told.set(key, object)
          }
        }
      }),
      runs(3_000),
    )
  })

  test('[law 1] a merged queue holds exactly the keys of which something is left to tell, in the order in which they entered', () => {
    fc.assert(
      fc.property(deliveries, capacities, steps, (delivery, capacity, all) => {
        const world = new World(delivery, capacity)
        for (const each of all) {
          const expected = waitingKeys(world)
          if (world.isMerged) expect(world.queue.keys).toBe(expected.length)
          if (each.does === 'take' && world.isMerged) {
            const taken = world.take().taken?.changes ?? []
            expect([...new Set(taken.map(({ key }) => key))]).toEqual(expected)
          } else world.run(each)
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

  test('[law 6] no version goes back, and the last is that of what was accepted last', () => {
    fc.assert(
      fc.property(deliveries, capacities, steps, (delivery, capacity, all) => {
        const world = new World(delivery, capacity)
        let last = 0
        const take = (): boolean => {
          const { taken } = world.take()
          if (taken === undefined) return false
          expect(Number(taken.version)).toBeGreaterThan(last)
          last = Number(taken.version)
          return true
        }
        for (const each of all) {
          if (each.does === 'take') take()
          else world.run(each)
        }
        while (take());
        if (world.queue.version !== undefined) expect(String(last)).toBe(world.queue.version)
      }),
      runs(1_500),
    )
  })

  test('[law 4d] what was taken is never merged into', () => {
    fc.assert(
      fc.property(deliveries, capacities, steps, (delivery, capacity, all) => {
        const world = new World(delivery, capacity)
        const taken: [QueuedBatch<number>, string][] = []
        for (const each of all) {
          if (each.does !== 'take') {
            world.run(each)
            continue
          }
          const batch = world.take().taken
          if (batch !== undefined) taken.push([batch, JSON.stringify(batch)])
        }
        for (const [batch, then] of taken) expect(JSON.stringify(batch)).toBe(then)
      }),
      runs(1_000),
    )
  })
})
