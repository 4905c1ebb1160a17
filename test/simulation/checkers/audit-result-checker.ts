import type { Version } from '../../../src/contract/version.js'
import type { Informer } from '../../../src/informer/informer-types.js'
import type { Commit, Item } from '../backend/history.js'
import type { AuditObserver } from '../backend/simulated-source.js'
import { nameOf, type SourceScenario } from '../system/scenario.js'
import type { IndexesOf } from '../workload/declared-indexes.js'

/** How long an audit may take, at most, to say what it has read; and how often our own code looks at a clock meanwhile. */
const REPORT_MS = 1_000
const CLOCK_READS = 100

/** Keys at which the store is wrong, each with the content that it has there. */
type Flaws = ReadonlyMap<string, number | undefined>

/** An audit that began while nothing was on its way. */
interface Begun {
  readonly head: Commit
  readonly list: readonly Item[]
  readonly flaws: Flaws
  /** Set once it has read everything. */
  readAt?: number
}

/** What a list has told. */
export interface ListResult {
  /** How many lists there were when it began. */
  readonly nth: number
  /** The moment that it showed, and of which version it said that it was; undefined before it has ended. */
  readonly shown: Commit | undefined
  readonly reportedVersion: Version | undefined
}

/**
 * What an audit has to find, and what becomes of it: whatever was wrong when it began, and still is when it has read
 * everything, it reports, where nothing was written meanwhile; and the next list that is taken mends it, however many
 * break off before (I16).
 */
export class AuditResultChecker implements AuditObserver {
  readonly #scenario: SourceScenario
  readonly #informer: Informer<Item, IndexesOf>
  /** Whether the audit compares versions alone. */
  readonly #byVersion: boolean
  #begun: Begun | undefined
  /** How many of the lists that are to mend what was found break off. */
  #breaksLeft = 0
  /** What was found, and is not mended yet, with how many lists there were then. */
  #found: { readonly flaws: Flaws; readonly lists: number } | undefined

  constructor(scenario: SourceScenario, informer: Informer<Item, IndexesOf>, byVersion: boolean) {
    this.#scenario = scenario
    this.#informer = informer
    this.#byVersion = byVersion
  }

  /** Whether a list that is to mend what was found breaks off now. */
  breaksRepair(): boolean {
    if (this.#found === undefined || this.#breaksLeft === 0) return false
    this.#breaksLeft--
    return true
  }

  /** An audit begins to read. */
  begins(): void {
    const { head } = this.#scenario.history
    const { version, status } = this.#informer
    this.#begun = undefined
    // Versions of another epoch may be equal by chance.
    if (version !== head.version || status.state !== 'live' || (this.#byVersion && head.epoch > 1)) return
    this.#begun = { head, list: this.#informer.list(), flaws: this.#flaws(head) }
  }

  /** An audit has read everything: what there was at this moment. */
  read(shown: Commit, isWhole: boolean): void {
    const begun = this.#begun
    if (begun === undefined || !isWhole || shown !== begun.head || !this.#isStill(begun)) this.#begun = undefined
    else begun.readAt = this.#scenario.clock.elapsed
  }

  /** An audit says that something is wrong; there were so many lists by now. */
  reported(lists: number): void {
    this.#begun = undefined
    const { settings, history } = this.#scenario
    if (!settings.isBreach) return
    this.#found = { flaws: this.#flaws(history.head), lists }
    this.#breaksLeft = settings.brokenRepairs
  }

  /** The reflector is done with a list; it may have refused it. */
  listed({ nth, shown, reportedVersion }: ListResult): void {
    // A whole collection came while an audit read: what the two passed over nobody knows.
    this.#begun = undefined
    const found = this.#found
    if (found === undefined || nth <= found.lists || shown === undefined) return
    if (this.#informer.version !== reportedVersion) return
    this.#found = undefined
    if (shown.version !== reportedVersion) return
    const still = this.#flaws(shown, false)
    for (const [key, n] of found.flaws)
      if (still.has(key) && still.get(key) === n)
        this.#scenario.violate('I16', `an audit found ${nameOf(key)} = n${n ?? '–'}, and a list has not mended it`)
  }

  /** Time went by in which nobody could act. */
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
      if (key !== undefined) violate('I16', `an audit has read everything, and says nothing of ${nameOf(key)}`)
      this.#begun = undefined
    }
  }

  /** Whether nothing was written since, neither there nor here. */
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
