import type { Clock } from '../../contract/clock.js'
import type { Proof, Status } from '../../contract/status.js'
import type { ReflectorState } from '../../reflector/reflector-state.js'
import type { Commit } from '../../store/write/commit.js'
import type { Feed } from '../../subscriptions/feed.js'
import { CountsByName, type FeedCounts } from '../../subscriptions/feed-counts.js'
import { channels } from '../../util/telemetry.js'
import { checkOptions, isPositive } from '../../util/validate-options.js'
import type { InformerContext } from '../informer-context.js'
import type { Health, HealthOptions } from '../informer-types.js'
import type { InformerSources } from '../sources/informer-sources.js'
import type { SourceRunner } from '../sources/source-runner.js'
import type { ViewInputs } from '../sources/view-inputs.js'
import { inspect, type Transition } from './inspect.js'
import type { Inspection } from './inspect-types.js'
import type { Measurements, SubscriptionMeasurements } from './measurements.js'
import { informers } from './registry.js'

/** The number of characters of a name that is made of the names of sources. */
const MAX_NAME = 100
const MAX_TRANSITIONS = 50

/** What an informer shows of itself: status, health, inspection, metrics, and messages on diagnostics channels. */
export class Observation<S, T> {
  readonly name: string
  readonly #number = ++informers.lastNumber
  readonly #context: InformerContext<T>
  readonly #sources: InformerSources<S, T>
  readonly #transitions: Transition[] = []
  readonly counts: CountsByName = new CountsByName()

  constructor(context: InformerContext<T>, sources: InformerSources<S, T>, name: string | undefined) {
    this.#context = context
    this.#sources = sources
    this.name = informers.freeName(name ?? [...sources.runners.keys()].join(', ').slice(0, MAX_NAME))
  }

  stateChanged(runner: SourceRunner<S, T>, before: ReflectorState): void {
    const { name, title, reflector } = runner
    const { state } = reflector
    // Otherwise only saved content became stale or current.
    if (state.name !== before.name) {
      this.#context.events.log('info', `${title} is ${state.name}: ${state.reason}`, { previous: before.name })
      const at = this.#context.clock.now()
      this.#transitions.push({ at, source: name, from: before.name, to: state.name, reason: state.reason })
      if (this.#transitions.length > MAX_TRANSITIONS) this.#transitions.shift()
    }
    if (channels.status.hasSubscribers) {
      const [status, previous] = [runner.status(), runner.status(before)]
      channels.status.publish({ informer: this.name, source: name, status, previous })
    }
  }

  committed(
    { name: source, lagMs, counts }: SourceRunner<S, T>,
    { origin, changes, version, position }: Commit<T>,
  ): void {
    counts.batches++
    counts.changes += changes.length
    if (!channels.batch.hasSubscribers) return
    const { name: informer } = this
    channels.batch.publish({ informer, source, origin, changes: changes.length, version, position, lagMs })
  }

  /** The status now; with `before`, the status when `changed` was in that state. */
  status(changed?: SourceRunner<S, T>, before?: ReflectorState): Status {
    const { runners, isSet, isStarted } = this.#sources
    const [only] = runners.values()
    const { view } = this.#sources
    if (view !== undefined && only !== undefined) return this.#ofView(only.status(before), view)
    if (!isSet && only !== undefined) return only.status(before)
    const each = new Map<string, Status>()
    for (const [name, one] of runners) each.set(name, one.status(one === changed ? before : undefined))
    const state = this.#context.stopped.aborted ? 'stopped' : isStarted ? undefined : 'idle'
    return statusOf(each, state, this.#context.synced.isOpen)
  }

  /** Of a view that works: of the source in the worst state below it. Otherwise its own state. */
  #ofView(own: Status, { roots }: ViewInputs): Status {
    const each = new Map(Array.from(roots, ([name, runner]) => [name, runner.status()]))
    const below = statusOf(each, undefined, own.isSynced)
    const isBelow = own.state === 'live' || (!own.isSynced && own.state === 'listing' && below.state !== 'live')
    const { state, reason } = isBelow ? below : own
    const lastError = own.lastError ?? below.lastError
    return { ...below, state, reason, version: own.version, lastError, sources: Object.fromEntries(each) }
  }

  get text(): string {
    const { state, reason } = this.status()
    return state === reason ? state : `${state}: ${reason}`
  }

  health(options: HealthOptions): Health {
    const { clock, subscriptions } = this.#context
    checkOptions('health', options, { silentAfterMs: isPositive, stuckAfterMs: isPositive })
    const status = this.status()
    const { silentMs } = status
    // A view runs, whatever the state of the sources below it.
    const { state } = (this.#sources.view === undefined ? undefined : this.#sources.only?.status()) ?? status
    const isLive = state !== 'idle' && state !== 'stopped'
    const isStale = silentMs > (options.silentAfterMs ?? Infinity)
    const stuck = stuckHandler(subscriptions.keys(), options.stuckAfterMs ?? Infinity, clock)
    const cleared = Array.from(this.#sources.runners.values()).find(({ history }) => history.isCleared)
    const input = this.#sources.view?.flaw
    const waiting = waitingController(subscriptions.keys())
    const flaw = input ?? stuck ?? waiting
    const isWhole = cleared === undefined && this.#sources.only?.hasLeft !== true
    const isReady = isLive && this.#context.synced.isOpen && !isStale && isWhole && flaw === undefined
    const stale = isStale ? `; nothing was heard from the source for ${Math.round(silentMs / 1_000)} s` : ''
    const clear =
      cleared === undefined ? '' : `; access to ${cleared.source.name} was lost, and its objects were deleted`
    const flaws = [input, waiting, stuck].flatMap((each) => (each === undefined ? [] : `; ${each}`)).join('')
    return { isLive, isReady, reason: `${this.text}${stale}${clear}${flaws}` }
  }

  inspect(): Inspection {
    const sources = new Map(Array.from(this.#sources.runners, ([name, runner]) => [name, runner.status()]))
    const { view } = this.#sources
    return inspect(this.name, this.#context, this.status(), sources, this.#transitions, view)
  }

  measure(): Measurements {
    const { clock, indexer } = this.#context
    const indexValues = new Map<string, number>()
    for (const { name, index } of indexer.declared.values())
      if (index.valueCount !== undefined) indexValues.set(name, index.valueCount)
    return {
      name: this.name,
      number: this.#number,
      now: clock.now(),
      isSynced: this.status().isSynced,
      objects: indexer.size,
      invalid: indexer.invalid.size,
      indexValues,
      evaluations: this.#sources.view?.work.evaluations,
      sources: Array.from(this.#sources.runners.values(), (runner) => {
        const { name, proofs } = runner
        const { relists, batches, changes } = runner.counts
        return { name, status: runner.status(), relists, batches, changes, audits: proofs.audits }
      }),
      subscriptions: this.#measureSubscriptions(clock.now()),
    }
  }

  #measureSubscriptions(now: number): readonly SubscriptionMeasurements[] {
    const all = new Map<FeedCounts, { -readonly [K in keyof SubscriptionMeasurements]: SubscriptionMeasurements[K] }>()
    for (const named of this.counts.all)
      all.set(named.counts, { ...named, open: 0, keys: 0, oldestMs: 0, runningMs: 0, failing: 0 })
    for (const [{ reader, counts }, { backlog }] of this.#context.subscriptions) {
      const sum = all.get(counts)
      if (sum === undefined) continue
      sum.open++
      sum.keys += backlog.keys
      sum.oldestMs = Math.max(sum.oldestMs, backlog.oldestMs)
      sum.runningMs = Math.max(sum.runningMs, now - (reader.slow?.longest?.since ?? now))
      sum.failing += reader.failing?.size ?? 0
    }
    return [...all.values()]
  }
}

function waitingController(feeds: Iterable<Pick<Feed<unknown>, 'name' | 'reader'>>): string | undefined {
  for (const { name, reader } of feeds) {
    if (reader.waitsFor === undefined) continue
    return `reconcile${name === undefined ? '' : ` "${name}"`} waits for ${reader.waitsFor}`
  }
  return undefined
}

function stuckHandler(
  feeds: Iterable<Pick<Feed<unknown>, 'name' | 'reader'>>,
  ms: number,
  clock: Clock,
): string | undefined {
  for (const { name, reader } of feeds) {
    const running = reader.slow?.longest
    const ranMs = clock.now() - (running?.since ?? Infinity)
    if (running === undefined || ranMs <= ms) continue
    const of = name === undefined ? '' : ` of "${name}"`
    return `a handler${of} has not settled for ${(ranMs / 1_000).toFixed(ranMs < 10_000 ? 1 : 0)} s at key "${running.key}"`
  }
  return undefined
}

/** The status of a source set. State and reason are those of the source in the worst state, unless `state` is given. */
function statusOf(
  sources: ReadonlyMap<string, Status>,
  state: 'idle' | 'stopped' | undefined,
  isSynced: boolean,
): Status {
  const all = [...sources.values()]
  const [worst] = [...sources].toSorted(([, a], [, b]) => RANKS.indexOf(b.state) - RANKS.indexOf(a.state))
  const times = (of: (status: Status) => number | undefined): readonly number[] =>
    all.map(of).filter((time) => time !== undefined)
  const lags = times(({ lagMs }) => lagMs)
  return {
    state: state ?? worst?.[1].state ?? 'live',
    isSynced,
    version: undefined,
    reason: worst === undefined ? 'there are no sources' : `${worst[0]}: ${worst[1].reason}`,
    lastError: worst?.[1].lastError ?? all.find(({ lastError }) => lastError !== undefined)?.lastError,
    lastContactAt: least(times(({ lastContactAt }) => lastContactAt)),
    silentMs: Math.max(0, ...times(({ silentMs }) => silentMs)),
    lagMs: lags.length === 0 ? undefined : Math.max(...lags),
    proof: proofOf(all.map(({ proof }) => proof)),
    attempt: Math.max(0, ...times(({ attempt }) => attempt)),
    retryInMs: least(times(({ retryInMs }) => retryInMs)),
    relists: sum(times(({ relists }) => relists)),
    reconnects: sum(times(({ reconnects }) => reconnects)),
    sources: Object.fromEntries(sources),
  }
}

/** The worst last. */
const RANKS: readonly Status['state'][] = [
  'live',
  'stopped',
  'idle',
  'relisting',
  'connecting',
  'restoring',
  'stale',
  'listing',
  'backing-off',
  'failed',
]

/** The oldest proof of several sources, with all differences. Undefined if a source has no proof. */
function proofOf(proofs: readonly (Proof | undefined)[]): Proof | undefined {
  const known = proofs.filter((proof) => proof !== undefined)
  const [oldest] = known.toSorted((a, b) => a.at - b.at)
  if (oldest === undefined || known.length < proofs.length) return undefined
  return { ...oldest, foundDrift: sum(known.map(({ foundDrift }) => foundDrift)) }
}

function least(numbers: readonly number[]): number | undefined {
  return numbers.length === 0 ? undefined : Math.min(...numbers)
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0)
}
