import { SourceError } from '../../../src/contract/errors.js'
import type { Entry, ListEvent, WatchEvent } from '../../../src/contract/source.js'
import { Indexer } from '../../../src/store/indexer.js'
import type { StoreView } from '../../../src/store/store-view.js'
import { DEFAULT_SLICES } from '../../../src/util/steps.js'
import type { Item } from '../backend/history.js'
import { QueryModel } from '../checkers/query-model.js'
import { nameOf, type Scenario } from '../system/scenario.js'
import { type IndexesOf, indexesOf, RANKS, TAGS, TENANTS } from './declared-indexes.js'
import type { Stream } from './random-decisions.js'

type Entries = Map<string, Entry<Item>>

/** Many objects, more than one part of an ordered index contains; and a few, of which each is written often. */
const MANY = 700
const FEW = 8
const STEPS = { many: 8, few: 24 } as const

interface Held {
  readonly view: StoreView<Item, IndexesOf> & Disposable
  readonly entries: Entries
}

/**
 * A store without an informer: batches and lists of many objects, deletes of neighbours, a bound that is nearly
 * reached, and snapshots. After each step, all its answers are compared with a Map.
 */
export class LargeStoreWorkload {
  readonly #scenario: Scenario
  readonly #stream: Stream
  readonly #answers: QueryModel
  readonly #most: number
  readonly #isMany: boolean
  readonly #maxObjects: number
  readonly #onInvalid: 'omit' | 'keep-previous'
  readonly #indexer: Indexer<Item, IndexesOf>
  readonly #invalid = new Set<string>()
  readonly #held: Held[] = []
  #entries: Entries = new Map()
  #contents = 0
  #version = 0
  #revisions = 0

  constructor(scenario: Scenario, label: string) {
    this.#scenario = scenario
    this.#stream = scenario.decisions.of(`${label} bulk`)
    this.#answers = new QueryModel(scenario)
    this.#isMany = this.#stream.chance(0.2)
    this.#most = this.#isMany ? MANY : FEW
    this.#maxObjects = this.#stream.chance(0.5) ? this.#most : Math.ceil(this.#most * 0.8)
    this.#onInvalid = this.#stream.pick(['omit', 'keep-previous'] as const)
    this.#indexer = new Indexer<Item, IndexesOf>(
      { indexes: (ix) => indexesOf(ix, scenario.decisions.seed) },
      {
        maxObjects: this.#maxObjects,
        onInvalid: this.#onInvalid,
        report: () => {},
        slices: { ...DEFAULT_SLICES, largeWrite: Infinity },
      },
    )
  }

  run(): void {
    const { many, few } = STEPS
    this.#list()
    for (let step = this.#isMany ? many : few; step > 0; step--) {
      this.#step()
      this.#check()
    }
    for (const held of this.#held.splice(0)) this.#release(held)
    if (this.#indexer.store.pinCount > 0)
      this.#scenario.violate('I12', 'a snapshot was disposed of, and its data is still kept')
  }

  #step(): void {
    switch (this.#stream.below(8)) {
      case 0:
      case 1:
        this.#list()
        break
      case 2:
        this.#abandon()
        break
      case 3:
        this.#deleteNeighbours()
        break
      case 4:
        if (this.#held.length < 3) this.#held.push({ view: this.#indexer.snapshot(), entries: new Map(this.#entries) })
        break
      case 5: {
        const held = this.#held.shift()
        if (held !== undefined) this.#release(held)
        break
      }
      default:
        this.#batch()
    }
  }

  #batch(): void {
    const count = 1 + this.#stream.below(this.#isMany ? 200 : 6)
    const events: WatchEvent<Item>[] = Array.from({ length: count }, () => this.#event(0.3))
    if (this.#stream.chance(0.15)) {
      const keys = this.#someKeys()
      events.splice(this.#stream.below(count), 0, { type: 'replace', entries: keys.map((key) => this.#put(key)) })
    }
    this.#apply(events)
  }

  /** Deletes objects of similar age. */
  #deleteNeighbours(): void {
    const ages = [...this.#entries].sort(([, a], [, b]) => a.object.n - b.object.n)
    const from = this.#stream.below(ages.length + 1)
    const gone = ages.slice(from, from + 1 + this.#stream.below(Math.ceil(this.#most * 0.7)))
    this.#apply(gone.map(([key]) => ({ type: 'delete', key })))
  }

  #apply(events: readonly WatchEvent<Item>[]): void {
    const entries: Entries = new Map(this.#entries)
    const invalid = new Set(this.#invalid)
    const named = new Set(events.flatMap((event) => (event.type === 'invalid' ? [event.key] : [])))
    let most = entries.size
    for (const event of events) {
      if (event.type !== 'replace') this.#take(event, entries, invalid)
      else {
        const listed = new Set(event.entries.map(({ key }) => key))
        if (!named.has(undefined))
          for (const key of new Set([...entries.keys(), ...invalid]))
            if (!listed.has(key) && !named.has(key)) {
              entries.delete(key)
              invalid.delete(key)
            }
        for (const entry of event.entries) {
          this.#take({ type: 'put', ...entry }, entries, invalid)
          most = Math.max(most, entries.size)
        }
      }
      most = Math.max(most, entries.size)
    }
    const version = `1.${++this.#version}`
    const fits = this.#isSure(named.size) ? most <= this.#maxObjects : undefined
    this.#takes('a batch', fits, entries, invalid, () => void this.#indexer.apply({ events, version }))
  }

  #list(): void {
    const entries: Entries = new Map()
    const invalid = new Set<string>()
    const replacement = this.#indexer.replace()
    const pages = this.#pages()
    for (const key of this.#someKeys()) {
      const event = this.#stream.chance(this.#isMany ? 0.9 : 0.3) ? this.#again(key) : this.#event(0.05, key)
      pages.add(event)
      this.#take(event, entries, invalid, this.#entries)
    }
    for (const key of invalid) {
      const last = this.#entries.get(key)
      if (this.#onInvalid === 'keep-previous' && last !== undefined) entries.set(key, last)
      else entries.delete(key)
    }
    const version = `1.${++this.#version}`
    const fits = this.#isSure(invalid.size) ? entries.size <= this.#maxObjects : undefined
    this.#takes('a list', fits, entries, invalid, () => {
      try {
        for (const page of pages.all) {
          void replacement.page(page)
          if (!this.#isMany && this.#stream.chance(0.2)) this.#check()
        }
        void replacement.commit(version)
      } catch (error) {
        void replacement.abandon()
        throw error
      }
    })
  }

  #abandon(): void {
    const replacement = this.#indexer.replace()
    const pages = this.#pages()
    for (const key of this.#someKeys()) pages.add(this.#event(0.1, key))
    try {
      for (const page of pages.all) void replacement.page(page)
    } catch {
      // It does not fit.
    }
    void replacement.abandon()
  }

  /** Whether it is certain what fits: an invalid object that is omitted may still count meanwhile. */
  #isSure(invalid: number): boolean {
    return invalid === 0 || this.#onInvalid === 'keep-previous'
  }

  #takes(
    what: string,
    fits: boolean | undefined,
    entries: Entries,
    invalid: ReadonlySet<string>,
    step: () => void,
  ): void {
    let refusal: unknown
    try {
      step()
    } catch (error) {
      refusal = error
    }
    const { violate, note } = this.#scenario
    note(what, entries.size, refusal === undefined ? 'taken' : 'refused')
    if (refusal !== undefined && !(refusal instanceof SourceError)) throw refusal
    if (fits !== undefined && (refusal === undefined) !== fits)
      violate(
        'I8',
        `${what} ${fits ? 'fits, and is refused' : 'does not fit, and is taken'}: ${entries.size} of ${this.#maxObjects}`,
      )
    if (refusal !== undefined) return
    this.#entries = entries
    this.#invalid.clear()
    for (const key of invalid) this.#invalid.add(key)
  }

  #take(event: ListEvent<Item>, entries: Entries, invalid: Set<string>, held = entries): void {
    const { key } = event
    if (key === undefined) return
    if (event.type === 'invalid') {
      invalid.add(key)
      if (this.#onInvalid === 'omit') entries.delete(key)
      return
    }
    invalid.delete(key)
    if (event.type === 'delete') entries.delete(key)
    else {
      const { type: _type, ...entry } = event
      const known = held.get(key)
      entries.set(key, known?.object.n === entry.object.n ? { ...entry, object: known.object } : entry)
    }
  }

  #check(): void {
    const { violate } = this.#scenario
    const indexer = this.#indexer
    this.#answers.check(indexer, this.#entries, 'a store by itself')
    for (const { view, entries } of this.#held.slice(0, 1)) this.#answers.check(view, entries, 'a snapshot by itself')
    const { invalid } = indexer
    if (invalid.size !== this.#invalid.size || [...this.#invalid].some((key) => !invalid.has(key)))
      violate('I8', `invalid are ${[...invalid.keys()].map(nameOf)}, not ${[...this.#invalid].map(nameOf)}`)
  }

  #release({ view, entries }: Held): void {
    this.#answers.check(view, entries, 'a snapshot by itself')
    view[Symbol.dispose]()
  }

  #event(deletes: number, key = this.#key()): ListEvent<Item> {
    const sample = this.#stream.next()
    if (sample < deletes) return { type: 'delete', key }
    if (sample > 0.96) return { type: 'invalid', key, error: new Error('it does not decode') }
    return sample > 0.8 ? this.#again(key) : { type: 'put', ...this.#put(key) }
  }

  #again(key: string): ListEvent<Item> {
    const known = this.#entries.get(key)
    if (known === undefined) return { type: 'put', ...this.#put(key) }
    const object = { ...known.object, tags: [...known.object.tags] }
    return { type: 'put', ...known, object, version: `${++this.#revisions}` }
  }

  #put(key: string): Entry<Item> {
    const n = ++this.#contents
    const tags = TAGS.filter(() => this.#stream.chance(0.4))
    const object = { n, tenant: this.#stream.pick(TENANTS), tags, rank: this.#stream.below(RANKS) }
    return { key, object, version: `${++this.#revisions}` }
  }

  #pages(): { readonly all: readonly (readonly ListEvent<Item>[])[]; add(event: ListEvent<Item>): void } {
    const all: ListEvent<Item>[][] = [[]]
    const size = this.#isMany ? 500 : 1 + this.#stream.below(3)
    return {
      all,
      add: (event) => {
        if ((all.at(-1)?.length ?? 0) >= size) all.push([])
        all.at(-1)?.push(event)
      },
    }
  }

  #someKeys(): readonly string[] {
    const most = this.#stream.chance(0.8) ? this.#maxObjects : this.#most
    const keys = Array.from({ length: this.#most }, (_, nth) => `k${nth}`)
    const from = this.#stream.below(keys.length)
    return [...keys.slice(from), ...keys.slice(0, from)].slice(0, this.#isMany ? most : this.#stream.below(most + 1))
  }

  #key(): string {
    return `k${this.#stream.below(this.#most)}`
  }
}
