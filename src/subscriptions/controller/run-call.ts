import type { Clock } from '../../contract/clock.js'
import { TimedRun } from '../delivery/timed-run.js'
import type { OwnedRun } from '../replicas/replica-gate.js'

/** With replicas: what a run needs of the ownership of its key. */
export interface RunOwner {
  mayRun(key: string): boolean
  begin(key: string): OwnedRun
  checked(signal: AbortSignal): AbortSignal
}

export interface RunCallOptions {
  readonly clock: Clock
  readonly timeoutMs: number | undefined
  /** Aborts when the controller stops. */
  readonly stop: AbortSignal
  readonly owner: RunOwner | undefined
}

/** One run of a key. Its signal aborts with its time limit, and with the lease of the replica. */
export class RunCall {
  readonly signal: AbortSignal
  readonly fence: number | undefined
  readonly #key: string
  readonly #owner: RunOwner | undefined
  readonly #owned: OwnedRun | undefined
  readonly #timed: TimedRun | undefined

  constructor(key: string, { clock, timeoutMs, stop, owner }: RunCallOptions) {
    this.#key = key
    this.#owner = owner
    this.#owned = owner?.begin(key)
    const outer = this.#owned?.signal ?? stop
    this.#timed = timeoutMs === undefined ? undefined : new TimedRun(clock, timeoutMs, outer)
    this.signal = this.#timed === undefined ? outer : (owner?.checked(this.#timed.signal) ?? this.#timed.signal)
    this.fence = this.#owned?.fence
  }

  /** Whether it was aborted with the lease, and the key is not owned again. */
  get isLost(): boolean {
    return this.#owned?.signal.aborted === true && this.#owner?.mayRun(this.#key) === false
  }

  /** Calls the function. Settles as its promise does, or when the time is over. */
  perform(fn: () => Promise<void>): Promise<void> {
    const running = this.#call(fn)
    return this.#timed?.outcome(running) ?? running
  }

  /** Removes the listener and the timer of the time limit. */
  dispose(): void {
    this.#timed?.dispose()
  }

  /** The ownership of the key ends when the promise of the function settles, also if the run times out before. */
  #call(fn: () => Promise<void>): Promise<void> {
    const end = this.#owned?.end
    if (end === undefined) return fn()
    try {
      const running = fn()
      Promise.resolve(running).then(end, end)
      return running
    } catch (error) {
      end()
      throw error
    }
  }
}
