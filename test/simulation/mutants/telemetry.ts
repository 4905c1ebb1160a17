import type { Mutant } from './mutate.js'

/** Metrics: which series are exported. */
export const mutantsOfTelemetry: readonly Mutant[] = [
  {
    name: 'metrics have the oldest informer of a name',
    breaks: 'of several informers of one name, only the newest is exported (O8)',
    file: '../telemetry/metrics.ts',
    edits: [['if (each.number >= (newest.get(each.name)?.number ?? 0))', 'if (!newest.has(each.name))']],
    onlyBy: { test: 'unit/telemetry/prometheus.test.ts', named: 'of a stopped informer and its replacement' },
  },
  {
    name: 'a subscription with the name of those without one has series of its own',
    breaks: 'a series occurs once',
    file: 'subscriptions/feed-counts.ts',
    edits: [['name: string = UNNAMED)', "name: string = '')"]],
    onlyBy: { test: 'unit/telemetry/prometheus.test.ts', named: 'a subscription with the name "unnamed"' },
  },
  {
    name: 'the lag is measured by a clock that stands still while the machine sleeps',
    breaks: 'times of other machines are compared with the system clock (B31)',
    file: 'informer/source-runner.ts',
    edits: [['wallNowOf(this.#host.clock) - committedAt', 'this.#host.clock.now() - committedAt']],
    onlyBy: { test: 'unit/informer/informer-lifecycle.test.ts', named: 'lagMs is right after the machine has slept' },
  },
]
