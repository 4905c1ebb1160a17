import { getEventListeners } from 'node:events'
import { LIST_STALL_MS } from '../../src/source.js'
import { ByHandDrive } from './by-hand-drive.js'
import { Deeds } from './deeds.js'
import { Draws, hashOf } from './draws.js'
import type { Drive } from './drive.js'
import { History } from './history.js'
import { InformerDrive } from './informer-drive.js'
import type { Mark } from './marks.js'
import { planFor } from './plan.js'
import { type Settings, settingsFor } from './settings.js'
import { SimClock } from './sim-clock.js'
import { type Invariant, type Stage, Violation } from './stage.js'

export interface Outcome {
  readonly seed: number
  readonly isBreach: boolean
  readonly steps: number
  /** How long the schedule was, in virtual milliseconds. */
  readonly virtualMs: number
  /** How long it took from the end of faults until everything was right. */
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

export interface WorldOptions {
  /** Only these decisions are taken. */
  readonly only?: readonly string[] | undefined
  /** Gets every event in words. */
  readonly tell?: ((line: Line) => void) | undefined
}

/** Everything must be right so long after faults are over, in virtual milliseconds. */
const HEAL_MS = 150_000
/** The same where only the audit can make it right, beside the time for which that rests. */
const AUDITED_MS = 1_000_000
/** So many times as long as it took an audit rests; and for each page it takes as long as a list may stall, at most. */
const AUDIT_REST = 100
/** Something that takes more steps than this will not end. */
const MAX_STEPS = 60_000
/** The source must be read again so long after something useless came from it, at most. */
const INCOMPLETE_MS = 400_000
const AFTER_STOP_MS = 60_000

/**
 * One schedule: a source that is written to and struck by faults, the code under test, and those who use it. `run` is
 * taken step by step, and what follows from a step must have happened before the next one.
 */
export class World implements Stage {
  readonly clock: SimClock
  readonly draws: Draws
  readonly settings: Settings
  readonly history: History
  readonly #marks = new Set<Mark>()
  readonly #tell: ((line: Line) => void) | undefined
  readonly #deeds: Deeds
  #drive: Drive
  #violation: Violation | undefined
  #trace = 0x811c9dc5
  #steps = 0
  #healMs = 0
  #isEnding = false
  #lives = 0

  constructor(seed: number, { only, tell }: WorldOptions = {}) {
    this.draws = new Draws(seed, only)
    this.settings = settingsFor(this.draws)
    const tie = this.draws.of('tie')
    this.clock = new SimClock(() => tie.next())
    this.#tell = tell
    this.#deeds = new Deeds(this)
    this.history = new History(this.#deeds.initial())
    this.#drive = this.#newDrive()
  }

  get outcome(): Outcome {
    return {
      seed: this.draws.seed,
      isBreach: this.settings.isBreach,
      steps: this.#steps,
      virtualMs: this.clock.elapsed,
      healMs: this.#healMs,
      trace: this.#trace >>> 0,
      taken: this.draws.taken,
      marks: [...this.#marks],
      violation: this.#violation,
    }
  }

  get drive(): Drive {
    return this.#drive
  }

  note = (what: string, ...about: readonly (string | number)[]): void => {
    let trace = this.#trace ^ hashOf(what)
    for (const each of about) trace = Math.imul(trace ^ (typeof each === 'number' ? each : hashOf(each)), 0x01000193)
    this.#trace = Math.imul(trace ^ this.clock.elapsed, 0x01000193)
    this.#tell?.({ at: this.clock.elapsed, event: [what, ...about].join(' '), state: this.#drive?.state ?? '' })
  }

  mark = (mark: Mark): void => {
    this.#marks.add(mark)
  }

  violate = (invariant: Invariant, message: string): void => {
    if (this.#violation !== undefined) return
    this.#violation = new Violation(invariant, message)
    this.note(`VIOLATION of ${invariant}`, message)
  }

  comeAndGo = (withinMs: number): void => this.#deeds.comeAndGo(withinMs)

  inGap = (): void => {
    if (!this.settings.mix.strikes('write-in-gap')) return
    for (let count = 1 + this.draws.below('gap', 3); count > 0; count--)
      this.clock.in(this.draws.next('gap') * this.draws.pick('gap', [20, 200, 600]), () => this.#deeds.writeInGap())
  }

  listenersOf(signal: AbortSignal): number {
    return getEventListeners(signal, 'abort').length
  }

  /** Anything that was thrown where nobody expected it. */
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
      this.#deeds.restoreClock()
    }
  }

  *#schedule(): Generator<undefined, void> {
    const { healAtMs } = this.settings
    this.#drive.start()
    for (const action of planFor(this.draws, healAtMs)) {
      yield* this.#until(() => false, action.at)
      if (this.#violation !== undefined) return
      this.#steps++
      this.#deeds.perform(action)
      yield
    }
    yield* this.#until(() => false, healAtMs)
    if (this.draws.chance('ends without healing', 0.1)) yield* this.#stop()
    else {
      yield* this.#heal()
      yield* this.#stop()
    }
  }

  *#heal(): Generator<undefined, void> {
    this.note('faults are over')
    this.draws.isQuiet = true
    this.#deeds.lastFlip()
    this.clock.driftMs = 0
    const since = this.clock.elapsed
    this.#drive.heal()
    yield
    const within = this.#healsWithinMs
    yield* this.#until(() => this.#isConverged, since + within)
    if (this.#drive.source.opens.isIncomplete)
      yield* this.#until(() => this.#isConverged, since + within + INCOMPLETE_MS)
    if (this.#violation !== undefined) return
    this.#healMs = this.clock.elapsed - since
    if (!this.#isConverged) {
      this.#drive.check()
      const { unfinished, state } = this.#drive
      this.violate('I1', `${unfinished} not as it should be ${within} ms after faults were over (${state})`)
    }
    this.#drive.check()
  }

  *#stop(): Generator<undefined, void> {
    if (this.#violation !== undefined) return
    this.#isEnding = true
    this.note('stops')
    this.#drive.stop()
    yield
    yield* this.#until(() => this.#drive.isStopped, this.clock.elapsed + 10_000)
    if (this.#violation !== undefined) return
    if (!this.#drive.isStopped) this.violate('I15', 'stop() has not settled within 10 s')
    this.#drive.checkStopped()
    // Whatever is still to come must be nobody's.
    this.#deeds.lastWrite()
    yield* this.#until(() => false, this.clock.elapsed + AFTER_STOP_MS)
  }

  /** Steps until something holds, or until a moment. */
  *#until(holds: () => boolean, by: number): Generator<undefined, void> {
    for (;;) {
      if (this.#drive.isStopped && !this.#isEnding) {
        this.#restart()
        yield
      }
      if (this.#violation !== undefined || holds() || !this.clock.advance(by)) return
      if (++this.#steps > MAX_STEPS)
        return this.violate('crash', `more than ${MAX_STEPS} steps: a loop without a delay`)
      yield
      this.#drive.look()
    }
  }

  get #healsWithinMs(): number {
    const { isBreach, auditMs, keys, pageSize } = this.settings
    if (!isBreach || auditMs === false) return HEAL_MS
    return AUDITED_MS + AUDIT_REST * LIST_STALL_MS * Math.ceil(keys.length / pageSize)
  }

  get #isConverged(): boolean {
    return this.#drive.unfinished === undefined
  }

  /** Another life over the same source, after the last one has ended. */
  #restart(): void {
    this.#drive.checkStopped()
    this.note('starts again')
    this.#drive = this.#newDrive()
    this.#drive.start()
    if (this.draws.isQuiet) this.#drive.heal()
  }

  #newDrive(): Drive {
    return this.settings.drive === 'informer' ? new InformerDrive(this, this.#lives++) : new ByHandDrive(this)
  }
}
