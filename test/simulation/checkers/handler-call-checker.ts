import { SourceError, type Subscription } from '../../../src/index.js'
import { nameOf, type Scenario } from '../system/scenario.js'

/** The largest number of clock reads in one check; each read takes time if the clock drifts. */
const CLOCK_READS = 300

/** One call of a handler, or one run, that has returned a promise. */
export interface HandlerCall {
  readonly key: string
  readonly since: number
  readonly signal: AbortSignal
  isOver: boolean
}

export interface HandlerCallOptions {
  readonly name: string
  /** The time limit of a call in milliseconds; undefined: no limit. */
  readonly limitMs: number | undefined
  /** Whether its follower has ended, or may have. */
  readonly mayEnd: () => boolean
  /** Whether its follower was closed by a call or its signal. */
  readonly isSilenced: () => boolean
}

/**
 * The handlers or runs of one follower that have not settled. Checks that the signal of each is aborted when it times
 * out or its follower is closed, and at no other time (I14, I15). Checks the reported longest call.
 */
export class HandlerCallChecker {
  readonly limitMs: number | undefined
  readonly #scenario: Scenario
  readonly #options: HandlerCallOptions
  readonly #open = new Set<HandlerCall>()
  readonly #forget = new WeakMap<HandlerCall, () => void>()

  constructor(scenario: Scenario, options: HandlerCallOptions) {
    this.#scenario = scenario
    this.#options = options
    this.limitMs = options.limitMs
  }

  get longest(): HandlerCall | undefined {
    const [first] = this.#open
    return first
  }

  /** `timedOut` is called with the error that has to be reported. */
  begin(key: string, signal: AbortSignal, timedOut: (error: SourceError) => void): HandlerCall {
    const { clock, mark, violate } = this.#scenario
    const { name, limitMs } = this.#options
    const run: HandlerCall = { key, since: clock.elapsed, signal, isOver: false }
    const ended = (): void => {
      const { reason } = signal
      if (!(reason instanceof SourceError) || reason.code !== 'TIMEOUT') return
      const tookMs = clock.elapsed - run.since
      if (tookMs < (limitMs ?? Infinity))
        violate('I14', `${name} timed out at ${nameOf(key)} after ${tookMs} ms, before its limit`)
      mark('the time of a handler or a run was over')
      this.end(run)
      timedOut(reason)
    }
    this.#open.add(run)
    if (signal.aborted) ended()
    else {
      signal.addEventListener('abort', ended, { once: true })
      this.#forget.set(run, () => signal.removeEventListener('abort', ended))
    }
    return run
  }

  /** Returns false if it timed out before. */
  end(run: HandlerCall): boolean {
    if (run.isOver) return false
    run.isOver = true
    this.#open.delete(run)
    this.#forget.get(run)?.()
    return true
  }

  checkStep(subscription: Subscription | undefined): void {
    const { clock, settings, violate } = this.#scenario
    const { name, limitMs = Infinity, mayEnd, isSilenced } = this.#options
    if (isSilenced()) this.#checkAborted('by its close')
    if (subscription === undefined || mayEnd()) return
    for (const { key, since, signal } of this.#open) {
      if (signal.aborted) violate('I15', `${name} was aborted at ${nameOf(key)} for no reason`)
      const tookMs = clock.reached - since
      if (tookMs > limitMs + 1 + CLOCK_READS * settings.driftMs)
        violate('I14', `${name} has run ${nameOf(key)} for ${tookMs} ms, and its limit is ${limitMs}`)
    }
    const { oldestKey } = clock.still(() => subscription.backlog)
    const key = this.longest?.key
    if (oldestKey !== key)
      violate('backlog', `${name} reports ${named(oldestKey)} as its longest run, and it is ${named(key)}`)
  }

  /** After a stop, every open call has an aborted signal. */
  checkStopped(): void {
    this.#checkAborted('by stop()')
  }

  #checkAborted(by: string): void {
    for (const { key, signal } of this.#open)
      if (!signal.aborted)
        this.#scenario.violate('I15', `${this.#options.name} was not aborted at ${nameOf(key)} ${by}`)
  }
}

/** The time limit of a handler or a run; undefined: no limit. */
export function drawLimit({ decisions }: Scenario, owner: string): number | undefined {
  const limitMs = decisions.pick('time limit', [40, 400, 3_000, 15_000])
  return decisions.chance('limits time', 0.25) && decisions.take(`time limit#${owner}`) ? limitMs : undefined
}

function named(key: string | undefined): string {
  return key === undefined ? 'nothing' : nameOf(key)
}
