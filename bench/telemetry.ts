import { atMost, type Benchmark, contest, median, medianRatio } from './figures.ts'

const OBJECTS = 50_000
const ROUNDS = 30

interface Result {
  /** Nanoseconds of an update, for each round. */
  readonly update: Readonly<Record<'without' | 'metrics' | 'spans', readonly number[]>>
  readonly textNs: number
}

/** What telemetry adds to updates, and what a reading of the metrics costs. */
export const telemetry: Benchmark = {
  name: 'telemetry',
  about: `${OBJECTS} objects, three indexes, one handler, updates in batches of 100: with OpenTelemetry against without`,
  async run() {
    // In one process and in turns: processes differ by more than telemetry costs.
    const { update, textNs } = await contest<Result>('telemetry', [String(OBJECTS), String(ROUNDS)])
    const figure = (name: string, ours: readonly number[]) => {
      const peers = { 'ns/update': Math.round(median(ours)), 'ns/update without': Math.round(median(update.without)) }
      return atMost(1.03, { name, value: medianRatio(ours, update.without), unit: '× without', peers })
    }
    return [
      figure('update with metrics', update.metrics),
      figure('update with metrics and spans', update.spans),
      atMost(1_000, { name: 'metricsText of one informer', value: textNs / 1_000, unit: 'µs', peers: {} }),
    ]
  },
}
