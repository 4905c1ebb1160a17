import type { Clock } from '../../contract/clock.js'
import type { Proof, Status } from '../../contract/status.js'
import type { ReflectorState } from '../../reflector/reflector-state-types.js'
import type { Feed } from '../../subscriptions/feed.js'
import { checkOptions, isPositive } from '../../util/validate-options.js'
import type { InformerContext } from '../informer-context.js'
import type { Health, HealthOptions } from '../informer-types.js'
import type { InformerSources } from '../sources/informer-sources.js'
import type { SourceRunner } from '../sources/source-runner.js'
import type { ViewInputs } from '../sources/view-inputs.js'

/** The status and the health of an informer, computed from its sources. */
export class InformerStatus<S, T> {
  readonly #context: InformerContext<T>
  readonly #sources: InformerSources<S, T>

  constructor(context: InformerContext<T>, sources: InformerSources<S, T>) {
    this.#context = context
    this.#sources = sources
  }

  /** The status now; with `before`, the status when `changed` was in that state. */
  current(changed?: SourceRunner<S, T>, before?: ReflectorState): Status {
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

  /** The state and its reason, for messages. */
  get text(): string {
    const { state, reason } = this.current()
    return state === reason ? state : `${state}: ${reason}`
  }

  health(options: HealthOptions): Health {
    const { clock, subscriptions } = this.#context
    checkOptions('health', options, { silentAfterMs: isPositive, stuckAfterMs: isPositive })
    const status = this.current()
    const { silentMs } = status
    // A view runs, whatever the state of the sources below it.
    const { state } = (this.#sources.view === undefined ? undefined : this.#sources.only?.status()) ?? status
    const isLive = state !== 'idle' && state !== 'stopped'
    const isStale = silentMs > (options.silentAfterMs ?? Infinity)
    const stuck = stuckHandler(subscriptions.keys(), options.stuckAfterMs ?? Infinity, clock)
    const cleared = Array.from(this.#sources.runners.values()).find(({ isCleared }) => isCleared)
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
}

/** Describes a controller that runs no key because other informers are not synced. */
function waitingController(feeds: Iterable<Pick<Feed<unknown>, 'name' | 'reader'>>): string | undefined {
  for (const { name, reader } of feeds) {
    if (reader.waitsFor === undefined) continue
    return `reconcile${name === undefined ? '' : ` "${name}"`} waits for ${reader.waitsFor}`
  }
  return undefined
}

/** Describes a handler or a run that has been running for longer than `ms`. */
function stuckHandler(
  feeds: Iterable<Pick<Feed<unknown>, 'name' | 'reader'>>,
  ms: number,
  clock: Clock,
): string | undefined {
  for (const { name, reader } of feeds) {
    const running = reader.longestRunning
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
  const worst = [...sources].reduce<readonly [string, Status] | undefined>(
    (worst, each) => (worst === undefined || rank(each[1]) > rank(worst[1]) ? each : worst),
    undefined,
  )
  const times = (of: (status: Status) => number | undefined): readonly number[] =>
    all.map(of).filter((time) => time !== undefined)
  return {
    state: state ?? worst?.[1].state ?? 'live',
    isSynced,
    version: undefined,
    reason: worst === undefined ? 'there are no sources' : `${worst[0]}: ${worst[1].reason}`,
    lastError: worst?.[1].lastError ?? all.find(({ lastError }) => lastError !== undefined)?.lastError,
    lastContactAt: least(times(({ lastContactAt }) => lastContactAt)),
    silentMs: Math.max(0, ...times(({ silentMs }) => silentMs)),
    lagMs: greatest(times(({ lagMs }) => lagMs)),
    proof: proofOf(all.map(({ proof }) => proof)),
    attempt: Math.max(0, ...times(({ attempt }) => attempt)),
    retryInMs: least(times(({ retryInMs }) => retryInMs)),
    relists: sum(times(({ relists }) => relists)),
    reconnects: sum(times(({ reconnects }) => reconnects)),
    sources: Object.fromEntries(sources),
  }
}

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

function rank({ state }: Status): number {
  return RANKS.indexOf(state)
}

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

function greatest(numbers: readonly number[]): number | undefined {
  return numbers.length === 0 ? undefined : Math.max(...numbers)
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0)
}
