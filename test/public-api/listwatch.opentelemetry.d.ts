import type { MeterProvider, TracerProvider } from '@opentelemetry/api'
export type Instrumentation = (() => void) & Disposable
export interface InstrumentationOptions {} // docs/reference/options.md
export declare function instrumentInformers(options?: InstrumentationOptions): Instrumentation
