import { describe, expect, test } from 'vitest'
import { memorySource } from '../adapters/memory/index.js'
import { createInformer, derive, type Informer, type ListerWatcher } from '../src/index.js'
import { metricsText } from '../telemetry/prometheus/index.js'
import { type Family, parsePrometheusText } from './support/prometheus-text.js'
import { textOf } from './support/sources.js'

const RULES = textOf('docs/reference/prometheus-rules.yml')

/** What an expression reads that `metricsText` does not print, and rates of gauges. Prometheus judges all else. */
function flawsIn(expr: string, families: ReadonlyMap<string, Family>): readonly string[] {
  const used = [...expr.matchAll(/((?:rate|increase)\()?\b(listwatch_\w+)(?:\{([^}]*)\})?/g)]
  return used.flatMap(([text, rate, name = '', matchers = '']) => {
    const family = families.get(name)
    const labels = new Set(family?.samples.flatMap((sample) => Object.keys(sample.labels)))
    const isKnown = Array.from(matchers.matchAll(/(\w+)=/g), ([, label = '']) => label).every((each) =>
      labels.has(each),
    )
    return isKnown && family !== undefined && (rate === undefined || family.type === 'counter') ? [] : [text]
  })
}

/** The labels that a legend refers to as `{{x}}`. */
function labelsIn(text: string): readonly string[] {
  return Array.from(text.matchAll(/\{\{(\w+)\}\}/g), ([, label = '']) => label)
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
    expect(flawsIn(RULES, await printedFamilies())).toEqual([])
  })

  test('has the alerts that docs/how-to/operating.md explains', () => {
    const namesIn = (text: string, name: RegExp): unknown[] => Array.from(text.matchAll(name), ([, each]) => each)
    const explained = namesIn(textOf('docs/how-to/operating.md'), /^### (Listwatch\w+)$/gm)
    expect(explained.length).toBeGreaterThan(10)
    expect(namesIn(RULES, /- alert: (.*)$/gm)).toEqual(explained)
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

test.each(['listwatch_nothing > 1', 'listwatch_state{mood="live"} == 1', 'rate(listwatch_objects[5m]) > 1'])(
  'the check of expressions finds the flaw of %s',
  async (expr) => {
    expect(flawsIn(expr, await printedFamilies())).toHaveLength(1)
  },
)
