import type { History } from '../backend/history.js'
import type { Mark } from '../runner/coverage-marks.js'
import type { RandomDecisions } from '../workload/random-decisions.js'
import type { Settings } from '../workload/settings.js'
import type { SimClock } from './sim-clock.js'

/** What a schedule can break: an invariant of SPEC.md, or a rule beside them that has a name of its own. */
export type Invariant =
  | 'I1'
  | 'I2'
  | 'I3'
  | 'I4'
  | 'I5'
  | 'I6'
  | 'I7'
  | 'I8'
  | 'I9'
  | 'I10'
  | 'I11'
  | 'I12'
  | 'I13'
  | 'I14'
  | 'I15'
  | 'I16'
  | 'I17'
  /** Opens are spaced, and nothing is listed again without need. */
  | 'opens'
  /** Waits end as they should. */
  | 'waits'
  /** A controller runs again what failed, neither too soon nor too late. */
  | 'retries'
  /** A controller runs a key when it was asked to, and is told the last state of what is gone. */
  | 'controllers'
  /** A follower says what waits, for how long, and what has run for longest. */
  | 'backlog'
  /** Who wants to be told again is, of everything, once a period. */
  | 'resyncs'
  /** The queue's own laws, as a sink. */
  | 'queue'
  /** Over several sources: a key belongs to one of them, and goes with it. */
  | 'sets'
  /** A group's members start, sync and stop together, and so many list again at a time. */
  | 'groups'
  /** Objects of a source that refuses access are deleted if that was asked for, and else kept. */
  | 'access'
  /** An error says what failed and where, and nothing secret. */
  | 'errors'
  /** `health` says whether it is live and ready, and what is stuck. */
  | 'health'
  /** A wrong call is refused at once. */
  | 'misuse'
  /** Something threw that nobody expected. */
  | 'crash'

export class Violation extends Error {
  readonly invariant: Invariant

  constructor(invariant: Invariant, message: string) {
    super(message)
    this.invariant = invariant
  }
}

/** What all parts of one schedule share, however many sources it has. */
export interface Scenario {
  readonly clock: SimClock
  readonly decisions: RandomDecisions
  readonly settings: Settings
  /** Puts something into the trace, and into the story where one is told. */
  note(what: string, ...about: readonly (string | number)[]): void
  /** An interesting state was reached. */
  mark(mark: Mark): void
  /** The schedule has failed; it ends after this step. */
  violate(invariant: Invariant, message: string): void
  listenersOf(signal: AbortSignal): number
}

/** What all who have to do with one source share. */
export interface SourceScenario extends Scenario {
  readonly history: History
  /** A watch broke off: a good moment for somebody to write. */
  inGap(): void
  /** Somebody is stuck at a key: a good moment to write it again and again. */
  writeRepeatedly(key: string): void
  /** A key that nobody has comes within so many milliseconds, and goes soon after. */
  addBriefly(withinMs: number): void
}

const names = new Map<string, string>()

/** A key that can be printed. */
export function nameOf(key: string): string {
  let name = names.get(key)
  if (name === undefined) {
    name = key.length > 20 ? `${key.slice(0, 3)}… (${key.length})` : JSON.stringify(key)
    names.set(key, name)
  }
  return name
}
