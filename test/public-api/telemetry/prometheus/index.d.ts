/**
 * Metrics of informers in the text format of Prometheus.
 *
 * @module listwatch/prometheus
 */
import type { Informer } from '../../src/informer/informer-types.js';
/**
 * Returns the metrics of informers in the text format 0.0.4 of Prometheus. Its media type is `METRICS_CONTENT_TYPE`.
 * The labels are names of informers, sources, indexes, subscriptions and controllers, never keys. Of several informers
 * of one name, it has the newest: the others were stopped before. The cost does not depend on the number of objects.
 *
 * @returns The body of the response to a scrape.
 * @throws TypeError if a member is not an informer that `createInformer` returned.
 *
 * @example
 * ```ts
 * import { createServer } from 'node:http'
 * import { METRICS_CONTENT_TYPE, metricsText } from 'listwatch/prometheus'
 *
 * createServer((_request, response) => {
 *   response.setHeader('content-type', METRICS_CONTENT_TYPE).end(metricsText([orders, pods]))
 * }).listen(9_464)
 * ```
 */
export declare function metricsText(informers: Iterable<Pick<Informer<unknown>, 'name' | 'inspect'>>): string;
/**
 * The media type of `metricsText`, for the header `content-type`.
 *
 * @example
 * ```ts
 * import { METRICS_CONTENT_TYPE, metricsText } from 'listwatch/prometheus'
 *
 * app.get('/metrics', (_request, response) => {
 *   response.type(METRICS_CONTENT_TYPE).send(metricsText([orders, pods]))
 * })
 * ```
 */
export declare const METRICS_CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8";
