import { expect, test } from 'vitest'
import { otherNode } from '../support/other-node.js'
import { campaign, mixedKinds } from './runner/campaign.js'

const RUNS = 500

test('[I17] a seed has the same trace on Node 22 and on the current version', async (context) => {
  const run = await otherNode(context, '22.23.3') // The oldest line of Node that runs the library.
  expect(process.version).not.toMatch(/^v22\./)
  const sim = ['--import', './scripts/typescript.mjs', 'test/simulation/main.ts']
  const { trace, set, group, cache, views, failures } = JSON.parse(await run([...sim, '--runs', `${RUNS}`, '--json']))
  const here = await campaign({ runs: RUNS, seed: 1 })
  expect(failures).toEqual([])
  expect([trace, set.trace, group.trace, cache.trace, views.trace]).toEqual(mixedKinds.map((kind) => here[kind].trace))
}, 600_000)
