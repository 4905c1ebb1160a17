import type { SourceError } from '../../../src/contract/errors.js'
import type { ListTransaction, Sink, WatchBatch } from '../../../src/contract/source.js'
import type { Version } from '../../../src/contract/version.js'
import type { DeltaBatch } from '../../../src/queue/change.js'
import { DeltaFIFO } from '../../../src/queue/delta-fifo.js'
import { Reflector } from '../../../src/reflector/reflector.js'
import { Indexer } from '../../../src/store/indexer.js'
import type { Item } from '../backend/history.js'
import { SimulatedSource } from '../backend/simulated-source.js'
import { ReflectorChecker } from '../checkers/reflector-checker.js'
import { SinkChecker } from '../checkers/sink-checker.js'
import { checkStore } from '../checkers/store-checker.js'
import { VersionOrderChecker } from '../checkers/version-order-checker.js'
import { checkIndexes, type IndexesOf, indexesOf } from '../workload/declared-indexes.js'
import { nameOf, type SourceScenario } from './scenario.js'
import type { SleepCounter } from './sim-clock.js'
import type { SingleSourceSystem } from './source-world.js'

/** Reflector → DeltaFIFO → Indexer, composed by hand, with a slow consumer: checks the queue's laws as a sink. */
export class HandComposedDriver implements SingleSourceSystem {
  readonly scenario: SourceScenario
  readonly reflectorChecker: ReflectorChecker
  readonly source: SimulatedSource
  readonly #clock: SleepCounter
  readonly #fifo: DeltaFIFO<Item>
  readonly #indexer: Indexer<Item, IndexesOf>
  readonly #reflector: Reflector<Item>
  readonly #stop = new AbortController()
  readonly #delivery: 'every' | 'latest'
  readonly #capacity: number
  readonly #pops: number
  /** The longest time that the consumer takes for a batch. */
  readonly #paceMs: number
  readonly #sinkChecker: SinkChecker
  readonly #progress: VersionOrderChecker
  /** The versions of accepted batches with puts that were not taken yet. */
  readonly #accepted: Version[] = []
  readonly #seen = new Set<string>()
  #state = 'idle'
  #stopped: 'no' | 'stopping' | 'stopped' = 'no'
  #firstList: Version | undefined
  #entered = -1
  #isHealed = false
  #listsWanted = 0

  constructor(scenario: SourceScenario) {
    this.scenario = scenario
    const { clock, decisions } = scenario
    this.#indexer = new Indexer<Item, IndexesOf>({ indexes: (ix) => indexesOf(ix, decisions.seed) })
    this.reflectorChecker = new ReflectorChecker(scenario, false, () => this.#sinkChecker.accepted)
    this.source = new SimulatedSource(scenario, this.reflectorChecker)
    this.#clock = clock.facade()
    this.#delivery = decisions.pick('fifo delivery', ['every', 'latest'] as const)
    this.#capacity = decisions.pick('fifo capacity', [2, 8, 10_000, 10_000])
    this.#pops = decisions.pick('fifo pops', [0, 0, 0.5, 1, 1])
    this.#paceMs = decisions.pick('fifo pace', [0, 1_000, 4_000, 10_000])
    const isLarge = this.#capacity === 10_000
    this.#sinkChecker = new SinkChecker(
      scenario,
      this.#delivery === 'latest' ? 'always' : isLarge ? 'never' : 'at times',
    )
    this.#progress = new VersionOrderChecker(scenario, 'the store by hand')
    this.#fifo = new DeltaFIFO<Item>({
      knownObjects: this.#indexer,
      delivery: this.#delivery,
      capacity: this.#capacity,
    })
    const timing = { clock: this.#clock, random: { next: () => decisions.next('jitter') } }
    this.#reflector = new Reflector<Item>(this.source, this.#sink(), timing, {
      onStateChange: ({ name }) => {
        this.#state = name
        scenario.note('is', name)
        if (name === 'relisting' && this.#accepted.length > 1)
          scenario.mark('the queue by hand was relisted while it was full')
      },
      onError: (error) => this.#failed(error),
    })
  }

  get state(): string {
    return `${this.#state}, queue at ${this.#fifo.version ?? '–'}, store of ${this.#indexer.size} at ${this.#indexer.version ?? '–'}`
  }

  get isStopping(): boolean {
    return this.#stopped !== 'no'
  }

  get isStopped(): boolean {
    return this.#stopped === 'stopped'
  }

  get isIncomplete(): boolean {
    return this.reflectorChecker.isIncomplete
  }

  get unfinished(): string | undefined {
    const { version } = this.scenario.history.head
    if (this.source.lists < this.#listsWanted || this.#state !== 'live') return 'the reflector is'
    if (!this.#fifo.isEmpty) return 'the queue is'
    return this.#indexer.version === version ? undefined : 'the store is'
  }

  start(): void {
    const { violate } = this.scenario
    this.#consume().catch((error: unknown) => violate('crash', `the consumer failed: ${error}`))
    this.#reflector.run({ signal: this.#stop.signal }).then(
      () => {
        if (this.#stopped === 'no') violate('crash', 'the reflector ended by itself')
        this.#stopped = 'stopped'
      },
      (error: unknown) => violate('crash', `the reflector failed: ${error}`),
    )
  }

  checkStep(): void {
    this.reflectorChecker.checkStep()
  }

  heal(): void {
    this.#isHealed = true
    // The reflector has no relist() of its own.
    if (this.scenario.settings.isBreach) {
      this.#listsWanted = this.source.lists + 1
      this.source.expire()
    }
  }

  check(): void {
    const { scenario } = this
    checkStore(scenario, scenario.history.head.state, this.#indexer, 'I1', 'the store by hand')
    checkIndexes(scenario, this.#indexer)
    if (!this.#fifo.hasSynced)
      scenario.violate('queue', 'everything was taken, and the queue reports that it has not synced')
  }

  stop(): void {
    if (this.isStopping) return
    this.#stopped = 'stopping'
    this.reflectorChecker.stopped()
    this.#stop.abort()
  }

  checkStopped(): void {
    const { scenario, source } = this
    // The consumer and the sink are user code here, and sleep by another clock.
    if (this.#clock.sleeping > 0) scenario.violate('I15', `${this.#clock.sleeping} timers are left after the run`)
    for (const stream of source.streams)
      if (!stream.signal.aborted) scenario.violate('I15', `a ${stream.kind} was not aborted`)
    if (scenario.listenersOf(this.#stop.signal) > 0)
      scenario.violate('I15', "a listener is left on the caller's signal")
  }

  skipped(): void {
    this.reflectorChecker.skipped()
  }

  /** The queue behind a user's sink, which is slow and sometimes fails. */
  #sink(): Sink<Item> {
    const fifo = this.#fifo
    const { clock, decisions, settings } = this.scenario
    const { mix } = settings
    const before = (): Promise<void> | undefined => {
      if (mix.strikes('sink-fails')) throw new Error('the disk is full')
      return mix.strikes('sink-slow') ? clock.sleep(decisions.below('sink', 300)).then(late) : undefined
    }
    const late = (): void => {
      if (mix.strikes('sink-fails-late')) throw new Error('the disk was full')
    }
    const then = (fn: () => void): void | Promise<void> => {
      const wait = before()
      if (wait === undefined) return fn()
      return wait.then(() => {
        if (!this.isStopping) fn()
        this.reflectorChecker.sinkEnded()
      })
    }
    return {
      get version() {
        return fifo.version
      },
      apply: (batch) => then(() => this.#accept(batch)),
      replace: () => this.#replacing(fifo.replace(), then),
    }
  }

  #accept(batch: WatchBatch<Item>): void {
    this.#fifo.apply(batch)
    this.#sinkChecker.applied(batch, this.#fifo.version)
    if (batch.events.some(({ type }) => type === 'put')) this.#accepted.push(batch.version)
    this.scenario.note('queues', batch.events.length, batch.version)
  }

  #replacing(
    replacement: ListTransaction<Item>,
    then: (fn: () => void) => void | Promise<void>,
  ): ListTransaction<Item> {
    const objects = new Map<string, Item>()
    const invalid = new Set<string>()
    return {
      page: (events) => {
        for (const event of events) {
          if (event.key === undefined) continue
          objects.delete(event.key)
          invalid.delete(event.key)
          if (event.type === 'put') objects.set(event.key, event.object)
          else if (event.type === 'invalid') invalid.add(event.key)
        }
        return then(() => void replacement.page(events))
      },
      commit: (version) =>
        then(() => {
          void replacement.commit(version)
          this.#firstList ??= version
          this.#sinkChecker.listed({ objects, invalid }, version, this.#fifo.version)
          if (objects.size > 0) this.#accepted.push(version)
          this.reflectorChecker.listed()
          this.scenario.note('queues a list', version)
        }),
      abandon: () => replacement.abandon(),
    }
  }

  async #consume(): Promise<void> {
    const { clock, decisions, settings } = this.scenario
    const { signal } = this.#stop
    for (;;) {
      const byKey = decisions.chance('pops', this.#pops)
      const batch = await (byKey ? this.#fifo.pop({ signal }) : this.#fifo.drain({ signal }))
      if (signal.aborted) return
      this.#checkSynced()
      if (batch.version !== undefined) this.#checkBound(batch.version)
      if (byKey) this.#checkOrder(batch)
      this.#sinkChecker.took(batch, (key) => this.#indexer.has(key))
      this.#checkBatch(batch, byKey)
      if (this.#paceMs > 0 && !this.#isHealed) await clock.sleep(decisions.below('pace', this.#paceMs))
      if (settings.mix.strikes('handler-stuck')) await clock.sleep(decisions.below('stuck', 5_000))
      void this.#indexer.apply(batch)
      this.#progress.at(this.#indexer.version)
      for (const { key } of batch.deltas) this.#seen.add(key)
      this.scenario.note('takes', batch.deltas.length, batch.version ?? 'a part')
      if (batch.isBoundary) this.#checkBoundary(batch.version)
    }
  }

  /** A consumer that has taken everything up to a boundary has a state of the source. */
  #checkBoundary(version: Version | undefined): void {
    const { history, settings, violate } = this.scenario
    if (version === undefined) {
      violate('queue', 'a boundary has no version')
      return
    }
    if (!settings.isBreach)
      checkStore(this.scenario, history.at(version).state, this.#indexer, 'I8', `the store at ${version}`)
  }

  /**
   * The changes that remain after a batch fit into the queue. If they do not fit, the batch contains all of them,
   * merged.
   */
  #checkBound(version: Version): void {
    const { history, violate } = this.scenario
    const upTo = history.indexOf(version)
    while (this.#accepted[0] !== undefined && history.indexOf(this.#accepted[0]) <= upTo) this.#accepted.shift()
    if (this.#pops === 0 && this.#accepted.length > this.#capacity)
      violate('I12', `${this.#accepted.length} batches wait in a queue for ${this.#capacity} changes`)
  }

  /** The type of each delta matches the objects that the consumer has. */
  #checkBatch({ deltas }: DeltaBatch<Item>, byKey: boolean): void {
    const { violate, mark } = this.scenario
    const held = new Map<string, boolean>()
    const counts = new Map<string, number>()
    for (const { type, key } of deltas) {
      const has = held.get(key) ?? this.#indexer.has(key)
      if (type === 'deleted' ? !has : has && type === 'added')
        violate('queue', `${nameOf(key)} is ${type}, and the store ${has ? 'has' : 'lacks'} it`)
      if (type === 'updated' && !has) violate('queue', `${nameOf(key)} is updated, and the store lacks it`)
      held.set(key, type !== 'deleted')
      counts.set(key, (counts.get(key) ?? 0) + 1)
    }
    const most = Math.max(0, ...counts.values())
    if (most > 1) mark('the queue by hand held a key twice')
    if (this.#delivery === 'latest' && most > 2) violate('I12', `${most} deltas of a key wait in a queue of the latest`)
    if (byKey && counts.size > 1) violate('queue', 'pop returned more than one key')
    if (this.#delivery === 'every' && this.#accepted.length > this.#capacity)
      mark('the queue by hand merged after an overflow')
  }

  /** Keys leave in their order of arrival, and a queued key keeps its position. */
  #checkOrder({ deltas }: DeltaBatch<Item>): void {
    const { history, violate } = this.scenario
    const version = deltas[0]?.version
    if (this.#delivery === 'latest' || this.#capacity < 10_000 || version === undefined || this.#pops < 1) return
    const entered = history.indexOf(version)
    if (entered < this.#entered) violate('queue', `a key that came at ${version} leaves after one that came later`)
    this.#entered = entered
  }

  #checkSynced(): void {
    const { history, violate } = this.scenario
    if (!this.#fifo.hasSynced) return
    if (this.#firstList === undefined) {
      violate('I8', 'the queue reports that it has synced before any list')
      return
    }
    const done = this.#indexer.version
    const isWhole = done !== undefined && history.indexOf(done) >= history.indexOf(this.#firstList)
    const missing = [...history.at(this.#firstList).state.values()].filter(
      ({ key, isInvalid }) => !isInvalid && !this.#seen.has(key),
    )
    if (this.scenario.settings.isBreach) return // The version of an incorrect list does not describe its content.
    if (!isWhole && missing.length > 0 && this.#delivery === 'every' && this.#capacity === 10_000)
      violate(
        'I8',
        `the queue reports that it has synced, and ${missing.length} keys of the first list were never taken`,
      )
  }

  #failed(error: SourceError): void {
    this.scenario.note('reports', error.code, error.phase ?? '')
    this.reflectorChecker.failed(error)
  }
}
