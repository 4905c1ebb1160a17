import type { SourceScenario } from '../system/scenario.js'

/** A requested audit begins within this time, as SPEC.md says. */
const REQUEST_MS = 10_000
/** Allowances: for an audit in progress, in milliseconds, and for clock reads of slow code. */
const WAIT_MS = 6_000
const CLOCK_READS = 100

/** Checks requested audits: an audit begins soon after a request, and never if audits are disabled. */
export class AuditRequestChecker {
  readonly #scenario: SourceScenario
  readonly #isLive: () => boolean
  readonly #isReading: () => boolean
  /** The time since which a requested audit is possible; undefined without a request. */
  #since: number | undefined
  /** Whether the last audit was requested. */
  #wasRequested = false
  /** Whether no audit was possible in the last step. */
  #isBusy = false

  /** `isReading`: whether an audit is under way. */
  constructor(scenario: SourceScenario, isLive: () => boolean, isReading: () => boolean) {
    this.#scenario = scenario
    this.#isLive = isLive
    this.#isReading = isReading
  }

  auditRequested(): void {
    const { settings, clock, note } = this.#scenario
    note('the source requests an audit')
    if (settings.auditMs !== false) this.#since ??= clock.elapsed
  }

  audited(): void {
    const { settings, violate, mark } = this.#scenario
    if (settings.auditMs === false) violate('I16', 'an audit began, and audits are disabled')
    if (this.#since !== undefined) mark('an audit began because the source requested it')
    this.#wasRequested = this.#since !== undefined
    this.#since = undefined
  }

  /** The audit failed. */
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
      violate('I16', `the source requested an audit ${Math.round(waitedMs)} ms ago, and none has begun`)
  }
}
