import { describe, expect, test } from 'vitest'
import { conformanceCases } from '../../testing/index.js'
import { brokenHarness } from './broken.js'
import { brokenEndings } from './broken-endings.js'
import { brokenKeys } from './broken-keys.js'
import { brokenLists } from './broken-lists.js'
import { brokenRecovery } from './broken-recovery.js'
import { brokenWatches } from './broken-watches.js'
import { memoryHarness } from './memory-harness.js'

/** What the kit is worth: sources that break the contract in one way each, and who finds out. */
const brokenSources = [...brokenLists, ...brokenWatches, ...brokenKeys, ...brokenRecovery, ...brokenEndings]
const cases = new Map(conformanceCases.map((each) => [`${each.theme} ${each.name}`, each]))

describe.each(brokenSources)('a source that $name', (broken) => {
  test.each(broken.refusedBy)('is refused by: %s', async (name) => {
    const outcome = await cases.get(name)?.run(brokenHarness(broken)).catch(String)
    expect(outcome).toMatch(broken.because)
  })
})

test('each case refuses a source, so that none is there in vain', () => {
  const refusing = new Set(brokenSources.flatMap(({ refusedBy }) => refusedBy))
  expect([...cases.keys()].filter((name) => !refusing.has(name))).toEqual([])
})

test('no two cases have the same name', () => {
  expect(cases.size).toBe(conformanceCases.length)
})

describe('what is not there', () => {
  const needy = conformanceCases.filter(({ needs }) => needs.length > 0)

  test('is skipped with the reason that the harness gives', async () => {
    const unsupported = Object.fromEntries(needy.flatMap(({ needs }) => needs.map((need) => [need, `no ${need} here`])))
    const outcomes = await Promise.all(needy.map((each) => each.run({ ...memoryHarness, unsupported })))
    expect(outcomes).toEqual(needy.map(({ needs }) => ({ type: 'skipped', reason: `no ${needs[0]} here` })))
  })

  test.each(['connections'])('and not said to be lacking is a failure: %s', async (need) => {
    const asking = needy.find(({ needs }) => needs.some((each) => each === need))
    await expect(asking?.run({ create: memoryHarness.create })).rejects.toThrow(`say why not in unsupported.${need}`)
  })
})
