import type { Attributes, BatchObservableResult, Histogram, Observable as Instrument, Meter } from '@opentelemetry/api'
import type { Measurements } from '../../src/informer/observation/measurements.js'
import { informers, type Observable } from '../../src/informer/observation/registry.js'
import { type Labels, METRICS, newestOfEachName } from '../metrics.js'

/** The number of stopped informers whose last numbers are kept until the next reading. */
const MAX_ENDED = 100

/**
 * Registers the metrics of all informers of the process. `flush` is called before each reading, so that it has the
 * newest values of histograms. Returns a function that removes them. The next reading after it, such as that of a
 * shutdown of the provider, still has the numbers of that moment.
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
  /** The last numbers of the informers that have stopped since the last reading, by name. They do not hold informers. */
  const ended = new Map<string, Measurements>()
  const removeListener = informers.onEnd((informer) => {
    ended.delete(informer.name)
    ended.set(informer.name, informer.measure())
    for (const name of ended.keys()) if (ended.size > MAX_ENDED) ended.delete(name)
  })
  const read = (): readonly Measurements[] => {
    flush()
    const current = informers.all
    const before = last.map((each) => each.deref()).filter((each) => each !== undefined)
    last = current.map((each) => new WeakRef(each))
    const stopping = before.filter((each) => !current.includes(each) && !ended.has(each.name))
    const stopped = [...ended.values()]
    ended.clear()
    return newestOfEachName([...stopped, ...[...stopping, ...current].map((each) => each.measure())])
  }
  const record = (result: BatchObservableResult, all: readonly Measurements[]): void => {
    for (const measured of all)
      for (const { metric, instrument } of instruments)
        metric.read(measured, (labels, value) => result.observe(instrument, value, attributesOf(labels)))
  }
  const observe = (result: BatchObservableResult): void => record(result, read())
  meter.addBatchObservableCallback(observe, observables)
  return () => {
    removeListener()
    const last = read()
    meter.removeBatchObservableCallback(observe, observables)
    const observeLast = (result: BatchObservableResult): void => {
      record(result, last)
      // Later, because the SDK calls its callbacks in a loop over them.
      void Promise.resolve().then(() => meter.removeBatchObservableCallback(observeLast, observables))
    }
    meter.addBatchObservableCallback(observeLast, observables)
  }
}

/** The labels as attributes: `informer` is `listwatch.informer`. */
export function attributesOf(labels: Labels): Attributes {
  return Object.fromEntries(Object.entries(labels).map(([name, value]) => [`listwatch.${name}`, value]))
}

/** The boundaries of durations, in seconds. */
const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]

export function secondsOf(meter: Meter, name: string, description: string): Histogram {
  return meter.createHistogram(name, { description, unit: 's', advice: { explicitBucketBoundaries: SECONDS } })
}
