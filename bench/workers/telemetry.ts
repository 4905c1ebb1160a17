// Updates with or without telemetry: node telemetry.ts without|metrics|spans <objects>
import { MeterProvider, MetricReader } from '@opentelemetry/sdk-metrics'
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { createInformer, type ListerWatcher } from 'listwatch'
import { instrumentInformers } from 'listwatch/opentelemetry'
import { metricsText } from 'listwatch/prometheus'
import { keyOf, makeDataset, type Row } from '../dataset.ts'
import { nsEach } from './busy.ts'

/** What an adapter makes a batch of when it is busy. */
const BATCH = 100
/** The batches of the measurement. */
const BATCHES = 1_000
/** How often the metrics are read. */
const TEXTS = 1_000

class Reader extends MetricReader {
  protected async onForceFlush(): Promise<void> {}
  protected async onShutdown(): Promise<void> {}
}

const [contestant, objects] = [process.argv[2], Number(process.argv[3])]
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
if (contestant !== 'without') instrumentInformers({ meterProvider, ...(contestant === 'spans' && { tracerProvider }) })
await measure(BATCHES) // The code is compiled.
const update = await measure(BATCHES)
const textNs = await nsEach(TEXTS, () => {
  for (let n = 0; n < TEXTS; n++) sum += metricsText([pods]).length
})
await pods.stop()
console.log(JSON.stringify({ update, textNs, sum }))
process.exit()
