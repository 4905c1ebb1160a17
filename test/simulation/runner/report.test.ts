import { expect, test } from 'vitest'
import type { StatsByKind } from './campaign.js'
import { commandOf, progressOf } from './report.js'
import { emptyStats, type Failure, type RunStats } from './run-stats.js'
import { kinds } from './schedule.js'

function of(schedules: number): RunStats {
  return { ...emptyStats(), schedules }
}

const none = Object.fromEntries(kinds.map((kind) => [kind, emptyStats()])) as StatsByKind

test('the progress bar shows the number of schedules and failures', () => {
  const failure: Failure = { kind: 'set', seed: 3, isBreach: false, invariant: 'I1', message: 'no' }
  const failed = { ...of(5), failures: [failure] }
  const shown = progressOf({ ...none, one: of(250), set: failed }, { runs: 1_000, kind: undefined, since: 0 })
  expect(shown).toMatch(/^█{8}░{22} 250 of 1000, \d+\/s, 1 failures$/)
})

test('the progress bar of one kind counts its schedules', () => {
  const shown = progressOf({ ...none, set: of(100) }, { runs: 100, kind: 'set', since: 0 })
  expect(shown).toMatch(/^█{30} 100 of 100, /)
})

test('the command to replay a schedule names its kind unless it is of one source', () => {
  expect(commandOf({ kind: 'one', seed: 7 })).toBe('npm run sim -- --runs 1 --seed 7')
  expect(commandOf({ kind: 'set', seed: 7 })).toBe('npm run sim -- --runs 1 --seed 7 --kind set')
})
