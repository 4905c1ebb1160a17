import { getEventListeners } from 'node:events'
import { type Invariant, type Scenario, Violation } from '../system/scenario.js'
import { SimClock } from '../system/sim-clock.js'
import type { SystemUnderTest } from '../system/system-under-test.js'
import { hashOf, RandomDecisions } from '../workload/random-decisions.js'
import type { Settings } from '../workload/settings.js'
import type { Mark } from './coverage-marks.js'
import type { WorldKind } from './world-kinds.js'

/** The kinds of schedules: one source, a set of sources in one store, a group of informers, or processes over one cache. */
export const kinds = ['one', 'set', 'group', 'cache'] as const

export type Kind = (typeof kinds)[number]

export type AnyKind = Kind | WorldKind

export interface Outcome {
  readonly kind: Kind
  readonly seed: number
  readonly isBreach: boolean
  readonly steps: number
  /** The length of the schedule, in virtual milliseconds. */
  readonly virtualMs: number
  /** The time from the end of faults until everything had converged, in milliseconds. */
  readonly healMs: number
  readonly trace: number
  readonly taken: readonly string[]
  readonly marks: readonly Mark[]
  readonly violation: Violation | undefined
}

/** One line of a story. */
export interface Line {
  readonly at: number
  readonly event: string
  readonly state: string
}

export interface ScheduleOptions {
  /** Only these decisions are taken. */
  readonly only?: readonly string[] | undefined
  /** Called with every event. */
  readonly onEvent?: ((line: Line) => void) | undefined
}

/** An action at a time. */
export interface Planned {
  readonly at: number
  perform(): void
}

/** The largest number of steps of a schedule. */
const MAX_STEPS = 300_000
/** The longest time until a source is listed again for left-out events, in milliseconds. */
const INCOMPLETE_MS = 400_000
const AFTER_STOP_MS = 60_000

/**
 * One schedule: sources with writers and faults, the code under test, and its users. `run` is advanced step by step.
 * The consequences of a step must have happened before the next one.
 */
export abstract class Schedule implements Scenario {
  abstract readonly kind: Kind
  readonly clock: SimClock
  readonly decisions: RandomDecisions
  readonly settings: Settings
  readonly #marks = new Set<Mark>()
  readonly #onEvent: ((line: Line) => void) | undefined
  #violation: Violation | undefined
  #trace = 0x811c9dc5
  #steps = 0
  #healMs = 0
  #isEnding = false

  constructor(seed: number, { only, onEvent }: ScheduleOptions, settingsOf: (decisions: RandomDecisions) => Settings) {
    this.decisions = new RandomDecisions(seed, only)
    this.settings = settingsOf(this.decisions)
    const tie = this.decisions.of('tie')
    this.clock = new SimClock(() => tie.next())
    this.#onEvent = onEvent
  }

  /** The current system under test; undefined before the beginning. */
  abstract get system(): SystemUnderTest | undefined

  /** The planned actions. */
  abstract plan(): Iterable<Planned>

  /** A new system over the same sources, after the last one has ended. */
  abstract restart(): SystemUnderTest

  /** Called when faults are over. */
  abstract quiet(): void

  /** A write after the end. */
  abstract lastWrite(): void

  /** The time within which everything must converge after the faults, in milliseconds. */
  abstract get healsWithinMs(): number

  /** The time within which a stop settles, in milliseconds. */
  get stopsWithinMs(): number {
    return 10_000
  }

  /** Restores the global state that the schedule changed. */
  abstract tidy(): void

  get outcome(): Outcome {
    return {
      kind: this.kind,
      seed: this.decisions.seed,
      isBreach: this.settings.isBreach,
      steps: this.#steps,
      virtualMs: this.clock.elapsed,
      healMs: this.#healMs,
      trace: this.#trace >>> 0,
      taken: this.decisions.taken,
      marks: [...this.#marks],
      violation: this.#violation,
    }
  }

  note = (what: string, ...about: readonly (string | number)[]): void => {
    let trace = this.#trace ^ hashOf(what)
    for (const each of about) trace = Math.imul(trace ^ (typeof each === 'number' ? each : hashOf(each)), 0x01000193)
    this.#trace = Math.imul(trace ^ this.clock.elapsed, 0x01000193)
    this.#onEvent?.({ at: this.clock.elapsed, event: [what, ...about].join(' '), state: this.#state })
  }

  /** Reading the state must not change the schedule. */
  get #state(): string {
    return this.clock.still(() => this.system?.state ?? '')
  }

  mark = (mark: Mark): void => {
    this.#marks.add(mark)
  }

  violate = (invariant: Invariant, message: string): void => {
    if (this.#violation !== undefined) return
    this.#violation = new Violation(invariant, message)
    this.note(`VIOLATION of ${invariant}`, message)
  }

  listenersOf(signal: AbortSignal): number {
    return getEventListeners(signal, 'abort').length
  }

  /** An unexpected error. */
  crashed(error: unknown): void {
    this.violate('crash', error instanceof Error ? `${error.message}\n${error.stack ?? ''}` : String(error))
  }

  /** The whole schedule, step by step. */
  *run(): Generator<undefined, void> {
    try {
      yield* this.#schedule()
    } catch (error) {
      this.crashed(error)
    } finally {
      this.tidy()
    }
  }

  get #system(): SystemUnderTest {
    const { system } = this
    if (system === undefined) throw new Error('there is no system under test')
    return system
  }

  *#schedule(): Generator<undefined, void> {
    const { healAtMs, driftMs } = this.settings
    this.clock.driftMs = driftMs
    this.#system.start()
    for (const action of this.plan()) {
      yield* this.#until(() => false, action.at)
      if (this.#violation !== undefined) return
      this.#steps++
      action.perform()
      yield
    }
    yield* this.#until(() => false, healAtMs)
    if (this.decisions.chance('ends without healing', 0.1)) yield* this.#stop()
    else {
      yield* this.#heal()
      yield* this.#stop()
    }
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
    if (this.#violation !== undefined) return
    this.#healMs = this.clock.elapsed - since
    if (!this.#isConverged) {
      this.#system.check()
      const { unfinished, state } = this.#system
      this.violate('I1', `${unfinished} not as it should be ${within} ms after faults were over (${state})`)
    }
    this.#system.check()
  }

  *#stop(): Generator<undefined, void> {
    if (this.#violation !== undefined) return
    this.#isEnding = true
    this.note('stops')
    this.#system.stop()
    yield
    yield* this.#until(() => this.#system.isStopped, this.clock.elapsed + this.stopsWithinMs)
    if (this.#violation !== undefined) return
    if (!this.#system.isStopped) this.violate('I15', `stop() has not settled within ${this.stopsWithinMs} ms`)
    this.#system.checkStopped()
    // No later event may reach a stopped system.
    this.lastWrite()
    yield* this.#until(() => false, this.clock.elapsed + AFTER_STOP_MS)
  }

  /** Steps until something holds, or until a moment. */
  *#until(holds: () => boolean, by: number): Generator<undefined, void> {
    for (;;) {
      if (this.#system.isStopped && !this.#isEnding) {
        this.#system.checkStopped()
        this.note('starts again')
        const system = this.restart()
        system.start()
        if (this.decisions.isQuiet) system.heal()
        yield
      }
      if (this.#violation !== undefined || holds() || !this.clock.advance(by)) return
      if (++this.#steps > MAX_STEPS)
        return this.violate('crash', `more than ${MAX_STEPS} steps: a loop without a delay`)
      yield
      this.#system.checkStep()
    }
  }

  get #isConverged(): boolean {
    return this.#system.unfinished === undefined
  }
}
