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

/** A value; undefined if there is none now; or values with more labels. */
type Reading = number | undefined | readonly (readonly [labels: Labels, value: number])[]

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
const seconds = (name: string, help: string): Described => described('gauge', 's', name, help)
const counter = (name: string, help: string): Described => described('counter', '1', name, help)

function addTo(add: Add, named: Labels, reading: Reading): void {
  if (typeof reading === 'number') add(named, reading)
  else for (const [labels, value] of reading ?? []) add({ ...named, ...labels }, value)
}

function ofInformer(metric: Described, read: (measured: Measurements) => Reading): Metric {
  return { ...metric, read: (measured, add) => addTo(add, { informer: measured.name }, read(measured)) }
}

function ofSources(metric: Described, read: (source: SourceMeasurements, now: number) => Reading): Metric {
  return {
    ...metric,
    read({ name: informer, sources, now }, add) {
      for (const each of sources) addTo(add, { informer, source: each.name }, read(each, now))
    },
  }
}

type Queue = 'subscription' | 'controller'
type ReadQueue = (each: SubscriptionMeasurements) => Reading

/** `label` names the subscriptions: those of handlers and streams, or controllers. */
function ofQueue(label: Queue, metric: Described, read: ReadQueue): Metric {
  return {
    ...metric,
    read({ name: informer, subscriptions }, add) {
      for (const each of subscriptions) {
        if ((each.kind === 'controller') !== (label === 'controller')) continue
        const kind = label === 'subscription' && { kind: each.kind }
        addTo(add, { informer, [label]: each.name, ...kind }, read(each))
      }
    },
  }
}

const ofHandlers = (metric: Described, read: ReadQueue): Metric => ofQueue('subscription', metric, read)
const ofControllers = (metric: Described, read: ReadQueue): Metric => ofQueue('controller', metric, read)

/** Metrics that subscriptions and controllers share. */
function ofQueues(label: Queue, subject: string, queued: string, oldest: string): readonly Metric[] {
  const running = 'How long the longest running call has been running'
  return [
    ofQueue(label, gauge(`${label}.open`, `${subject} of this name that are not closed`), ({ open }) => open),
    ofQueue(label, gauge(`${label}.queue.keys`, queued), ({ keys }) => keys),
    ofQueue(label, seconds(`${label}.queue.oldest.age`, oldest), ({ oldestMs }) => oldestMs / 1_000),
    ofQueue(label, seconds(`${label}.running.age`, running), ({ runningMs }) => runningMs / 1_000),
  ]
}

export const METRICS: readonly Metric[] = [
  ofInformer(gauge('objects', 'Objects in the store'), ({ objects }) => objects),
  ofInformer(gauge('invalid.objects', 'Objects of the source that are invalid'), ({ invalid }) => invalid),
  ofInformer(gauge('synced', 'Whether the first list of every source is in the store'), ({ isSynced }) =>
    Number(isSynced),
  ),
  ofInformer(gauge('index.values', 'Different values in an equal or multi-value index'), ({ indexValues }) =>
    Array.from(indexValues, ([index, values]) => [{ index }, values]),
  ),
  ofInformer(counter('view.evaluations', 'Calls of the function of a view'), ({ evaluations }) => evaluations),
  ofSources(gauge('state', '1 for the state of the mirror, 0 for all other states'), ({ status }) =>
    STATES.map((state) => [{ state }, Number(status.state === state)]),
  ),
  ofSources(seconds('contact.age', 'Time since the source last responded'), ({ status }) => status.silentMs / 1_000),
  ofSources(
    seconds('lag', 'Time from the newest commit at the source to its arrival, if the source has times'),
    ({ status: { lagMs } }) => (lagMs === undefined ? undefined : lagMs / 1_000),
  ),
  ofSources(
    seconds('proof.age', 'Time since the store was last proven equal to the source by a list or an audit'),
    ({ status: { proof } }, now) => (proof === undefined ? undefined : Math.max(0, now - proof.at) / 1_000),
  ),
  ofSources(
    gauge('audit.drift', 'Keys that differed in the last completed audit'),
    ({ status }) => status.proof?.foundDrift ?? 0,
  ),
  ofSources(counter('audits', 'Audits by result: equal, drift or failed'), ({ audits }) =>
    Object.entries(audits).map(([result, count]) => [{ result }, count]),
  ),
  ofSources(counter('relists', 'Lists after the first one, by reason'), ({ relists }) =>
    Array.from(relists, ([reason, count]) => [{ reason }, count]),
  ),
  ofSources(counter('reconnects', 'Watches that were opened again'), ({ status }) => status.reconnects),
  ofSources(counter('batches', 'Commits to the store, lists and bookmarks included'), ({ batches }) => batches),
  ofSources(counter('changes', 'Changes of objects, without the first list'), ({ changes }) => changes),
  ...ofQueues(
    'subscription',
    'Subscriptions and change streams',
    'Keys that wait',
    'How long the oldest change has waited',
  ),
  ofHandlers(counter('subscription.failures', 'Handler calls that failed'), ({ counts }) => counts.failed),
  ofHandlers(
    counter('subscription.slow', 'Handler calls that did not settle within 10 s'),
    ({ counts }) => counts.slow,
  ),
  ...ofQueues(
    'controller',
    'Controllers',
    'Keys that wait, run or are retried',
    'How long the oldest of the keys that wait, run or are retried has done so',
  ),
  ofControllers(gauge('controller.failing.keys', 'Keys whose last run failed'), ({ failing }) => failing),
  ofControllers(counter('controller.runs', 'Runs by result: success or failure'), ({ counts }) => [
    [{ result: 'success' }, counts.succeeded],
    [{ result: 'failure' }, counts.failed],
  ]),
  ofControllers(
    counter('controller.retries', 'Runs that followed a failure of their key'),
    ({ counts }) => counts.retried,
  ),
  ofControllers(counter('controller.slow', 'Runs that did not settle within 60 s'), ({ counts }) => counts.slow),
]

/** Of two informers of one name the older was stopped, and its series would hide those of the newer. */
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
