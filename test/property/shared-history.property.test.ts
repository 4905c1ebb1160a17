import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createInformer, derive, type Informer, type SourceErrorCode } from '../../src/index.js'
import { internalsOf } from '../../src/informer/internals.js'
import { SeededRandom } from '../../testing/seeded-random.js'
import { FaultyDatabase, type Row } from '../support/histories.js'
import { runs } from '../support/property.js'
import { SliceClock, sliceEachStep } from '../support/slice-clock.js'

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
  // Any moment between the arrival of a batch and its write, and after it.
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant('interrupt' as const),
      name: names,
      ticks: fc.integer({ min: 0, max: 20 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ type: fc.constantFrom('lose', 'refuse'), name: names, code: codes }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constantFrom('disconnect', 'compact', 'stall', 'restore', 'close') }) },
)
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never

/** Informers over collections with scripted faults of each, and the states that the database had. */
class World {
  readonly clock = new SliceClock()
  readonly #database: FaultyDatabase
  /** In the order of their versions. */
  readonly #states = new Map<string, State>()
  readonly #informers = new Map<string, Informer<Row, object>>()
  readonly #folds = new Map<Informer<Row, object>, Map<string, Row>>()
  readonly #options
  #view: Informer<string, object> | undefined
  readonly #viewed = new Map<string, Informer<Row, object>>()
  #head = ''
  #count = 0
  readonly failures = new Set<string>()
  looks = 0
  views = 0

  /** Whether the others may continue without a collection that is started. */
  readonly #mayLeave: boolean

  constructor(holdMs: number, isSliced: boolean, steps: readonly Step[]) {
    this.#mayLeave = holdMs < Infinity || steps.some(({ type }) => ['damage', 'lose', 'refuse'].includes(type))
    this.#options = isSliced ? { slices: sliceEachStep(2) } : {}
    this.#database = new FaultyDatabase({ holdMs })
    this.#write([])
  }

  #write(writes: readonly { readonly to: string; readonly key: string; readonly isDelete: boolean }[]): void {
    const state = new Map(NAMES.map((name) => [name as string, new Map(this.#states.get(this.#head)?.get(name))]))
    const rows = Object.fromEntries(NAMES.map((name) => [name, {}]))
    for (const { to, key, isDelete } of writes) {
      const at = ++this.#count
      Object.assign(rows[to] ?? {}, { [key]: isDelete ? undefined : at })
      if (isDelete) state.get(to)?.delete(key)
      else state.get(to)?.set(key, { at })
    }
    this.#record(this.#database.write(rows), state)
  }

  #restore(): void {
    const state = new Map(NAMES.map((name) => [name as string, new Map([['1', { at: ++this.#count }]])]))
    const version = this.#database.database.restore((tx) => {
      for (const [name, rows] of state) for (const [key, row] of rows) tx.put(this.#database.inner(name), key, row)
    })
    this.#record(version, state)
  }

  #record(version: string, state: State): void {
    this.#head = version
    this.#states.set(version, state)
  }

  start(name: string): void {
    if (this.#informers.has(name)) return
    const informer = createInformer({
      source: this.#database.collection(name),
      clock: this.clock,
      random: new SeededRandom(this.#count + 1),
      ...this.#options,
    })
    this.#informers.set(name, informer)
    const fold = new Map<string, Row>()
    this.#folds.set(informer, fold)
    const changed = ({ key, object }: { readonly key: string; readonly object: Row }): void => {
      if (object.at < (fold.get(key)?.at ?? 0)) this.failures.add(`${name} went back at ${key}`)
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
    for (const [name, informer] of this.#informers) this.#viewed.set(name, informer)
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
      if (!isSynced || (this.#mayLeave && state !== 'live' && reason.endsWith('continue'))) continue
      version ??= informer.version
      if (version !== informer.version)
        this.failures.add(`${name} (${state}) is at ${informer.version}, not ${version}`)
    }
    const [first, ...others] = this.#viewed.keys()
    if (version === undefined || first === undefined || this.#view?.status.isSynced !== true) return
    const isShown = ([name, informer]: readonly [string, Informer<Row, object>]): boolean =>
      this.#informers.get(name) === informer && informer.version === version
    if (![...this.#viewed].every(isShown)) return
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
        this.#relist(step.name)
        break
      case 'interrupt':
        this.#database.onBatch = async () => {
          this.#database.onBatch = undefined
          for (let at = 0; at < step.ticks; at++) await Promise.resolve()
          this.#relist(step.name)
        }
        break
      case 'damage':
        this.#database.lost.set(step.name, 'damage')
        break
      case 'lose':
        this.#database.lost.set(step.name, step.code)
        break
      case 'refuse':
        this.#database.refused.set(step.name, step.code)
        break
      case 'restore':
        this.#restore()
        break
      case 'close':
        this.#database.isEnding = true
        break
      default:
        this.#database.database[step.type]()
    }
    if (step.type !== 'slices' && this.clock.isPaused) await this.clock.release()
    this.look()
  }

  #relist(name: string): void {
    this.#informers
      .get(name)
      ?.relist()
      .catch(() => {})
  }

  #stop(name: string): void {
    const informer = this.#informers.get(name)
    this.#informers.delete(name)
    void informer?.stop()
  }

  /** The faults are over: each informer, and the fold of its handler, equals the database. */
  async rest(): Promise<void> {
    await this.clock.release()
    this.#database.lost.clear()
    this.#database.refused.clear()
    this.#database.isEnding = false
    this.#database.onBatch = undefined
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
    expect(this.#database.open, 'watches that are left after stop()').toBe(0)
    expect(this.clock.sleeping, 'timers that are left after stop()').toBe(0)
  }
}

function textOf(rows: Iterable<readonly [string, unknown]>): string {
  return JSON.stringify([...rows].sort(([a], [b]) => (a < b ? -1 : 1)))
}

const commit = (...writes: [to: 'a' | 'c', key: '1' | '2', isDelete?: boolean][]): Step => {
  return { type: 'commit', writes: writes.map(([to, key, isDelete = false]) => ({ to, key, isDelete })) }
}
/** A deleted object was shown for five minutes. */
const DAMAGED_LIST: Step[] = [commit(['c', '2'], ['a', '1']), { type: 'pass', ms: 900 }, commit(['a', '1'])]
DAMAGED_LIST.push({ type: 'interrupt', name: 'c', ticks: 0 }, commit(['a', '1']), commit(['c', '2', true], ['a', '1']))
DAMAGED_LIST.push(commit(['a', '1']), { type: 'damage', name: 'c' }, { type: 'pass', ms: 0 })

test('[Q1] informers of one history show one state of it, whatever fails, is listed again, starts or stops', async () => {
  const isDrawn = fc.record({
    holdMs: fc.constantFrom(0, 3_000, 30_000, Infinity),
    isSliced: fc.boolean(),
    hasView: fc.boolean(),
    steps: fc.array(step, { minLength: 5, maxLength: 60 }),
  })
  await fc.assert(
    fc.asyncProperty(isDrawn, async ({ holdMs, isSliced, hasView, steps }) => {
      const world = new World(holdMs, isSliced, steps)
      for (const name of NAMES.slice(0, 3)) world.start(name)
      if (hasView) world.startView()
      for (const each of steps) await world.perform(each)
      await world.rest()
      await world.stop()
    }),
    { ...runs(100), examples: [[{ holdMs: 0, isSliced: false, hasView: false, steps: DAMAGED_LIST }]] },
  )
}, 120_000)
