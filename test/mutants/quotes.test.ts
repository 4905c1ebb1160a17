import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { describe, expect, test } from 'vitest'
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

/** The texts of a test file and of the files of tests that it imports, up to three imports away. */
function textsOf(path: string, far = 3): string[] {
  const text = readFileSync(path, 'utf8')
  const imports = Array.from(text.matchAll(/from '(\.[^']+)\.js'/g), ([, name]) => join(dirname(path), `${name}.ts`))
  const ofTests = far === 0 ? [] : imports.filter((each) => /^test(ing)?\//.test(relative(root, each)))
  return [text, ...ofTests.filter((each) => existsSync(each)).flatMap((each) => textsOf(each, far - 1))]
}

/** The strings of a file. Each is split at its parameters: `%s ends` and `${name} ends` are an empty text and ` ends`. */
function stringsOf(text: string): string[][] {
  const strings = text.matchAll(/'((?:\\.|[^'\\\n])*)'|"((?:\\.|[^"\\\n])*)"|`((?:\\.|[^`\\])*)`/g)
  return Array.from(strings, ([, single, double, template]) =>
    (single ?? double ?? template ?? '').replaceAll(/\\(.)/g, '$1').split(/\$\{[^}]*\}|%\w|\$[\w.]+/),
  )
}

/** Whether a string between whose texts are parameters may have the part. A fifth of the part has to be in the texts. */
function mayHave(texts: readonly string[], part: string): boolean {
  if (texts.some((text) => text.includes(part))) return true
  const lengths = texts.map((text) => {
    for (let length = text.length; length > 0; length--) {
      if (length === text.length && part.includes(text)) return length
      if (part.startsWith(text.slice(-length)) || part.endsWith(text.slice(0, length))) return length
    }
    return 0
  })
  return texts.length > 1 && lengths.reduce((sum, each) => sum + each, 0) * 5 >= part.length
}

describe('the test that a mutant names exists', () => {
  const named = Map.groupBy(
    allMutants.flatMap(({ onlyBy }) => onlyBy ?? []),
    ({ test: path }) => path,
  )
  test.each(Array.from(named))('%s', (path, titles) => {
    const strings = textsOf(join(root, 'test', path)).flatMap(stringsOf)
    const parts = titles.flatMap((each) => each.named.split(/ ?… ?/))
    expect(parts.filter((part) => !strings.some((texts) => mayHave(texts, part)))).toEqual([])
  })

  test('a title that no file has is not found', () => {
    expect(mayHave(['a handler that fails is reported'], 'fails twice is reported')).toBe(false)
    expect(mayHave(['a list ', ' is read again'], 'of a server that was restored expires')).toBe(false)
    expect(mayHave(['a list ', ' is read again'], 'list of etcd is read')).toBe(true)
  })
})
