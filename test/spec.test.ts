import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { rulesNamedIn } from './support/rule-tags.js'
import { filesUnder, root, textOf } from './support/sources.js'

const spec = textOf('SPEC.md')

interface Rule {
  /** `I7`, `H4a`, `law 4c` */
  readonly name: string
  readonly text: string
}

/** The bullets of all lists of rules: a name, and the rule. */
function rulesOf(text: string): Rule[] {
  return Array.from(
    text.matchAll(/^- \*\*([A-Z]{1,2}\d+[a-z]?|law \d[a-z]?)\*\* (.+(?:\n {2}.+)*)/gm),
    ([, name = '', rule = '']) => ({ name, text: rule.replace(/\s+/g, ' ') }),
  )
}

const rules = rulesOf(spec)
const decisions: readonly string[] = textOf('docs/explain/decisions.md').match(/(?<=^\*\*)D\d+a?(?=\. )/gm) ?? []
const names = rules.map(({ name }) => name)
const tests = filesUnder(['test'], '.test.ts').concat(filesUnder(['test'], '.test.tsx'))
// The title in vocabulary.test.ts is an example.
const named = tests.filter((path) => path !== 'test/vocabulary.test.ts').flatMap((path) => rulesNamedIn(textOf(path)))

describe('SPEC.md', () => {
  test('has a test or a group of tests for each rule', () => {
    expect(names.filter((name) => !named.includes(name))).toEqual([])
  })

  test('has a rule for each name in front of the title of a test, unless it is a decision', () => {
    expect(decisions).toContain('D2a')
    expect(named.filter((name) => !names.includes(name) && !decisions.includes(name))).toEqual([])
  })

  test('has a rule once', () => expect(names.filter((name, i) => names.indexOf(name) !== i)).toEqual([]))

  test.each([...'ABCEFGHIJKLMNOPQRSTUVWXYZ', 'MY'])('numbers the rules %s1, … without gaps', (letter) => {
    const numbered = names.filter((name) => new RegExp(`^${letter}\\d+$`).test(name))
    expect(numbered).toEqual(numbered.map((_, i) => `${letter}${i + 1}`))
    expect(numbered.length).toBeGreaterThan(4)
  })

  test('has the invariants I1 to I17 and the laws 1 to 9, by which tests name them', () => {
    expect(names.filter((name) => /^I\d+$/.test(name))).toHaveLength(17)
    const laws = names.flatMap((name) => /^law (\d)/.exec(name)?.[1] ?? [])
    expect([...new Set(laws)]).toEqual(['1', '2', '3', '4', '5', '6', '7', '8', '9'])
  })

  test('has no line of more than 200 characters, and at most 70 000 bytes', () => {
    expect(spec.split('\n').filter((line) => line.length > 200)).toEqual([])
    expect(Buffer.byteLength(spec)).toBeLessThanOrEqual(70_000)
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
  const tables = textOf(`docs/reference/${adapter}.md`).match(/^\|.*\| test \|\n(?:\|.*\n)+/gm) ?? []
  const cells = tables.flatMap((table) => table.trim().split('\n').slice(2)).map((line) => line.split('|').at(-2) ?? '')
  const names = cells.flatMap((cell) => Array.from(cell.matchAll(/`([^`]+)`/g), ([, name = '']) => name))
  return [...new Set(names)].map((name) => {
    if (name.startsWith('test/')) return name.replace(/(\.test\.ts)?$/, '.test.ts')
    return name.startsWith('faults/') ? `test/${adapter}-${name}.test.ts` : `test/${adapter}/${name}.test.ts`
  })
}

test.each(['postgres', 'etcd', 'redis', 'kubernetes'])('the guide for %s names test files that exist', (adapter) => {
  const files = filesInTablesOf(adapter)
  expect(files.length).toBeGreaterThan(10)
  expect(files.filter((file) => !existsSync(join(root, file)))).toEqual([])
})

/** The tests that a page names as inline code: `[P22] postgres/keys`, `postgres/keys` or `test/cli/verify`. */
function testsNamedIn(page: string): { readonly rules: readonly string[]; readonly path: string }[] {
  const code = /`((?:\[[\w ]+\])+ )?(?!listwatch\/)(?:test\/)?(\w[\w.-]*(?:\/[\w.-]+)+)(?<!\.test\.ts)`/g
  return Array.from(page.matchAll(code), ([, tags = '', path = '']) => ({
    rules: tags.match(/[\w ]+(?=\])/g) ?? [],
    path,
  }))
}

function textOfTest(path: string): string | undefined {
  const file = ['ts', 'tsx'].map((ending) => `test/${path}.test.${ending}`).find((each) => existsSync(join(root, each)))
  return file === undefined ? undefined : textOf(file)
}

describe.each(['what-happens-when', 'faults'])('docs/explain/%s.md', (page) => {
  const text = textOf(`docs/explain/${page}.md`)

  test('names test files that exist, and rules that these name', () => {
    const tests = testsNamedIn(text)
    expect(tests.length).toBeGreaterThan(150)
    const wrong = tests.filter(({ rules, path }) => {
      const there = rulesNamedIn(textOfTest(path) ?? '')
      return textOfTest(path) === undefined || rules.some((rule) => !there.includes(rule))
    })
    expect(wrong).toEqual([])
  })

  test('names a test in the last cell of each row, or says that none has tested it', () => {
    const tables = text.match(/^\|.*\| test \|\n(?:\|.*\n)+/gm) ?? []
    const cells = tables
      .flatMap((table) => table.trim().split('\n').slice(2))
      .map((line) => line.split('|').at(-2) ?? '')
    expect(cells.length).toBeGreaterThan(100)
    const isShown = (cell: string): boolean => testsNamedIn(cell).length > 0 || /^ not tested\b/.test(cell)
    expect(cells.filter((cell) => !isShown(cell))).toEqual([])
  })
})
