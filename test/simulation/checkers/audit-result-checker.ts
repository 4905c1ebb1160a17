import type { Informer, Version } from '../../../src/index.js'
import type { Commit, Item } from '../backend/history.js'
import type { ListStream } from '../backend/list-stream.js'
import { nameOf, type SourceScenario } from '../system/scenario.js'
import type { IndexesOf } from '../workload/declared-indexes.js'

/** The longest time from the end of reading to the report, in milliseconds, and the number of clock reads meanwhile. */
const REPORT_MS = 1_000
const CLOCK_READS = 100

/** Keys whose store entry is wrong, each with its content in the store. */
type Flaws = ReadonlyMap<string, number | undefined>

/** An audit that began while the store was at the head of the source. */
interface Begun {
  readonly head: Commit
  readonly list: readonly Item[]
  readonly flaws: Flaws
  /** Set once it has read everything. */
  readAt?: number
}

/**
 * Checks the results of audits. An audit reports every difference that existed when it began and when it had read
 * everything, if nothing was written meanwhile. The next complete list repairs it, even if earlier lists fail (I16).
 */
export class AuditResultChecker {
  readonly #scenario: SourceScenario
  readonly #informer: Informer<Item, IndexesOf>
  readonly #byVersion: boolean
  #begun: Begun | undefined
  /** The number of repairing lists that still have to fail. */
  #breaksLeft = 0
  /** The difference that was found and is not repaired yet, with the number of lists then. */
  #found: { readonly flaws: Flaws; readonly lists: number } | undefined

  constructor(scenario: SourceScenario, informer: Informer<Item, IndexesOf>, byVersion: boolean) {
    this.#scenario = scenario
    this.#informer = informer
    this.#byVersion = byVersion
  }

  breaksRepair(): boolean {
    if (this.#found === undefined || this.#breaksLeft === 0) return false
    this.#breaksLeft--
    return true
  }

  begins(): void {
    const { head } = this.#scenario.history
    const { version, status } = this.#informer
    this.#begun = undefined
    // Versions of different epochs may be equal by chance.
    if (version !== head.version || status.state !== 'live' || (this.#byVersion && head.epoch > 1)) return
    this.#begun = { head, list: this.#informer.list(), flaws: this.#flaws(head) }
  }

  /** An audit has read everything: the state of this commit. `isWhole` is false if an object had no key. */
  read(shown: Commit, isWhole: boolean): void {
    const begun = this.#begun
    if (begun === undefined || !isWhole || shown !== begun.head || !this.#isStill(begun)) this.#begun = undefined
    else begun.readAt = this.#scenario.clock.elapsed
  }

  reported(lists: number): void {
    this.#begun = undefined
    const { settings, history } = this.#scenario
    if (!settings.isBreach) return
    this.#found = { flaws: this.#flaws(history.head), lists }
    this.#breaksLeft = settings.brokenRepairs
  }

  /** The reflector has processed a list; it may have rejected it. */
  listed({ nth, shown, reportedVersion }: ListStream): void {
    // A list arrived during the audit: its changes are not compared.
    this.#begun = undefined
    const found = this.#found
    if (found === undefined || nth <= found.lists || shown === undefined) return
    if (this.#informer.version !== reportedVersion) return
    this.#found = undefined
    if (shown.version !== reportedVersion) return
    const still = this.#flaws(shown, false)
    for (const [key, n] of found.flaws)
      if (still.has(key) && still.get(key) === n)
        this.#scenario.violate('I16', `an audit found ${nameOf(key)} = n${n ?? '–'}, and a list has not repaired it`)
  }

  skipped(): void {
    this.#begun = undefined
  }

  checkStep(): void {
    const begun = this.#begun
    if (begun?.readAt === undefined) return
    const { clock, settings, violate } = this.#scenario
    if (!this.#isStill(begun)) this.#begun = undefined
    else if (clock.reached > begun.readAt + REPORT_MS + CLOCK_READS * settings.driftMs) {
      const now = this.#flaws(begun.head)
      const key = [...begun.flaws.keys()].find((each) => now.has(each))
      if (key !== undefined) violate('I16', `an audit has read everything, and reports nothing about ${nameOf(key)}`)
      this.#begun = undefined
    }
  }

  /** Whether neither the source nor the store has changed since. */
  #isStill({ head, list }: Begun): boolean {
    const { version, status } = this.#informer
    if (this.#scenario.history.head !== head || status.state !== 'live') return false
    return version === head.version && this.#informer.list() === list
  }

  #flaws({ state }: Commit, byVersion = this.#byVersion): Flaws {
    const { settings } = this.#scenario
    const flaws = new Map<string, number | undefined>()
    const held = new Map<string, { readonly n: number; readonly version: Version | undefined }>()
    for (const [key, { n }] of this.#informer.entries())
      held.set(key, { n, version: this.#informer.entry(key)?.version })
    for (const key of settings.keys) {
      const stored = state.get(key)
      const holds = held.get(key)
      if (stored?.isInvalid || this.#informer.invalid.has(key) || stored?.item.tenant === settings.omits) continue
      if (holds?.n === stored?.item.n) continue
      const isUnseen = byVersion && stored !== undefined && (holds?.version ?? stored.revision) === stored.revision
      if (!isUnseen || holds === undefined) flaws.set(key, holds?.n)
    }
    return flaws
  }
}
