// Updates without telemetry, with metrics, and with spans too, in turns: node telemetry.ts <objects> <rounds>
import { MeterProvider, MetricReader } from '@opentelemetry/sdk-metrics'
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { createInformer, type ListerWatcher } from 'listwatch'
import { instrumentInformers } from 'listwatch/opentelemetry'
import { metricsText } from 'listwatch/prometheus'
import { keyOf, makeDataset, type Row } from '../dataset.ts'
import { nsEach } from './busy.ts'

/** What an adapter makes a batch of when it is busy. */
const BATCH = 100
/** The batches of one measurement, and those before it in which the code is compiled. */
const BATCHES = 500
const WARM_UP = 150
/** How often the metrics are read. */
const TEXTS = 1_000

class Reader extends MetricReader {
  protected async onForceFlush(): Promise<void> {}
  protected async onShutdown(): Promise<void> {}
}

const [objects, rounds] = process.argv.slice(2).map(Number) as [number, number]
const { rows, updates } = makeDataset(objects)
const event = (line: Buffer) => {
  const object = JSON.parse(line.toString('latin1')) as Row
  return { type: 'put', key: keyOf(object), object, version: object.resourceVersion } as const
}
/** The last version that the source may yield. */
let allowed = 0
let begun = Promise.withResolvers<void>()
const source: ListerWatcher<Row> = {
  name: 'bench',
  heartbeatMs: 600_000,
  hasReached: (at, mark) => Number(at) >= Number(mark),
  async *list({ pageSize }) {
    for (let at = 0; at < objects; at += pageSize) yield { events: rows.slice(at, at + pageSize).map(event) }
    yield { events: [], version: '0' }
  },
  async *watch() {
    for (let version = 1; ; version++) {
      while (version > allowed) await begun.promise
      const at = ((version - 1) * BATCH) % (objects - BATCH)
      yield { events: updates.slice(at, at + BATCH).map(event), version: String(version), committedAt: Date.now() }
    }
  },
}
const pods = createInformer({
  source,
  indexes: (ix) => ({
    namespace: ix.equal((row) => row.namespace),
    node: ix.equal((row) => row.node),
    phase: ix.equal((row) => row.phase),
  }),
})
let sum = 0
const handle = ({ object }: { readonly object: Row }): void => {
  sum += object.restarts
}
const subscription = pods.subscribe({ add: handle, update: handle, delete: handle })
await pods.start().synced()
await subscription.synced()

/** Nanoseconds of an update, for the next batches. */
function measure(batches: number): Promise<number> {
  return nsEach(batches * BATCH, async () => {
    allowed += batches
    const { resolve } = begun
    begun = Promise.withResolvers<void>()
    resolve()
    await subscription.waitFor(String(allowed))
  })
}

const meterProvider = new MeterProvider({ readers: [new Reader()] })
const exporter = { export: (_spans: unknown, done: (result: { code: number }) => void) => done({ code: 0 }) }
const tracerProvider = new BasicTracerProvider({
  spanProcessors: [new BatchSpanProcessor({ ...exporter, shutdown: async () => {} })],
})
const instruments = {
  without: () => () => {},
  metrics: () => instrumentInformers({ meterProvider }),
  spans: () => instrumentInformers({ meterProvider, tracerProvider }),
}
const contestants = ['without', 'metrics', 'spans'] as const
const update: Record<(typeof contestants)[number], number[]> = { without: [], metrics: [], spans: [] }
await measure(BATCHES)
for (let round = 0; round < rounds; round++) {
  // Another one is first in each round.
  for (let at = 0; at < contestants.length; at++) {
    const contestant = contestants[(round + at) % contestants.length] as (typeof contestants)[number]
    const end = instruments[contestant]()
    await measure(WARM_UP)
    // Every measurement begins with the same heap: a major collection takes as long as hundreds of batches.
    globalThis.gc?.()
    update[contestant].push(await measure(BATCHES))
    end()
  }
}
const textNs = await nsEach(TEXTS, () => {
  for (let n = 0; n < TEXTS; n++) sum += metricsText([pods]).length
})
await pods.stop()
console.log(JSON.stringify({ update, textNs, sum }))
process.exit()
