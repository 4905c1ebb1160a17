import type { Invariant } from '../system/scenario.js'
import { SimClock } from '../system/sim-clock.js'
import { hashOf, RandomDecisions } from '../workload/random-decisions.js'
import type { Mark } from './coverage-marks.js'
import type { Kind, Outcome, ScheduleOptions, Violation } from './schedule.js'

const MAX_STEPS = 300_000

/**
 * One schedule: the code under test, its surroundings with faults, and its users. `run` is advanced step by step. The
 * consequences of a step must have happened before the next one.
 */
export abstract class World {
  abstract readonly kind: Kind
  readonly clock: SimClock
  readonly decisions: RandomDecisions
  /** The time from the end of faults until everything had converged, in milliseconds. */
  protected healMs = 0
  protected steps = 0
  readonly #marks = new Set<Mark>()
  readonly #onEvent: ScheduleOptions['onEvent']
  #violation: Violation | undefined
  #trace = 0x811c9dc5

  constructor(seed: number, { only, onEvent }: ScheduleOptions) {
    this.decisions = new RandomDecisions(seed, only)
    const tie = this.decisions.of('tie')
    this.clock = new SimClock(() => tie.next())
    this.#onEvent = onEvent
  }

  /** A description for the story. */
  abstract get state(): string

  /** The whole schedule. It yields when the consequences of a step have to happen. */
  protected abstract schedule(): Generator<undefined, void>

  protected checkStep(): void {}

  /** Whether the code under test has promises. */
  protected get isAsync(): boolean {
    return true
  }

  /** Restores the global state that the schedule changed. */
  protected tidy(): void {}

  /** Whether a source breaks its promises. */
  protected get isBreach(): boolean {
    return false
  }

  get outcome(): Outcome {
    return {
      kind: this.kind,
      seed: this.decisions.seed,
      isBreach: this.isBreach,
      steps: this.steps,
      virtualMs: this.clock.elapsed,
      healMs: this.healMs,
      trace: this.#trace >>> 0,
      taken: this.decisions.taken,
      marks: [...this.#marks],
      violation: this.#violation,
    }
  }

  /** Adds an event to the trace, and to the story if one is recorded. */
  note = (what: string, ...about: readonly (string | number)[]): void => {
    let trace = this.#trace ^ hashOf(what)
    for (const each of about) trace = Math.imul(trace ^ (typeof each === 'number' ? each : hashOf(each)), 0x01000193)
    this.#trace = Math.imul(trace ^ this.clock.elapsed, 0x01000193)
    // Reading the state must not change the schedule.
    const state = (): string => this.clock.still(() => this.state)
    this.#onEvent?.({ at: this.clock.elapsed, event: [what, ...about].join(' '), state: state() })
  }

  mark = (mark: Mark): void => void this.#marks.add(mark)

  /** The schedule has failed; it ends after this step. Only the first violation counts. */
  violate = (invariant: Invariant, message: string): void => {
    if (this.hasFailed) return
    this.#violation = { invariant, message }
    this.note(`VIOLATION of ${invariant}`, message)
  }

  crashed(error: unknown): void {
    this.violate('crash', error instanceof Error ? `${error.message}\n${error.stack ?? ''}` : String(error))
  }

  *run(): Generator<undefined, void> {
    try {
      yield* this.schedule()
    } catch (error) {
      this.crashed(error)
    } finally {
      this.tidy()
    }
  }

  protected get hasFailed(): boolean {
    return this.#violation !== undefined
  }

  /** Steps until something holds, or until a moment. */
  protected *until(holds: () => boolean, by: number): Generator<undefined, void> {
    while (!this.hasFailed && !holds() && this.clock.advance(by)) {
      if (++this.steps > MAX_STEPS) return this.violate('crash', `more than ${MAX_STEPS} steps: a loop without a delay`)
      if (this.isAsync) yield
      this.checkStep()
    }
  }
}
