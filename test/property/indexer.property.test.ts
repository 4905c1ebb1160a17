import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Entry, ListEvent, WatchEvent } from '../../src/adapter.js'
import { type IndexBuilder, Indexer, type StoreView } from '../../src/index.js'
import { compareScalars, type Scalar, sameScalar } from '../../src/store/indexes/scalar.js'
import { structuralEqual } from '../../src/store/structural-equal.js'
import type { Commit } from '../../src/store/write/commit.js'
import type { WriterOptions } from '../../src/store/write/store-writer.js'
import { keyPool, keys, runs } from '../support/property.js'

interface Item {
  readonly color: string | null
  readonly at?: Date
  readonly tags?: readonly string[]
  readonly n?: number
}

// What an index should hold, said as plainly as can be: the model recomputes it from the objects.
const colorOf = (item: Item): string | null => item.color
const dateOf = (item: Item): Date | undefined => item.at
const tagsOf = (item: Item): readonly string[] => item.tags ?? []
const numberOf = (item: Item): number | undefined => item.n
const tupleOf = (item: Item): readonly Scalar[] | undefined => {
  if (item.color === null) return undefined
  return item.n === undefined ? [item.color] : [item.color, item.n]
}
const brokenForRed = (item: Item): string => {
  if (item.color === 'red') throw new Error('red')
  return 'fine'
}

const declare = (ix: IndexBuilder<Item>) => ({
  color: ix.equal(colorOf),
  at: ix.equal(dateOf),
  tag: ix.multi(tagsOf),
  n: ix.ordered(numberOf),
  both: ix.compound(tupleOf),
  broken: ix.equal(brokenForRed),
})
type By = ReturnType<typeof declare>

const item: fc.Arbitrary<Item> = fc.record(
  {
    color: fc.constantFrom(null, 'red', 'blue', '__proto__', ''),
    at: fc.constantFrom(0, 1, Number.NaN).map((ms) => new Date(ms)),
    tags: fc.array(fc.constantFrom('x', 'y', 'z', 'constructor'), { maxLength: 3 }),
    n: fc.constantFrom(1, 2, 3, Number.NaN, 0),
  },
  { requiredKeys: ['color'] },
)
const entry: fc.Arbitrary<Entry<Item>> = fc.record(
  { key: keys, object: item, version: fc.constantFrom('1', '2'), uid: fc.constantFrom('u', 'v') },
  { requiredKeys: ['key', 'object'] },
)
const listEvent: fc.Arbitrary<ListEvent<Item>> = fc.oneof(
  { weight: 6, arbitrary: entry.map((each) => ({ type: 'put' as const, ...each })) },
  {
    weight: 2,
    arbitrary: fc.record({ type: fc.constant('delete'), key: keys, object: item }, { requiredKeys: ['type', 'key'] }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant('invalid'),
      key: keys,
      error: fc.constant('bad'),
      hasLastValid: fc.boolean(),
    }),
  },
)
const keyless: fc.Arbitrary<ListEvent<Item>> = fc.record({ type: fc.constant('invalid'), error: fc.constant('bad') })
const anyListEvent = fc.oneof({ weight: 12, arbitrary: listEvent }, { weight: 1, arbitrary: keyless })
const watchEvent: fc.Arbitrary<WatchEvent<Item>> = fc.oneof(
  { weight: 12, arbitrary: anyListEvent },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('replace'), entries: fc.array(entry, { maxLength: 5 }) }) },
)

type Step =
  | { readonly does: 'apply'; readonly events: readonly WatchEvent<Item>[] }
  | {
      readonly does: 'list'
      readonly pages: readonly (readonly ListEvent<Item>[])[]
      readonly isAbandoned: boolean
      readonly ignoreVersions: boolean
    }
  | { readonly does: 'open' | 'dispose' | 'add index' }

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ does: fc.constant('apply'), events: fc.array(watchEvent, { maxLength: 5 }) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      does: fc.constant('list'),
      pages: fc.array(fc.array(anyListEvent, { maxLength: 5 }), { maxLength: 3 }),
      isAbandoned: fc.nat({ max: 3 }).map((n) => n === 0),
      ignoreVersions: fc.boolean(),
    }),
  },
  { weight: 2, arbitrary: fc.record({ does: fc.constantFrom('open', 'dispose', 'add index') }) },
)
const steps = fc.array(step, { maxLength: 25 })

type Settings = { readonly onInvalid: 'omit' | 'keep-previous'; readonly prepares: boolean; readonly freeze: boolean }
const settings: fc.Arbitrary<Settings> = fc.record({
  onInvalid: fc.constantFrom('omit', 'keep-previous'),
  prepares: fc.boolean(),
  freeze: fc.boolean(),
})

/** Leaves out what is blue and has n = 1, refuses n = 2 with a date, and forgets the third number. */
function prepare(object: unknown): Item | undefined {
  const given = object as Item
  if (given.n === 1 && given.color === 'blue') return undefined
  if (given.n === 2 && given.at !== undefined) throw new Error('two')
  const { n, ...rest } = given
  return n === 3 ? rest : given
}

/** The naive mirror: a map, and the rules one by one. */
class Model {
  objects = new Map<string, Entry<Item>>()
  invalid = new Set<string>()
  readonly settings: Settings

  constructor(given: Settings) {
    this.settings = given
  }

  /** Returns the stored entry after `arrived`: `current` itself if nothing changes. */
  taken(
    arrived: Entry<Item>,
    current: Entry<Item> | undefined,
    byContent = false,
  ): Entry<Item> | 'omitted' | 'invalid' {
    const isOther = current?.uid !== undefined && arrived.uid !== undefined && current.uid !== arrived.uid
    const same = isOther ? undefined : current
    if (same?.version !== undefined && same.version === arrived.version && !byContent) return same
    let object: Item | undefined = arrived.object
    try {
      if (this.settings.prepares) object = prepare(object)
    } catch {
      return 'invalid'
    }
    if (object === undefined) return 'omitted'
    const { key, version, uid } = arrived
    const more = { ...(version === undefined ? {} : { version }), ...(uid === undefined ? {} : { uid }) }
    return { key, object: same !== undefined && structuralEqual(same.object, object) ? same.object : object, ...more }
  }

  settle(key: string, outcome: Entry<Item> | 'omitted' | 'invalid' | 'gone'): void {
    if (outcome === 'invalid') {
      this.invalid.add(key)
      if (this.settings.onInvalid === 'omit') this.objects.delete(key)
      return
    }
    this.invalid.delete(key)
    if (outcome === 'omitted' || outcome === 'gone') this.objects.delete(key)
    else this.objects.set(key, outcome)
  }

  event(event: ListEvent<Item>): void {
    if (event.type === 'put') this.settle(event.key, this.taken(event, this.objects.get(event.key)))
    else if (event.type === 'delete') this.settle(event.key, 'gone')
    else if (event.key !== undefined) this.settle(event.key, 'invalid')
  }

  apply(events: readonly WatchEvent<Item>[]): void {
    const bad = new Set(events.filter((event) => event.type === 'invalid').map(({ key }) => key))
    for (const event of events) {
      if (event.type !== 'replace') {
        this.event(event)
        continue
      }
      const listed = new Set<string | undefined>([...event.entries.map(({ key }) => key), ...bad])
      if (!bad.has(undefined)) this.forget(listed)
      for (const each of event.entries) this.settle(each.key, this.taken(each, this.objects.get(each.key)))
    }
  }

  /**
   * A list: each event is compared with the object that its key had before the list. The last event of a key counts, but
   * an invalid event with `hasLastValid` keeps the outcome of an earlier event.
   */
  list(events: readonly ListEvent<Item>[], isFirst: boolean, byContent: boolean): void {
    if (isFirst) {
      for (const event of events) this.event(event)
      return
    }
    const outcomes = new Map<string, Entry<Item> | 'omitted' | 'invalid'>()
    const invalid = new Set<string>()
    const named = new Set<string>()
    for (const event of events) {
      if (event.key === undefined) continue
      invalid.delete(event.key)
      if (event.type === 'put') outcomes.set(event.key, this.taken(event, this.objects.get(event.key), byContent))
      else if (event.type === 'delete') outcomes.delete(event.key)
      else if (this.settings.onInvalid !== 'omit' && event.hasLastValid === true && named.has(event.key))
        invalid.add(event.key)
      else outcomes.set(event.key, 'invalid')
      named.add(event.key)
    }
    if (events.every(({ key }) => key !== undefined)) this.forget(new Set(outcomes.keys()))
    else for (const key of named) if (!outcomes.has(key)) this.settle(key, 'gone')
    for (const [key, outcome] of outcomes) this.settle(key, outcome)
    for (const key of invalid) this.settle(key, 'invalid')
    if (byContent)
      this.forgetVersions([...this.objects.keys()].filter((key) => (outcomes.get(key) ?? 'invalid') === 'invalid'))
  }

  /** What a list of another history did not show has a version that means nothing any more. */
  forgetVersions(keys: readonly string[]): void {
    for (const key of keys) {
      const { version: _version, ...entry } = this.objects.get(key) as Entry<Item>
      this.objects.set(key, entry)
    }
  }

  forget(listed: ReadonlySet<string | undefined>): void {
    for (const key of [...this.objects.keys(), ...this.invalid]) if (!listed.has(key)) this.settle(key, 'gone')
  }

  copy(): Model {
    const copy = new Model(this.settings)
    copy.objects = new Map(this.objects)
    return copy
  }
}

const byKey = (a: Entry<Item>, b: Entry<Item>): number => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0)
const objectsOf = (entries: Iterable<Entry<Item>>): Item[] => Array.from(entries, ({ object }) => object)

/** A view shows exactly the objects of the model, through every accessor. */
function expectSame(view: StoreView<Item, By>, { objects }: Model): void {
  const entries = [...objects.values()].sort(byKey)
  expect([...view.entries()].sort(byName)).toEqual(entries.map(pair))
  expect(entries.map(({ key }) => view.entry(key)).map(plain)).toEqual(entries.map(plain))
  expect(Array.from(view.keys()).sort()).toEqual(entries.map(({ key }) => key).sort())
  expect(view.size).toBe(entries.length)
  expect(view.list()).toEqual(Array.from(view.entries(), ([, object]) => object))
  for (const key of keyPool) {
    expect(view.has(key)).toBe(objects.has(key))
    expect(view.get(key)).toEqual(objects.get(key)?.object)
  }
  expectHash(view.by.color, entries, ({ object }) => [object.color])
  expectHash(view.by.at, entries, ({ object }) => [object.at])
  expectHash(view.by.tag, entries, ({ object }) => object.tags ?? [])
  expectHash(view.by.broken, entries, ({ object }) => (object.color === 'red' ? [] : ['fine']))
  expectOrdered(view.by, entries)
  expectCompound(view.by, entries)
}

function plain(entry: Entry<Item> | undefined): object {
  return { key: entry?.key, object: entry?.object, version: entry?.version, uid: entry?.uid }
}

const pair = ({ key, object }: Entry<Item>): [string, Item] => [key, object]
const byName = ([a]: readonly [string, Item], [b]: readonly [string, Item]): number => (a < b ? -1 : a > b ? 1 : 0)

interface HashAccessor {
  (value: never): readonly Item[]
  entries(value: never): Iterable<[string, Item]>
  count(value: never): number
  values(): Iterable<Scalar>
}

function expectHash(
  accessor: HashAccessor,
  entries: readonly Entry<Item>[],
  of: (entry: Entry<Item>) => readonly (Scalar | null | undefined)[],
): void {
  const values: Scalar[] = []
  for (const each of entries.flatMap(of)) {
    if (each !== null && each !== undefined && !values.some((value) => sameScalar(value, each))) values.push(each)
  }
  expect([...accessor.values()].sort(compareScalars)).toEqual(values.sort(compareScalars))
  for (const value of [...values, 'nobody' as Scalar]) {
    const asked = value as never
    const expected = entries.filter((each) => of(each).some((one) => sameScalar(one ?? undefined, value)))
    expect([...accessor.entries(asked)].sort(byName)).toEqual(expected.map(pair))
    expect(new Set(accessor(asked))).toEqual(new Set(objectsOf(expected)))
    expect([accessor(asked).length, accessor.count(asked)]).toEqual([expected.length, expected.length])
  }
}

function expectOrdered({ n }: By, entries: readonly Entry<Item>[]): void {
  const inOrder = entries.filter(({ object }) => object.n !== undefined)
  inOrder.sort((a, b) => compareScalars(a.object.n ?? 0, b.object.n ?? 0) || byKey(a, b))
  expect(n()).toEqual(objectsOf(inOrder))
  expect([...n.entriesIn({ reverse: true, limit: 2 })]).toEqual(inOrder.toReversed().slice(0, 2).map(pair))
  const above = inOrder.filter(({ object }) => compareScalars(object.n ?? 0, 1) > 0)
  expect(n({ gt: 1 })).toEqual(objectsOf(above))
  expect(n.count(2)).toBe(inOrder.filter(({ object }) => object.n === 2).length)
}

function expectCompound({ both }: By, entries: readonly Entry<Item>[]): void {
  const red = entries.filter(({ object }) => object.color === 'red')
  red.sort((a, b) => {
    const [x, y] = [a.object.n, b.object.n]
    if (x === undefined || y === undefined) return Number(y === undefined) - Number(x === undefined) || byKey(a, b)
    return compareScalars(x, y) || byKey(a, b)
  })
  const missingFirst = [
    ...red.filter(({ object }) => object.n === undefined),
    ...red.filter(({ object }) => object.n !== undefined),
  ]
  expect(both(['red'])).toEqual(objectsOf(missingFirst))
  expect(both(['red'], { lte: 2 })).toEqual(
    objectsOf(red.filter(({ object }) => object.n !== undefined && object.n <= 2)),
  )
  expect(both.count(['red', 2] as never)).toBe(red.filter(({ object }) => object.n === 2).length)
  expect(both([]).length).toBe(entries.filter(({ object }) => object.color !== null).length)
}

class World {
  readonly model: Model
  readonly indexer: Indexer<Item, By>
  readonly commits: Commit<Item>[] = []
  readonly snapshots: { readonly view: StoreView<Item, By> & Disposable; readonly model: Model }[] = []
  #late: ((value: string) => readonly Item[]) | undefined
  #isFilled = false
  #version = 0

  constructor(given: Settings, more: WriterOptions<Item> = {}) {
    this.model = new Model(given)
    const { onInvalid, freeze, prepares } = given
    this.indexer = new Indexer(
      { indexes: declare },
      {
        onInvalid,
        freeze,
        prepare: prepares ? prepare : undefined,
        onCommit: (commit) => void this.commits.push(commit),
        report: () => {},
        ...more,
      },
    )
  }

  run(step: Step, whileListing: () => void = () => {}): void {
    switch (step.does) {
      case 'apply':
        void this.indexer.apply({ events: step.events.map(copied), version: this.#next() })
        this.model.apply(step.events)
        this.#isFilled = true
        break
      case 'list':
        this.#list(step, whileListing)
        break
      case 'open':
        this.snapshots.push({ view: this.indexer.snapshot(), model: this.model.copy() })
        break
      case 'dispose':
        this.snapshots.shift()?.view[Symbol.dispose]()
        break
      case 'add index':
        this.#addIndex()
        break
    }
  }

  /** A store that is small and not being written has the index at once. */
  #addIndex(): void {
    if (this.#late !== undefined) return
    void this.indexer.addIndex('late', (ix) => {
      this.#late = ix.equal((object) => object.color)
      return this.#late
    })
  }

  check(): void {
    expectSame(this.indexer, this.model)
    expect([...this.indexer.invalid.keys()].sort()).toEqual([...this.model.invalid].sort())
    const red = [...this.model.objects.values()].filter(({ object }) => object.color === 'red')
    if (this.#late !== undefined) expect(new Set(this.#late('red'))).toEqual(new Set(objectsOf(red)))
  }

  #list({ pages, isAbandoned, ignoreVersions }: Step & { does: 'list' }, whileListing: () => void): void {
    const list = this.indexer.replace({ ignoreVersions })
    try {
      for (const page of pages) {
        void list.page(page.map(copied))
        whileListing()
      }
      if (!isAbandoned) void list.commit(this.#next())
    } catch (error) {
      list.abandon()
      throw error
    }
    if (isAbandoned) {
      list.abandon()
      return
    }
    this.model.list(pages.flat(), !this.#isFilled, ignoreVersions)
    this.#isFilled = true
  }

  #next(): string {
    return String(++this.#version)
  }
}

/** What arrives is new each time, as from a source, though its contents are the same. */
function copied<E extends WatchEvent<Item>>(event: E): E {
  return structuredClone(event)
}

test('[I9] every accessor and every index equals the recomputed one, after every transaction and in every snapshot', () => {
  fc.assert(
    fc.property(settings, steps, (given, all) => {
      const world = new World(given)
      for (const each of all) {
        world.run(each)
        world.check()
        for (const { view, model } of world.snapshots) expectSame(view, model)
      }
    }),
    runs(800),
  )
})

test('[I8] during a list, and after it was abandoned, every read returns the same as before', () => {
  fc.assert(
    fc.property(settings, steps, (given, all) => {
      const world = new World(given)
      for (const each of all) {
        const before = world.model.copy()
        const { version } = world.indexer
        world.run(each, () => {
          expectSame(world.indexer, before)
          expectSame(world.indexer.snapshot(), before)
          expect(world.indexer.version).toBe(version)
        })
        if (each.does === 'list' && each.isAbandoned) expectSame(world.indexer, before)
      }
    }),
    runs(500),
  )
})

test('[I4][I5] the commits report each key as an add, updates, a delete, and folding them results in the store', () => {
  fc.assert(
    fc.property(settings, steps, (given, all) => {
      const world = new World(given)
      const told = new Map<string, Item>()
      for (const each of all) {
        world.run(each)
        for (const { origin, changes } of world.commits.splice(0)) {
          if (origin === 'initial') for (const [key, object] of world.indexer.entries()) told.set(key, object)
          for (const change of changes) {
            const { key, object, previous } = change
            expect(change.type === 'add').toBe(!told.has(key))
            expect(previous === told.get(key)).toBe(true)
            if (change.type === 'delete') told.delete(key)
            else told.set(key, object)
          }
        }
        expect(told.size).toBe(world.indexer.size)
        for (const [key, object] of told) expect(world.indexer.get(key) === object).toBe(true)
      }
    }),
    runs(800),
  )
})

test('an equal object reports no change and keeps the stored one, in a batch and in a list', () => {
  fc.assert(
    fc.property(settings, steps, fc.boolean(), (given, all, byList) => {
      const world = new World({ ...given, prepares: false })
      for (const each of all) world.run(each)
      const before = new Map(world.indexer.entries())
      const again = world.indexer.store
        .entries()
        .map((each): ListEvent<Item> => ({ ...copied({ ...each, type: 'put' }) }))
      world.commits.length = 0
      if (byList) world.run({ does: 'list', pages: [again], isAbandoned: false, ignoreVersions: true })
      else world.run({ does: 'apply', events: again })
      expect(world.commits.flatMap(({ changes }) => changes)).toEqual([])
      for (const [key, object] of before) expect(world.indexer.get(key) === object).toBe(true)
    }),
    runs(500),
  )
})

test('memberships are the index values before and after each change', () => {
  fc.assert(
    fc.property(settings, steps, (given, all) => {
      const world = new World(given)
      const tracked = ['tag', 'n'].map((name) => world.indexer.declared.get(name))
      for (const index of tracked) if (index !== undefined) world.indexer.writer.track(index)
      for (const each of all) world.run(each)
      const valuesOf = (object: Item): unknown[] => [
        [...new Set(tagsOf(object))],
        object.n === undefined ? undefined : [object.n],
      ]
      for (const { changes, memberships } of world.commits) {
        expect(memberships.length).toBe(changes.length)
        changes.forEach(({ type, object, previous }, at) => {
          const was = previous === undefined ? [undefined, undefined] : valuesOf(previous)
          const is = type === 'delete' ? [undefined, undefined] : valuesOf(object)
          expect(memberships[at]).toEqual([...was, ...is])
        })
      }
    }),
    runs(500),
  )
})

test('[I8] a batch or list above the capacity is rejected as a whole, and the store never exceeds its limit', () => {
  fc.assert(
    fc.property(settings, fc.integer({ min: 1, max: 4 }), steps, (given, maxObjects, all) => {
      const world = new World(given, { maxObjects })
      for (const each of all) {
        const { version } = world.indexer
        try {
          world.run(each)
        } catch (error) {
          expect(error).toMatchObject({ code: 'PROTOCOL', message: expect.stringContaining('more than') })
          expect(world.indexer.version).toBe(version)
        }
        world.check()
        expect(world.indexer.size).toBeLessThanOrEqual(maxObjects)
      }
    }),
    runs(800),
  )
})
