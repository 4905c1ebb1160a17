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

function ofInformer(metric: Omit<Metric, 'read'>, value: (measured: Measurements) => number): Metric {
  return { ...metric, read: (measured, add) => add({ informer: measured.name }, value(measured)) }
}

function ofSources(
  metric: Omit<Metric, 'read'>,
  read: (source: SourceMeasurements, add: Add, now: number) => void,
): Metric {
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
  metric: Omit<Metric, 'read'>,
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
  const gauge = (name: string, unit: Metric['unit'], help: string, value: (each: SubscriptionMeasurements) => number) =>
    ofSubscriptions(label, { name: `listwatch.${label}.${name}`, type: 'gauge', unit, help }, (each, add) =>
      add({}, value(each)),
    )
  const [subject, queued, oldest] =
    label === 'controller'
      ? [
          'Controllers',
          'Keys that wait, run or are retried',
          'How long the oldest of the keys that wait, run or are retried has done so',
        ]
      : ['Subscriptions and change streams', 'Keys that wait', 'How long the oldest change has waited']
  return [
    gauge('open', '1', `${subject} of this name that are not closed`, ({ open }) => open),
    gauge('queue.keys', '1', queued, ({ keys }) => keys),
    gauge('queue.oldest.age', 's', oldest, ({ oldestMs }) => oldestMs / 1_000),
    gauge(
      'running.age',
      's',
      'How long the longest running call has been running',
      ({ runningMs }) => runningMs / 1_000,
    ),
  ]
}

/** All metrics of an informer. */
export const METRICS: readonly Metric[] = [
  ofInformer(
    { name: 'listwatch.objects', type: 'gauge', unit: '1', help: 'Objects in the store' },
    ({ objects }) => objects,
  ),
  ofInformer(
    { name: 'listwatch.invalid.objects', type: 'gauge', unit: '1', help: 'Objects of the source that are invalid' },
    ({ invalid }) => invalid,
  ),
  ofInformer(
    {
      name: 'listwatch.synced',
      type: 'gauge',
      unit: '1',
      help: 'Whether the first list of every source is in the store',
    },
    ({ isSynced }) => Number(isSynced),
  ),
  {
    name: 'listwatch.index.values',
    type: 'gauge',
    unit: '1',
    help: 'Different values in an equal or multi-value index',
    read(measured, add) {
      for (const [index, values] of measured.indexValues) add({ informer: measured.name, index }, values)
    },
  },
  {
    name: 'listwatch.view.evaluations',
    type: 'counter',
    unit: '1',
    help: 'Calls of the function of a view',
    read(measured, add) {
      if (measured.evaluations !== undefined) add({ informer: measured.name }, measured.evaluations)
    },
  },
  ofSources(
    {
      name: 'listwatch.state',
      type: 'gauge',
      unit: '1',
      help: '1 for the state of the mirror, 0 for all other states',
    },
    ({ status }, add) => {
      for (const state of STATES) add({ state }, Number(status.state === state))
    },
  ),
  ofSources(
    { name: 'listwatch.contact.age', type: 'gauge', unit: 's', help: 'Time since the source last responded' },
    ({ status }, add) => add({}, status.silentMs / 1_000),
  ),
  ofSources(
    {
      name: 'listwatch.lag',
      type: 'gauge',
      unit: 's',
      help: 'Time from the newest commit at the source to its arrival, if the source has times',
    },
    ({ status }, add) => {
      if (status.lagMs !== undefined) add({}, status.lagMs / 1_000)
    },
  ),
  ofSources(
    {
      name: 'listwatch.proof.age',
      type: 'gauge',
      unit: 's',
      help: 'Time since the store was last proven equal to the source by a list or an audit',
    },
    ({ status }, add, now) => {
      if (status.proof !== undefined) add({}, Math.max(0, now - status.proof.at) / 1_000)
    },
  ),
  ofSources(
    { name: 'listwatch.audit.drift', type: 'gauge', unit: '1', help: 'Keys that differed in the last completed audit' },
    ({ status }, add) => add({}, status.proof?.foundDrift ?? 0),
  ),
  ofSources(
    { name: 'listwatch.audits', type: 'counter', unit: '1', help: 'Audits by result: equal, drift or failed' },
    ({ audits }, add) => {
      for (const [result, count] of Object.entries(audits)) add({ result }, count)
    },
  ),
  ofSources(
    { name: 'listwatch.relists', type: 'counter', unit: '1', help: 'Lists after the first one, by reason' },
    ({ relists }, add) => {
      for (const [reason, count] of relists) add({ reason }, count)
    },
  ),
  ofSources(
    { name: 'listwatch.reconnects', type: 'counter', unit: '1', help: 'Watches that were opened again' },
    ({ status }, add) => add({}, status.reconnects),
  ),
  ofSources(
    {
      name: 'listwatch.batches',
      type: 'counter',
      unit: '1',
      help: 'Commits to the store, lists and bookmarks included',
    },
    ({ batches }, add) => add({}, batches),
  ),
  ofSources(
    { name: 'listwatch.changes', type: 'counter', unit: '1', help: 'Changes of objects, without the first list' },
    ({ changes }, add) => add({}, changes),
  ),
  ...ofQueues('subscription'),
  ofSubscriptions(
    'subscription',
    { name: 'listwatch.subscription.failures', type: 'counter', unit: '1', help: 'Handler calls that failed' },
    ({ counts }, add) => add({}, counts.failed),
  ),
  ofSubscriptions(
    'subscription',
    {
      name: 'listwatch.subscription.slow',
      type: 'counter',
      unit: '1',
      help: 'Handler calls that did not settle within 10 s',
    },
    ({ counts }, add) => add({}, counts.slow),
  ),
  ...ofQueues('controller'),
  ofSubscriptions(
    'controller',
    { name: 'listwatch.controller.failing.keys', type: 'gauge', unit: '1', help: 'Keys whose last run failed' },
    ({ failing }, add) => add({}, failing),
  ),
  ofSubscriptions(
    'controller',
    { name: 'listwatch.controller.runs', type: 'counter', unit: '1', help: 'Runs by result: success or failure' },
    ({ counts }, add) => {
      add({ result: 'success' }, counts.succeeded)
      add({ result: 'failure' }, counts.failed)
    },
  ),
  ofSubscriptions(
    'controller',
    {
      name: 'listwatch.controller.retries',
      type: 'counter',
      unit: '1',
      help: 'Runs that followed a failure of their key',
    },
    ({ counts }, add) => add({}, counts.retried),
  ),
  ofSubscriptions(
    'controller',
    { name: 'listwatch.controller.slow', type: 'counter', unit: '1', help: 'Runs that did not settle within 60 s' },
    ({ counts }, add) => add({}, counts.slow),
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
