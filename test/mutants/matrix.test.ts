import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { root } from '../support/sources.js'
import { type Entry, Judge } from './matrix.js'
import type { TestJob } from './test-worker.js'

test('the matrix has the tests that kill a mutant, and only these', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'listwatch-matrix-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const out = join(folder, 'matrix.jsonl')
  const { NODE_OPTIONS: _, VITEST: _vitest, ...env } = process.env
  const program = ['--import', './scripts/typescript.mjs', 'test/mutants/main.ts', 'matrix']
  const which = ['--source', 'src/store/write/interner.ts', '--only', 'arrays with the same hash are shared']
  const options = ['--tests', 'test/unit/store/interner', '--per-file', '0', '--out', out, '--jobs', '1']
  await promisify(execFile)(process.execPath, [...program, ...which, ...options], { cwd: root, env })
  const [, line = ''] = (await readFile(out, 'utf8')).split('\n')
  const { result, killers } = JSON.parse(line) as Entry
  const name = 'equal subtrees > [S17] with an array value of the same hash are not shared'
  const file = 'test/unit/store/interner.test.ts'
  expect({ result, killers }).toEqual({ result: 'killed', killers: [{ file, line: expect.any(Number), name }] })
})

test('a test that fails only after others, or alone without the mutant too, does not count', async () => {
  const file = 'test/unit/queue/change.test.ts'
  const judge = new Judge({ hash: '', files: [{ file, ms: 1, tests: [], reached: { 'src/queue/change.ts': [0] } }] })
  const ran = (name: string, failed: boolean) => ({ name, line: name.length, ms: 1, failed })
  const run = ({ filter, defect }: TestJob) => {
    const all = [ran('dies', defect.path !== ''), ran('after others', filter === undefined), ran('needs others', true)]
    const tests = all.filter(({ name }) => filter?.testNames?.includes(name) !== false)
    return Promise.resolve({ tests, reached: undefined })
  }
  const nothing = { start: 0, before: '', after: '', source: '' }
  const task = { id: 'a', kind: 'own', file: 'src/queue/change.ts', ...nothing } as const
  const { result, killers } = await judge.entry(task, { run })
  expect({ result, killers }).toEqual({ result: 'killed', killers: [{ file, line: 4, name: 'dies' }] })
})
