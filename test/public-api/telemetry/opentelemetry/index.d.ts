/**
 * Metrics and traces of informers for OpenTelemetry.
 *
 * @module listwatch/opentelemetry
 */
import { type MeterProvider, type TracerProvider } from '@opentelemetry/api';
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
    readonly meterProvider?: MeterProvider | undefined;
    /** Receives the spans. Default: the global tracer provider. */
    readonly tracerProvider?: TracerProvider | undefined;
    /**
     * A write to the store has a span if it took at least this time, in milliseconds, or if a run of a controller links
     * to it. 0: each write has one. Default: 1.
     */
    readonly minApplyMs?: number | undefined;
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
export type Instrumentation = (() => void) & Disposable;
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
export declare function instrumentInformers(options?: InstrumentationOptions): Instrumentation;
