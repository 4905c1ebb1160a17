import {
  type Attributes,
  type Histogram,
  type Meter,
  type MeterProvider,
  metrics,
  type TracerProvider,
  trace,
} from '@opentelemetry/api'
import { systemClock } from '../../src/contract/clock.js'
import { listen } from './messages.js'
import { attributesOf, registerMetrics } from './metrics.js'
import { Traces } from './traces.js'

/** The options of `instrumentInformers`. */
export interface InstrumentationOptions {
  /** Receives the metrics. Default: the global meter provider. */
  readonly meterProvider?: MeterProvider | undefined
  /** Receives the spans. Default: the global tracer provider. */
  readonly tracerProvider?: TracerProvider | undefined
}

/** Ends the instrumentation, by a call or by `using`. A second call does nothing. */
export type Instrumentation = (() => void) & Disposable

/** The name of the meter and of the tracer. */
const SCOPE = 'listwatch'

/** The boundaries of durations, in seconds. */
const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]
const SIZES = [0, 1, 10, 100, 1_000, 10_000, 100_000, 1_000_000]

/**
 * Exports metrics and spans of all informers of the process to OpenTelemetry, also of those that were created before. It
 * requires Node.
 *
 * The metrics are those of `listwatch/prometheus`, with dots in their names, and histograms: `listwatch.apply.duration`,
 * `listwatch.batch.size`, `listwatch.batch.lag`, `listwatch.handler.duration`, `listwatch.reconcile.duration`. The spans
 * are lists, watches, commits and runs of controllers. The span of a run is active while its function runs.
 *
 * @example
 * ```ts
 * import { instrumentInformers } from 'listwatch/opentelemetry'
 *
 * const end = instrumentInformers() // With the global providers.
 * process.once('SIGTERM', () => end())
 * ```
 */
export function instrumentInformers({
  meterProvider = metrics.getMeterProvider(),
  tracerProvider = trace.getTracerProvider(),
}: InstrumentationOptions = {}): Instrumentation {
  const meter = meterProvider.getMeter(SCOPE)
  const traces = new Traces(tracerProvider.getTracer(SCOPE))
  const ends = [registerMetrics(meter), recordHistograms(meter, traces), () => traces.end()]
  const end = (): void => {
    for (const each of ends.splice(0)) each()
  }
  return Object.assign(end, { [Symbol.dispose]: end })
}

/** One source of one informer. */
interface Writer {
  readonly attributes: Attributes
  /** When the write that is in progress began. */
  since: number | undefined
}

/** Records what happens between two readings of the metrics. Commits are passed to `traces`, too. */
function recordHistograms(meter: Meter, traces: Traces): () => void {
  const seconds = (name: string, description: string): Histogram =>
    meter.createHistogram(name, { description, unit: 's', advice: { explicitBucketBoundaries: SECONDS } })
  const applyDuration = seconds('listwatch.apply.duration', 'Duration of a write to the store')
  const batchLag = seconds('listwatch.batch.lag', 'Time from the commit at the source to the arrival of a batch')
  const handlerDuration = seconds('listwatch.handler.duration', 'Duration of a handler that returns a promise')
  const runDuration = seconds('listwatch.reconcile.duration', 'Duration of a run of a controller')
  const batchSize = meter.createHistogram('listwatch.batch.size', {
    description: 'Changes in a batch',
    advice: { explicitBucketBoundaries: SIZES },
  })
  const writers = new Map<string, Map<string, Writer>>()
  const writerOf = ({ informer, source }: { readonly informer: string; readonly source: string }): Writer => {
    const known = writers.get(informer)?.get(source)
    if (known !== undefined) return known
    const writer: Writer = { attributes: attributesOf({ informer, source }), since: undefined }
    const ofInformer = writers.get(informer)
    if (ofInformer === undefined) writers.set(informer, new Map([[source, writer]]))
    else ofInformer.set(source, writer)
    return writer
  }
  const removals = [
    listen('listwatch:apply', (message) => {
      writerOf(message).since = systemClock.now()
    }),
    listen('listwatch:batch', (message) => {
      const { changes, lagMs } = message
      const writer = writerOf(message)
      const { attributes, since } = writer
      writer.since = undefined
      batchSize.record(changes, attributes)
      if (lagMs !== undefined) batchLag.record(lagMs / 1_000, attributes)
      if (since === undefined) return
      applyDuration.record((systemClock.now() - since) / 1_000, attributes)
      traces.committed(message, since)
    }),
    listen('listwatch:handler', ({ informer, subscription = 'unnamed', type, durationMs, result }) => {
      handlerDuration.record(durationMs / 1_000, attributesOf({ informer, subscription, type, result }))
    }),
    listen('listwatch:reconcile:end', ({ informer, controller = 'unnamed', durationMs, result }) => {
      runDuration.record(durationMs / 1_000, attributesOf({ informer, controller, result }))
    }),
  ]
  return () => {
    for (const remove of removals) remove()
  }
}
