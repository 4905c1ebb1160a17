import fc from 'fast-check'
import { expect, test } from 'vitest'
import { memoryDatabase } from '../../adapters/memory/index.js'
import { SourceError, type SourceErrorCode } from '../../src/contract/errors.js'
import type { CollectionBatch, CollectionSource, SharedHistory } from '../../src/contract/shared-history.js'
import { derive } from '../../src/derive/derive.js'
import { createInformer } from '../../src/informer/create-informer.js'
import type { Informer } from '../../src/informer/informer-types.js'
import { internalsOf } from '../../src/informer/internals.js'
import { SeededRandom } from '../../testing/seeded-random.js'
import { runs } from '../support/property.js'
import { SliceClock, sliceEachStep } from '../support/slice-clock.js'

interface Row {
  readonly at: number
}
type State = ReadonlyMap<string, ReadonlyMap<string, Row>>

const NAMES = ['a', 'b', 'c', 'd'] as const
const names = fc.constantFrom(...NAMES)
const codes = fc.constantFrom<SourceErrorCode>(
  'VERSION_EXPIRED',
  'UNAVAILABLE',
  'NOT_FOUND',
  'UNAUTHORIZED',
  'PROTOCOL',
)
const write = fc.record({ to: names, key: fc.constantFrom('1', '2', '3', '4', '5'), isDelete: fc.boolean() })

const step = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      type: fc.constant('commit' as const),
      writes: fc.array(write, { minLength: 1, maxLength: 6 }),
    }),
  },
  { weight: 6, arbitrary: fc.record({ type: fc.constant('pass' as const), ms: fc.constantFrom(0, 50, 900, 4_000) }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('slices' as const), count: fc.integer({ min: 1, max: 5 }) }) },
  { weight: 3, arbitrary: fc.record({ type: fc.constantFrom('start', 'stop', 'relist', 'damage'), name: names }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constantFrom('lose', 'refuse'), name: names, code: codes }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constantFrom('disconnect', 'compact', 'stall', 'restore', 'close') }) },
)
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never

/** Informers over collections with scripted faults of each, and the states that the database had. */
class World {
  readonly clock = new SliceClock()
  readonly #database
  readonly #inner
  readonly #history: SharedHistory
  /** In the order of their versions. */
  readonly #states = new Map<string, State>()
  readonly #informers = new Map<string, Informer<Row, object>>()
  readonly #folds = new Map<Informer<Row, object>, Map<string, Row>>()
  readonly #lost = new Map<string, SourceErrorCode | 'damage'>()
  readonly #refused = new Map<string, SourceErrorCode>()
  readonly #options
  #view: Informer<string, object> | undefined
  #viewed: readonly string[] = []
  #isClosed = false
  #head = ''
  #count = 0
  readonly failures = new Set<string>()
  looks = 0
  views = 0

  constructor(holdMs: number, isSliced: boolean) {
    this.#options = isSliced ? { slices: sliceEachStep(2) } : {}
    this.#database = memoryDatabase({ holdMs, heartbeatMs: 1_000 })
    this.#inner = new Map(NAMES.map((name) => [name as string, this.#database.collection<Row>(name)]))
    const [first] = this.#inner.values()
    this.#history = {
      name: 'faulty',
      holdMs,
      watch: (context) => this.#watch(first?.history.watch(context) ?? []),
    }
    this.#write([])
  }

  #collection(name: string): CollectionSource<Row> {
    const source = this.#inner.get(name)
    if (source === undefined) throw new Error(`there is no collection ${name}`)
    return source
  }

  async *#list<P>(name: string, pages: AsyncIterable<P>): AsyncIterable<P> {
    const code = this.#refused.get(name)
    this.#refused.delete(name)
    if (code !== undefined) throw new SourceError('the list is refused', { code })
    yield* pages
  }

  async *#watch(batches: AsyncIterable<CollectionBatch> | Iterable<CollectionBatch>): AsyncIterable<CollectionBatch> {
    for await (const batch of batches) {
      if (this.#isClosed) {
        this.#isClosed = false
        return
      }
      const parts = new Map(batch.parts)
      const lost = new Map<string, SourceError>()
      for (const [name, fault] of this.#lost) {
        // The informer refuses such an event: it does not write its part.
        if (fault === 'damage') parts.set(name, [{ type: 'replace', entries: [{}] } as never])
        else lost.set(name, new SourceError('the collection is lost', { code: fault }))
      }
      this.#lost.clear()
      yield { ...batch, parts, lost }
    }
  }

  #write(writes: readonly { readonly to: string; readonly key: string; readonly isDelete: boolean }[]): void {
    const state = new Map(NAMES.map((name) => [name as string, new Map(this.#states.get(this.#head)?.get(name))]))
    const version = this.#database.commit((tx) => {
      for (const { to, key, isDelete } of writes) {
        const row = { at: ++this.#count }
        if (isDelete) tx.delete(this.#collection(to), key)
        else tx.put(this.#collection(to), key, row)
        if (isDelete) state.get(to)?.delete(key)
        else state.get(to)?.set(key, row)
      }
    })
    this.#record(version, state)
  }

  #restore(): void {
    const state = new Map(NAMES.map((name) => [name as string, new Map([['1', { at: ++this.#count }]])]))
    const version = this.#database.restore((tx) => {
      for (const [name, rows] of state) for (const [key, row] of rows) tx.put(this.#collection(name), key, row)
    })
    this.#record(version, state)
  }

  #record(version: string, state: State): void {
    this.#head = version
    this.#states.set(version, state)
  }

  start(name: string): void {
    if (this.#informers.has(name)) return
    const source = this.#collection(name)
    const list: typeof source.list = (context) => this.#list(name, source.list(context))
    const faulty = { ...source, history: this.#history, list }
    const informer = createInformer({
      source: faulty,
      clock: this.clock,
      random: new SeededRandom(this.#count + 1),
      ...this.#options,
    })
    this.#informers.set(name, informer)
    const fold = new Map<string, Row>()
    this.#folds.set(informer, fold)
    const changed = ({ key, object }: { readonly key: string; readonly object: Row }): void => {
      fold.set(key, object)
      this.look()
    }
    informer.subscribe({ add: changed, update: changed, delete: ({ key }) => void fold.delete(key) })
    informer.on('error', () => {})
    informer.on('status', () => this.look())
    internalsOf(informer)?.signal.listen(() => this.look())
    informer.start()
  }

  /** The view counts rows of all informers, so it must show one state of the database. */
  startView(): void {
    const [first, ...others] = this.#informers.values()
    if (first === undefined || this.#view !== undefined) return
    this.#view = derive({
      from: first,
      reads: others,
      each: (row, key) => [row, ...others.map((each) => each.get(key))].map((each) => each?.at ?? 0).join(),
    })
    this.#viewed = [...this.#informers.keys()]
    this.#view.on('error', () => {})
    this.#view.start()
  }

  /** What readers see in this turn is one state of the database in all informers that are live. */
  look(): void {
    this.looks++
    let version: string | undefined
    for (const [name, informer] of this.#informers) {
      if (informer.version === undefined) continue
      const rows = textOf(this.#states.get(informer.version)?.get(name) ?? [])
      if (textOf(informer.entries()) !== rows)
        this.failures.add(`${name} at ${informer.version} has ${textOf(informer.entries())}, not ${rows}`)
      const { state, isSynced, reason } = informer.status
      if (!isSynced || (state !== 'live' && reason.endsWith('continue'))) continue
      version ??= informer.version
      if (version !== informer.version)
        this.failures.add(`${name} (${state}) is at ${informer.version}, not ${version}`)
    }
    const [first, ...others] = this.#viewed
    if (version === undefined || first === undefined || this.#view?.status.isSynced !== true) return
    if (!this.#viewed.every((name) => this.#informers.get(name)?.version === version)) return
    const rowsOf = (name: string): ReadonlyMap<string, Row> => this.#states.get(version)?.get(name) ?? new Map()
    const rows = Array.from(rowsOf(first), ([key, row]) => {
      const all = [row, ...others.map((name) => rowsOf(name).get(key))]
      return [key, all.map((each) => each?.at ?? 0).join()] as const
    })
    this.views++
    if (this.#view.version !== version || textOf(this.#view.entries()) !== textOf(rows))
      this.failures.add(`the view has ${textOf(this.#view.entries())} at ${this.#view.version}, not ${textOf(rows)}`)
  }

  async perform(step: Step): Promise<void> {
    switch (step.type) {
      case 'commit':
        this.#write(step.writes)
        break
      case 'pass':
        await this.clock.advance(step.ms)
        break
      case 'slices':
        this.clock.hold()
        await this.clock.advance(0)
        for (let slice = 0; slice < step.count; slice++) {
          await this.clock.slice()
          this.look()
        }
        break
      case 'start':
        this.start(step.name)
        break
      case 'stop':
        this.#stop(step.name)
        break
      case 'relist':
        this.#informers
          .get(step.name)
          ?.relist()
          .catch(() => {})
        break
      case 'damage':
        this.#lost.set(step.name, 'damage')
        break
      case 'lose':
        this.#lost.set(step.name, step.code)
        break
      case 'refuse':
        this.#refused.set(step.name, step.code)
        break
      case 'restore':
        this.#restore()
        break
      case 'close':
        this.#isClosed = true
        break
      default:
        this.#database[step.type]()
    }
    if (step.type !== 'slices' && this.clock.isPaused) await this.clock.release()
    this.look()
  }

  #stop(name: string): void {
    const informer = this.#informers.get(name)
    this.#informers.delete(name)
    void informer?.stop()
  }

  /** The faults are over: each informer, and the fold of its handler, equals the database. */
  async rest(): Promise<void> {
    await this.clock.release()
    this.#lost.clear()
    this.#refused.clear()
    this.#isClosed = false
    await this.clock.advance(180_000)
    this.look()
    expect([...this.failures]).toEqual([])
    const head = this.#head
    const rows = (name: string): unknown => textOf(this.#states.get(head)?.get(name) ?? [])
    for (const [name, informer] of this.#informers) {
      const { state, reason } = informer.status
      expect({ name, state, reason, version: informer.version }).toMatchObject({ state: 'live', version: head })
      expect(informer.health()).toMatchObject({ isReady: true })
      expect([name, textOf(informer.entries())]).toEqual([name, rows(name)])
      expect([name, textOf(this.#folds.get(informer) ?? [])]).toEqual([name, rows(name)])
    }
  }

  async stop(): Promise<void> {
    for (const name of [...this.#informers.keys()]) this.#stop(name)
    void this.#view?.stop()
    await this.clock.advance(2_000)
    expect(this.clock.sleeping, 'timers that are left after stop()').toBe(0)
  }
}

function textOf(rows: Iterable<readonly [string, unknown]>): string {
  return JSON.stringify([...rows].sort(([a], [b]) => (a < b ? -1 : 1)))
}

test('[Q1] informers of one history show one state of it, whatever fails, is listed again, starts or stops', async () => {
  const isDrawn = fc.record({
    holdMs: fc.constantFrom(0, 3_000, 30_000, Infinity),
    isSliced: fc.boolean(),
    hasView: fc.boolean(),
    steps: fc.array(step, { minLength: 5, maxLength: 60 }),
  })
  await fc.assert(
    fc.asyncProperty(isDrawn, async ({ holdMs, isSliced, hasView, steps }) => {
      const world = new World(holdMs, isSliced)
      for (const name of NAMES.slice(0, 3)) world.start(name)
      if (hasView) world.startView()
      for (const each of steps) await world.perform(each)
      await world.rest()
      await world.stop()
    }),
    runs(100),
  )
}, 120_000)
