import type { Attributes, BatchObservableResult, Observable as Instrument, Meter } from '@opentelemetry/api'
import { informers, type Observable } from '../../src/informer/registry.js'
import { type Labels, METRICS } from '../metrics.js'

/**
 * Registers the metrics of all informers of the process. `flush` is called before each reading, so that it has the
 * newest values of histograms. Returns a function that removes them.
 */
export function registerMetrics(meter: Meter, flush: () => void): () => void {
  const instruments = METRICS.map((metric) => {
    const options = { description: metric.help, unit: metric.unit === 's' ? 's' : '' }
    const instrument: Instrument =
      metric.type === 'counter'
        ? meter.createObservableCounter(metric.name, options)
        : meter.createObservableGauge(metric.name, options)
    return { metric, instrument }
  })
  const observables = instruments.map(({ instrument }) => instrument)
  /** The informers of the last reading. Those that have stopped since are read once more: their state is `stopped`. */
  let last: readonly WeakRef<Observable>[] = []
  const observe = (result: BatchObservableResult): void => {
    flush()
    const current = informers.all
    const before = last.map((each) => each.deref()).filter((each) => each !== undefined)
    last = current.map((each) => new WeakRef(each))
    for (const informer of [...before.filter((each) => !current.includes(each)), ...current]) {
      const measured = informer.measure()
      for (const { metric, instrument } of instruments)
        metric.read(measured, (labels, value) => result.observe(instrument, value, attributesOf(labels)))
    }
  }
  meter.addBatchObservableCallback(observe, observables)
  return () => meter.removeBatchObservableCallback(observe, observables)
}

/** The labels as attributes: `informer` is `listwatch.informer`. */
export function attributesOf(labels: Labels): Attributes {
  return Object.fromEntries(Object.entries(labels).map(([name, value]) => [`listwatch.${name}`, value]))
}
