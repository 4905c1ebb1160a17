/**
 * Metrics and traces of informers for OpenTelemetry.
 *
 * @module listwatch/opentelemetry
 */

import { type Meter, type MeterProvider, metrics, type TracerProvider, trace } from '@opentelemetry/api'
import { checkOptions, isObject, type OptionCheck } from '../../src/util/validate-options.js'
import { Batches } from './batches.js'
import { listen } from './messages.js'
import { attributesOf, registerMetrics, secondsOf } from './metrics.js'
import { Traces } from './traces.js'

/**
 * The options of `instrumentInformers`.
 *
 * @example
 * ```ts
 * import type { MeterProvider } from '@opentelemetry/api'
 * import { instrumentInformers } from 'listwatch/opentelemetry'
 *
 * declare const meterProvider: MeterProvider
 * instrumentInformers({ meterProvider }) // Spans go to the global tracer provider.
 * ```
 */
export interface InstrumentationOptions {
  /** Receives the metrics. Default: the global meter provider. */
  readonly meterProvider?: MeterProvider | undefined
  /** Receives the spans. Default: the global tracer provider. */
  readonly tracerProvider?: TracerProvider | undefined
  /**
   * A write to the store has a span if it took at least this time, in milliseconds, or if a run of a controller links
   * to it. 0: each write has one. Default: 1.
   */
  readonly minApplyMs?: number | undefined
}

const isDuration: OptionCheck = (value) =>
  typeof value === 'number' && value >= 0 ? undefined : 'must be a number of at least 0'

const CHECKS: Readonly<Record<keyof InstrumentationOptions, OptionCheck>> = {
  meterProvider: isObject,
  tracerProvider: isObject,
  minApplyMs: isDuration,
}

/**
 * Ends the instrumentation, by a call or by `using`. A second call does nothing.
 *
 * @example
 * ```ts
 * import { instrumentInformers } from 'listwatch/opentelemetry'
 *
 * async function measured(work: () => Promise<void>): Promise<void> {
 *   using _instrumentation = instrumentInformers() // Ends with the function.
 *   await work()
 * }
 * ```
 */
export type Instrumentation = (() => void) & Disposable

/** The name of the meter and of the tracer. */
const SCOPE = 'listwatch'

/**
 * Exports metrics and spans of all informers of the process to OpenTelemetry, also of those that were created before.
 * It requires Node.
 *
 * The metrics are those of `listwatch/prometheus`, with dots in their names, and histograms:
 * `listwatch.apply.duration`, `listwatch.batch.size`, `listwatch.batch.lag`, `listwatch.handler.duration`,
 * `listwatch.reconcile.duration`. The spans are lists, watches, commits and runs of controllers. The span of a run is
 * active while its function runs.
 *
 * @throws OptionError for an unknown or a wrong option.
 *
 * @returns A function that ends the instrumentation.
 *
 * @example
 * ```ts
 * import { instrumentInformers } from 'listwatch/opentelemetry'
 *
 * const end = instrumentInformers() // With the global providers.
 * process.once('SIGTERM', () => end()) // After the informers have stopped. Shut down the providers last.
 * ```
 */
export function instrumentInformers(options: InstrumentationOptions = {}): Instrumentation {
  checkOptions('instrumentInformers', options, CHECKS)
  const {
    meterProvider = metrics.getMeterProvider(),
    tracerProvider = trace.getTracerProvider(),
    minApplyMs = 1,
  } = options
  const meter = meterProvider.getMeter(SCOPE)
  const traces = new Traces(tracerProvider.getTracer(SCOPE), minApplyMs, () => batches.flush())
  const batches = new Batches(meter, traces)
  const ends = [
    registerMetrics(meter, () => batches.flush()),
    recordDurations(meter),
    () => batches.end(),
    () => traces.end(),
  ]
  const end = (): void => {
    for (const each of ends.splice(0)) each()
  }
  return Object.assign(end, { [Symbol.dispose]: end })
}

function recordDurations(meter: Meter): () => void {
  const handlerDuration = secondsOf(meter, 'listwatch.handler.duration', 'Duration of a handler that returns a promise')
  const runDuration = secondsOf(meter, 'listwatch.reconcile.duration', 'Duration of a run of a controller')
  const removals = [
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
