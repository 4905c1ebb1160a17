import type { SourceScenario } from '../system/scenario.js'

/** An audit rests this many times as long as its reading took, as SPEC.md says. */
const REST_FACTOR = 100
/** Allowances: for the wait of a relist slot, in milliseconds, and for clock reads of slow code. */
const WAIT_MS = 16_000
const CLOCK_READS = 500

/** Audits begin within their period, or later if the last one took long, whenever one is possible (I16). */
export class AuditPeriodChecker {
  readonly #scenario: SourceScenario
  readonly #isLive: () => boolean
  readonly #isReading: () => boolean
  #beganAt = 0
  #wasReading = false
  #readMs = 0
  /** The time since which an audit is possible. */
  #since: number | undefined

  constructor(scenario: SourceScenario, isLive: () => boolean, isReading: () => boolean) {
    this.#scenario = scenario
    this.#isLive = isLive
    this.#isReading = isReading
  }

  began(): void {
    this.#beganAt = this.#scenario.clock.elapsed
    this.#since = undefined
  }

  /** The machine was suspended. */
  skipped(): void {
    this.#since = undefined
  }

  checkStep(): void {
    const { clock, settings, violate } = this.#scenario
    if (settings.auditMs === false) return
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
    const slowMs = CLOCK_READS * settings.driftMs
    // The time at which the audit has processed the last page is not visible.
    const readMs = 2 * this.#readMs + settings.latencyMs + slowMs
    if (waitedMs > Math.max(settings.auditMs, REST_FACTOR * readMs) + WAIT_MS + slowMs)
      violate('I16', `no audit has come for ${Math.round(waitedMs)} ms`)
  }
}
