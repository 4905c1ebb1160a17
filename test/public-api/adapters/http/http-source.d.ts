import type { HttpSource, HttpSourceOptions } from './http-options.js';
/**
 * Returns a source that follows an informer of another process, which `serveMirror` serves. It runs in Node and in
 * browsers.
 *
 * @returns The source, for the option `source` of `createInformer`.
 * @throws OptionError for a wrong option.
 *
 * @example
 * ```ts
 * import { httpSource } from 'listwatch/http'
 *
 * const orders = createInformer({ source: httpSource<Order>({ url: 'https://api.example/mirror/orders' }) })
 * await orders.start().synced()
 * ```
 */
export declare function httpSource<T>(options: HttpSourceOptions): HttpSource<T>;
