import { afterEach, expect, test } from 'vitest'
import { mutants } from './index.js'
import type { Hunk, Mutant } from './mutant.js'
import { MutantTests } from './test-process.js'

const NAME = 'two keys with the same hash are one'
/** Also the start of Vitest on a busy machine. */
const HANG_MS = 15_000

const tests = new MutantTests()
afterEach(() => tests.close())

const defect = mutants.find(({ name }) => name === NAME)
if (defect?.onlyBy === undefined) throw new Error(`there is no mutant "${NAME}" that names a test`)
const { onlyBy } = defect
const [{ quote, replacement }] = defect.hunks as readonly [Hunk]

function failureWith(edit: string, hangMs?: number): Promise<string | undefined> {
  const mutant: Mutant = { ...(defect as Mutant), hunks: [{ quote, replacement: edit }] }
  return tests.failureOf(mutant, onlyBy, hangMs)
}

test('a mutant that changes nothing survives in the process in which another one was killed', async () => {
  expect(await failureWith(replacement)).toContain(onlyBy.named)
  expect(await failureWith(`${quote} && true`)).toBeUndefined()
  expect(await failureWith(replacement)).toContain(onlyBy.named)
})

test('a test that is not there kills no mutant', async () => {
  const { test: path } = onlyBy
  expect(await failureWith(replacement)).toContain(onlyBy.named)
  expect(await tests.failureOf(defect, { test: path, named: 'a test that is not there' })).toBeUndefined()
})

test('a mutant that hangs is reported as such, and the next one has another process', async () => {
  const endless = `${quote} && (() => { for (;;) {} })()`
  await expect(failureWith(endless, HANG_MS)).rejects.toThrow(`the test of "${NAME}": it hangs`)
  expect(await failureWith(replacement)).toContain(onlyBy.named)
})
