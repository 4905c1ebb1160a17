import type { InformerSystem } from '../system/informer-system.js'
import type { Scenario } from '../system/scenario.js'
import type { Follower } from '../workload/follower.js'

/**
 * Checks a stop, at once or with a drain. From its beginning, nothing is taken from the source. It settles in time.
 * Pending changes have been handled if there was time for it (I15).
 */
export class StopChecker {
  /** The drain time in milliseconds; undefined: no drain. */
  readonly drainMs: number | undefined
  readonly #driver: InformerSystem<Scenario, Follower>
  readonly #position: string
  readonly #isClearing: boolean
  readonly #since: number
  readonly #sinceElapsed: number
  readonly #followers: readonly Follower[]
  readonly #hasWork: boolean

  /** `hasWork`: whether changes wait. */
  constructor(driver: InformerSystem<Scenario, Follower>, drainMs: number | undefined, hasWork: boolean) {
    this.#driver = driver
    this.#position = driver.position
    this.#isClearing = driver.isClearing
    this.#hasWork = hasWork
    this.#since = this.#driver.scenario.clock.awake
    this.#sinceElapsed = driver.scenario.clock.elapsed
    this.drainMs = drainMs
    this.#followers = driver.followers.filter(({ isClosed, draining }) => !isClosed && draining === undefined)
  }

  /** The source is not read any more, even during a drain. */
  checkStep(): void {
    const { position, scenario } = this.#driver
    if (position !== this.#position && !this.#isClearing)
      scenario.violate('I15', `the store moved to ${position} after stop()`)
    this.#driver.checkSignals('continues after stop()')
  }

  settled(): void {
    const { scenario } = this.#driver
    const tookMs = this.#driver.scenario.clock.awake - this.#since
    const drainMs = this.drainMs ?? 0
    const slowMs = slownessOf(scenario)
    if (tookMs > drainMs + 1_000 + slowMs + this.#driver.stopDelayMs)
      scenario.violate('I15', `stop() took ${tookMs} ms`)
    if (this.drainMs === undefined || !this.#driver.hasContent) return
    // A source that ignores its signal takes up to a second more; a suspension uses up the time.
    if (scenario.clock.elapsed - this.#sinceElapsed < drainMs - slowMs) this.#drained()
    else if (this.#followers.some(({ isStuck }) => isStuck)) scenario.mark('the drain time of a stop was over')
  }

  #drained(): void {
    const { informer, reconcilers, scenario } = this.#driver
    if (scenario.settings.flips) return
    if (this.#hasWork) scenario.mark('a stop waited until pending changes were handled')
    const store = new Map(informer.entries())
    for (const follower of this.#followers) if (!follower.isClosed || follower.hasEnded) follower.checkDrained(store)
    for (const reconciler of reconcilers) reconciler.checkDrained(store)
  }
}

/** The largest number of clock reads during a stop or a drain. All members of a group read one clock. */
const CLOCK_READS = 600

/** The allowance for a stop with slow code, in milliseconds. */
export function slownessOf({ settings }: Scenario): number {
  return CLOCK_READS * settings.driftMs
}

export function drawDrain({ decisions }: Scenario, life: number): number | undefined {
  const drainMs = decisions.pick('drain time', [1, 300, 5_000])
  return decisions.chance('drains', 0.35) && decisions.take(`drain#${life}`) ? drainMs : undefined
}
