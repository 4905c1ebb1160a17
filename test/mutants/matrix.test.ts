import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { root } from '../support/sources.js'
import type { Entry } from './matrix-report.js'

test('the matrix has the tests that kill a mutant, and only these', { timeout: 60_000 }, async () => {
  const folder = await mkdtemp(join(tmpdir(), 'listwatch-matrix-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const out = join(folder, 'matrix.jsonl')
  const { NODE_OPTIONS: _, VITEST: _vitest, ...env } = process.env
  const args = [
    'matrix',
    '--tests',
    'test/unit/store/interner',
    '--only',
    'arrays with the same hash are shared',
    '--out',
    out,
  ]
  await promisify(execFile)(
    process.execPath,
    ['--import', './scripts/typescript.mjs', 'test/mutants/main.ts', ...args, '--folder', folder],
    { cwd: root, env },
  )
  const [first = ''] = (await readFile(out, 'utf8')).split('\n')
  const { result, killers } = JSON.parse(first) as Entry
  const title = 'equal subtrees > with %s are not shared (case 12)'
  expect({ result, killers }).toEqual({ result: 'killed', killers: [`test/unit/store/interner.test.ts › ${title}`] })
})
