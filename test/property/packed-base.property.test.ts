import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { SavedRecord, WatchEvent } from '../../src/adapter.js'
import { type Compound, type Equal, type IndexBuilder, Indexer, type Scalar, type StoreView } from '../../src/index.js'
import { PackedSnapshot } from '../../src/store/packed/packed-snapshot.js'
import { VirtualClock } from '../../testing/virtual-clock.js'
import { placed } from '../support/packed.js'
import { runs } from '../support/property.js'
import { sliceEachStep } from '../support/slice-clock.js'

type Item = { readonly tenant: string; readonly tags: readonly Scalar[]; readonly at: Scalar | null }

const keys = ['a', 'b', 'c', 'é', '😀', '\0', '\0a', '__proto__', '\ud800', '\ud800x', '']
const numeric: readonly Scalar[] = [0, 1, 2n, 2n ** 60n, -(2n ** 70n), Number.NaN, -Infinity]
const others: readonly Scalar[] = [true, 'x', 'xy', '', '\ud800', 'Ā', new Date(5), new Date(9), new Date(Number.NaN)]
const scalar = fc.constantFrom(...numeric, ...others)
const item: fc.Arbitrary<Item> = fc.record(
  { tenant: fc.constantFrom('t', 'u', 'v'), tags: fc.array(scalar, { maxLength: 3 }), at: fc.option(scalar) },
  { noNullPrototype: true },
)
const start = fc.uniqueArray(fc.tuple(fc.constantFrom(...keys), item), { selector: ([key]) => key, maxLength: 9 })

type Action =
  | { readonly type: 'put'; readonly key: string; readonly item: Item }
  | { readonly type: 'delete' | 'get'; readonly key: string }
  | { readonly type: 'batch'; readonly puts: readonly (readonly [string, Item])[]; readonly deletes: readonly string[] }
  | { readonly type: 'rollback'; readonly key: string; readonly item: Item; readonly deletes: readonly string[] }
  | { readonly type: 'relist'; readonly items: readonly (readonly [string, Item])[] }
  | { readonly type: 'snapshot' | 'dispose' | 'list' | 'addIndex' | 'indexes' }
  | { readonly type: 'step'; readonly turns: number }

const action: fc.Arbitrary<Action> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ type: fc.constant('put' as const), key: fc.constantFrom(...keys), item }) },
  { weight: 3, arbitrary: fc.record({ type: fc.constantFrom('delete', 'get'), key: fc.constantFrom(...keys) }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('relist' as const), items: start }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('batch' as const), puts: start, deletes: fc.subarray(keys) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant('rollback' as const),
      key: fc.constantFrom(...keys),
      item,
      deletes: fc.subarray(keys),
    }),
  },
  { weight: 4, arbitrary: fc.record({ type: fc.constantFrom('snapshot', 'dispose', 'list', 'addIndex', 'indexes') }) },
  { weight: 5, arbitrary: fc.record({ type: fc.constant('step' as const), turns: fc.integer({ min: 1, max: 6 }) }) },
)

function indexes(ix: IndexBuilder<Item>) {
  return {
    tenant: ix.equal((each) => each.tenant),
    tags: ix.multi((each) => each.tags),
    at: ix.ordered((each) => each.at),
    both: ix.compound((each) => [each.tenant, each.at]),
  }
}

type Indexes = ReturnType<typeof indexes>
type Mirror = Indexer<Item, Indexes>

function mirror(clock: VirtualClock): Mirror {
  // One step in each slice, so that reads and writes come between any two objects.
  return new Indexer<Item, Indexes>({ indexes }, { clock, slices: sliceEachStep(2), freeze: true })
}

const queries: readonly Scalar[] = [...numeric, ...others, -0, 2, 'z', new Date(7)]

function seen(
  { by, size, version }: Pick<StoreView<Item, Indexes>, 'by' | 'size' | 'version'>,
  get: (key: string) => Item | undefined,
): unknown {
  const names = new Map<Item, string>()
  for (const key of keys) {
    const object = get(key)
    if (object !== undefined) names.set(object, key)
  }
  const named = (objects: Iterable<Item>): string[] => Array.from(objects, (each) => names.get(each) ?? 'unknown')
  const sorted = (objects: Iterable<Item>): string[] => named(objects).sort()
  const bounds = [
    {},
    { gt: 1 },
    { gte: 'x' },
    { lt: 2n },
    { lte: new Date(5), reverse: true },
    { limit: 2 },
    { prefix: 'x' },
  ]
  return {
    size,
    version,
    items: keys.map(get),
    tenant: ['t', 'u', 'v', 'w'].map((value) => [sorted(by.tenant(value)), by.tenant.count(value)]),
    tags: queries.map((value) => [sorted(by.tags(value)), by.tags.count(value)]),
    at: bounds.map((range) => attempt(() => named(by.at(range)))),
    atEach: queries.map((value) => [by.at.count(value), Array.from(by.at.entries(value), ([key]) => key)]),
    both: ['t', 'w'].flatMap((value) =>
      bounds.slice(0, 6).map((range) => attempt(() => named(by.both([value], range)))),
    ),
    values: [[...by.tenant.values()].sort(), [...by.tags.values()].map(String).sort(), [...by.at.values()]],
  }
}

/** A bound of another type than the values is refused. */
function attempt(read: () => unknown): unknown {
  try {
    return read()
  } catch (error) {
    return String(error)
  }
}

function show(view: StoreView<Item, Indexes>): unknown {
  return seen(view, (key) => view.get(key))
}

/** The results of the indexes that are added later. */
function addedOf({ by }: Mirror): unknown {
  const { extra, extras, order } = by as unknown as {
    extra: Equal<Item, Scalar>
    extras: Equal<Item, Scalar>
    order: Compound<Item, [Scalar, string]>
  }
  return [
    ...queries.map((value) => [extra.count(value), extras(value).length, order([value]).length]),
    extras('t').length,
    Array.from(order.values(), String),
  ]
}

function countsOf(indexer: Mirror): unknown {
  return Array.from(indexer.declared, ([name, { index }]) => [
    name,
    Array.from(index.buckets?.() ?? [], ([value, count]) => `${value}: ${count}`).sort(),
  ])
}

/** Snapshots of both stores, and what the second one returned at first. */
interface Snapshots {
  readonly plain: ReturnType<Mirror['snapshot']>
  readonly served: ReturnType<Mirror['snapshot']>
  readonly was: unknown
}

/** A store that was filled by a list, and one that serves the same content: while it is decoded, or for good. */
class Pair {
  readonly clock = new VirtualClock()
  readonly plain = mirror(this.clock)
  readonly served = mirror(this.clock)
  readonly #first = new Map<string, Item>()
  readonly #snapshots: Snapshots[] = []
  readonly changes: { readonly plain: unknown[]; readonly served: unknown[] } = { plain: [], served: [] }
  #version = 1
  #hasIndex = false
  readonly #keep: boolean

  constructor(keep: boolean) {
    this.#keep = keep
  }

  async open(
    items: readonly (readonly [string, Item])[],
    touched: readonly string[],
    hasSnapshot: boolean,
  ): Promise<void> {
    if (hasSnapshot) await this.act({ type: 'snapshot' })
    const events = items.map(([key, object]) => ({ type: 'put', key, object, version: '1' }) as const)
    for (const indexer of [this.plain, mirror(this.clock)]) {
      const list = indexer.replace()
      await this.#done(list.page(events))
      await this.#done(list.commit('1'))
      if (indexer !== this.plain) this.#serve(indexer)
    }
    for (const name of ['plain', 'served'] as const)
      this[name].whole.onCommit = ({ changes, origin }) => {
        // Changes of several keys in one commit have no promised order.
        const inOrder = this.#keep ? changes.toSorted((a, b) => Number(a.key > b.key) - Number(a.key < b.key)) : changes
        for (const { type, key, object } of inOrder) this.changes[name].push([type, key, object, origin])
        return undefined
      }
    for (const key of touched) this.get(key)
  }

  #serve(filled: Mirror): void {
    const pinned = filled.whole.pin()
    const records: SavedRecord[] = []
    const content = placed(pinned.pack((record) => String(records.push(record) - 1), 3))
    pinned.close()
    const decode = (text: string): SavedRecord => structuredClone(records[Number(text)] as SavedRecord)
    const snapshot = new PackedSnapshot({ ...content, decode })
    const damaged = (error: unknown): void => {
      throw error
    }
    const served = this.served.whole.serve(snapshot, '1', damaged, { keep: this.#keep })
    if (served === undefined) throw new Error('the content is not served')
    served.filled.catch(() => {})
  }

  async #done(write: void | Promise<void>): Promise<void> {
    let isDone = write === undefined
    void write?.then(() => (isDone = true))
    for (let i = 0; !isDone && i < 1_000; i++) await this.clock.advance(1)
    expect(isDone).toBe(true)
  }

  get(key: string): void {
    const object = this.served.get(key)
    expect(object).toEqual(this.plain.get(key))
    expect(this.served.has(key)).toBe(this.plain.has(key))
    expect(this.served.entry(key)?.version).toBe(this.plain.entry(key)?.version)
    if (object === undefined) return
    expect(Object.isFrozen(object)).toBe(true)
    expect(this.served.get(key)).toBe(object)
    // Until it is written, it stays the same object.
    if (!this.#first.has(key)) this.#first.set(key, object)
  }

  /** Writes to both stores. Writes that wait for the served one are performed in the same order. */
  async write(
    change: (indexer: Mirror, version: string) => (void | Promise<void>)[],
    written: readonly string[],
  ): Promise<void> {
    const version = String(++this.#version)
    for (const indexer of [this.plain, this.served]) for (const each of change(indexer, version)) await this.#done(each)
    for (const key of written) this.#first.delete(key)
  }

  async act(next: Action): Promise<void> {
    switch (next.type) {
      case 'put': {
        const event: WatchEvent<Item> = { type: 'put', key: next.key, object: next.item }
        return this.write((indexer, version) => [indexer.apply({ events: [event], version })], [next.key])
      }
      case 'delete':
        return this.write(
          (indexer, version) => [indexer.apply({ events: [{ type: 'delete', key: next.key }], version })],
          [next.key],
        )
      case 'batch': {
        const puts = next.puts.map(([key, object]) => ({ type: 'put', key, object }) as const)
        const deletes = next.deletes.map((key) => ({ type: 'delete', key }) as const)
        const written = [...puts, ...deletes].map(({ key }) => key)
        return this.write((indexer, version) => [indexer.apply({ events: [...puts, ...deletes], version })], written)
      }
      case 'rollback': {
        await this.#done(this.served.whole.idle())
        const { store } = this.served
        const [before, list] = [show(this.served), this.served.list()]
        store.begin()
        for (const key of next.deletes) store.delete(key)
        store.set({ key: next.key, object: next.item })
        store.delete(next.key)
        store.rollback()
        expect(show(this.served)).toEqual(before)
        expect([...this.served.list()].every((each) => list.includes(each))).toBe(true)
        return
      }
      case 'relist': {
        const events = next.items.map(([key, object]) => ({ type: 'put', key, object }) as const)
        // As the reflector does: a list begins when the store is filled.
        await this.#done(this.served.whole.idle())
        const version = String(++this.#version)
        for (const indexer of [this.plain, this.served]) {
          const list = indexer.replace({ ignoreVersions: true })
          await this.#done(list.page(events))
          await this.#done(list.commit(version))
        }
        this.#first.clear()
        return
      }
      case 'get':
        return this.get(next.key)
      case 'list':
        expect([...this.served.list()].length).toBe(this.plain.list().length)
        expect([...this.served.keys()].sort()).toEqual([...this.plain.keys()].sort())
        return
      case 'indexes':
        return expect(show(this.served)).toEqual(show(this.plain))
      case 'addIndex': {
        if (this.#hasIndex) return
        this.#hasIndex = true
        for (const indexer of [this.plain, this.served]) {
          const added = [
            indexer.addIndex('extra', (ix) => ix.equal((one) => one.at)),
            indexer.addIndex('extras', (ix) => ix.multi((one) => [one.tenant, ...one.tags])),
            indexer.addIndex('order', (ix) => ix.compound((one) => [one.at, one.tenant])),
          ]
          for (const each of added) await this.#done(each.then(() => {}))
        }
        return
      }
      case 'snapshot': {
        const [plain, served] = [this.plain.snapshot(), this.served.snapshot()]
        this.#snapshots.push({ plain, served, was: show(served) })
        return
      }
      case 'dispose': {
        const last = this.#snapshots.pop()
        if (last === undefined) return
        this.#checkSnapshot(last)
        last.plain[Symbol.dispose]()
        last.served[Symbol.dispose]()
        expect(() => last.served.get('a')).toThrow('the snapshot was disposed')
        return
      }
      case 'step':
        await this.clock.advance(next.turns)
    }
  }

  #checkSnapshot({ plain, served, was }: Snapshots): void {
    expect([show(served), was, [...served.keys()].sort()]).toEqual([was, show(plain), [...plain.keys()].sort()])
  }

  check(): void {
    expect([this.served.size, this.served.version]).toEqual([this.plain.size, this.plain.version])
    for (const [key, object] of this.#first) expect(this.served.get(key), key).toBe(object)
    for (const each of this.#snapshots) this.#checkSnapshot(each)
    expect(this.changes.served).toEqual(this.changes.plain)
    if (this.#hasIndex) expect(addedOf(this.served)).toEqual(addedOf(this.plain))
  }

  async end(): Promise<void> {
    await this.clock.advance(100)
    this.check()
    expect(show(this.served)).toEqual(show(this.plain))
    const { heldPin, ordinalStart, ordinalLimit } = this.served.store
    expect([heldPin, ordinalLimit - ordinalStart >= this.served.size]).toEqual([undefined, true])
    expect([...this.served.entries()].map(([key]) => key).sort()).toEqual([...this.plain.keys()].sort())
    expect(countsOf(this.served)).toEqual(countsOf(this.plain))
    for (const { plain, served } of this.#snapshots.splice(0)) {
      plain[Symbol.dispose]()
      served[Symbol.dispose]()
    }
    expect([this.served.store.pinCount, this.plain.store.pinCount]).toEqual([0, 0])
    if (!this.#keep) expect(this.served.store.kept).toBeUndefined()
  }
}

async function behavesLikeFilled(keep: boolean): Promise<void> {
  await fc.assert(
    fc.asyncProperty(
      start,
      fc.subarray(keys),
      fc.boolean(),
      fc.array(action, { minLength: 1, maxLength: 25 }),
      async (items, touched, hasSnapshot, actions) => {
        const pair = new Pair(keep)
        await pair.open(items, touched, hasSnapshot)
        for (const next of actions) {
          await pair.act(next)
          pair.check()
        }
        await pair.end()
      },
    ),
    runs(400),
  )
}

test('[H12] a store that serves packed content behaves like a store that was filled before, whatever is read and written meanwhile', () =>
  behavesLikeFilled(false))

test('[H16] a store over packed content that is kept behaves like a store that was filled before, whatever is read and written meanwhile', () =>
  behavesLikeFilled(true))
