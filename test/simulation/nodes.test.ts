import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { areServersRequired } from '../servers/required.js'
import { campaign } from './runner/campaign.js'
import { kinds } from './runner/schedule.js'

/** The oldest line of Node that runs the library; npm fetches it. */
const OLD_NODE = 'node@22.23.3'
const RUNS = 500

test('[I17] a seed has the same trace on Node 22 and on the current version', async (context) => {
  const exec = ['exec', '--yes', `--package=${OLD_NODE}`, '--', 'node']
  const run = async (args: readonly string[]): Promise<string> =>
    (await promisify(execFile)('npm', [...exec, ...args])).stdout
  const version = await run(['-p', 'process.version']).catch((error: unknown) => {
    if (areServersRequired()) throw error
    return context.skip(`${OLD_NODE} cannot be had: ${error instanceof Error ? error.message : error}`)
  })
  expect([version.trim(), process.version.startsWith('v22.')]).toEqual(['v22.23.3', false])
  const simulated = await run([
    '--import',
    './scripts/typescript.mjs',
    'test/simulation/main.ts',
    '--runs',
    `${RUNS}`,
    '--json',
  ])
  const { trace, set, group, cache, failures } = JSON.parse(simulated)
  const here = await campaign({ runs: RUNS, seed: 1 })
  expect(failures).toEqual([])
  expect([trace, set.trace, group.trace, cache.trace]).toEqual(kinds.map((kind) => here[kind].trace))
})
