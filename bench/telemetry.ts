import { atMost, type Benchmark, contest, inTurn, mean, median } from './figures.ts'

const OBJECTS = 50_000
/** The pairs of measurements of one process. */
const ROUNDS = 24
/** The processes of a figure with a goal. A pair differs by 9 % from the next, so that 1 % needs more than 100 pairs. */
const PROCESSES = 7
/** The processes of the figures for comparison. */
const FEW_PROCESSES = 2

/** With V8's own sizes, so that each measurement contains collections of garbage. */
const FLAGS: readonly string[] = []

interface Result {
  /** Nanoseconds of an update, for each round. */
  readonly update: Readonly<Record<'on' | 'off', readonly number[]>>
  readonly textNs: number
}

/** What telemetry adds to updates, and what a reading of the metrics costs. */
export const telemetry: Benchmark = {
  name: 'telemetry',
  about: `${OBJECTS} objects, three indexes, one handler, updates in batches of 100: with OpenTelemetry against without`,
  async run() {
    // With and without in turns in one process: processes differ by more than telemetry costs.
    const measured = (variant: string) => () =>
      contest<Result>('telemetry', [variant, `${OBJECTS}`, `${ROUNDS}`], FLAGS)
    const results = {
      ...(await inTurn(PROCESSES, { metrics: measured('metrics'), spans: measured('spans') })),
      ...(await inTurn(FEW_PROCESSES, { all: measured('all'), bare: measured('bare') })),
    }
    const of = (variant: string) => results[variant] ?? []
    const all = (variant: string, side: 'on' | 'off') => of(variant).flatMap(({ update }) => update[side])
    const ns = (variant: string, side: 'on' | 'off') => mean(all(variant, side))
    // Means, and not medians: collections of garbage belong to the cost.
    const ratio = (variant: string) => ns(variant, 'on') / ns(variant, 'off')
    const figure = (variant: string, name: string, more = {}) => {
      const [on, off] = [ns(variant, 'on'), ns(variant, 'off')].map(Math.round) as [number, number]
      const peers = { 'ns/update': on, 'ns/update without': off, ...more }
      return atMost(1.03, { name, value: ratio(variant), unit: '× without', peers })
    }
    const three = (value: number) => Math.round(value * 1_000) / 1_000
    const everyBatch = {
      '× with a span for each batch': three(ratio('all')),
      '× with one bare span of the SDK for each batch': three(ratio('bare')),
    }
    const textNs = median(of('metrics').map((result) => result.textNs))
    return [
      figure('metrics', 'update with metrics'),
      figure('spans', 'update with metrics and spans', everyBatch),
      atMost(1_000, { name: 'metricsText of one informer', value: textNs / 1_000, unit: 'µs', peers: {} }),
    ]
  },
}
