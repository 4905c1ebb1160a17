import { describe, expect, test } from 'vitest'
import { memorySource } from '../adapters/memory/index.js'
import { createInformer, derive, type Informer, type ListerWatcher } from '../src/index.js'
import { metricsText } from '../telemetry/prometheus/index.js'
import { type Family, parsePrometheusText } from './support/prometheus-text.js'
import { textOf } from './support/sources.js'

type Rule = { readonly alert: string; readonly expr: string; readonly summary: string }

/** The lines of a rule, after its first one: exactly these, in this order. */
const RULE = new RegExp(
  [
    ' {6}- alert: (?<alert>Listwatch[A-Za-z]+)',
    ' {8}expr: (?<expr>[^#\\n]+)',
    ' {8}for: \\d+m',
    ' {8}labels:',
    ' {10}severity: (?:critical|warning)',
    ' {8}annotations:',
    ' {10}summary: (?<summary>[A-Z][^:#\\n]+\\.)',
    '',
  ].join('\n'),
  'gy',
)

/** Parses the rules. Throws if the file has anything besides rules of this form. */
function rulesIn(text: string): readonly Rule[] {
  const head = /^(?:# .*\n)*groups:\n {2}- name: listwatch\n {4}rules:\n/.exec(text)?.[0]
  if (head === undefined) throw new Error('the head of the rules is wrong')
  const rules: Rule[] = []
  RULE.lastIndex = head.length
  let end = head.length
  for (let found = RULE.exec(text); found !== null; found = RULE.exec(text)) {
    const { alert = '', expr = '', summary = '' } = found.groups ?? {}
    rules.push({ alert, expr, summary })
    end = RULE.lastIndex
  }
  if (end !== text.length) throw new Error(`not a rule: ${text.slice(end, end + 200)}`)
  return rules
}

/** The flaws of a PromQL expression: metrics and labels that are not printed, brackets that are not closed. */
function flawsIn(expr: string, families: ReadonlyMap<string, Family>): readonly string[] {
  const flaws: string[] = []
  const used = [...expr.matchAll(/\b(listwatch_\w+)(?:\{([^}]*)\})?(\[\w+\])?/g)]
  if (used.length === 0) flaws.push('no metric')
  for (const [, name = '', matchers = '', range] of used) {
    const family = families.get(name)
    if (family === undefined) {
      flaws.push(`there is no ${name}`)
      continue
    }
    if ((range !== undefined) !== new RegExp(`(?:rate|increase|deriv)\\(${name}`).test(expr))
      flaws.push(`range of ${name}`)
    if (/(?:rate|increase)\(/.test(expr) && range !== undefined && family.type !== 'counter')
      flaws.push(`rate of a gauge ${name}`)
    const labels = new Set(family.samples.flatMap((sample) => Object.keys(sample.labels)))
    for (const matcher of matchers.split(',').filter((each) => each !== '')) {
      const [, label = '', operator = '', value = ''] = /^(\w+)(=~?)"([^"]+)"$/.exec(matcher) ?? []
      if (!labels.has(label)) {
        flaws.push(`${name} has no label ${label}`)
        continue
      }
      const isPrinted = family.samples.some((sample) => sample.labels[label] === value)
      if (operator === '=' && !isPrinted) flaws.push(`${name} has no ${label} ${value}`)
    }
  }
  const open = (bracket: string): number => expr.split(bracket).length
  if (open('(') !== open(')') || open('[') !== open(']') || open('{') !== open('}')) flaws.push('brackets')
  return flaws.map((flaw) => `${expr}: ${flaw}`)
}

/** The labels that a text refers to as `{{ $labels.x }}`, or in legends as `{{x}}`. */
function labelsIn(text: string): readonly string[] {
  return Array.from(text.matchAll(/\{\{ ?(?:\$labels\.)?(\w+) ?\}\}/g), ([, label = '']) => label)
}

/** The labels of all metrics in an expression, without those that it aggregates. */
function labelsOf(expr: string, families: ReadonlyMap<string, Family>): ReadonlySet<string> {
  const names = Array.from(expr.matchAll(/\blistwatch_\w+/g), ([name]) => name)
  const labels = new Set(
    names.flatMap((name) => families.get(name)?.samples ?? []).flatMap((each) => Object.keys(each.labels)),
  )
  for (const [, without = ''] of expr.matchAll(/without \((\w+)\)/g)) labels.delete(without)
  return labels
}

/** An informer that prints every metric. */
async function observed(): Promise<Informer<number>> {
  const source = memorySource<number>({ entries: [['a', 1]] })
  const timed: ListerWatcher<number> = {
    name: 'timed',
    list: (context) => source.list(context),
    async *watch(context) {
      for await (const batch of source.watch(context)) yield { ...batch, committedAt: Date.now() }
    },
  }
  const informer = createInformer<number, object>({
    source: timed,
    indexes: (ix) => ({ parity: ix.equal((n) => n % 2) }),
  })
  informer.subscribe({}, { name: 'view' })
  informer.reconcile(async () => {}, { name: 'ledger' })
  await informer.start().synced()
  const changed = informer.until('a', (n) => n === 2)
  source.put('a', 2)
  await changed
  await informer.relist()
  return informer
}

/** The printed metrics by name. */
async function printedFamilies(): Promise<ReadonlyMap<string, Family>> {
  await using informer = await observed()
  await using view = derive({ from: informer, each: () => ({}) })
  return parsePrometheusText(metricsText([informer, view]))
}

test('docs/reference/metrics.md has a row for each metric, with its type, labels and help', async () => {
  const families = await printedFamilies()
  const rows = [...textOf('docs/reference/metrics.md').matchAll(/^\| `(listwatch_\w+)` \| (\w+) \| (.*) \| (.*) \|$/gm)]
  const printed = Array.from(families, ([name, { type, help, samples }]) => {
    const labels = Object.keys(samples[0]?.labels ?? {}).map((label) => `\`${label}\``)
    return [name, type, labels.join(', '), help.replace(/\.$/, '')]
  })
  expect(rows.map((row) => row.slice(1))).toEqual(printed)
})

describe('docs/reference/prometheus-rules.yml', () => {
  test('uses metrics and labels that metricsText prints', async () => {
    const families = await printedFamilies()
    const rules = rulesIn(textOf('docs/reference/prometheus-rules.yml'))
    expect(rules.length).toBeGreaterThan(10)
    expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length)
    expect(rules.flatMap(({ expr }) => flawsIn(expr, families))).toEqual([])
    const unknown = rules.flatMap(({ alert, expr, summary }) =>
      labelsIn(summary)
        .filter((label) => !labelsOf(expr, families).has(label))
        .map((label) => `${alert}: ${label}`),
    )
    expect(unknown).toEqual([])
  })

  test('has the alerts that docs/how-to/operating.md explains', () => {
    const explained = Array.from(
      textOf('docs/how-to/operating.md').matchAll(/^### (Listwatch\w+)$/gm),
      ([, name]) => name,
    )
    expect(rulesIn(textOf('docs/reference/prometheus-rules.yml')).map(({ alert }) => alert)).toEqual(explained)
  })
})

interface Panel {
  readonly id: number
  readonly type: string
  readonly title: string
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number }
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string; readonly refId: string }[]
}

describe('docs/reference/grafana-dashboard.json', () => {
  const dashboard = JSON.parse(textOf('docs/reference/grafana-dashboard.json')) as {
    readonly panels: readonly Panel[]
    readonly templating: { readonly list: readonly { readonly name: string }[] }
  }
  const targets = dashboard.panels.flatMap(({ targets = [] }) => targets)

  test('uses metrics and labels that metricsText prints, and nearly all of them', async () => {
    const families = await printedFamilies()
    expect(targets.flatMap(({ expr }) => flawsIn(expr, families))).toEqual([])
    const unknown = targets.flatMap(({ expr, legendFormat }) =>
      labelsIn(legendFormat)
        .filter((label) => !labelsOf(expr, families).has(label))
        .map((label) => `${expr}: ${label}`),
    )
    expect(unknown).toEqual([])
    const shown = new Set(targets.flatMap(({ expr }) => expr.match(/listwatch_\w+/g) ?? []))
    expect([...families.keys()].filter((name) => !shown.has(name))).toEqual([
      ...'listwatch_synced listwatch_view_evaluations_total listwatch_audits_total'.split(' '),
      ...'listwatch_subscription_open listwatch_controller_open'.split(' '),
    ])
  })

  test('has only variables that it declares', () => {
    const declared = dashboard.templating.list.map(({ name }) => name)
    const used = new Set(
      Array.from(textOf('docs/reference/grafana-dashboard.json').matchAll(/\$\{?(\w+)/g), ([, name]) => name),
    )
    expect([...used].sort((a = '', b = '') => (a < b ? -1 : 1))).toEqual(declared.toSorted())
  })

  test('has panels with ids of their own, which do not overlap', () => {
    const { panels } = dashboard
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
    const overlaps = panels.flatMap((a, at) =>
      panels.slice(at + 1).filter(({ gridPos: b }) => {
        const { x, y, w, h } = a.gridPos
        return x < b.x + b.w && b.x < x + w && y < b.y + b.h && b.y < y + h
      }),
    )
    expect(overlaps.map(({ title }) => title)).toEqual([])
    expect(panels.filter(({ gridPos }) => gridPos.x + gridPos.w > 24)).toEqual([])
  })
})

describe('the checks of expressions', () => {
  test.each([
    ['listwatch_nothing > 1', 'there is no listwatch_nothing'],
    ['listwatch_state{mood="live"} == 1', 'has no label mood'],
    ['listwatch_state{state="asleep"} == 1', 'has no state asleep'],
    ['rate(listwatch_changes_total) > 1', 'range of listwatch_changes_total'],
    ['listwatch_objects[5m] > 1', 'range of listwatch_objects'],
    ['rate(listwatch_objects[5m]) > 1', 'rate of a gauge listwatch_objects'],
    ['(listwatch_objects > 1', 'brackets'],
    ['vector(1)', 'no metric'],
  ])('find the flaw of %s', async (expr, flaw) => {
    expect(flawsIn(expr, await printedFamilies())).toEqual([expect.stringContaining(flaw)])
  })

  test.each(['  - name: other\n', '      - alert: ListwatchX\n        expr: up\n'])('reject %j in the rules', (line) =>
    expect(() => rulesIn(`${textOf('docs/reference/prometheus-rules.yml')}${line}`)).toThrow('not a rule'),
  )
})
