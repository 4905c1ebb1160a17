import type { MeterProvider, TracerProvider } from '@opentelemetry/api'
export type Instrumentation = (() => void) & Disposable
export interface InstrumentationOptions {
  readonly meterProvider?: MeterProvider | undefined
  readonly minApplyMs?: number | undefined
  readonly tracerProvider?: TracerProvider | undefined
}
export declare function instrumentInformers(options?: InstrumentationOptions): Instrumentation
