import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Snapshot } from '../../src/store/indexer.js'
import { type DeclaredIndex, declareIndexes } from '../../src/store/indexes/index-builder.js'
import type { IndexBuilder } from '../../src/store/indexes/index-types.js'
import { Store } from '../../src/store/store.js'
import { finish } from '../../src/util/steps.js'
import { SeededRandom } from '../../testing/seeded-random.js'
import { runs } from '../support/property.js'

interface Item {
  readonly color?: string | undefined
  readonly tags: readonly string[]
  readonly n?: number | undefined
  readonly id: number
}

const declare = (ix: IndexBuilder<Item>) => ({
  color: ix.equal((item) => item.color),
  tag: ix.multi((item) => item.tags),
  n: ix.ordered((item) => item.n),
  both: ix.compound((item) => [item.color, item.n]),
})
const declareLate = (ix: IndexBuilder<Item>) => ({ late: ix.ordered((item) => item.n) })
type By = ReturnType<typeof declare> & Partial<ReturnType<typeof declareLate>>
type Pair = readonly [key: string, object: Item]

const COLORS = ['red', 'green', 'blue']
const TAGS = ['x', 'y', 'z']

class World {
  readonly #random: SeededRandom
  readonly #keys: number
  readonly #store = new Store<Item>()
  readonly #declared: DeclaredIndex<Item>[]
  #model = new Map<string, Item>()
  #snapshots: { readonly view: Snapshot<Item, By>; readonly model: ReadonlyMap<string, Item> }[] = []
  #hasLate = false
  #lastId = 0

  constructor(random: SeededRandom, keys: number) {
    this.#random = random
    this.#keys = keys
    this.#declared = this.#declare(declare)
  }

  step(): void {
    const dice = this.#random.below(100)
    if (dice < 70) this.#write()
    else if (dice < 82) this.#open()
    else if (dice < 92) this.#close()
    else if (dice < 97) this.#rollback()
    else if (dice < 98) this.#clear()
    else if (!this.#hasLate) {
      this.#declared.push(...this.#declare(declareLate))
      this.#hasLate = true
    } else this.#snapshots.at(0)?.view.by.n({ limit: 1 })
  }

  #declare(indexes: (ix: IndexBuilder<Item>) => object): DeclaredIndex<Item>[] {
    const { declared } = declareIndexes(this.#store, indexes, () => {})
    for (const { index } of declared) finish(this.#store.addIndex(index))
    return declared
  }

  fill(): void {
    for (let i = 0; i < this.#keys; i++) this.#write()
  }

  check(): void {
    const from = this.#random.below(this.#snapshots.length + 1)
    for (const { view, model } of this.#snapshots.slice(from, from + 4)) checkView(view, model, this.#random)
  }

  #write(): void {
    const random = this.#random
    const store = this.#store
    const key = `k${random.below(this.#keys)}`
    const ordinal = store.ordinalOf(key)
    const dice = random.below(10)
    if (dice < 3) {
      store.delete(key)
      this.#model.delete(key)
    } else if (dice < 4 && ordinal !== undefined) {
      store.touch(ordinal, { key, object: this.#model.get(key) ?? this.#item(), version: String(++this.#lastId) })
    } else {
      const before = this.#model.get(key)
      // Half of the updates keep some of the index values.
      const object =
        before !== undefined && dice < 7 ? { ...this.#item(), n: before.n, tags: before.tags } : this.#item()
      store.set({ key, object })
      this.#model.set(key, object)
    }
  }

  #item(): Item {
    const random = this.#random
    return {
      color: random.chance(0.2) ? undefined : random.pick(COLORS),
      tags: TAGS.filter(() => random.chance(0.4)),
      n: random.chance(0.1) ? undefined : random.below(this.#keys / 2),
      id: ++this.#lastId,
    }
  }

  #open(): void {
    const view = new Snapshot<Item, By>(this.#store.pin(), undefined, this.#declared)
    this.#snapshots.push({ view, model: new Map(this.#model) })
  }

  #close(): void {
    const [closed] = this.#snapshots.splice(this.#random.below(this.#snapshots.length + 1), 1)
    closed?.view[Symbol.dispose]()
    expect(this.#store.pinCount).toBe(this.#snapshots.length)
  }

  #rollback(): void {
    const before = new Map(this.#model)
    this.#store.begin()
    for (let n = this.#random.below(6); n > 0; n--) this.#write()
    this.#store.rollback()
    this.#model = before
  }

  #clear(): void {
    this.#store.clear()
    this.#model.clear()
  }
}

function checkView(view: Snapshot<Item, By>, model: ReadonlyMap<string, Item>, random: SeededRandom): void {
  const { by } = view
  const all = [...model].sort(([a], [b]) => (a < b ? -1 : 1))
  const inOrder = (pairs: Iterable<Pair>): readonly Pair[] => [...pairs].sort(([a], [b]) => (a < b ? -1 : 1))
  expect(inOrder(view.entries())).toEqual(all)
  for (const [key, object] of all.slice(0, 20)) expect(view.get(key)).toBe(object)
  expect([view.get('none'), view.size]).toEqual([undefined, all.length])
  for (const color of COLORS) {
    const right = all.filter(([, item]) => item.color === color)
    expect(inOrder(by.color.entries(color))).toEqual(right)
    expect([by.color.count(color), by.color(color).length]).toEqual([right.length, right.length])
  }
  const colors = new Set(all.flatMap(([, { color }]) => color ?? []))
  expect([...by.color.values()].sort()).toEqual([...colors].sort())
  for (const tag of TAGS) {
    const right = all.filter(([, item]) => item.tags.includes(tag))
    expect(inOrder(by.tag.entries(tag))).toEqual(right)
    expect(by.tag.count(tag)).toBe(right.length)
  }
  expect([...by.tag.values()].sort()).toEqual([...new Set(all.flatMap(([, { tags }]) => tags))].sort())
  const byN = all.filter(([, { n }]) => n !== undefined).sort(([, a], [, b]) => (a.n ?? 0) - (b.n ?? 0))
  const gte = random.below(20)
  const limit = 1 + random.below(10)
  for (const index of by.late === undefined ? [by.n] : [by.n, by.late]) {
    expect([...index.entriesIn()]).toEqual(byN)
    expect([...index.entriesIn({ reverse: true, limit })]).toEqual(byN.toReversed().slice(0, limit))
    const above = byN.filter(([, { n = 0 }]) => n >= gte)
    expect([...index.entriesIn({ gte, limit })]).toEqual(above.slice(0, limit))
    expect(index.count(gte)).toBe(above.filter(([, { n }]) => n === gte).length)
    expect([...index.values()]).toEqual([...new Set(byN.map(([, { n }]) => n))])
  }
  for (const color of COLORS) {
    const right = byN.filter(([, item]) => item.color === color).map(([, item]) => item)
    expect(by.both([color])).toEqual(right)
    expect(by.both([color], { lt: gte, reverse: true, limit })).toEqual(
      right
        .filter(({ n = 0 }) => n < gte)
        .toReversed()
        .slice(0, limit),
    )
  }
}

test('every query of several snapshots returns the state at their creation, through all writes', () => {
  fc.assert(
    fc.property(fc.integer(), fc.constantFrom(4, 12, 40), (seed, keys) => {
      const world = new World(new SeededRandom(seed), keys)
      for (let steps = 0; steps < 40; steps++) {
        world.step()
        world.check()
      }
    }),
    { ...runs(150), examples: [[-1015248258, 4]] },
  )
})

test('queries of snapshots over thousands of objects return the state at their creation', () => {
  fc.assert(
    fc.property(fc.integer(), (seed) => {
      const world = new World(new SeededRandom(seed), 3_000)
      world.fill()
      for (let round = 0; round < 4; round++) {
        for (let steps = 0; steps < 300; steps++) world.step()
        world.check()
      }
    }),
    runs(4),
  )
})
