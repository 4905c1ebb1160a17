import type { Baseline, Entry, Killer } from './matrix.js'

const RULE = /\[(?:[A-Z]+\d+[a-z]?|law \d+[a-z]?)\]/

/** A test of a source file, or all cases of a table. */
interface Row {
  readonly title: string
  /** A rule of SPEC.md is in its title, or in the one of its suite. */
  isNamed: boolean
  cases: number
  ms: number
  /** The mutants that it kills, with all that kill them. */
  readonly kills: { readonly entry: Entry; readonly killers: readonly Row[] }[]
}

const newRow = (title: string): Row => ({ title, isNamed: false, cases: 0, ms: 0, kills: [] })
const rowOf = ({ file, line }: Pick<Killer, 'file' | 'line'>): string => `${file}:${line}`

/** What the matrix says about each test, and about each mutant that survives. */
export function report({ files }: Baseline, entries: readonly Entry[], total: number): string {
  const rows = new Map<string, Row>()
  for (const { file, tests } of files) {
    for (const { name, line, ms } of tests) {
      const key = rowOf({ file, line })
      const row = rows.get(key) ?? newRow(`${key} ${name}`)
      rows.set(key, row)
      row.isNamed ||= RULE.test(name)
      row.cases++
      row.ms += ms
    }
  }
  for (const entry of entries) {
    const killers = entry.killers.map((killer) => rows.get(rowOf(killer)) ?? newRow(killer.file))
    for (const row of killers) row.kills.push({ entry, killers })
  }
  const counts = Map.groupBy(entries, ({ kind, result }) => `${kind} ${result}`)
  const failing = files.flatMap(({ file, tests }) =>
    tests.filter(({ failed }) => failed).map(({ name }) => `${file} ${name}`),
  )
  const spare = sparable([...rows.values()])
  const alive = entries.filter(({ killers }) => killers.length === 0)
  return [
    `${entries.length} of ${total} mutants: ${Array.from(counts, ([name, those]) => `${name} ${those.length}`).join(', ')}`,
    `${rows.size} rows of ${files.length} files`,
    '',
    '## Fail without a mutant, and kill none',
    ...failing,
    '',
    '## Survive',
    ...alive.map(
      ({ id, result, before, after, covering }) => `${result} (${covering} files reach it) ${id}: ${before} → ${after}`,
    ),
    '',
    '## May all go together: no rule names them, and each mutant keeps two killers or those that it has',
    ...spare.map(({ title }) => title),
    '',
    '## Tests: kills, of them alone, with one other test; cases; milliseconds; R: it names a rule of SPEC.md',
    ...Array.from(rows.values(), linesOf).flat(),
    '',
  ].join('\n')
}

function linesOf(row: Row): string[] {
  const { kills, cases, ms, isNamed, title } = row
  const [alone, shared] = [1, 2].map((count) => kills.filter(({ killers }) => killers.length === count))
  const numbers = [kills.length, alone?.length, shared?.length, cases, Math.round(ms)].map((each) =>
    `${each}`.padStart(5),
  )
  return [
    `${numbers.join(' ')} ${isNamed ? 'R' : ' '} ${title}`,
    ...(alone ?? []).map(({ entry }) => `        alone: ${entry.id}`),
    ...(shared ?? []).map(({ entry, killers }) => {
      const other = killers.find((each) => each !== row)
      return `        with ${other?.title}: ${entry.id}`
    }),
  ]
}

/** Those that kill least are the first to go. */
function sparable(rows: readonly Row[]): Row[] {
  const gone = new Set<Row>()
  for (const row of rows.filter(({ isNamed }) => !isNamed).sort((a, b) => a.kills.length - b.kills.length))
    if (row.kills.every(({ killers }) => killers.filter((each) => !gone.has(each)).length > 2)) gone.add(row)
  return [...gone]
}
