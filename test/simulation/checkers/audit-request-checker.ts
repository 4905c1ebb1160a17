import type { SourceScenario } from '../system/scenario.js'

/** An audit comes within this time where the source doubts: SPEC.md says so. */
const DOUBT_MS = 10_000
/** So much later where one was under way, which waits for the store at its end; and for what our own slow code takes. */
const WAIT_MS = 6_000
const LOOKS = 100

/** What a source says of itself, and what an audit makes of it: it comes soon, and where nobody wants one it never comes. */
export class AuditRequestChecker {
  readonly #stage: SourceScenario
  readonly #isLive: () => boolean
  readonly #isReading: () => boolean
  /** For how long an audit could have come; undefined where nothing is in doubt. */
  #since: number | undefined
  /** Whether the last audit came because of doubts. */
  #wasDoubted = false
  /** Whether none could have come when this was last looked at. */
  #isBusy = false

  /** `isReading`: whether an audit is under way. */
  constructor(stage: SourceScenario, isLive: () => boolean, isReading: () => boolean) {
    this.#stage = stage
    this.#isLive = isLive
    this.#isReading = isReading
  }

  doubted(): void {
    const { settings, clock, note } = this.#stage
    note('the source doubts')
    if (settings.auditMs !== false) this.#since ??= clock.elapsed
  }

  audited(): void {
    const { settings, violate, mark } = this.#stage
    if (settings.auditMs === false) violate('I16', 'an audit, and nobody asked for one')
    if (this.#since !== undefined) mark('an audit came because of doubts')
    this.#wasDoubted = this.#since !== undefined
    this.#since = undefined
  }

  /** The audit could not be done. */
  failed(): void {
    if (this.#wasDoubted || this.#since !== undefined) this.#since = this.#stage.clock.elapsed
  }

  skipped(): void {
    if (this.#since !== undefined) this.#since = this.#stage.clock.elapsed
  }

  stopped(): void {
    this.#since = undefined
  }

  look(): void {
    if (this.#since === undefined) return
    const { clock, settings, violate } = this.#stage
    const waitedMs = clock.elapsed - this.#since
    const wasBusy = this.#isBusy
    this.#isBusy = !this.#isLive() || this.#isReading()
    if (this.#isBusy || wasBusy) this.#since = clock.elapsed
    else if (waitedMs > DOUBT_MS + WAIT_MS + LOOKS * settings.driftMs)
      violate('I16', `the source has been in doubt for ${Math.round(waitedMs)} ms, and no audit has come`)
  }
}
