import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { root, textOf } from './support/sources.js'

const spec = textOf('SPEC.md')

interface Reference {
  readonly file: string
  readonly titles: readonly string[]
}

interface Rule {
  /** `I7`, `law 4c` */
  readonly name: string
  readonly text: string
  readonly tests: readonly Reference[]
}

/** The test files that a text names, each with the titles after it: `file` › "title", "title". */
function referencesOf(text: string): Reference[] {
  const pattern = /`(test\/[\w./-]+\.test\.tsx?)`(?: › ("[^"]+"(?:,\s+"[^"]+")*))?/g
  return Array.from(text.matchAll(pattern), ([, file = '', titles = '']) => ({
    file,
    titles: Array.from(titles.matchAll(/"([^"]+)"/g), ([, title = '']) => title),
  }))
}

/** The rows of all tables of rules: a name, the rule, and its tests. */
function rulesOf(text: string): Rule[] {
  return Array.from(
    text.matchAll(/^\| ([A-Z]\d+|law \d[a-z]?) \| (.+?) \| (.*) \|$/gm),
    ([, name = '', rule = '', tests = '']) => ({ name, text: rule, tests: referencesOf(tests) }),
  )
}

/** The first argument of every call in a file if it is a string: titles of tests and groups among them. */
function titlesIn(file: string): string {
  const text = existsSync(join(root, file)) ? textOf(file) : ''
  return Array.from(text.matchAll(/\(\s*(['"`])((?:(?!\1).)*)\1/g), ([, , title = '']) => title).join('\n')
}

const references = referencesOf(spec)
const rules = rulesOf(spec)

describe('SPEC.md', () => {
  test.each([...new Set(references.map(({ file }) => file))])('names tests that exist in %s', (file) => {
    const titles = titlesIn(file)
    expect(titles).not.toBe('')
    const named = references.filter((reference) => reference.file === file).flatMap((reference) => reference.titles)
    expect(named.filter((title) => !titles.includes(title))).toEqual([])
  })

  test('names every test file as a reference that can be checked', () => {
    const mentioned = spec.match(/test\/[\w./-]+\.test\.tsx?/g) ?? []
    expect(mentioned.filter((file) => !references.some((reference) => reference.file === file))).toEqual([])
  })

  test('has a test with a title or a file of tests for each rule', () => {
    expect(rules.filter(({ tests }) => tests.length === 0).map(({ name }) => name)).toEqual([])
  })

  test.each(['C', 'P', 'E', 'K', 'R', 'S', 'I', 'M', 'F', 'N', 'G', 'L', 'B', 'H', 'V', 'U'])(
    'numbers the rules %s1, … without gaps',
    (letter) => {
      const names = rules.map(({ name }) => name).filter((name) => name.startsWith(letter))
      expect(names).toEqual(names.map((_, i) => `${letter}${i + 1}`))
      expect(names.length).toBeGreaterThan(4)
    },
  )

  test('has the invariants I1 to I17 and the laws 1 to 8, by which tests name them', () => {
    expect(rules.filter(({ name }) => /^I\d+$/.test(name))).toHaveLength(17)
    const laws = rules.flatMap(({ name }) => /^law (\d)/.exec(name)?.[1] ?? [])
    expect([...new Set(laws)]).toEqual(['1', '2', '3', '4', '5', '6', '7', '8'])
  })

  test('explains every input of the table of states', () => {
    const inputs = /^\| \| (start .*) \|$/m.exec(spec)?.[1]?.split(' | ') ?? []
    const [table = ''] = /^\| input \| meaning \|\n(?:\|.*\n)+/m.exec(spec) ?? []
    const explained = Array.from(table.matchAll(/^\| (`.*`) \|/gm), ([, names = '']) =>
      names.replaceAll('`', '').split(', '),
    )
    expect(inputs.length).toBeGreaterThan(5)
    expect(explained.flat()).toEqual(inputs)
  })

  test('has no sentence of more than 25 words in a rule', () => {
    const sentences = rules.flatMap(({ name, text }) =>
      text.split(/(?<=[.;])\s/).map((sentence) => ({ name, sentence })),
    )
    expect(sentences.filter(({ sentence }) => (sentence.match(/\S*\w\S*/g) ?? []).length > 25)).toEqual([])
  })
})

/** The test files that the tables of a guide name in their last column: `x` is a test of the adapter. */
function filesInTablesOf(adapter: string): string[] {
  const tables = textOf(`docs/${adapter}.md`).match(/^\|.*\| test \|\n(?:\|.*\n)+/gm) ?? []
  const cells = tables.flatMap((table) => table.trim().split('\n').slice(2)).map((line) => line.split('|').at(-2) ?? '')
  const names = cells.flatMap((cell) => Array.from(cell.matchAll(/`([^`]+)`/g), ([, name = '']) => name))
  return [...new Set(names)].map((name) => {
    if (name.startsWith('test/')) return name.replace(/(\.test\.ts)?$/, '.test.ts')
    return name.startsWith('faults/') ? `test/${adapter}-${name}.test.ts` : `test/${adapter}/${name}.test.ts`
  })
}

describe('the guide', () => {
  test.each(['postgres', 'etcd', 'redis', 'kubernetes'])('for %s names test files that exist', (adapter) => {
    const files = filesInTablesOf(adapter)
    expect(files.length).toBeGreaterThan(10)
    expect(files.filter((file) => !existsSync(join(root, file)))).toEqual([])
  })
})
