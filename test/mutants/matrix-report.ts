import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseSync, Visitor } from 'rolldown/utils'
import { textOf } from '../support/sources.js'
import type { KnownTest } from './matrix-worker.js'

/** One line of the matrix. */
export interface Entry {
  readonly id: string
  readonly kind: 'own' | 'foreign' | 'adapter' | 'operator'
  readonly file: string
  readonly line: number
  readonly operator?: string
  readonly before: string
  readonly after: string
  readonly result: 'killed' | 'survives' | 'uncovered' | 'timeout' | 'error'
  /** "file › title" of each test that fails. */
  readonly killers: readonly string[]
  /** Those of them that did not end. */
  readonly timeouts: readonly string[]
  /** How many tests reach the mutant, and how many of them were not run: it was dead, or they take long. */
  readonly covering: number
  readonly notRun: number
  /** Those that were not run though the mutant has few killers, as numbers of the tests. */
  readonly open: readonly number[]
  /** It had more time than others. */
  readonly isLast?: boolean
  readonly ms: number
  readonly error?: string
}

const RULES = /(^| > )(?:\[(?:[A-Z]+\d+[a-z]?|law \d+[a-z]?)\] ?)+/g
/** Without the rules of SPEC.md in front of it. */
export const untagged = (title: string): string => title.replaceAll(RULES, '$1')
export const nameOf = ({ file, title }: { file: string; title: string }): string => `${file} › ${untagged(title)}`
const lastOf = (row: string): string => row.split(' > ').at(-1) ?? ''
const isNamed = (row: string): boolean => untagged(lastOf(row)) !== lastOf(row)
/** The first suites of a row, up to the last one that names a rule. */
function namedSuite(row: string): string | undefined {
  const names = row.split(' > ').slice(0, -1)
  const last = names.findLastIndex((name) => untagged(name) !== name)
  return last < 0 ? undefined : names.slice(0, last + 1).join(' > ')
}

/** A test of a source file, or a table of them. */
interface Row {
  readonly file: string
  readonly title: string
  /** A rule of SPEC.md is in front of its title. */
  readonly isNamed: boolean
  /** Its suite, if that has a rule in front of its title: one of its tests has to stay. */
  readonly suite: string | undefined
  readonly cases: string[]
  ms: number
  lines: number
  kills: number
  last: number
  secondLast: number
  /** Mutants with few killers that it reaches, and for which it was not run. */
  open: number
}

/** How many lines each test of a file has, by the title that it has in the source. */
function linesOf(file: string): Map<string, number> {
  const code = textOf(file)
  const lines = new Map<string, number>()
  const { program } = parseSync(file, code, { sourceType: 'module' })
  new Visitor({
    CallExpression({ start, end, callee, arguments: [title] }) {
      if (!/^(test|it)\b/.test(code.slice(callee.start, callee.end))) return
      if (title === undefined || title.start === callee.start) return
      const text = title.type === 'Literal' ? title.value : undefined
      if (typeof text === 'string') lines.set(text, code.slice(start, end).split('\n').length)
    },
  }).visit(program)
  return lines
}

function tableOf(rows: Iterable<Row>): string[] {
  return Array.from(
    rows,
    ({ title, isNamed: named, suite, cases, lines, kills, last, secondLast, open, ms }) =>
      `${`${kills}`.padStart(6)} ${`${last}`.padStart(6)} ${`${secondLast}`.padStart(6)} ${`${open}`.padStart(6)} ${`${lines}`.padStart(6)} ${`${cases.length}`.padStart(6)} ${ms.toFixed(0).padStart(7)}  ${mark(named, suite)} ${title}`,
  )
}
const mark = (named: boolean, suite: string | undefined): string => (named ? 'R' : suite === undefined ? ' ' : 's')
const HEAD = ' kills   last 2ndlst   open  lines  cases      ms  R: it names a rule of SPEC.md, s: its suite does'

/** Writes one text for each file of tests, and the sums. Returns the sums. */
export function report(folder: string, tests: readonly KnownTest[], entries: readonly Entry[], total: number): string {
  const rows = new Map<string, Row>()
  const rowOf = new Map<string, Row>()
  const lines = new Map<string, Map<string, number>>()
  for (const test of tests) {
    const key = `${test.file} › ${test.row}`
    let row = rows.get(key)
    if (row === undefined) {
      const ofFile = lines.get(test.file) ?? linesOf(test.file)
      lines.set(test.file, ofFile)
      const title = lastOf(test.row)
      row = {
        file: test.file,
        title: untagged(test.row),
        isNamed: isNamed(test.row),
        suite: namedSuite(test.row),
        cases: [],
        ms: 0,
        lines: ofFile.get(title) ?? 0,
        kills: 0,
        last: 0,
        secondLast: 0,
        open: 0,
      }
      rows.set(key, row)
    }
    row.cases.push(nameOf(test))
    row.ms += test.ms
    rowOf.set(nameOf(test), row)
  }
  const kills = entries.map(({ killers }) => [...new Set(killers.flatMap((each) => rowOf.get(each) ?? []))])
  for (const killers of kills) {
    for (const row of killers) {
      row.kills++
      if (killers.length === 1) row.last++
      if (killers.length === 2) row.secondLast++
    }
  }
  for (const { open } of entries) {
    const those = new Set(open.flatMap((each) => rowOf.get(nameOf(tests[each] ?? { file: '', title: '' })) ?? []))
    for (const row of those) row.open++
  }
  const all = [...rows.values()]
  mkdirSync(folder, { recursive: true })
  const byFile = Map.groupBy(all, ({ file }) => file)
  const ofCases = new Map<string, number>()
  for (const { killers } of entries) for (const each of killers) ofCases.set(each, (ofCases.get(each) ?? 0) + 1)
  for (const [file, those] of byFile) {
    const cases = those
      .filter((row) => row.cases.length > 1)
      .flatMap((row) => [
        '',
        `cases of "${row.title}":`,
        ...row.cases.map((each) => `${`${ofCases.get(each) ?? 0}`.padStart(6)}  ${each.slice(file.length + 3)}`),
      ])
    const text = [HEAD, ...tableOf(those.toSorted((a, b) => a.kills - b.kills)), ...cases, '']
    writeFileSync(join(folder, `${file.replaceAll('/', '_')}.txt`), text.join('\n'))
  }
  const spare = sparable(all, kills)
  const counts = Object.entries(Object.groupBy(entries, ({ kind, result }) => `${kind} ${result}`))
    .map(([name, those]) => `${name} ${those?.length}`)
    .sort()
  const head = [
    `${entries.length} of ${total} mutants: ${counts.join(', ')}`,
    `${all.length} rows, ${tests.length} cases`,
    `open: a test reaches a mutant with few killers, and was not run for it, because it takes long`,
    `may all go together (no rule names them, each mutant keeps two killers or those it has): ${spare.length} rows, ${spare.reduce((sum, row) => sum + row.lines, 0)} lines`,
    `without a result (they fail or take another course here): ${
      tests
        .filter(({ exception }) => exception !== undefined)
        .map(nameOf)
        .join('; ') || 'none'
    }`,
  ]
  const files = [
    '',
    '## Files',
    ' kills   last 2ndlst   open  lines  cases      ms',
    ...[...byFile].map(([file, those]) => {
      const sum = (of: (row: Row) => number): number => those.reduce((total, row) => total + of(row), 0)
      const total: Row = {
        file,
        title: file,
        isNamed: false,
        suite: undefined,
        cases: those.flatMap((row) => row.cases),
        ms: sum((row) => row.ms),
        lines: textOf(file).split('\n').length,
        kills: kills.filter((killers) => killers.some((row) => row.file === file)).length,
        last: kills.filter((killers) => killers.length > 0 && killers.every((row) => row.file === file)).length,
        secondLast: sum((row) => row.secondLast),
        open: sum((row) => row.open),
      }
      return tableOf([total])[0] ?? ''
    }),
  ]
  const text = [...head, ...files, '', '(last of a file: no test of another file kills the mutant)'].join('\n')
  writeFileSync(join(folder, 'summary.txt'), `${text}\n`)
  writeFileSync(
    join(folder, 'may-go.txt'),
    spare
      .map((row) => `${`${row.lines}`.padStart(4)} lines ${`${row.open}`.padStart(4)} open ${row.file} › ${row.title}`)
      .join('\n'),
  )
  const alive = entries.filter(({ result }) => result === 'survives' || result === 'uncovered' || result === 'error')
  writeFileSync(
    join(folder, 'survivors.txt'),
    alive
      .map(
        ({ id, result, before, after, covering, notRun }) =>
          `${result} (${covering} tests reach it, ${notRun} were not run) ${id}: ${before} → ${after}`,
      )
      .join('\n'),
  )
  return text
}

/** The rows that no rule names, and without which each mutant keeps two killers, or all that it has if they are fewer. */
function sparable(rows: readonly Row[], kills: readonly (readonly Row[])[]): Row[] {
  const mutantsOf = Map.groupBy(
    kills.flatMap((killers, mutant) => killers.map((row) => ({ row, mutant }))),
    ({ row }) => row,
  )
  const left = kills.map(({ length }) => length)
  const inSuite = new Map<string, number>()
  for (const { file, suite } of rows) {
    const key = `${file} ${suite}`
    inSuite.set(key, (inSuite.get(key) ?? 0) + 1)
  }
  const gone: Row[] = []
  for (const row of rows.filter((each) => !each.isNamed).toSorted((a, b) => b.lines - a.lines)) {
    const its = mutantsOf.get(row) ?? []
    const suite = `${row.file} ${row.suite}`
    const others = (inSuite.get(suite) ?? 0) - 1
    if (its.some(({ mutant }) => (left[mutant] ?? 0) <= 2) || (row.suite !== undefined && others === 0)) continue
    inSuite.set(suite, others)
    for (const { mutant } of its) left[mutant] = (left[mutant] ?? 0) - 1
    gone.push(row)
  }
  return gone
}

/** The results in a file, by mutant: the last one counts. */
export function entriesOf(file: string): Map<string, Entry> {
  const entries = new Map<string, Entry>()
  for (const line of readFileSync(file, 'utf8').split('\n')) {
    if (line.trim() === '') continue
    const entry = JSON.parse(line) as Entry
    entries.set(entry.id, entry)
  }
  return entries
}
