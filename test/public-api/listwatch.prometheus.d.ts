import type { Informer } from 'listwatch'
export declare const METRICS_CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
export declare function metricsText(informers: Iterable<Pick<Informer<unknown>, 'name' | 'inspect'>>): string
