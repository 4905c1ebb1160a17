import { describe, expect, test } from 'vitest'
import { conformanceCases, memorySource } from '../../testing/index.js'
import { brokenHarness } from './broken.js'
import { brokenEndings } from './broken-endings.js'
import { brokenKeys } from './broken-keys.js'
import { brokenLists } from './broken-lists.js'
import { brokenRecovery } from './broken-recovery.js'
import { brokenWatches } from './broken-watches.js'
import { memoryHarness } from './memory-harness.js'

/** Sources that violate the contract in one way each. They prove that the cases can fail. */
const brokenSources = [...brokenLists, ...brokenWatches, ...brokenKeys, ...brokenRecovery, ...brokenEndings]
const cases = new Map(conformanceCases.map((each) => [each.name, each]))

describe.each(brokenSources)('[A1][A2][A3][A4][A5][A6] a source that $name', (broken) => {
  test.each(broken.failedCases)('fails the case: %s', async (name) => {
    expect(await cases.get(name)?.run(brokenHarness(broken)).catch(String)).toMatch(broken.because)
  })
})

test('each case fails for at least one broken source', () => {
  const failing = new Set(brokenSources.flatMap(({ failedCases }) => failedCases))
  expect([...cases.keys()].filter((name) => !failing.has(name))).toEqual([])
})

test('no two cases have the same name', () => expect(cases.size).toBe(conformanceCases.length))

describe('a missing capability', () => {
  const dependent = conformanceCases.filter(({ needs }) => needs.length > 0)

  test('skips the case with the reason of the harness', async () => {
    const unsupported = Object.fromEntries(
      dependent.flatMap(({ needs }) => needs.map((need) => [need, `no ${need} here`])),
    )
    const outcomes = await Promise.all(dependent.map((each) => each.run({ ...memoryHarness, unsupported })))
    expect(outcomes).toEqual(dependent.map(({ needs }) => ({ type: 'skipped', reason: `no ${needs[0]} here` })))
  })

  test('that is not declared in unsupported is a failure, with all that the option has to have', async () => {
    const dependentCase = dependent.find(({ needs }) => needs.includes('connections'))
    const memory = memorySource<string>()
    const [list, watch] = [memory.list.bind(memory), memory.watch.bind(memory)]
    const create = () => ({ source: { name: 'bare', list, watch }, write: async () => undefined, read: String })
    const members = 'head hasReached versions openTransactions compaction epochs corruption outage connections'
    const missing = members.split(' ').map((each) => `${each}: 'the reason'`)
    await expect(dependentCase?.run({ create })).rejects.toThrow(`unsupported: { ${missing.join(', ')} }`)
  })
})
