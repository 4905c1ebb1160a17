import { expect, test } from 'vitest'
import { kindOf } from '../simulation/backend/fault-kinds.js'
import { regressionSeeds } from '../simulation/runner/regression-seeds.js'
import { isDrawn } from '../support/draw.js'
import { type Hunted, hunt, rerun, survives } from './hunt.js'
import { mutants } from './index.js'
import { type Mutant, patternOf } from './mutant.js'
import { firstFailure, runTests } from './tests.js'

const drawn = mutants.filter(({ name }) => isDrawn(name))
const one = mutants.find(({ folder, onlyBy }) => folder === 'src' && onlyBy === undefined) as Mutant

/** All cores are busy for most of it. A machine with other work needs longer. */
const HUNT_TIMEOUT_MS = 1_500_000

test('every mutant dies within its schedules, or behaves as the original, or names a test', {
  timeout: HUNT_TIMEOUT_MS,
}, async () => {
  const survivors: string[] = []
  const report = (hunted: Hunted): void => void (survives(hunted) && survivors.push(hunted.mutant.name))
  await hunt(1, report, { which: drawn.filter(({ onlyBy }) => onlyBy === undefined), layers: ['simulator'] })
  expect(survivors.join('\n')).toBe('') // A text: the report of the gate shows its content.
})

test('every mutant that names a test dies by that test', { timeout: HUNT_TIMEOUT_MS }, async () => {
  const survivors: string[] = []
  const report = ({ mutant: { name, onlyBy }, verdicts: [first] }: Hunted): void => {
    if (onlyBy === undefined || !patternOf(onlyBy.named).test(first?.by ?? ''))
      survivors.push(`${name}: ${first?.by ?? 'survived'}`)
  }
  await hunt(1, report, { which: drawn.filter(({ onlyBy }) => onlyBy !== undefined) })
  expect(survivors.join('\n')).toBe('')
})

const kept = regressionSeeds().filter(({ of }) => of !== undefined && isDrawn(of))

test('there are schedules that were kept for mutants which few others kill', () => {
  expect(kept.length).toBeGreaterThan(0)
})

const needy = drawn.flatMap(({ name, needs }) => (needs === undefined ? [] : [{ name, needs }]))

test.each(needy)('without a $needs the mutant "$name" behaves as the original', async ({ name, needs }) => {
  const [mutant, schedule] = [mutants.find((each) => each.name === name), kept.find(({ of }) => of === name)]
  if (mutant === undefined || schedule === undefined) throw new Error(`no schedule was kept for "${name}"`)
  const without = schedule.only.filter((decision) => kindOf(decision) !== needs)
  expect(without.length).toBeLessThan(schedule.only.length)
  expect(await rerun(mutant, { ...schedule, only: without })).toBeUndefined()
})

test.each(kept)('the schedule of seed $seed still kills "$of"', async (schedule) => {
  const mutant = mutants.find(({ name }) => name === schedule.of)
  expect(mutant, `there is no mutant "${schedule.of}" any more`).toBeDefined()
  if (mutant !== undefined) expect(await rerun(mutant, schedule)).toBe(schedule.invariant)
})

test('a mutant that changes nothing survives each layer', { timeout: HUNT_TIMEOUT_MS }, async () => {
  const unchanged = { ...one, hunks: one.hunks.map(({ quote }) => ({ quote, replacement: quote })) }
  const found: Hunted[] = []
  const report = (hunted: Hunted): void => void found.push(hunted)
  await hunt(1, report, { which: [unchanged], layers: ['simulator'], schedules: 100 })
  expect(found.flatMap(({ verdicts }) => verdicts).map(({ layer, by }) => [layer, by])).toEqual([
    ['simulator', undefined],
  ])
  // A layer that fails without a defect, too, would kill every mutant. `npm test` runs all of its tests.
  const layers = [
    ['unit', 'test/unit/queue/'],
    ['property', 'test/property/delta-fifo'],
  ] as const
  const reports = await Promise.all(layers.map((of) => runTests(unchanged, ['--project', ...of, '--no-isolate'])))
  expect([found.map(survives), reports.map(firstFailure)]).toEqual([[true], [undefined, undefined]])
  for (const { numPassedTests } of reports) expect(numPassedTests).toBeGreaterThan(0)
})
