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

type Result = { readonly code: number | null; readonly output: string; readonly errors: string }

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

test('the table of mutants names the survivors, and exits with 1', async () => {
  const { code, output } = await sim('--mutants', '--layers', 'simulator', '--runs', '1', '--mutant', RARER)
  expect(output).toMatch(new RegExp(`^${RARER} +SURVIVES$`, 'm'))
  expect([code, output]).toEqual([1, expect.stringContaining('1 mutants, 1 of them survive')])
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
