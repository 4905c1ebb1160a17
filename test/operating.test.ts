import { describe, expect, test } from 'vitest'
import { memorySource } from '../adapters/memory/index.js'
import type { ListerWatcher } from '../src/contract/source.js'
import { createInformer } from '../src/informer/create-informer.js'
import type { Informer } from '../src/informer/informer-types.js'
import { metricsText } from '../telemetry/prometheus/index.js'
import { type Family, parsePrometheusText } from './support/prometheus-text.js'
import { textOf } from './support/sources.js'

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
  return parsePrometheusText(metricsText([informer]))
}

describe('docs/metrics.md', () => {
  test('has a row for each metric, with its type, labels and help', async () => {
    const families = await printedFamilies()
    const rows = [...textOf('docs/metrics.md').matchAll(/^\| `(listwatch_\w+)` \| (\w+) \| (.*) \| (.*) \|$/gm)]
    const printed = Array.from(families, ([name, { type, help, samples }]) => {
      const labels = Object.keys(samples[0]?.labels ?? {}).map((label) => `\`${label}\``)
      return [name, type, labels.join(', '), help.replace(/\.$/, '')]
    })
    expect(rows.map((row) => row.slice(1))).toEqual(printed)
  })
})
