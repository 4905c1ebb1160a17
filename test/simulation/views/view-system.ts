import type { CollectionSource } from '../../../src/contract/shared-history.js'
import { type Change, createInformer } from '../../../src/index.js'
import { internalsOf } from '../../../src/informer/internals.js'
import type { Item } from '../backend/history.js'
import type { SimulatedSource } from '../backend/simulated-source.js'
import { checkPins } from '../checkers/pin-checker.js'
import { checkView, entriesOf, SnapshotChecker, Snapshots } from '../checkers/snapshot-checker.js'
import { storeViolation } from '../checkers/store-checker.js'
import { forkedSince, includes, WaiterChecker } from '../checkers/waiter-checker.js'
import { informerOptionsOf } from '../system/informer-options.js'
import type { SystemUnderTest } from '../system/source-world.js'
import { checkIndexes, indexesOf } from '../workload/declared-indexes.js'
import { TRANSIENT } from '../workload/informer-waiters.js'
import { SourceFollower } from '../workload/source-follower.js'
import { ACCOUNTS, BALANCE, collectionOf } from './collections.js'
import { ShownReader } from './shown-reader.js'
import { ViewFunction } from './view-function.js'
import { ViewModel } from './view-model.js'
import type { Reader } from './view-reads.js'
import type { ViewWorld } from './view-world.js'

export type UseOfViews =
  | ('begin view' | 'stop view' | 'begin input' | 'stop input' | 'world outside')
  | ('wait for head' | 'fresh' | 'relist' | 'begin snapshot' | 'end snapshot')

/** More views at a time do not make a schedule more interesting. */
const MOST_VIEWS = 5
/** Users do this in the middle of a commit, too. */
const INTERRUPTS = ['stop view', 'stop input', 'begin view', 'begin input', 'relist', 'begin snapshot'] as const
const LONG_MS = 600_000
/** At rest there is a step this often, in milliseconds. */
const TICK_MS = 1_000

/** One run of the informers of some collections, views over them, and their users. */
export class ViewSystem implements SystemUnderTest {
  readonly isIncomplete = false
  readonly #scenario: ViewWorld
  readonly #life: number
  readonly #options: ReturnType<typeof informerOptionsOf>
  readonly #all: ShownReader[] = []
  readonly #pending: WaiterChecker
  readonly #snapshots = new Snapshots()
  #phase: 'faults' | 'converging' | 'auditing' | 'relisting' | 'done' = 'faults'
  /** Whether something may look different from the last step. */
  #hasMoved = true
  #versions = ''
  #isUndoing = false
  #isStopping = false
  #isStopped = false
  /** The views whose function the next audit has to report, with the number of their earlier findings. */
  readonly #owing = new Map<ShownReader, number>()
  #interrupts = 0
  #views = 0

  constructor(scenario: ViewWorld, life: number) {
    this.#scenario = scenario
    this.#life = life
    this.#pending = new WaiterChecker(scenario)
    this.#options = informerOptionsOf(scenario, scenario.ownClock, () => this.#defect())
    for (const source of scenario.collections) this.#addInput(source)
    for (let count = scenario.decisions.below('views', MOST_VIEWS); count > 0; count--) this.#addView()
  }

  get source(): SimulatedSource {
    return this.#scenario.source
  }

  get state(): string {
    return this.#running.map(({ name, reader }) => `${name} ${reader.status.state} ${reader.version}`).join(' | ')
  }

  get isStopping(): boolean {
    return this.#isStopping
  }

  get isStopped(): boolean {
    return this.#isStopped
  }

  get #running(): readonly ShownReader[] {
    return this.#all.filter(({ isStopped }) => !isStopped)
  }

  /** Those that can follow their sources. */
  get #whole(): readonly ShownReader[] {
    return this.#running.filter(({ isOrphan }) => !isOrphan)
  }

  get #inputs(): readonly ShownReader[] {
    return this.#running.filter(({ source }) => source !== undefined)
  }

  get unfinished(): string | undefined {
    if (this.#isStopping) return 'the stop is'
    return this.#late ?? (this.#phase === 'done' ? undefined : `the step "${this.#phase}" is`)
  }

  get #late(): string | undefined {
    const { version } = this.#scenario.history.head
    for (const each of this.#whole) {
      if (!each.isStarted) return `the start of ${each.name} is`
      if (each.source !== undefined && each.reader.version !== version) return `the version of ${each.name} is`
      if (each.unfinished !== undefined) return each.unfinished
    }
    const { unfinished } = this.#pending
    return unfinished && `${unfinished} is`
  }

  start(): void {
    for (const each of this.#running) this.#start(each)
  }

  #start(each: ShownReader): void {
    const { clock, decisions, isStrict } = this.#scenario
    const afterMs = isStrict && each.source !== undefined ? 0 : decisions.pick('starts', [0, 0, 0, 20, 2_000])
    clock.in(afterMs, () => {
      if (each.isStopped) return
      each.isStarted = true
      each.reader.start()
    })
  }

  checkStep(): void {
    if (this.#isStopped) return
    this.#pending.checkStep()
    const isWriting = this.#running.some((each) => each.isWriting)
    const versions = this.#inputs.map(({ reader }) => reader.version).join()
    if (isWriting || this.#hasMoved || versions !== this.#versions) this.look()
    this.#hasMoved = isWriting
    this.#versions = versions
    for (const { follower } of this.#running) if (follower instanceof SourceFollower) follower.checkStep()
    if (isWriting) this.#interrupt()
    if (this.#phase !== 'faults' && this.#phase !== 'done' && !this.#isStopping && this.#late === undefined)
      this.#next()
  }

  /** What readers see in one turn belongs together. */
  readonly look = (): void => this.#scenario.clock.still(() => this.#look())

  #look(): void {
    for (const each of this.#all) each.look()
    if (this.#inputs.filter(({ changes }) => changes > 0).length > 1)
      this.#scenario.mark('a commit changed several collections')
    this.#checkInputs()
    for (const each of this.#all) {
      if (each.isOpen || each.changes === 0 || !each.isStopped) continue
      this.#scenario.violate('views', `${each.name} was stopped, and has changed`)
    }
    for (const { name, model, reader, below, isStopped, isWriting, changes: own } of this.#all) {
      const changes = below.reduce((sum, each) => sum + each.changes, 0)
      if (!isStopped) model?.look(reader, changes, isWriting && changes + own === 0)
      if (own > 0 && below.some((each) => !each.reader.status.isSynced))
        this.#scenario.violate('views', `X14: ${name} has objects, and one of its inputs is not synced`)
    }
  }

  /** Each input shows one state of its source. Those of one history show the same one. */
  #checkInputs(): void {
    const { history, isStrict, mark, violate, whole } = this.#scenario
    const versions = new Map<unknown, string>()
    for (const each of this.#inputs) {
      const { name, reader, source } = each
      const { version } = reader
      if (version === undefined) {
        if (reader.size > 0) violate('I8', `${name} has objects and no version`)
        continue
      }
      const { isSynced, reason } = reader.status
      const state = new Map([...history.at(version).state].filter(([key]) => collectionOf(key) === source?.collection))
      const flaw = storeViolation({ settings: whole }, state, reader, name, undefined)
      if (flaw !== undefined) violate('I7', `${flaw} at ${version}`)
      const hasLeft = reason.endsWith(' continue')
      if (hasLeft) mark('a collection left its history')
      if (each.hasLeft && !hasLeft) mark('a collection came back to its history')
      each.hasLeft = hasLeft
      if (hasLeft && isStrict) violate('histories', `${name} has left its history: ${reason}`)
      if (!isSynced || hasLeft) continue
      const common = versions.get(source?.history) ?? version
      versions.set(source?.history, common)
      if (common !== version) violate('histories', `${name} is at ${version}, and another one at ${common}`)
    }
    this.#checkBalance()
    const { size } = new Set(this.#inputs.map(({ source }) => source?.history))
    const listed = this.#inputs.filter(({ reader }) => reader.version !== undefined).length
    if (isStrict && size === 1 && listed % this.#inputs.length !== 0)
      violate('histories', `${listed} of ${this.#inputs.length} first lists are visible`)
  }

  #checkBalance(): void {
    const accounts = ACCOUNTS.map((key) =>
      this.#inputs.find(({ source, hasLeft }) => source?.collection === collectionOf(key) && !hasLeft),
    )
    if (accounts.some((each) => each?.reader.version === undefined || !each.reader.status.isSynced)) return
    const [debit, credit] = accounts.map((each, nth) => each?.reader.get(ACCOUNTS[nth] ?? '')?.n)
    const isRight = debit === undefined ? credit === undefined : credit === debit + BALANCE
    if (!isRight) this.#scenario.violate('histories', `the accounts have ${debit} and ${credit}`)
  }

  use(kind: UseOfViews, label: string): void {
    const { decisions, isStrict } = this.#scenario
    if (this.#isStopping) return
    const one = decisions.pick(label, this.#whole)
    const inputs = isStrict ? [] : this.#inputs
    const used: Readonly<Record<UseOfViews, () => void>> = {
      'begin view': () => this.#begin(this.#addView()),
      'stop view': () =>
        this.#stop(
          decisions.pick(
            label,
            this.#running.filter(({ model }) => model !== undefined),
          ),
        ),
      'begin input': () => this.#beginInput(label),
      'stop input': () => this.#stop(decisions.pick(label, inputs)),
      'world outside': () => this.#changeOutside(),
      'wait for head': () => this.#waitForHead(one, label),
      fresh: () => this.#fresh(one),
      relist: () => this.#relist(one),
      'begin snapshot': () => this.#beginSnapshots(),
      'end snapshot': () => this.#snapshots.end(),
    }
    used[kind]()
  }

  #addInput(source: CollectionSource<Item>): ShownReader {
    const { decisions } = this.#scenario
    const name = `${source.collection}${this.#all.length}`
    const options = { ...this.#options, name: `${decisions.seed}.${this.#life} ${name}` }
    return this.#add(
      new ShownReader(name, createInformer({ ...options, source }), { source, below: [] }, this.#scenario),
    )
  }

  #beginInput(label: string): void {
    const { collections, decisions, mark } = this.#scenario
    const running = new Set(this.#inputs.map(({ source }) => source))
    const source = decisions.pick(
      label,
      collections.filter((each) => !running.has(each)),
    )
    if (source === undefined) return
    mark('a collection was followed again')
    this.#begin(this.#addInput(source))
  }

  #addView(): ShownReader | undefined {
    const scenario = this.#scenario
    const all = this.#whole
    if (all.length === 0 || all.filter(({ model }) => model !== undefined).length >= MOST_VIEWS) return undefined
    const name = `view ${++this.#views}`
    const draw = scenario.decisions.of(`${name} of ${this.#life}`)
    const of = new ViewFunction(
      draw,
      all.map(({ reader }) => reader),
      scenario.whole.keys,
    )
    const below = all.filter(({ reader }) => of.inputs.includes(reader))
    const [omits, isOdd] = [draw.chance(0.5), draw.chance(0.15)]
    const equals = isOdd ? (a: Item, b: Item) => a.rank === b.rank : isSame
    const others = this.#running.filter((each) => !below.includes(each))
    const forbidden = (): Reader | undefined => others.find(({ isStopped }) => !isStopped)?.reader
    const model = new ViewModel(scenario, of, { name, omits, equals, forbidden })
    const periodMs = draw.pick(of.isPure ? [0, 0, 3_000] : [1_000, 4_000])
    const reader = of.shape.create(
      {
        name: `${scenario.decisions.seed}.${this.#life} ${name}`,
        reads: of.reads,
        indexes: (ix) => indexesOf(ix, () => (of.isPure ? this.#defect(model) : undefined)),
        onInvalid: omits ? 'omit' : 'keep-previous',
        audit: periodMs > 0 && { periodMs },
        ...(isOdd && { equals }),
      },
      model.call,
    )
    if (below.some((each) => each.model !== undefined)) scenario.mark('a view read a view')
    if (new Set(below.flatMap(({ roots }) => roots.map(({ source }) => source?.history))).size > 1)
      scenario.mark('a view read several histories')
    return this.#add(new ShownReader(name, reader, { model, below }, scenario))
  }

  #add(added: ShownReader): ShownReader {
    const { reader, follower, model, name } = added
    const { settings, violate } = this.#scenario
    this.#all.push(added)
    const receive = (change: Change<Item>): void => {
      added.deliveries++
      follower.receive(change)
      this.look()
      follower.settled(change.key)
      if (settings.mix.strikes('handler-relists')) this.#relist(added)
      if (settings.mix.strikes('handler-stops') && (model !== undefined || !this.#scenario.isStrict)) this.#stop(added)
    }
    follower.subscription = reader.subscribe({ add: receive, update: receive, delete: receive })
    internalsOf(reader)?.signal.listen(this.look)
    reader.on('status', () => {
      this.#hasMoved = true
    })
    reader.on('error', ({ code, phase, message }) => {
      if (code !== 'PROTOCOL' || phase !== 'derive') return
      added.findings++
      if (model?.isPure === true) violate('views', `X23: ${name} is pure, and ${message}`)
    })
    return added
  }

  #begin(added: ShownReader | undefined): void {
    if (added !== undefined) this.#start(added)
  }

  /** An error inside a step of a store. The step is undone, which cannot fail. */
  #defect(model?: ViewModel): Error | undefined {
    if (this.#isUndoing || this.#isStopping || !this.#scenario.settings.mix.strikes('step-throws')) return undefined
    this.#isUndoing = true
    queueMicrotask(() => (this.#isUndoing = false))
    if (model !== undefined) {
      model.defects++
      this.#scenario.mark('a view could not commit')
    }
    return new Error('thrown inside a step of the store')
  }

  /** Users call in the middle of a commit, too. */
  #interrupt(): void {
    const { decisions, mark } = this.#scenario
    mark('readers looked in the middle of a commit')
    if (this.#isStopping || decisions.isQuiet || !decisions.chance('interrupts', 0.2)) return
    const nth = `interrupt#${this.#life}.${this.#interrupts++}`
    if (decisions.take(nth)) this.use(decisions.pick('interrupt', INTERRUPTS), nth)
  }

  #stop(each: ShownReader | undefined): void {
    if (each === undefined || each.isStopped) return
    const { clock, decisions, mark, note, violate } = this.#scenario
    note('stops', each.name)
    each.isOpen = each.isWriting
    if (each.isWriting)
      mark(`${each.source === undefined ? 'a view' : 'an input'} was stopped in the middle of a commit`)
    if (this.#running.some(({ below }) => below.includes(each))) mark('an input was stopped under a view')
    each.isStopped = true
    each.follower.isClosed = true
    each.reader.stop().then(
      () => {
        each.follower.isSilenced = true
        each.isEnded = true
        this.#ended()
      },
      (error: unknown) => violate('crash', `stop() of ${each.name} failed: ${error}`),
    )
    if (this.#isStopping || decisions.isQuiet || !decisions.chance('begins again', 0.3)) return
    if (each.source !== undefined) clock.in(0, () => this.use('begin input', 'begins again'))
  }

  #changeOutside(): void {
    for (const { model } of this.#all) if (model !== undefined) model.outside++
    this.look()
  }

  #waitForHead(each: ShownReader | undefined, label: string): void {
    if (each === undefined || !each.isStarted) return
    const { decisions, history, mark } = this.#scenario
    const { version } = history.before(decisions.chance('an older mark', 0.3) ? decisions.below('how old', 8) : 0)
    const histories = new Set(each.roots.map(({ source }) => source?.history))
    const source = histories.size > 1 ? decisions.pick(label, [...each.reader.versions.keys()]) : undefined
    if (histories.size > 1 && source === undefined) return
    this.#wait(each, 'waitFor', (limits) => each.reader.waitFor(version, { ...limits, ...(source && { source }) }), {
      hasForked: forkedSince(history, version),
      ended: () => {
        if (each.model !== undefined) mark('a wait for a view ended')
        this.#checkIncludes(each, version, source)
      },
    })
  }

  #fresh(each: ShownReader | undefined): void {
    if (each === undefined || !each.isStarted) return
    const { history } = this.#scenario
    const { version } = history.head
    this.#wait(each, 'fresh', (limits) => each.reader.fresh(limits), {
      hasForked: forkedSince(history, version),
      ended: () => this.#checkIncludes(each, version),
    })
  }

  #relist(each: ShownReader | undefined): void {
    if (each === undefined || !each.isStarted || this.#isStopping) return
    this.#wait(each, 'relist', (limits) => each.reader.relist(limits), { hasForked: () => false, ended: () => {} })
  }

  #wait(
    each: ShownReader,
    what: string,
    wait: (limits: { readonly timeoutMs: number }) => Promise<void>,
    { hasForked, ended }: { hasForked(): boolean; ended(): void },
  ): void {
    const { headFailures } = this.source
    const limits = { timeoutMs: LONG_MS }
    this.#pending.wait(wait(limits), {
      what: `${what} of ${each.name}`,
      limits,
      mayNeverEnd: () => each.isOrphan,
      mayFail: (code) =>
        (code === 'STOPPED' && (each.isStopped || each.isOrphan)) ||
        (code === 'EPOCH_CHANGED' && hasForked()) ||
        (this.source.headFailures > headFailures && TRANSIENT.includes(code)),
      ended,
    })
  }

  /** A view includes what its inputs do: it follows them. */
  #checkIncludes({ name, reader }: ShownReader, mark: string, source?: string): void {
    const { history, violate } = this.#scenario
    this.look()
    for (const [root, version] of reader.versions)
      if ((source === undefined || source === root) && !includes(history, version, mark))
        violate('waits', `a wait of ${name} for ${mark} ended at ${version}`)
  }

  /** Snapshots of one turn belong together, as what readers see in it. */
  #beginSnapshots(): void {
    if (this.#snapshots.count > 0) return
    this.look()
    for (const { reader } of this.#whole)
      if (reader.status.isSynced) this.#snapshots.begin(new SnapshotChecker(this.#scenario, reader), () => {})
  }

  heal(): void {
    this.#phase = 'converging'
    const { clock } = this.#scenario
    const tick = (): void => {
      this.#hasMoved = true // An audit without a finding commits nothing.
      if (this.#phase !== 'done') clock.in(TICK_MS, tick)
    }
    tick()
  }

  /** At rest an audit finds that the world outside has changed. Then a `relist` of every view finds nothing. */
  #next(): void {
    const { mark, violate } = this.#scenario
    const views = this.#whole.filter(({ model }) => model !== undefined)
    if (this.#phase === 'converging') {
      this.#phase = 'auditing'
      this.#changeOutside()
      for (const each of views)
        if (each.model?.isWrong && each.below.every(({ model }) => model === undefined))
          this.#owing.set(each, each.findings)
      return
    }
    if (this.#phase !== 'auditing' || views.some(({ model, reader }) => model?.isStale(reader))) return
    this.#phase = 'relisting'
    const deliveries = (): number => views.reduce((sum, each) => sum + each.deliveries, 0)
    const before = deliveries()
    Promise.all(views.map(({ reader }) => reader.relist({ timeoutMs: LONG_MS }))).then(
      () => {
        if (deliveries() !== before) violate('views', 'X15: a relist at rest has delivered something')
        for (const [{ name, findings }, found] of this.#owing)
          if (findings === found) violate('views', `X23: an audit has corrected ${name}, and has not reported it`)
          else mark('an audit found that a function is not pure')
        this.#phase = 'done'
      },
      (error: unknown) => violate('crash', `relist() of a view failed: ${error}`),
    )
  }

  check(): void {
    const scenario = this.#scenario
    this.#snapshots.endAll()
    const { version } = scenario.history.head
    for (const { name, reader, follower, isOrphan, roots } of this.#running) {
      const isOne = new Set(roots.map(({ source }) => source?.history)).size === 1
      if (!isOrphan && reader.version !== (isOne ? version : undefined))
        scenario.violate('views', `X15: ${name} is at ${reader.version}, its sources at ${version}`)
      checkIndexes(scenario, reader)
      checkView(scenario, reader, entriesOf(reader), name)
      checkPins(scenario, reader, 'I12')
      follower.check()
      const { isReady, reason } = reader.health()
      if (isReady === isOrphan) scenario.violate('health', `${name} is ready: ${isReady}, ${reason}`)
    }
  }

  stop(): void {
    if (this.#isStopping) return
    this.#isStopping = true
    this.#snapshots.endAll()
    const running = this.#scenario.decisions.chance('views stop first', 0.5)
      ? this.#running.toReversed()
      : this.#running
    for (const each of running) this.#stop(each)
    this.#ended()
  }

  #ended(): void {
    if (this.#isStopping && this.#all.every(({ isEnded }) => isEnded))
      this.#scenario.clock.in(1, () => (this.#isStopped = true))
  }

  checkStopped(): void {
    const { ownClock, violate } = this.#scenario
    for (const { name, reader } of this.#all) {
      checkPins(this.#scenario, reader, 'I15')
      const writer = internalsOf(reader)?.input.context.indexer.writer
      if (writer?.domain.hasDependents || (writer?.tracked.length ?? 0) > 0)
        violate('I15', `${name} keeps something of a view that was stopped`)
    }
    if (ownClock.sleeping > 0) violate('I15', `${ownClock.sleeping} timers are left after stop()`)
    if (this.source.requests.size > 0 || [...this.source.streams].some(({ signal }) => !signal.aborted))
      violate('I15', 'a list, a watch or a request was not aborted by stop()')
    if (this.#pending.any !== undefined) violate('waits', `${this.#pending.any} has not ended with stop()`)
  }

  skipped(): void {}
}

function isSame(a: Item, b: Item): boolean {
  return a.n === b.n && a.tenant === b.tenant && a.rank === b.rank && String(a.tags) === String(b.tags)
}
