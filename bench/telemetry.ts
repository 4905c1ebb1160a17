import { atMost, type Benchmark, contest, inTurn, median, medianRatio } from './figures.ts'

const OBJECTS = 50_000
/** The pairs of measurements of one process, and the processes. */
const [ROUNDS, PROCESSES] = [24, 3]

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
    const results = await inTurn(PROCESSES, {
      metrics: measured('metrics'),
      spans: measured('spans'),
      all: measured('all'),
      bare: measured('bare'),
    })
    const of = (variant: string) => results[variant] ?? []
    const ratio = (variant: string) => median(of(variant).map(({ update }) => medianRatio(update.on, update.off)))
    const ns = (variant: string, side: 'on' | 'off') => median(of(variant).flatMap(({ update }) => update[side]))
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
