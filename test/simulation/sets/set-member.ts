import type { Version } from '../../../src/contract/version.js'
import { BackendShard } from '../backend/backend-shard.js'
import type { History, Item, Stored } from '../backend/history.js'
import { SimulatedSource } from '../backend/simulated-source.js'
import { AccessLostChecker } from '../checkers/access-lost-checker.js'
import { ReflectorChecker } from '../checkers/reflector-checker.js'
import type { Member } from '../groups/relist-slot-checker.js'
import { nameOf, type Scenario } from '../system/scenario.js'
import type { RandomDecisions } from '../workload/random-decisions.js'
import type { Settings } from '../workload/settings.js'
import type { WorkloadTarget } from '../workload/workload.js'
import type { SetDriver } from './set-driver.js'

/**
 * A position in the histories of a member: the number of the history, and the index in it; -1: before its beginning.
 */
export type Position = { readonly span: number; readonly at: number }

export const BEFORE_ALL: Position = { span: 0, at: -1 }

/**
 * A name in a set with its source: sometimes absent, sometimes another source, of the same backend or of a new one.
 * Checks its opens, and that a removed source is not read any more.
 */
export class SetMember extends BackendShard implements Member {
  source: SimulatedSource
  isIn = true
  /** A removal inside a callback takes effect after the step of the store that called it. */
  #isLeaving = false
  /** The number of earlier sources with this name. */
  removals = 0
  readonly #spans: History[]
  readonly #scenario: Scenario
  readonly #isExact: boolean
  #reflectorChecker: ReflectorChecker | undefined
  #access: AccessLostChecker | undefined
  /** The number of times that its objects were deleted because access was lost. */
  losses = 0
  #readBy: SetDriver | undefined
  readonly #systemOf: () => SetDriver | undefined

  constructor(
    scenario: Scenario,
    at: { readonly name: string; readonly nth: number; readonly isExact: boolean },
    settingsOf: (decisions: RandomDecisions) => Settings,
    systemOf: () => SetDriver | undefined,
  ) {
    super(scenario, at, settingsOf, () => this.#driver)
    this.#systemOf = systemOf
    this.#scenario = scenario
    this.#isExact = at.isExact
    this.source = this.#newSource()
    this.#spans = [this.history]
  }

  get #driver(): WorkloadTarget['driver'] {
    const { source } = this
    const system = this.#systemOf()
    return {
      source,
      get state() {
        return system?.state ?? ''
      },
      stop: () => system?.stop(),
      skipped: () => system?.skipped(),
    }
  }

  /** Sets the history before anything was written. */
  begin(history: History): void {
    this.history = history
    this.#spans[this.#spans.length - 1] = history
  }

  /** Adds another source with the same name; `isNew`: of another backend. */
  renew(isNew: boolean, newHistory: () => History): void {
    if (isNew) this.history = newHistory()
    this.#spans.push(this.history)
    this.source = Object.assign(this.#newSource(), { lastRefusal: this.source.lastRefusal })
    this.isIn = true
  }

  removed(): void {
    this.isIn = false
    this.#isLeaving = true
    queueMicrotask(() => (this.#isLeaving = false))
    this.removals++
    this.#reflectorChecker?.stopped()
    this.#reflectorChecker = undefined
    this.source.observer = undefined
    this.#access = undefined
  }

  readBy(reader: SetDriver): void {
    this.#readBy = reader
    const { informer } = reader
    this.#access = new AccessLostChecker(this, {
      isWriting: () => reader.isWriting,
      version: () => (reader.removing.includes(this.name) ? undefined : informer.versions.get(this.name)),
      isListed: () => this.hasListed,
      size: () => [...informer.entries()].filter(([, { n }]) => this.uidOf(n) !== undefined).length,
      refusedWith: () => this.source.refusedWith,
      lost: () => {
        this.losses++
        // From then on the objects are absent, and then the current ones.
        this.#spans.push(this.history)
      },
    })
    this.#reflectorChecker = new ReflectorChecker(
      this,
      this.#isExact,
      () => informer.versions.get(this.name),
      () => this.reflectorState,
      () => this.source.isAudited,
    )
    this.source.observer = this.#reflectorChecker
  }

  get reflectorState(): string | undefined {
    return this.isIn ? this.#readBy?.stateOf(this.name) : undefined
  }

  get hasListed(): boolean {
    return this.#readBy?.informer.status.sources?.[this.name]?.isSynced === true
  }

  get lists(): number {
    return this.#reflectorChecker?.lists ?? 0
  }

  /** Undefined if it is not read. */
  get reflectorChecker(): ReflectorChecker | undefined {
    return this.#reflectorChecker
  }

  /** Undefined if it is not read. */
  get access(): AccessLostChecker | undefined {
    return this.#access
  }

  get objects(): ReadonlyMap<string, Stored> {
    return this.isIn ? this.history.head.state : new Map()
  }

  has(key: string): boolean {
    return this.settings.keys.includes(key)
  }

  uidOf(n: number): string | undefined {
    for (const history of this.#spans) {
      const uid = history.uidOf(n)
      if (uid !== undefined) return uid
    }
    return undefined
  }

  isWrittenOnce(n: number): boolean {
    return this.#spans.every((history) => history.uidOf(n) === undefined || history.isWrittenOnce(n))
  }

  wants(stored: Stored | undefined): stored is Stored {
    return stored !== undefined && stored.item.tenant !== this.settings.omits
  }

  checkStep(): void {
    this.#reflectorChecker?.checkStep()
    this.#access?.checkStep()
    if (this.isIn) return
    for (const { kind, signal } of this.source.streams)
      if (!signal.aborted) this.#scenario.violate('sets', `a ${kind} of ${this.name} continues, and it was removed`)
    if (this.source.requests.size > 0)
      this.#scenario.violate('sets', `a request for the head of ${this.name} continues, and it was removed`)
  }

  /** The difference between some objects and its state at a version; without a version, it has no objects. */
  flaw(held: (key: string) => Item | undefined, version: Version | undefined): string | undefined {
    const state = version === undefined ? undefined : this.history.at(version).state
    for (const key of this.settings.keys) {
      const stored = state?.get(key)
      if (stored?.isInvalid) continue
      const [n, right] = [held(key)?.n, this.wants(stored) ? stored.item.n : undefined]
      if (n !== right) return `${nameOf(key)} of ${this.name} at ${version} is n${n}, and should be n${right}`
    }
    return undefined
  }

  /**
   * The position, at `from` or later, at which the state equals some objects; undefined if there is none. `wanted`
   * returns the expected content of an object.
   */
  find(
    held: (key: string) => number | undefined,
    wanted: (stored: Stored | undefined) => number | undefined,
    from: Position,
  ): Position | undefined {
    this.#access?.checkStep()
    const { keys } = this.settings
    const isNothing = keys.every((key) => held(key) === undefined)
    for (let span = from.span; span < this.#spans.length; span++) {
      const begins = span === from.span ? from.at : -1
      if (begins === -1 && isNothing) return { span, at: -1 }
      const history = this.#spans[span] as History
      const isSo = (key: string, stored: Stored | undefined): boolean =>
        stored?.isInvalid === true || wanted(stored) === held(key)
      const at = history.findIndex(Math.max(begins, 0), ({ state }) => keys.every((key) => isSo(key, state.get(key))))
      if (at !== undefined) return { span, at }
    }
    return isNothing && !this.isIn ? { span: this.#spans.length, at: -1 } : undefined
  }

  get isIncomplete(): boolean {
    return this.#reflectorChecker?.isIncomplete === true
  }

  #opened(what: 'list' | 'watch'): void {
    if (!this.isIn && this.#isLeaving) return
    if (!this.isIn || this.#reflectorChecker === undefined)
      this.#scenario.violate('sets', `a ${what} of ${this.name} is opened, and it may not be read`)
  }

  #newSource(): SimulatedSource {
    const source = new SimulatedSource(this, undefined, this.name)
    source.onOpen = (what) => this.#opened(what)
    return source
  }
}
