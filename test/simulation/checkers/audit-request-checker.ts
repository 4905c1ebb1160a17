import type { SourceScenario } from '../system/scenario.js'

/** An audit comes within this time where the source doubts: SPEC.md says so. */
const REQUEST_MS = 10_000
/** So much later where one was under way, which waits for the store at its end; and for what our own slow code takes. */
const WAIT_MS = 6_000
const CLOCK_READS = 100

/** What a source says of itself, and what an audit makes of it: it comes soon, and where nobody wants one it never comes. */
export class AuditRequestChecker {
  readonly #scenario: SourceScenario
  readonly #isLive: () => boolean
  readonly #isReading: () => boolean
  /** For how long an audit could have come; undefined where nothing is in doubt. */
  #since: number | undefined
  /** Whether the last audit came because of doubts. */
  #wasRequested = false
  /** Whether none could have come when this was last looked at. */
  #isBusy = false

  /** `isReading`: whether an audit is under way. */
  constructor(scenario: SourceScenario, isLive: () => boolean, isReading: () => boolean) {
    this.#scenario = scenario
    this.#isLive = isLive
    this.#isReading = isReading
  }

  auditRequested(): void {
    const { settings, clock, note } = this.#scenario
    note('the source doubts')
    if (settings.auditMs !== false) this.#since ??= clock.elapsed
  }

  audited(): void {
    const { settings, violate, mark } = this.#scenario
    if (settings.auditMs === false) violate('I16', 'an audit, and nobody asked for one')
    if (this.#since !== undefined) mark('an audit came because of doubts')
    this.#wasRequested = this.#since !== undefined
    this.#since = undefined
  }

  /** The audit could not be done. */
  failed(): void {
    if (this.#wasRequested || this.#since !== undefined) this.#since = this.#scenario.clock.elapsed
  }

  skipped(): void {
    if (this.#since !== undefined) this.#since = this.#scenario.clock.elapsed
  }

  stopped(): void {
    this.#since = undefined
  }

  checkStep(): void {
    if (this.#since === undefined) return
    const { clock, settings, violate } = this.#scenario
    const waitedMs = clock.elapsed - this.#since
    const wasBusy = this.#isBusy
    this.#isBusy = !this.#isLive() || this.#isReading()
    if (this.#isBusy || wasBusy) this.#since = clock.elapsed
    else if (waitedMs > REQUEST_MS + WAIT_MS + CLOCK_READS * settings.driftMs)
      violate('I16', `the source has been in doubt for ${Math.round(waitedMs)} ms, and no audit has come`)
  }
}
