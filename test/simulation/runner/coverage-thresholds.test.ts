import { expect, test } from 'vitest'
import { type Mark, marksOf } from './coverage-marks.js'
import { marksBelowThreshold, thresholdsFor, unreached } from './coverage-thresholds.js'
import { emptyStats, type RunStats } from './run-stats.js'
import { kinds } from './schedule.js'

const COMMON = 'a first list found nothing'
const RARE = 'a reconcile failed again and again'

/** The statistics of schedules of one source, of which `times` reached one state. */
function statsOf(schedules: number, mark: Mark, times: number): RunStats {
  return { ...emptyStats(), schedules, marks: times === 0 ? {} : { [mark]: times } }
}

test.each(kinds)('most states of %s must be reached within a few thousand schedules', (kind) => {
  const owed = marksOf[kind].filter((mark) => thresholdsFor(kind, mark) <= 3_000)
  expect(owed.length).toBeGreaterThanOrEqual(marksOf[kind].length - 3)
})

test('a state that enough schedules have not reached counts as never reached', () => {
  const { never, notYet } = unreached(statsOf(thresholdsFor('one', COMMON), RARE, 0), 'one')
  expect([never.includes(COMMON), notYet.includes(COMMON)]).toEqual([true, false])
})

test('a state that is much rarer than measured is reported', () => {
  const most = thresholdsFor('one', COMMON)
  expect(marksBelowThreshold(statsOf(10 * most, COMMON, 10), 'one')).toContain(`${COMMON}: in 10 of ${10 * most}`)
  expect(marksBelowThreshold(statsOf(10 * most, COMMON, 100), 'one').join()).not.toContain(COMMON)
})
