import { once } from 'node:events'
import { createServer } from 'node:http'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { memorySource } from '../../adapters/memory/index.js'
import { createInformer, type Informer, type ListerWatcher } from '../../src/index.js'
import { METRICS_CONTENT_TYPE, metricsText } from '../../telemetry/prometheus/index.js'
import { describeServer } from '../servers/index.js'
import { type Alert, PrometheusServer } from '../servers/prometheus.js'
import { listening } from '../support/listening.js'
import { parsePrometheusText } from '../support/prometheus-text.js'
import { textOf } from '../support/sources.js'
import { type AilingInformer, ailingAlerts, ailingInformer } from './ailing-informers.js'

const DOCUMENTED = textOf('docs/reference/prometheus-rules.yml')
/** The same rules, without the time for which a condition must be true. */
const AT_ONCE = DOCUMENTED.replaceAll(/^( {8}for:) \d+m$/gm, '$1 0s')

/** Names with all that the text format escapes. In Prometheus 2 the `.*` of the dashboard does not match a newline. */
const HEALTHY = 'healthy "orders" \\ {}'
const SOURCE = 'source of\ntwo lines'
const DEADLINE_MS = 60_000

const dashboard = JSON.parse(textOf('docs/reference/grafana-dashboard.json')) as {
  readonly panels: readonly { readonly targets?: readonly { readonly expr: string }[] }[]
  readonly templating: { readonly list: readonly { readonly name: string; readonly query: string }[] }
}
/** As Grafana sends them if all informers are selected. */
const queries = dashboard.panels.flatMap(({ targets = [] }) =>
  targets.map(({ expr }) => expr.replaceAll('$informer', '.*')),
)

/** An informer that prints every metric, except those of events that have not happened. Its time is real. */
function healthyInformer(): { readonly informer: Informer<number>; write(): void } {
  const source = memorySource<number>({ entries: [['a', 0]] })
  const timed: ListerWatcher<number> = {
    name: SOURCE,
    list: (context) => source.list(context),
    hasReached: (at, mark) => source.hasReached(at, mark),
    async *watch(context) {
      for await (const batch of source.watch(context)) yield { ...batch, committedAt: Date.now() }
    },
  }
  const informer = createInformer<number, object>({
    source: timed,
    name: HEALTHY,
    indexes: (ix) => ({ parity: ix.equal((n) => n % 2) }),
    audit: { periodMs: 1_000 },
  })
  informer.subscribe({ update: async () => {} }, { name: 'view' })
  informer.reconcile(async () => {}, { name: 'ledger' })
  let written = 0
  return { informer, write: () => void source.put('a', ++written) }
}

describeServer('prometheus', 'the rules and the dashboard of docs/', (server) => {
  const healthy = healthyInformer()
  let ailing: readonly AilingInformer[] = []
  const informers = (): readonly Informer<number>[] => [healthy.informer, ...ailing.map(({ informer }) => informer)]
  const exporter = createServer((_request, response) => {
    healthy.write()
    response.setHeader('content-type', METRICS_CONTENT_TYPE).end(metricsText(informers()))
  })
  let prometheus: PrometheusServer

  beforeAll(async () => {
    await healthy.informer.start().synced()
    const target = new URL(await listening(exporter)).host
    const rules = new Map(Object.entries({ 'documented.yml': DOCUMENTED, 'at-once.yml': AT_ONCE }))
    prometheus = await PrometheusServer.start({ server, target, rules })
  })

  afterAll(async () => {
    await prometheus?.[Symbol.asyncDispose]()
    exporter.closeAllConnections()
    exporter.close()
    await Promise.all([healthy.informer, ...ailing].map((each) => each.stop()))
  })

  /** Waits until a condition holds after a scrape. */
  async function afterScrapes(what: string, isSo: () => Promise<boolean>): Promise<void> {
    const signal = AbortSignal.timeout(DEADLINE_MS)
    while (!(await isSo())) {
      await once(exporter, 'request', { signal }).catch(() => {
        throw new Error(`waited ${DEADLINE_MS} ms in vain for: ${what}`)
      })
    }
  }

  /** Waits until each series has several samples, and each rule was evaluated with them. */
  async function observed(): Promise<void> {
    await afterScrapes('four scrapes', async () => ((await prometheus.valuesOf('count_over_time(up[1m])'))[0] ?? 0) > 3)
    const from = Date.now()
    await afterScrapes('an evaluation of each rule', async () =>
      (await prometheus.rules()).every(({ lastEvaluation }) => Date.parse(lastEvaluation) > from),
    )
  }

  /** The alerts of a file with rules that have this state, each as the names of the alert and of the informer. */
  async function alertsOf(file: string, states: readonly Alert['state'][]): Promise<readonly string[]> {
    const rules = (await prometheus.rules()).filter((rule) => rule.file === file)
    return rules
      .flatMap(({ alerts }) => alerts)
      .filter(({ state }) => states.includes(state))
      .map(({ labels }) => `${labels['alertname']} of ${labels['informer']}`)
      .sort((a, b) => (a < b ? -1 : 1))
  }

  /** The expressions that have no value now. */
  async function withoutData(expressions: readonly string[]): Promise<readonly string[]> {
    const values = await Promise.all(expressions.map((expression) => prometheus.valuesOf(expression)))
    return expressions.filter((_, at) => values[at]?.length === 0)
  }

  test('promtool accepts the rules', async () => {
    expect(await prometheus.check('rules', DOCUMENTED)).toContain(`${ailingAlerts.length} rules found`)
  })

  test('promtool finds no flaw in the metrics, and Prometheus reads every sample', async () => {
    const text = metricsText(informers())
    await prometheus.check('metrics', text)
    await observed()
    expect(await prometheus.valuesOf('up')).toEqual([1])
    const samples = [...parsePrometheusText(text).values()].flatMap((family) => family.samples)
    expect(await prometheus.valuesOf('scrape_samples_scraped')).toEqual([samples.length])
  })

  test('the dashboard offers the informer, and labels have the names as they are', async () => {
    await observed()
    const query = dashboard.templating.list.find(({ name }) => name === 'informer')?.query
    const [, series = '', label = ''] = /^label_values\((\w+), (\w+)\)$/.exec(query ?? '') ?? []
    expect(await prometheus.get(`label/${label}/values`, { 'match[]': series })).toEqual([HEALTHY])
    expect(await prometheus.get('label/source/values')).toEqual([SOURCE])
  })

  test('a healthy informer: each metric has data, no relist is shown, and no alert is active', async () => {
    await observed()
    expect(await withoutData(queries)).toEqual(queries.filter((query) => query.includes('listwatch_relists_total')))
    expect(await withoutData(metricsIn(DOCUMENTED))).toEqual([])
    expect(await alertsOf('documented.yml', ['pending', 'firing'])).toEqual([])
    expect(await alertsOf('at-once.yml', ['pending', 'firing'])).toEqual([])
  })

  test('[O10] the increase of relists, and the dashboard, include the first relist', async () => {
    await observed()
    await healthy.informer.relist()
    const [shown = ''] = queries.filter((query) => query.includes('listwatch_relists_total'))
    const increase = `increase(listwatch_relists_total{reason="requested"}[1m])`
    await afterScrapes('the relist', async () => ((await prometheus.valuesOf(increase))[0] ?? 0) > 0)
    expect(await prometheus.valuesOf(`count(${shown})`)).toEqual([1])
    expect(await alertsOf('at-once.yml', ['pending', 'firing'])).toEqual([])
  })

  test('each alert fires for the informer with its condition, and for no other', async () => {
    await Promise.all(ailing.map((each) => each.stop())) // Those of a first attempt have the names.
    await observed()
    ailing = await Promise.all(ailingAlerts.map(ailingInformer))
    const expected = [
      ...ailingAlerts.map((alert) => `${alert} of ${alert}`),
      // The key whose run does not return is not reconciled.
      'ListwatchControllerBacklog of ListwatchStuckRun',
    ].sort((a, b) => (a < b ? -1 : 1))
    await afterScrapes('alerts', async () => {
      for (const { worsen } of ailing) await worsen()
      const firing = new Set(await alertsOf('at-once.yml', ['firing']))
      const active = new Set(await alertsOf('documented.yml', ['pending', 'firing']))
      return expected.every((each) => firing.has(each) && active.has(each))
    }).catch(() => {}) // The next line shows which are missing.
    expect(await alertsOf('at-once.yml', ['firing'])).toEqual(expected)
    expect(await alertsOf('documented.yml', ['pending', 'firing'])).toEqual(expected)
    expect(await alertsOf('documented.yml', ['firing'])).toEqual(['ListwatchDrift of ListwatchDrift'])
    const rules = await prometheus.rules()
    expect(rules.filter(({ health }) => health !== 'ok')).toEqual([])
    const summaries = rules.flatMap(({ alerts }) => alerts.map(({ annotations }) => annotations['summary']))
    // Prometheus returns the alerts of one rule in any order.
    expect(new Set(summaries)).toEqual(
      new Set([
        'The source memory of ListwatchFailed rejects the requests.',
        'The source memory of ListwatchStale has sent nothing for 151 s.',
        'The first list of ListwatchNotSynced is not complete.',
        'An audit of memory found 1 keys of ListwatchDrift that differ.',
        'No audit of memory has proven ListwatchUnproven for 1901 s.',
        'The source memory of ListwatchRelistStorm is listed again and again.',
        'The watch of memory of ListwatchReconnectStorm breaks again and again.',
        'Changes of memory reach ListwatchLag after 31 s.',
        'A handler of view on ListwatchStuckHandler has been running for 126 s.',
        'A run of ledger on ListwatchStuckRun has been running for 311 s.',
        'The queue of view on ListwatchGrowingBacklog grows.',
        'A key of ledger on ListwatchControllerBacklog has waited for 351 s.',
        'A key of ledger on ListwatchStuckRun has waited for 311 s.',
        'Runs of ledger on ListwatchFailingKeys fail for 1 keys.',
        'The mirror ListwatchInvalidObjects has 1 invalid objects.',
      ]),
    )
    expect(await withoutData(queries)).toEqual([])
  })
})

function metricsIn(rules: string): readonly string[] {
  return [...new Set(rules.match(/\blistwatch_\w+/g))]
}
