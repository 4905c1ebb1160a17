import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { DeltaBatch, ListEvent, WatchEvent } from '../../src/adapter.js'
import { type Delta, DeltaFIFO, Indexer } from '../../src/index.js'
import { keyPool, keys, runs } from '../support/property.js'

type Fate = readonly [key: string, object: number | undefined]

/** What the source, its connection and the consumer do. */
type Step =
  | {
      readonly does: 'transact' | 'miss' | 'poll'
      readonly fates: readonly Fate[]
      readonly bad: readonly (string | undefined)[]
    }
  | { readonly does: 'list'; readonly bad: readonly (string | undefined)[]; readonly stale: readonly Fate[] }
  | { readonly does: 'bookmark' | 'abandon' | 'drain' | 'pop' | 'process' }

const object = fc.option(fc.integer({ min: 0, max: 3 }), { nil: undefined, freq: 2 })
const fates = fc.array(fc.tuple(keys, object), { maxLength: 4 })
const bad = fc.oneof(
  { weight: 4, arbitrary: fc.constant([]) },
  { weight: 1, arbitrary: fc.array(fc.option(keys, { nil: undefined, freq: 4 }), { maxLength: 2 }) },
)
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ does: fc.constant('transact'), fates, bad }) },
  { weight: 2, arbitrary: fc.record({ does: fc.constantFrom('miss', 'poll'), fates, bad }) },
  { weight: 2, arbitrary: fc.record({ does: fc.constant('list'), bad, stale: fates }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constantFrom('bookmark', 'abandon') }) },
  { weight: 6, arbitrary: fc.record({ does: fc.constantFrom('drain', 'drain', 'pop', 'process') }) },
)
const steps = fc.array(step, { maxLength: 50 })
const options = fc.record({
  delivery: fc.constantFrom('every', 'latest'),
  capacity: fc.oneof(fc.integer({ min: 1, max: 15 }), fc.constant(10_000)),
})
/** A source, a fifo as its sink, and a consumer who takes, and processes later. */
class World {
  readonly truth = new Map<string, number>()
  /** How the source looked at each version. */
  readonly history = new Map<string, ReadonlyMap<string, number>>()
  readonly indexer = new Indexer<number>()
  readonly fifo: DeltaFIFO<number>
  /** Keys that were last named by an invalid event, or may have been: the consumer's state of them is not specified. */
  readonly unsure = new Set<string>()
  inHand: DeltaBatch<number> | undefined
  /** Whether something was missed since the last list. */
  isBroken = false
  #version = 0

  constructor(given: { readonly delivery: 'every' | 'latest'; readonly capacity: number }) {
    this.fifo = new DeltaFIFO({ ...given, knownObjects: this.indexer })
  }

  async run(step: Step): Promise<void> {
    switch (step.does) {
      case 'transact':
        if (!this.isBroken) this.#transact(step.fates, step.bad)
        break
      case 'poll':
        if (!this.isBroken) this.#poll(step.fates, step.bad)
        break
      case 'miss':
        for (const fate of step.fates) this.#become(fate)
        this.isBroken = true
        break
      case 'list':
        this.#list(step.stale, step.bad)
        break
      case 'bookmark':
        if (!this.isBroken) this.fifo.apply({ events: [], version: this.#next() })
        break
      case 'abandon': {
        const list = this.fifo.replace()
        void list.page([{ type: 'put', key: 'a', object: 99 }])
        list.abandon()
        break
      }
      case 'process':
        this.process()
        break
      case 'drain':
      case 'pop':
        await this.take(step.does)
        break
    }
  }

  process(): void {
    if (this.inHand !== undefined) void this.indexer.apply(this.inHand)
    this.inHand = undefined
  }

  /** Asking for the next says that the last is processed. */
  async take(how: 'drain' | 'pop'): Promise<DeltaBatch<number> | undefined> {
    this.process()
    if (this.fifo.isEmpty) return undefined
    this.inHand = await this.fifo[how]()
    return this.inHand
  }

  #next(): string {
    const version = String(++this.#version)
    this.history.set(version, new Map(this.truth))
    return version
  }

  #become([key, object]: Fate): ListEvent<number> {
    if (object === undefined) this.truth.delete(key)
    else this.truth.set(key, object)
    return object === undefined ? { type: 'delete', key } : { type: 'put', key, object }
  }

  #transact(fates: readonly Fate[], bad: readonly (string | undefined)[]): void {
    const events: WatchEvent<number>[] = []
    for (const fate of fates) {
      events.push(this.#become(fate))
      this.unsure.delete(fate[0])
    }
    events.push(...this.#invalid(bad.filter((key) => key !== undefined)))
    this.fifo.apply({ events, version: this.#next() })
  }

  /** The whole collection as one event; what does not decode is left out of it and named beside it. */
  #poll(fates: readonly Fate[], bad: readonly (string | undefined)[]): void {
    const before = new Set(this.truth.keys())
    for (const fate of fates) this.#become(fate)
    const entries = [...this.truth].filter(([key]) => !bad.includes(key)).map(([key, object]) => ({ key, object }))
    this.#relearn(entries, before, bad)
    const events: WatchEvent<number>[] = [{ type: 'replace', entries }]
    this.fifo.apply({ events: [...events, ...this.#invalid(bad)], version: this.#next() })
  }

  /** A list that begins with what is stale, as from a source without a snapshot, and ends with the current state. */
  #list(stale: readonly Fate[], bad: readonly (string | undefined)[]): void {
    const before = new Set(this.indexer.keys())
    const list = this.fifo.replace()
    void list.page(stale.map(([key, object]) => ({ type: 'put', key, object: object ?? 0 })))
    void list.page(stale.map(([key]) => ({ type: 'delete', key })))
    const entries = [...this.truth].filter(([key]) => !bad.includes(key)).map(([key, object]) => ({ key, object }))
    for (const entry of entries) void list.page([{ type: 'put', ...entry }])
    this.#relearn(entries, before, bad)
    void list.page(this.#invalid(bad))
    void list.commit(this.#next())
    this.isBroken = false
  }

  /** After the whole collection only keys of invalid events are uncertain, or all absent keys if a key is missing. */
  #relearn(entries: readonly { readonly key: string }[], before: Iterable<string>, bad: readonly unknown[]): void {
    if (!bad.includes(undefined)) this.unsure.clear()
    else for (const key of [...before, ...keyPool]) this.unsure.add(key)
    for (const { key } of entries) this.unsure.delete(key)
  }

  #invalid(bad: readonly (string | undefined)[]): ListEvent<number>[] {
    return bad.map((key) => {
      if (key === undefined) return { type: 'invalid', error: 'bad' }
      this.unsure.add(key)
      return { type: 'invalid', key, error: 'bad' }
    })
  }

  /** What the consumer holds of the keys of which something is promised. */
  sure(objects: Iterable<readonly [string, number]>, unsure: ReadonlySet<string> = this.unsure): Map<string, number> {
    return new Map([...objects].filter(([key]) => !unsure.has(key)))
  }

  get held(): Map<string, number> {
    return new Map(this.indexer.entries())
  }
}

describe('a fifo between a source and an indexer', () => {
  test('[law 2][I7] at each boundary the consumer holds what the source had at that version', async () => {
    const without = steps.map((all) => all.map((each) => ('bad' in each ? { ...each, bad: [] } : each)))
    await fc.assert(
      fc.asyncProperty(options, without, async (given, all) => {
        const world = new World(given)
        for (const each of all) {
          await world.run(each)
          if (world.inHand?.isBoundary !== true) continue
          const { version } = world.inHand
          world.process()
          expect(world.held).toEqual(world.history.get(version ?? ''))
          expect(world.indexer.version).toBe(version)
        }
      }),
      runs(3_000),
    )
  })

  test('[law 3][law 8a][law 8c][I2][I4][I12] whatever was missed, few deltas wait, each after what was told before, and in the end the consumer holds what the source has', async () => {
    await fc.assert(
      fc.asyncProperty(options, steps, async (given, all) => {
        const world = new World(given)
        const told = new Set<string>()
        const hear = ({ deltas }: DeltaBatch<number>): void => {
          for (const { type, key } of deltas) {
            if (type === 'added') expect(told.has(key)).toBe(false)
            if (type === 'updated' || type === 'deleted') expect(told.has(key)).toBe(true)
            if (type === 'deleted') told.delete(key)
            else told.add(key)
          }
        }
        for (const each of all) {
          const last = world.inHand
          await world.run(each)
          if (world.inHand !== undefined && world.inHand !== last) hear(world.inHand)
        }
        if (world.isBroken) await world.run({ does: 'list', bad: [], stale: [] })
        const waiting: Delta<number>[] = []
        for (let batch = await world.take('drain'); batch !== undefined; batch = await world.take('drain')) {
          hear(batch)
          waiting.push(...batch.deltas)
        }
        expect(world.sure(world.held)).toEqual(world.sure(world.truth))
        const perKey = Math.max(0, ...[...Map.groupBy(waiting, ({ key }) => key).values()].map(({ length }) => length))
        expect(perKey <= 2 || (given.delivery === 'every' && waiting.length <= given.capacity)).toBe(true)
      }),
      runs(4_000),
    )
  })

  test('[law 7] hasSynced is false until the first list is processed, and true once all is', async () => {
    await fc.assert(
      fc.asyncProperty(options, steps, async (given, all) => {
        const world = new World(given)
        let unprocessed: Set<string> | undefined
        for (const each of all) {
          const isFirst = each.does === 'list' && unprocessed === undefined
          const asked = each.does === 'drain' || each.does === 'pop' ? world.inHand : undefined
          for (const { key } of asked?.deltas ?? []) unprocessed?.delete(key)
          await world.run(each)
          if (isFirst) unprocessed = new Set(world.truth.keys())
          if (unprocessed === undefined) expect(world.fifo.hasSynced).toBe(false)
        }
        if (unprocessed === undefined) await world.run({ does: 'list', bad: [], stale: [] })
        while ((await world.take('pop')) !== undefined);
        void world.fifo.drain({ signal: AbortSignal.abort() })
        expect(world.fifo.hasSynced).toBe(true)
      }),
      runs(1_500),
    )
  })

  test('[law 7] if all keys were in the first list, hasSynced means that each of them is in the store, or was deleted since', async () => {
    await fc.assert(
      fc.asyncProperty(options, fates, steps, async (given, first, all) => {
        const world = new World(given)
        await world.run({ does: 'miss', fates: first, bad: [] })
        await world.run({ does: 'list', bad: [], stale: [] })
        const waiting = new Set(world.truth.keys())
        for (const each of all) {
          await world.run(each)
          const gone = each.does === 'transact' ? each.fates.filter(([, object]) => object === undefined) : []
          for (const [key] of gone) waiting.delete(key)
          for (const key of waiting) if (!world.truth.has(key)) waiting.delete(key)
          for (const key of world.indexer.keys()) waiting.delete(key)
          if (world.fifo.hasSynced) expect([...waiting]).toEqual([])
        }
      }),
      runs(1_500),
    )
  })
})

/** The naive queue: a flat list of what waits, in the order in which it came. */
class Model {
  /** The objects that the consumer has processed, if the fifo knows them. */
  readonly known = new Map<string, number>()
  taken = new Map<string, number | undefined>()
  waiting: { readonly batch: number; readonly type: string; readonly key: string; readonly object: number }[] = []
  batches: { readonly batch: number; readonly version: string; readonly isBookmark: boolean }[] = []
  /** The keys that wait, in the order in which they entered; one that still has a delta keeps its place. */
  #order = new Set<string>()
  #batch = 0
  #aheadOf = 0

  #last(key: string, staged: ReadonlyMap<string, number | undefined>): number | undefined {
    if (staged.has(key)) return staged.get(key)
    const last = this.waiting.findLast((each) => each.key === key)
    if (last !== undefined) return last.type === 'deleted' ? undefined : last.object
    return this.taken.has(key) ? this.taken.get(key) : this.known.get(key)
  }

  accept(fates: readonly Fate[], version: string, type?: 'replaced'): void {
    const batch = ++this.#batch
    const staged = new Map<string, number | undefined>()
    const added: (typeof this.waiting)[number][] = []
    for (const [key, object] of fates) {
      const previous = this.#last(key, staged)
      if (object === undefined && previous === undefined) continue
      if (object === undefined) added.push({ batch, type: 'deleted', key, object: previous ?? -1 })
      else added.push({ batch, type: type ?? (previous === undefined ? 'added' : 'updated'), key, object })
      staged.set(key, object)
    }
    if (added.length === 0 && this.batches.at(-1)?.isBookmark === true) this.batches.pop()
    this.batches.push({ batch, version, isBookmark: added.length === 0 })
    this.waiting.push(...added)
    for (const { key } of added) this.#order.add(key)
  }

  /** Whatever the fifo may know of and is not listed is gone: what waits, what was taken, what is known, in this order. */
  list(entries: ReadonlyMap<string, number>, version: string, known: Iterable<string>): void {
    const all = new Set([...this.#order, ...this.taken.keys(), ...known])
    const gone = [...all].filter((key) => !entries.has(key)).map((key): Fate => [key, undefined])
    this.accept([...gone, ...entries], version, 'replaced')
  }

  process(isKnown: boolean): void {
    for (const [key, object] of isKnown ? this.taken : []) {
      if (object === undefined) this.known.delete(key)
      else this.known.set(key, object)
    }
    this.taken.clear()
  }

  pop(): object {
    const [key] = this.#order
    const popped = this.waiting.filter((each) => each.key === key)
    this.waiting = this.waiting.filter((each) => each.key !== key)
    const isLast = this.waiting.length === 0
    const version = isLast ? this.batches.at(-1)?.version : undefined
    this.#aheadOf = Math.max(this.#aheadOf, ...popped.map(({ batch }) => batch))
    if (isLast) this.batches = []
    // The first batch is left out once all of it has been popped: the next one has the source's version.
    const isLeft = (batch: number): boolean => this.waiting.some((each) => each.batch === batch)
    while (this.batches[0]?.isBookmark === false && !isLeft(this.batches[0].batch)) this.batches.shift()
    return this.#take(popped, isLast, version)
  }

  drain(): object {
    const first = this.batches.shift()
    const drained = this.waiting.filter(({ batch }) => batch === first?.batch)
    this.waiting = this.waiting.filter(({ batch }) => batch !== first?.batch)
    const isBoundary = (first?.batch ?? 0) >= this.#aheadOf
    return this.#take(drained, isBoundary, isBoundary ? first?.version : undefined)
  }

  #take(items: typeof this.waiting, isBoundary: boolean, version: string | undefined): object {
    const left = new Set(this.waiting.map(({ key }) => key))
    this.#order = new Set([...this.#order].filter((key) => left.has(key)))
    for (const { type, key, object } of items) this.taken.set(key, type === 'deleted' ? undefined : object)
    return { told: items.map(({ type, key, object }) => [type, key, object]), isBoundary, version }
  }
}

type Plain = { readonly does: 'apply' | 'list'; readonly fates: readonly Fate[] } | { readonly does: 'drain' | 'pop' }

const plain: fc.Arbitrary<Plain> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ does: fc.constantFrom('apply', 'apply', 'list'), fates }) },
  { weight: 2, arbitrary: fc.record({ does: fc.constantFrom('drain', 'pop') }) },
)

test.each([
  ['with known objects', true],
  ['without known objects', false],
])(
  '[law 1][law 2][law 3][law 4a] a fifo that delivers every change equals the naive queue, delta by delta %s',
  async (_, isKnown) => {
    await fc.assert(
      fc.asyncProperty(fc.array(plain, { maxLength: 50 }), async (all) => {
        const model = new Model()
        const indexer = new Indexer<number>()
        const fifo = new DeltaFIFO<number>(isKnown ? { knownObjects: indexer } : {})
        let inHand: DeltaBatch<number> | undefined
        let version = 0
        for (const { does, ...more } of all) {
          if ('fates' in more) {
            const next = String(++version)
            if (does === 'list') {
              const listed = new Map(more.fates.map(([key, each]) => [key, each ?? 9]))
              const list = fifo.replace()
              void list.page(Array.from(listed, ([key, each]) => ({ type: 'put', key, object: each })))
              void list.commit(next)
              model.list(listed, next, isKnown ? [...indexer.keys()] : [])
              continue
            }
            const events = more.fates.map(([key, each]): WatchEvent<number> => {
              return each === undefined ? { type: 'delete', key } : { type: 'put', key, object: each }
            })
            fifo.apply({ events, version: next })
            model.accept(more.fates, next)
            continue
          }
          if (inHand !== undefined) void indexer.apply(inHand)
          model.process(isKnown)
          if (fifo.isEmpty) {
            inHand = await fifo.drain({ signal: AbortSignal.abort() })
            continue
          }
          inHand = await (does === 'pop' ? fifo.pop() : fifo.drain())
          const { deltas, isBoundary, version: at } = inHand
          const told = deltas.map((each) => [each.type, each.key, each.object])
          expect({ told, isBoundary, version: at }).toEqual(does === 'pop' ? model.pop() : model.drain())
        }
      }),
      runs(4_000),
    )
  },
)
