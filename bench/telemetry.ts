import { atMost, type Benchmark, contest, inTurn, median, medianRatio } from './figures.ts'

const OBJECTS = 50_000
const ROUNDS = 5

interface Result {
  /** Nanoseconds of an update. */
  readonly update: number
  readonly textNs: number
}

/** What telemetry adds to updates, and what a reading of the metrics costs. */
export const telemetry: Benchmark = {
  name: 'telemetry',
  about: `${OBJECTS} objects, three indexes, one handler, updates in batches of 100: with OpenTelemetry against without`,
  async run() {
    const run = (contestant: string) => () => contest<Result>('telemetry', [contestant, String(OBJECTS)])
    const contestants = { without: run('without'), metrics: run('metrics'), spans: run('spans') }
    const { without = [], metrics = [], spans = [] } = await inTurn(ROUNDS, contestants)
    const bare = without.map(({ update }) => update)
    const figure = (name: string, results: readonly Result[]) => {
      const ours = results.map(({ update }) => update)
      const peers = { 'ns/update': Math.round(median(ours)), 'ns/update without': Math.round(median(bare)) }
      return atMost(1.03, { name, value: medianRatio(ours, bare), unit: '× without', peers })
    }
    const textUs = median(without.map(({ textNs }) => textNs)) / 1_000
    return [
      figure('update with metrics', metrics),
      figure('update with metrics and spans', spans),
      atMost(1_000, { name: 'metricsText of one informer', value: textUs, unit: 'µs', peers: {} }),
    ]
  },
}
