import { join } from 'node:path'
import { expect, test } from 'vitest'
import { binary } from '../../support/build.js'
import { Child } from '../../support/child.js'
import { root } from '../../support/sources.js'

/** A defect that few schedules reveal; its name has to be quoted for a shell. */
const MUTANT = "a subscription's version is ahead of its handler"
/** A defect that the first schedule does not reveal. */
const RARER = 'the version of a list counts before the sink has it'
const main = join(root, 'test/simulation/main.ts')

interface Result {
  readonly code: number | null
  readonly output: string
  readonly errors: string
}

/** `npm run sim -- …`, as package.json has it. */
function sim(...args: readonly string[]): Promise<Result> {
  return resultOf(binary('node'), ['--import', join(root, 'scripts/typescript.mjs'), main, ...args])
}

async function resultOf(file: string, args: readonly string[]): Promise<Result> {
  const { NODE_OPTIONS: _, ...env } = process.env
  await using child = new Child(file, args, { cwd: root, env })
  const { code } = await child.ended
  return { code, output: child.output, errors: child.errors }
}

test('sim exits with 0 and prints counts if all schedules keep the invariants', async () => {
  const { code, output, errors } = await sim('--runs', '40')
  expect([code, errors]).toEqual([0, ''])
  expect(output).toMatch(/^40 schedules of one source, \d+ steps, 0 failures$/m)
  expect(output).toMatch(/^ +\d+ {2}with a source that breaks its promises, \d+ steps, 0 failures$/m)
  expect(output).toContain('2 schedules of several sources')
})

test('sim exits with 1 and prints the command that replays a failing schedule', async () => {
  const { code, output, errors } = await sim('--runs', '40', '--mutant', MUTANT)
  expect([code, output]).toEqual([1, expect.stringMatching(/ [1-9]\d* failures/)])
  const [, seed, invariant, command = ''] = /^seed (\d+) breaks (\S+): .+\n {2}(.+)$/m.exec(errors) ?? []
  expect(command).toMatch(/^npm run sim -- /)
  const again = await resultOf('bash', ['-c', command])
  expect(again.output).toContain(`seed ${seed} breaks ${invariant}: `)
  expect(again.output).toMatch(/^\d+ decisions are left: /m)
  expect(again.code).toBe(1)
})

test('sim prints the story of one schedule, and exits with 0', async () => {
  const { code, output } = await sim('--runs', '1', '--seed', '7', '--kind', 'group')
  expect(output).toMatch(/^ +\d+ ms {2}\S/m)
  expect(output).toMatch(/^seed 7: \d+ steps, nothing is broken; the trace is \d+$/m)
  expect(code).toBe(0)
})

test('the table of mutants names the survivors, and exits with 1', async () => {
  const { code, output } = await sim('--mutants', '--layers', 'simulator', '--runs', '1', '--mutant', RARER)
  expect(output).toMatch(new RegExp(`^${RARER} +SURVIVES$`, 'm'))
  expect([code, output]).toEqual([1, expect.stringContaining('1 mutants, 1 of them survive')])
})

test('the table of mutants has the first failing test, and a verdict of each chosen layer', async () => {
  const { code, output } = await sim('--mutants', '--layers', 'simulator,unit', '--mutant', MUTANT, '--json')
  const [{ name, verdicts }] = JSON.parse(output)
  const killed = { isKilled: true, seconds: expect.any(Number) }
  expect([code, name, verdicts]).toEqual([
    0,
    MUTANT,
    [
      { layer: 'unit', ...killed, by: expect.stringMatching(/\S+ \S+/) },
      expect.objectContaining({ layer: 'simulator', ...killed, killedAfter: expect.any(Number) }),
    ],
  ])
})

test('--json counts schedules, steps, faults and failures of each class, and the reached states', async () => {
  const { code, output } = await sim('--runs', '100', '--json')
  const { schedules, steps, classes, faults, marks, failures, ...rest } = JSON.parse(output)
  const { contract, breach } = classes
  expect(contract).toEqual({ schedules: expect.any(Number), steps: expect.any(Number), failures: 0 })
  expect([contract.schedules + breach.schedules, contract.steps + breach.steps]).toEqual([100, steps])
  expect([code, schedules, failures, rest.asked, rest.ran]).toEqual([0, 100, [], 100, 100])
  expect(breach.schedules).toBeGreaterThan(0)
  expect(Object.keys(faults.contract)).toEqual(expect.arrayContaining(['break-watch', 'compact']))
  expect(Object.keys(faults.breach)).toEqual(expect.arrayContaining(['lose-event']))
  expect(rest.actions).toMatchObject({ put: expect.any(Number), subscribe: expect.any(Number) })
  const both = [...Object.keys(faults.contract), ...Object.keys(faults.breach)]
  expect(both.filter((kind) => kind in rest.actions || ['put', 'delete', 'subscribe'].includes(kind))).toEqual([])
  expect(marks).toMatchObject({ 'a first list found nothing': expect.any(Number) })
  expect(rest.set.classes.contract.schedules + rest.set.classes.breach.schedules).toBe(5)
})

test('a campaign that --minutes ends prints the number of schedules that were run', async () => {
  const { output } = await sim('--runs', '1000000', '--minutes', '0.1')
  const [, ran, requested] = /^only (\d+) of (\d+) schedules were run: the 0.1 minutes were over$/m.exec(output) ?? []
  expect(requested).toBe('1000000')
  expect(output).toContain(`\n${ran} schedules of one source, `)
})

test('a campaign without any schedule fails', async () => {
  const { code, output } = await sim('--runs', '10', '--minutes', '0.000001')
  expect([code, output]).toEqual([1, expect.stringContaining('only 0 of 10 schedules were run')])
})

test.each([
  ['--runs', '0', 'whole number above 0'],
  ['--minutes', '-1', 'number above 0'],
  ['--kind', 'two', '--kind must be one of one, set, group, cache'],
  ['--mutant', 'missing', 'there is no mutant "missing"'],
  ['--layers', 'unit,units', '--layers must be some of unit, property, simulator, got "units"'],
  ['--seeds', '7', "Unknown option '--seeds'"],
])('%s %s is refused', async (option, value, why) => {
  const { code, errors } = await sim(`${option}=${value}`)
  expect([code, errors]).toEqual([2, expect.stringContaining(why)])
})
