import { getEventListeners } from 'node:events'
import type { ScheduleOptions } from '../runner/schedule.js'
import { World } from '../runner/world.js'
import { type Action, planOf } from '../workload/fault-plan.js'
import type { RandomDecisions } from '../workload/random-decisions.js'
import type { Settings } from '../workload/settings.js'
import type { Scenario } from './scenario.js'

export type Planned = { readonly at: number; perform(): void }

/** The longest time until a source is listed again for left-out events, in milliseconds. */
const INCOMPLETE_MS = 400_000
const AFTER_STOP_MS = 60_000

/** One schedule of simulated sources with writers and faults, the informers that read them, and their users. */
export abstract class SourceWorld extends World implements Scenario {
  readonly settings: Settings
  #isEnding = false

  constructor(seed: number, options: ScheduleOptions, settingsOf: (decisions: RandomDecisions) => Settings) {
    super(seed, options)
    this.settings = settingsOf(this.decisions)
  }

  /** The current system under test; undefined before the beginning. */
  abstract get system(): SystemUnderTest | undefined

  abstract plan(): Planned[]

  /** The planned actions of these kinds. */
  protected planned<K extends string>(
    decisions: RandomDecisions,
    kinds: Parameters<typeof planOf<K>>[2],
    perform: (action: Action<K>) => void,
  ): Planned[] {
    return planOf(decisions, this.settings.healAtMs, kinds).map((action) => ({
      at: action.at,
      perform: () => perform(action),
    }))
  }

  /** A new system over the same sources, after the last one has ended. */
  abstract restart(): SystemUnderTest

  abstract quiet(): void

  abstract lastWrite(): void

  /** The time within which everything must converge after the faults, in milliseconds. */
  abstract get healsWithinMs(): number

  /** The time within which a stop settles, in milliseconds. */
  get stopsWithinMs(): number {
    return 10_000
  }

  override get state(): string {
    return this.system?.state ?? ''
  }

  protected override get isBreach(): boolean {
    return this.settings.isBreach
  }

  listenersOf(signal: AbortSignal): number {
    return getEventListeners(signal, 'abort').length
  }

  get #system(): SystemUnderTest {
    const { system } = this
    if (system === undefined) throw new Error('there is no system under test')
    return system
  }

  protected override checkStep(): void {
    this.#system.checkStep()
  }

  protected override *schedule(): Generator<undefined, void> {
    const { healAtMs, driftMs } = this.settings
    this.clock.driftMs = driftMs
    this.#system.start()
    for (const action of this.plan().sort((a, b) => a.at - b.at)) {
      yield* this.#until(() => false, action.at)
      if (this.hasFailed) return
      this.steps++
      action.perform()
      yield
    }
    yield* this.#until(() => false, healAtMs)
    if (!this.decisions.chance('ends without healing', 0.1)) yield* this.#heal()
    yield* this.#stop()
  }

  *#heal(): Generator<undefined, void> {
    this.note('faults are over')
    this.decisions.isQuiet = true
    this.quiet()
    this.clock.driftMs = 0
    const since = this.clock.elapsed
    this.#system.heal()
    yield
    const within = this.healsWithinMs
    yield* this.#until(() => this.#isConverged, since + within)
    if (this.#system.isIncomplete) yield* this.#until(() => this.#isConverged, since + within + INCOMPLETE_MS)
    if (this.hasFailed) return
    this.healMs = this.clock.elapsed - since
    if (!this.#isConverged) {
      this.#system.check()
      const { unfinished, state } = this.#system
      this.violate('I1', `${unfinished} not as it should be ${within} ms after faults were over (${state})`)
    }
    this.#system.check()
  }

  *#stop(): Generator<undefined, void> {
    if (this.hasFailed) return
    this.#isEnding = true
    this.note('stops')
    this.#system.stop()
    yield
    yield* this.#until(() => this.#system.isStopped, this.clock.elapsed + this.stopsWithinMs)
    if (this.hasFailed) return
    if (!this.#system.isStopped) this.violate('I15', `stop() has not settled within ${this.stopsWithinMs} ms`)
    this.#system.checkStopped()
    // No later event may reach a stopped system.
    this.lastWrite()
    yield* this.#until(() => false, this.clock.elapsed + AFTER_STOP_MS)
  }

  /** Steps until something holds, or until a moment. A system that was stopped begins again. */
  *#until(holds: () => boolean, by: number): Generator<undefined, void> {
    const isDown = (): boolean => this.#system.isStopped && !this.#isEnding
    for (;;) {
      if (isDown()) yield* this.#restart()
      yield* this.until(() => isDown() || holds(), by)
      if (!isDown() || this.hasFailed) return
    }
  }

  *#restart(): Generator<undefined, void> {
    this.#system.checkStopped()
    this.note('starts again')
    const system = this.restart()
    system.start()
    if (this.decisions.isQuiet) system.heal()
    yield
  }

  get #isConverged(): boolean {
    return this.#system.unfinished === undefined
  }
}

/** The code under test with all its users, in one run. */
export interface SystemUnderTest {
  readonly state: string
  readonly isStopping: boolean
  readonly isStopped: boolean
  /** The part that has not converged; undefined once everything has. */
  readonly unfinished: string | undefined
  readonly isIncomplete: boolean
  start(): void
  checkStep(): void
  heal(): void
  check(): void
  stop(): void
  checkStopped(): void
  skipped(): void
}
