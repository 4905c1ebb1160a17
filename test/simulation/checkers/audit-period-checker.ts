import type { SourceScenario } from '../system/scenario.js'

/** So many times as long as its reading took an audit rests: SPEC.md says so. */
const REST_FACTOR = 100
/** So much later where it waits for its turn because of doubts; and for what our own slow code takes. */
const WAIT_MS = 16_000
const CLOCK_READS = 100

/** Audits come within their period, or as late as the time that the last one read allows, wherever one could come (I16). */
export class AuditPeriodChecker {
  readonly #scenario: SourceScenario
  readonly #isLive: () => boolean
  readonly #isReading: () => boolean
  #beganAt = 0
  #wasReading = false
  #readMs = 0
  /** Since when one could have come. */
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

  /** Time went by in which nobody could act. */
  skipped(): void {
    this.#since = undefined
  }

  checkStep(): void {
    const { clock, settings, violate } = this.#scenario
    if (settings.auditMs === false) return
    const isReading = this.#isReading()
    // One that was refused at once has read nothing, and the next rests as long as before.
    if (this.#wasReading && !isReading) this.#readMs = clock.elapsed - this.#beganAt
    this.#wasReading = isReading
    if (isReading || !this.#isLive()) {
      this.#since = undefined
      return
    }
    this.#since ??= clock.elapsed
    const waitedMs = clock.elapsed - this.#since
    const slowMs = CLOCK_READS * settings.driftMs
    // Nobody outside sees when the audit has understood the last page.
    const readMs = 2 * this.#readMs + settings.latencyMs + slowMs
    if (waitedMs > Math.max(settings.auditMs, REST_FACTOR * readMs) + WAIT_MS + slowMs)
      violate('I16', `no audit has come for ${Math.round(waitedMs)} ms`)
  }
}
