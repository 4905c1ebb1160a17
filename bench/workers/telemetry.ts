// Updates with and without telemetry, in turns: node telemetry.ts metrics|spans|all|bare <objects> <rounds>
import { channel } from 'node:diagnostics_channel'
import { setTimeout as sleep } from 'node:timers/promises'
import { ROOT_CONTEXT } from '@opentelemetry/api'
import { MeterProvider, MetricReader } from '@opentelemetry/sdk-metrics'
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { createInformer, type ListerWatcher } from 'listwatch'
import { instrumentInformers } from 'listwatch/opentelemetry'
import { metricsText } from 'listwatch/prometheus'
import { keyOf, makeDataset, type Row } from '../dataset.ts'
import { nsEach } from './busy.ts'

/** What an adapter makes a batch of when it is busy. */
const BATCH = 100
/** The batches of one measurement. */
const BATCHES = 1_024
/** The measurements before those that count, in which the code is compiled. */
const WARM_UP = 6
/** Commits are recorded within this time, in milliseconds. */
const RECORDED_MS = 110
/** How often the metrics are read. */
const TEXTS = 1_000

class Reader extends MetricReader {
  protected async onForceFlush(): Promise<void> {}
  protected async onShutdown(): Promise<void> {}
}

const variant = process.argv[2] as 'metrics' | 'spans' | 'all' | 'bare'
const [objects, rounds] = process.argv.slice(3).map(Number) as [number, number]
const { rows, updates } = makeDataset(objects)
const event = (line: Buffer) => {
  const object = JSON.parse(line.toString('latin1')) as Row
  return { type: 'put', key: keyOf(object), object, version: object.resourceVersion } as const
}
/** The last version that the source may yield. */
let allowed = 0
let begun = Promise.withResolvers<void>()
/** Called for each batch. */
let observe = (_version: number): void => {}
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
      // As a socket does: each batch is in a turn of the event loop of its own, which is the most expensive case.
      await new Promise((resolve) => setImmediate(resolve))
      observe(version)
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

/** Nanoseconds of an update, for the next batches, with all that is recorded of them later. */
function measure(): Promise<number> {
  return nsEach(BATCHES * BATCH, async () => {
    allowed += BATCHES
    const { resolve } = begun
    begun = Promise.withResolvers<void>()
    resolve()
    await subscription.waitFor(String(allowed))
    await sleep(RECORDED_MS)
  })
}

const meterProvider = new MeterProvider({ readers: [new Reader()] })
const exporter = { export: (_spans: unknown, done: (result: { code: number }) => void) => done({ code: 0 }) }
const tracerProvider = new BasicTracerProvider({
  spanProcessors: [new BatchSpanProcessor({ ...exporter, shutdown: async () => {} })],
})

/** Starts the telemetry, and returns a function that switches it on and off. */
function started(): (isOn: boolean) => void {
  if (variant === 'bare') {
    const tracer = tracerProvider.getTracer('bare')
    const span = (version: number): void => {
      const attributes = {
        informer: 'bench',
        source: 'bench',
        origin: 'watch',
        changes: BATCH,
        version: String(version),
      }
      tracer.startSpan('apply', { attributes }, ROOT_CONTEXT).end()
    }
    const none = observe
    return (isOn) => {
      observe = isOn ? span : none
    }
  }
  const options = { spans: { tracerProvider }, all: { tracerProvider, minApplyMs: 0 }, metrics: {} }[variant]
  instrumentInformers({ meterProvider, ...options })
  // One instrumentation for all measurements, as in a program: a new one each time would be compiled again.
  const switches = ['apply', 'batch', 'status', 'handler'].map((name) => {
    const state = { value: true, writable: true }
    return Object.defineProperty(channel(`listwatch:${name}`), 'hasSubscribers', state) as { hasSubscribers: boolean }
  })
  return (isOn) => {
    for (const each of switches) each.hasSubscribers = isOn
  }
}

const turn = started()
const update: Record<'on' | 'off', number[]> = { on: [], off: [] }
for (let round = -WARM_UP; round < rounds; round++) {
  for (const isOn of round % 2 === 0 ? [true, false] : [false, true]) {
    turn(isOn)
    const ns = await measure()
    if (round >= 0) update[isOn ? 'on' : 'off'].push(ns)
  }
}
const textNs = await nsEach(TEXTS, () => {
  for (let n = 0; n < TEXTS; n++) sum += metricsText([pods]).length
})
await pods.stop()
console.log(JSON.stringify({ update, textNs, sum }))
process.exit()
