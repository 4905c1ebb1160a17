import type { Mutant } from './mutate.js'

/** Metrics: which series are exported. */
export const mutantsOfTelemetry: readonly Mutant[] = [
  {
    name: 'metrics have the oldest informer of a name',
    breaks: 'of several informers of one name, only the newest is exported (O8)',
    file: '../telemetry/metrics.ts',
    edits: [['if (each.number >= (newest.get(each.name)?.number ?? 0))', 'if (!newest.has(each.name))']],
    onlyBy: { test: 'unit/prometheus.test.ts', named: 'of a stopped informer and its replacement' },
  },
  {
    name: 'a subscription with the name of those without one has series of its own',
    breaks: 'a series occurs once',
    file: 'subscriptions/feed-counts.ts',
    edits: [['name: string = UNNAMED)', "name: string = '')"]],
    onlyBy: { test: 'unit/prometheus.test.ts', named: 'a subscription with the name "unnamed"' },
  },
]
