import type { SourceScenario } from '../system/scenario.js'

/** An audit rests this many times as long as its reading took, and a requested one begins within this time (SPEC.md). */
const REST_FACTOR = 100
const REQUEST_MS = 10_000
/** Allowances: for the wait of a relist slot or for an audit in progress, and for clock reads of slow code. */
const SLOT_MS = 16_000
const AUDIT_MS = 6_000
const CLOCK_READS = { period: 500, request: 100 } as const

/**
 * Audits begin within their period, or later if the last one took long, whenever one is possible; soon after a request;
 * and never if they are disabled (I16).
 */
export class AuditTimeChecker {
  readonly #scenario: SourceScenario
  readonly #isLive: () => boolean
  readonly #isReading: () => boolean
  #beganAt = 0
  #wasReading = false
  #readMs = 0
  #since: number | undefined
  /** The time since which a requested audit is possible; undefined without a request. */
  #requestedSince: number | undefined
  #wasRequested = false
  /** Whether no audit was possible in the last step. */
  #isBusy = false

  constructor(scenario: SourceScenario, isLive: () => boolean, isReading: () => boolean) {
    this.#scenario = scenario
    this.#isLive = isLive
    this.#isReading = isReading
  }

  requested(): void {
    const { settings, clock, note } = this.#scenario
    note('the source requests an audit')
    if (settings.auditMs !== false) this.#requestedSince ??= clock.elapsed
  }

  began(): void {
    const { clock, settings, violate, mark } = this.#scenario
    if (settings.auditMs === false) violate('I16', 'an audit began, and audits are disabled')
    this.#wasRequested = this.#requestedSince !== undefined
    if (this.#wasRequested) mark('an audit began because the source requested it')
    this.#requestedSince = undefined
    this.#beganAt = clock.elapsed
    this.#since = undefined
  }

  failed(): void {
    if (this.#wasRequested || this.#requestedSince !== undefined) this.#requestedSince = this.#scenario.clock.elapsed
  }

  skipped(): void {
    if (this.#requestedSince !== undefined) this.#requestedSince = this.#scenario.clock.elapsed
    this.#since = undefined
  }

  checkStep(): void {
    if (this.#scenario.settings.auditMs === false) return
    this.#checkRequest()
    this.#checkPeriod()
  }

  #checkRequest(): void {
    if (this.#requestedSince === undefined) return
    const { clock, settings, violate } = this.#scenario
    const waitedMs = clock.elapsed - this.#requestedSince
    const wasBusy = this.#isBusy
    this.#isBusy = !this.#isLive() || this.#isReading()
    if (this.#isBusy || wasBusy) this.#requestedSince = clock.elapsed
    else if (waitedMs > REQUEST_MS + AUDIT_MS + CLOCK_READS.request * settings.driftMs)
      violate('I16', `the source requested an audit ${Math.round(waitedMs)} ms ago, and none has begun`)
  }

  #checkPeriod(): void {
    const { clock, settings, violate } = this.#scenario
    const isReading = this.#isReading()
    // An audit that was refused at once has read nothing. The next one rests as long as before.
    if (this.#wasReading && !isReading) this.#readMs = clock.elapsed - this.#beganAt
    this.#wasReading = isReading
    if (isReading || !this.#isLive()) {
      this.#since = undefined
      return
    }
    this.#since ??= clock.elapsed
    const waitedMs = clock.elapsed - this.#since
    const slowMs = CLOCK_READS.period * settings.driftMs
    // The time at which the audit has processed the last page is not visible.
    const readMs = 2 * this.#readMs + settings.latencyMs + slowMs
    if (waitedMs > Math.max(Number(settings.auditMs), REST_FACTOR * readMs) + SLOT_MS + slowMs)
      violate('I16', `no audit has come for ${Math.round(waitedMs)} ms`)
  }
}
