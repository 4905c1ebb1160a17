import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Entry } from '../../src/contract/source.js'
import type { StoreIndex } from '../../src/store/indexes/store-index.js'
import type { Ordinal } from '../../src/store/ordinals.js'
import { Store } from '../../src/store/store.js'
import { finish } from '../../src/util/steps.js'
import { keys, runs } from '../support/property.js'

type Step =
  | { readonly does: 'set' | 'touch'; readonly key: string; readonly object: number }
  | { readonly does: 'delete'; readonly key: string }
  | { readonly does: 'clear' }

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ does: fc.constantFrom('set', 'touch'), key: keys, object: fc.nat({ max: 5 }) }) },
  { weight: 4, arbitrary: fc.record({ does: fc.constant('delete'), key: keys }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('clear') }) },
)

/** Remembers the objects by ordinal: what it holds must always be what the store holds. */
class Mirror implements StoreIndex<number> {
  readonly held = new Map<Ordinal, number>()

  set(ordinal: Ordinal, { object }: Entry<number>): void {
    this.held.set(ordinal, object)
  }

  delete(ordinal: Ordinal): void {
    expect(this.held.delete(ordinal)).toBe(true)
  }

  valueAt(ordinal: Ordinal): number | undefined {
    return this.held.get(ordinal)
  }

  clear(): void {
    this.held.clear()
  }
}

class World {
  readonly store = new Store<number>()
  readonly mirror = new Mirror()
  readonly model = new Map<string, Entry<number>>()
  readonly #lists: { readonly list: readonly number[]; readonly copy: readonly number[] }[] = []

  constructor() {
    finish(this.store.addIndex(this.mirror))
  }

  run(step: Step): void {
    const { store, model } = this
    switch (step.does) {
      case 'set':
        store.set(this.#put(step.key, step.object))
        break
      case 'touch': {
        const [ordinal, held] = [store.ordinalOf(step.key), model.get(step.key)]
        if (ordinal !== undefined && held !== undefined) store.touch(ordinal, this.#put(step.key, held.object))
        break
      }
      case 'delete':
        expect(store.delete(step.key)).toBe(model.get(step.key))
        model.delete(step.key)
        break
      case 'clear':
        store.clear()
        model.clear()
        break
    }
    const list = store.list()
    this.#lists.push({ list, copy: [...list] })
  }

  #put(key: string, object: number): Entry<number> {
    const entry = { key, object }
    this.model.set(key, entry)
    return entry
  }

  /** Everything that can be read is what the model says. */
  check(): void {
    const { store, model, mirror } = this
    expect(new Map(store.entries().map((entry) => [entry.key, entry]))).toEqual(model)
    expect(store.entries()).toHaveLength(model.size)
    expect(store.keys()).toEqual(store.entries().map(({ key }) => key))
    expect(store.size).toBe(model.size)
    expect(store.list()).toEqual(store.entries().map(({ object }) => object))
    for (const [key, entry] of model) {
      const ordinal = store.ordinalOf(key) ?? -1
      expect([store.entryOf(key) === entry, store.entryAt(ordinal) === entry]).toEqual([true, true])
      expect(mirror.held.get(ordinal)).toBe(entry.object)
    }
    expect(mirror.held.size).toBe(model.size)
    for (const { list, copy } of this.#lists) expect(list).toEqual(copy)
  }
}

describe('Store', () => {
  test('a store is a map from keys to entries, with a consistent index', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (all) => {
        const world = new World()
        for (const each of all) {
          world.run(each)
          world.check()
        }
      }),
      runs(300),
    )
  })

  test('a store never exceeds its limit, and a rejected write changes nothing', () => {
    fc.assert(
      fc.property(fc.nat({ max: 4 }), fc.array(step, { maxLength: 40 }), (limit, all) => {
        const store = new Store<number>(limit)
        for (const each of all) {
          const before = [...store.entries()]
          if (each.does === 'delete') store.delete(each.key)
          else if (each.does === 'set') {
            const fits = store.ordinalOf(each.key) !== undefined || store.size < limit
            const write = (): unknown => store.set({ key: each.key, object: each.object })
            if (fits) write()
            else {
              expect(write).toThrow(`more than ${limit} objects`)
              expect([store.entries(), store.keys().length]).toEqual([before, before.length])
            }
          }
          expect(store.freeCapacity).toBe(limit - store.size)
        }
      }),
      runs(500),
    )
  })
})
