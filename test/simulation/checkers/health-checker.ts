import type { Informer } from '../../../src/informer/informer-types.js'
import type { Item } from '../backend/history.js'
import { nameOf, type Scenario } from '../system/scenario.js'
import type { IndexesOf } from '../workload/declared-indexes.js'

/** The times after which a call counts as stuck, in milliseconds. */
const STUCK_MS = [50, 1_000, 15_000] as const
/** The number of steps between two checks. */
const EVERY = 8

/** Checks `health`: whether it is live and ready, and the key of a stuck call. */
export class HealthChecker {
  readonly #scenario: Scenario
  readonly #informer: Informer<Item, IndexesOf>
  readonly #work: OpenCalls
  #steps = 0

  constructor(scenario: Scenario, informer: Informer<Item, IndexesOf>, work: OpenCalls) {
    this.#scenario = scenario
    this.#informer = informer
    this.#work = work
  }

  /** `isCleared`: whether objects of a source were deleted because access was lost, and it was not listed since. */
  checkStep(isCleared: boolean): void {
    if (this.#steps++ % EVERY === 0) this.check(isCleared)
  }

  check(isCleared: boolean): void {
    const { clock, settings, violate } = this.#scenario
    // With slow code, each clock read returns a later time.
    const { state, isSynced } = this.#informer.status
    if (settings.driftMs > 0 || state === 'stopped') return
    const stuckAfterMs = STUCK_MS[this.#steps % STUCK_MS.length] ?? 1_000
    const { isLive, isReady, reason } = this.#informer.health({ stuckAfterMs })
    const since = clock.elapsed - stuckAfterMs
    const [stuck, mayBe] = [this.#work.begunBefore(since, false), this.#work.begunBefore(since, true)]
    if (isLive !== (state !== 'idle')) violate('health', `live is ${isLive} in state ${state}`)
    const mayBeReady = isLive && isSynced && !isCleared && stuck.size === 0
    if (isReady && !mayBeReady)
      violate(
        'health',
        `it is ready, live ${isLive}, synced ${isSynced}, cleared ${isCleared}, stuck at ${list(stuck)}`,
      )
    // A controller of the informer may wait for others.
    const isWaiting = reason.includes(' waits for ')
    if (!isReady && mayBeReady && mayBe.size === 0 && !isWaiting)
      violate('health', `it is not ready, for no reason: ${reason}`)
    const named = / has not settled for .* at key "/s.test(reason)
    if (stuck.size > 0 && ![...mayBe].some((key) => reason.includes(` at key "${key}"`)))
      violate(
        'health',
        `something is stuck at ${list(stuck)}, and the reason does not name it: ${reason.slice(0, 200)}`,
      )
    if (named && mayBe.size === 0) violate('health', `nothing is stuck, and the reason is ${reason.slice(0, 200)}`)
  }
}

function list(keys: ReadonlySet<string>): string {
  return keys.size === 0 ? 'nothing' : Array.from(keys, nameOf).join(', ')
}

type Piece = { readonly of: { readonly isClosed: boolean }; readonly key: string; readonly since: number }

export class OpenCalls {
  readonly #pieces = new Set<Piece>()

  /** A call or a run begins; the result is called when it has settled. */
  begins(of: { readonly isClosed: boolean }, key: string, since: number): () => void {
    const piece = { of, key, since }
    this.#pieces.add(piece)
    return () => void this.#pieces.delete(piece)
  }

  /** The keys of calls that began before `by`; without `mayBeClosed`, only of open followers. */
  begunBefore(by: number, mayBeClosed: boolean): ReadonlySet<string> {
    const keys = new Set<string>()
    for (const { of, key, since } of this.#pieces) if (since < by && (mayBeClosed || !of.isClosed)) keys.add(key)
    return keys
  }
}
