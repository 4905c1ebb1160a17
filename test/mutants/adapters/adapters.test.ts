import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { describeServer } from '../../servers/index.js'
import { isDrawn } from '../../support/draw.js'
import { adapterMutants } from '../index.js'
import { patternOf } from '../mutant.js'
import { runTests } from '../tests.js'

/** All of them take half an hour: LISTWATCH_ADAPTER_MUTANTS is the name of an adapter, or a part of a mutant's name. */
const WANTED = process.env['LISTWATCH_ADAPTER_MUTANTS'] ?? ''

const wanted = adapterMutants.filter(({ name, folder }) =>
  WANTED === '' ? isDrawn(name) : folder.endsWith(`/${WANTED}`) || name.includes(WANTED),
)
const servers = new Set(wanted.map(({ server }) => server))

function makesTestFail(mutant: (typeof wanted)[number]): void {
  const { server, onlyBy } = mutant
  // Each has a process of its own, which waits for its server much of the time.
  test.concurrent(`that ${mutant.name}`, { timeout: 480_000 }, async () => {
    const pattern = patternOf(server === undefined ? onlyBy.named : `${server} … ${onlyBy.named}`).source
    const args = ['--testTimeout=60000', '-t', pattern, join('test', onlyBy.test)]
    const { numFailedTests, numPassedTests } = await runTests(mutant, args)
    process.stdout.write(`${mutant.name}: ${numFailedTests} failed, ${numPassedTests} passed\n`)
    expect(numFailedTests, `${numPassedTests} passed`).toBeGreaterThan(0)
  })
}

test('there are defects of adapters that name a test', () => {
  expect(adapterMutants.length).toBeGreaterThan(0)
})

describe.each([...servers])('a defect of an adapter', (server) => {
  const theirs = wanted.filter((mutant) => mutant.server === server)
  const declare = (): void => {
    for (const mutant of theirs) makesTestFail(mutant)
  }
  if (server === undefined) declare()
  else describeServer(server, 'makes a test fail', declare)
})
