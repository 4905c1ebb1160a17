import { type Mark, marksOf } from './coverage-marks.js'
import type { RunStats } from './run-stats.js'
import type { Kind } from './schedule.js'

/**
 * One in this many schedules reaches a state, as measured for the rarest state of each kind; and the rarer exceptions.
 */
const ONE_IN: Readonly<Record<Kind, number>> = {
  one: 160,
  set: 200,
  group: 100,
  cache: 100,
  replicas: 20,
  relay: 25,
  share: 25,
  views: 100,
}
const RARER: Readonly<Partial<Record<Mark, number>>> = {
  'a reconcile failed again and again': 8_000,
  'an informer was stopped in the middle of a slice': 1_200,
  'a stop waited until pending changes were handled': 800,
}
/** After this many times as many schedules, chance alone misses a state in one of three million campaigns. */
const SURE = 15

/** The number of schedules after which an unreached state is an error. */
export function thresholdsFor(kind: Kind, mark: Mark): number {
  return SURE * (RARER[mark] ?? ONE_IN[kind])
}

/** States that were reached so rarely that `thresholdsFor` is too small. Only frequent states can be judged. */
export function marksBelowThreshold({ schedules, marks }: RunStats, kind: Kind): readonly string[] {
  return marksOf[kind].flatMap((mark) => {
    const expected = (schedules * SURE) / thresholdsFor(kind, mark)
    const times = marks[mark] ?? 0
    return expected < 20 || times >= expected / 2 ? [] : [`${mark}: in ${times} of ${schedules}`]
  })
}

export interface Unreached {
  /** States that had to be reached. */
  readonly never: readonly Mark[]
  /** Other unreached states: there were too few schedules for them. */
  readonly notYet: readonly Mark[]
}

/** The states that no schedule reached. */
export function unreached(stats: RunStats, kind: Kind): Unreached {
  const marks = marksOf[kind].filter((mark) => stats.marks[mark] === undefined)
  const isOwed = (mark: Mark): boolean => stats.schedules >= thresholdsFor(kind, mark)
  return { never: marks.filter(isOwed), notYet: marks.filter((mark) => !isOwed(mark)) }
}
