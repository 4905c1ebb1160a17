import { type Mark, marksOf } from './coverage-marks.js'
import type { RunStats } from './run-stats.js'
import type { Kind } from './schedule.js'

/**
 * One schedule in so many reaches a state, or more: as measured, of the rarest of each kind. Each kind's default, and
 * those that are rarer.
 */
const ONE_IN: Readonly<Record<Kind, number>> = { one: 160, set: 200, group: 100 }
const RARER: Readonly<Partial<Record<Mark, number>>> = {
  'a reconcile failed again and again': 8_000,
  'an informer was stopped in the middle of a slice': 1_200,
  'a stop let somebody handle what waited': 800,
}
/** After so many times as many schedules, chance alone misses a state in one campaign of three millions. */
const SURE = 15

/** How many schedules there must be before it is a flaw that one of this kind never reached this state. */
export function thresholdsFor(kind: Kind, mark: Mark): number {
  return SURE * (RARER[mark] ?? ONE_IN[kind])
}

/** States that were reached so rarely that `enoughFor` promises too much. Only what is expected often enough can be judged. */
export function marksBelowThreshold({ schedules, marks }: RunStats, kind: Kind): readonly string[] {
  return marksOf[kind].flatMap((mark) => {
    const expected = (schedules * SURE) / thresholdsFor(kind, mark)
    const times = marks[mark] ?? 0
    return expected < 20 || times >= expected / 2 ? [] : [`${mark}: in ${times} of ${schedules}`]
  })
}

export interface Unreached {
  /** States that should have been reached. */
  readonly never: readonly Mark[]
  /** Those that were not reached either, but so few schedules say nothing of them. */
  readonly notYet: readonly Mark[]
}

/** What no schedule reached. */
export function unreached(stats: RunStats, kind: Kind): Unreached {
  const marks = marksOf[kind].filter((mark) => stats.marks[mark] === undefined)
  const isOwed = (mark: Mark): boolean => stats.schedules >= thresholdsFor(kind, mark)
  return { never: marks.filter(isOwed), notYet: marks.filter((mark) => !isOwed(mark)) }
}
