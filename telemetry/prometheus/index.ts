/**
 * Metrics of informers in the text format of Prometheus.
 *
 * @module listwatch/prometheus
 */

import type { Informer } from '../../src/informer/informer-types.js'
import { type Labels, METRICS, type Metric, measurementsOf, newestOfEachName } from '../metrics.js'

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
export function metricsText(informers: Iterable<Pick<Informer<unknown>, 'name' | 'inspect'>>): string {
  if (typeof informers?.[Symbol.iterator] !== 'function')
    throw new TypeError('metricsText: the argument must be an array of informers')
  const measured = newestOfEachName(Array.from(informers, (each) => measurementsOf('metricsText', each)))
  const lines: string[] = []
  for (const metric of METRICS) {
    const name = prometheusName(metric)
    const samples: string[] = []
    for (const each of measured) {
      metric.read(each, (labels, value) => samples.push(`${name}${labelsText(labels)} ${numberText(value)}`))
    }
    if (samples.length > 0) lines.push(`# HELP ${name} ${metric.help}.`, `# TYPE ${name} ${metric.type}`, ...samples)
  }
  return lines.map((line) => `${line}\n`).join('')
}

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
export const METRICS_CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

function prometheusName({ name, unit, type }: Metric): string {
  return `${name.replaceAll('.', '_')}${unit === 's' ? '_seconds' : ''}${type === 'counter' ? '_total' : ''}`
}

function labelsText(labels: Labels): string {
  return `{${Object.entries(labels)
    .map(([name, value]) => `${name}="${escaped(value)}"`)
    .join(',')}}`
}

function escaped(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
}

function numberText(value: number): string {
  if (Number.isFinite(value)) return String(value)
  return Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf'
}
