import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { blocksOf } from '../support/documents.js'
import { root } from '../support/sources.js'
import { entriesOf } from './format.js'
import { allMutants, files } from './index.js'
import { type Mutant, mutated } from './mutant.js'
import { placesOf } from './quotes.js'

const [one] = allMutants as readonly [Mutant]

test('a mutant whose quote is not in the source, or more than once, is refused', () => {
  const edit = (quote: string): Mutant => ({ ...one, folder: 'src', hunks: [{ quote, replacement: '' }] })
  expect(() => mutated(edit('no such text'))).toThrow(/0 times, not once/)
  expect(() => mutated(edit('import'))).toThrow(/times, not once/)
})

test.each([
  ['const two = a\n  .b(c, d)', 1],
  ['a.b(c, d)', 1],
  ['a.b(c,d)', 1],
  ['const two', 1],
  ['consttwo', 0],
  ['cons', 0],
  ['wo = a', 0],
])('the quote %j is in "const two = a.b(…" %i times', (quote, times) => {
  const sources = new Map([['src/a.ts', 'const two = a.b(\n  c,\n  d)']])
  expect(placesOf(quote, sources)).toHaveLength(times)
})

test.each(Array.from(files))('each quote of %s is once in its folder', (_path, entries) => {
  expect(entries.length).toBeGreaterThan(0)
  for (const { mutant } of entries) mutated(mutant)
})

test('every mutant can be made as a valid module', () => {
  const flags = ['--disable-warning=ExperimentalWarning', '--experimental-vm-modules']
  const args = [...flags, '--import', './scripts/typescript.mjs', 'test/mutants/syntax.ts']
  const { NODE_OPTIONS: _, ...env } = process.env
  expect(JSON.parse(execFileSync(process.execPath, args, { cwd: root, env, encoding: 'utf8' }))).toEqual([])
})

test('every mutant has a name of its own', () => {
  const names = allMutants.map(({ name }) => name)
  expect(names.filter((name, nth) => names.indexOf(name) !== nth)).toEqual([])
  expect(names.length).toBeGreaterThan(20)
})

test('every mutant of an adapter names a test, or the schedules that find it', () => {
  const ofAdapters = allMutants.filter(({ folder }) => folder !== 'src')
  expect(ofAdapters.filter(({ onlyBy, kind }) => onlyBy === undefined && kind === undefined)).toEqual([])
})

test('the example of CONTRIBUTING.md is one of them', () => {
  const [block] = blocksOf(['CONTRIBUTING.md']).filter(({ language }) => language === 'mutants')
  const [entry] = entriesOf('test/mutants/core/store.mutants', block?.text ?? '')
  expect(allMutants).toContainEqual(entry?.mutant)
})

test('the tests that mutants name exist', () => {
  const paths = new Set(allMutants.flatMap(({ onlyBy }) => onlyBy?.test ?? []))
  expect(Array.from(paths).filter((path) => !existsSync(join(root, 'test', path)))).toEqual([])
})
