import type { MirrorState } from '../src/contract/status.js'
import { SourceInformer } from '../src/informer/informer.js'
import type {
  Measurements,
  SourceMeasurements,
  SubscriptionMeasurements,
} from '../src/informer/observation/measurements.js'
import { membersOf } from '../src/util/type-guards.js'

/** The labels of a value: names only, never keys. */
export type Labels = Readonly<Record<string, string>>

/** One metric. Prometheus and OpenTelemetry derive their names from this one. */
export interface Metric {
  /** With dots, as in OpenTelemetry. */
  readonly name: string
  readonly type: 'gauge' | 'counter'
  /** `s`: the values are seconds. */
  readonly unit: 's' | '1'
  /** A sentence without a full stop. */
  readonly help: string
  /** Calls `add` for each value. */
  read(measured: Measurements, add: Add): void
}

type Add = (labels: Labels, value: number) => void

const STATES: readonly MirrorState[] = [
  'idle',
  'restoring',
  'stale',
  'listing',
  'connecting',
  'live',
  'backing-off',
  'relisting',
  'failed',
  'stopped',
]

type Described = Omit<Metric, 'read'>

const described = (type: Metric['type'], unit: Metric['unit'], name: string, help: string): Described => {
  return { name: `listwatch.${name}`, type, unit, help }
}
const gauge = (name: string, help: string): Described => described('gauge', '1', name, help)
/** A gauge of seconds. */
const seconds = (name: string, help: string): Described => described('gauge', 's', name, help)
const counter = (name: string, help: string): Described => described('counter', '1', name, help)

function ofInformer(metric: Described, value: (measured: Measurements) => number): Metric {
  return { ...metric, read: (measured, add) => add({ informer: measured.name }, value(measured)) }
}

function ofSources(metric: Described, read: (source: SourceMeasurements, add: Add, now: number) => void): Metric {
  return {
    ...metric,
    read(measured, add) {
      for (const source of measured.sources) {
        const named = { informer: measured.name, source: source.name }
        read(source, (labels, value) => add({ ...named, ...labels }, value), measured.now)
      }
    },
  }
}

/** `label` names the subscriptions: those of handlers and streams, or controllers. */
function ofSubscriptions(
  label: 'subscription' | 'controller',
  metric: Described,
  read: (each: SubscriptionMeasurements, add: Add) => void,
): Metric {
  return {
    ...metric,
    read(measured, add) {
      for (const each of measured.subscriptions) {
        if ((each.kind === 'controller') !== (label === 'controller')) continue
        const named: Labels = {
          informer: measured.name,
          [label]: each.name,
          ...(label === 'subscription' && { kind: each.kind }),
        }
        read(each, (labels, value) => add({ ...named, ...labels }, value))
      }
    },
  }
}

/** Metrics that subscriptions and controllers share. */
function ofQueues(label: 'subscription' | 'controller'): readonly Metric[] {
  const of = (metric: Described, value: (each: SubscriptionMeasurements) => number): Metric =>
    ofSubscriptions(label, metric, (each, add) => add({}, value(each)))
  const [subject, queued, oldest] =
    label === 'controller'
      ? [
          'Controllers',
          'Keys that wait, run or are retried',
          'How long the oldest of the keys that wait, run or are retried has done so',
        ]
      : ['Subscriptions and change streams', 'Keys that wait', 'How long the oldest change has waited']
  return [
    of(gauge(`${label}.open`, `${subject} of this name that are not closed`), ({ open }) => open),
    of(gauge(`${label}.queue.keys`, queued), ({ keys }) => keys),
    of(seconds(`${label}.queue.oldest.age`, oldest), ({ oldestMs }) => oldestMs / 1_000),
    of(
      seconds(`${label}.running.age`, 'How long the longest running call has been running'),
      (each) => each.runningMs / 1_000,
    ),
  ]
}

/** All metrics of an informer. */
export const METRICS: readonly Metric[] = [
  ofInformer(gauge('objects', 'Objects in the store'), ({ objects }) => objects),
  ofInformer(gauge('invalid.objects', 'Objects of the source that are invalid'), ({ invalid }) => invalid),
  ofInformer(gauge('synced', 'Whether the first list of every source is in the store'), ({ isSynced }) =>
    Number(isSynced),
  ),
  {
    ...gauge('index.values', 'Different values in an equal or multi-value index'),
    read(measured, add) {
      for (const [index, values] of measured.indexValues) add({ informer: measured.name, index }, values)
    },
  },
  {
    ...counter('view.evaluations', 'Calls of the function of a view'),
    read(measured, add) {
      if (measured.evaluations !== undefined) add({ informer: measured.name }, measured.evaluations)
    },
  },
  ofSources(gauge('state', '1 for the state of the mirror, 0 for all other states'), ({ status }, add) => {
    for (const state of STATES) add({ state }, Number(status.state === state))
  }),
  ofSources(seconds('contact.age', 'Time since the source last responded'), ({ status }, add) =>
    add({}, status.silentMs / 1_000),
  ),
  ofSources(
    seconds('lag', 'Time from the newest commit at the source to its arrival, if the source has times'),
    ({ status }, add) => {
      if (status.lagMs !== undefined) add({}, status.lagMs / 1_000)
    },
  ),
  ofSources(
    seconds('proof.age', 'Time since the store was last proven equal to the source by a list or an audit'),
    ({ status }, add, now) => {
      if (status.proof !== undefined) add({}, Math.max(0, now - status.proof.at) / 1_000)
    },
  ),
  ofSources(gauge('audit.drift', 'Keys that differed in the last completed audit'), ({ status }, add) =>
    add({}, status.proof?.foundDrift ?? 0),
  ),
  ofSources(counter('audits', 'Audits by result: equal, drift or failed'), ({ audits }, add) => {
    for (const [result, count] of Object.entries(audits)) add({ result }, count)
  }),
  ofSources(counter('relists', 'Lists after the first one, by reason'), ({ relists }, add) => {
    for (const [reason, count] of relists) add({ reason }, count)
  }),
  ofSources(counter('reconnects', 'Watches that were opened again'), ({ status }, add) => add({}, status.reconnects)),
  ofSources(counter('batches', 'Commits to the store, lists and bookmarks included'), ({ batches }, add) =>
    add({}, batches),
  ),
  ofSources(counter('changes', 'Changes of objects, without the first list'), ({ changes }, add) => add({}, changes)),
  ...ofQueues('subscription'),
  ofSubscriptions('subscription', counter('subscription.failures', 'Handler calls that failed'), ({ counts }, add) =>
    add({}, counts.failed),
  ),
  ofSubscriptions(
    'subscription',
    counter('subscription.slow', 'Handler calls that did not settle within 10 s'),
    ({ counts }, add) => add({}, counts.slow),
  ),
  ...ofQueues('controller'),
  ofSubscriptions('controller', gauge('controller.failing.keys', 'Keys whose last run failed'), ({ failing }, add) =>
    add({}, failing),
  ),
  ofSubscriptions('controller', counter('controller.runs', 'Runs by result: success or failure'), ({ counts }, add) => {
    add({ result: 'success' }, counts.succeeded)
    add({ result: 'failure' }, counts.failed)
  }),
  ofSubscriptions(
    'controller',
    counter('controller.retries', 'Runs that followed a failure of their key'),
    ({ counts }, add) => add({}, counts.retried),
  ),
  ofSubscriptions('controller', counter('controller.slow', 'Runs that did not settle within 60 s'), ({ counts }, add) =>
    add({}, counts.slow),
  ),
]

/**
 * Returns the newest measurements of each name. Of two informers of one name, the older was stopped before the newer was
 * created, so its series would hide those of the newer.
 */
export function newestOfEachName(all: readonly Measurements[]): readonly Measurements[] {
  const newest = new Map<string, Measurements>()
  for (const each of all) if (each.number >= (newest.get(each.name)?.number ?? 0)) newest.set(each.name, each)
  return [...newest.values()]
}

/** @throws TypeError if it is not an informer that `createInformer` returned. */
export function measurementsOf(call: string, informer: unknown): Measurements {
  if (informer instanceof SourceInformer) return informer.measure()
  const isOther = typeof membersOf(informer)['subscribe'] === 'function'
  const hint = isOther ? '; this one may be of another copy of the package: npm ls listwatch' : ''
  throw new TypeError(`${call}: an informer that createInformer returned is needed${hint}`)
}
