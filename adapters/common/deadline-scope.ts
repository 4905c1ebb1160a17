import type { Clock } from '../../src/contract/clock.js'
import { ABORTED, type SourceError } from '../../src/contract/errors.js'
import { onAbort } from '../../src/util/abort-listeners.js'

export interface Deadline<L> {
  /** Milliseconds until `late` is called. */
  readonly ms: number
  /** Called when the time is over: returns how many milliseconds more to wait, or undefined. */
  extendMs?(): number | undefined
  /** Returns the result of work that took too long, or throws its error. */
  late(): L
}

/** Shared: creating an error for each aborted timer takes most of the time of a small command. */
const SETTLED = new Error('settled')

/**
 * The lifetime of a connection: work that waits for a driver rejects when its deadline passes, when the signal aborts,
 * or when the scope ends. Drivers do not notice a peer that disappeared.
 */
export class DeadlineScope {
  readonly #clock: Clock
  readonly #listeners = new Set<(error: SourceError) => void>()
  readonly #unlink: () => void
  ending: SourceError | undefined

  constructor({ signal, clock }: { readonly signal: AbortSignal; readonly clock: Clock }) {
    this.#clock = clock
    this.#unlink = onAbort(signal, () => this.end(ABORTED))
  }

  onEnd(listener: (error: SourceError) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /** Rejects all work under way with `error`, and all later work. Only the first call has an effect. */
  end(error: SourceError): void {
    if (this.ending !== undefined) return
    this.ending = error
    this.#unlink()
    for (const listener of this.#listeners) listener(error)
  }

  race<V, L = never>(work: Promise<V>, { ms, extendMs, late }: Deadline<L>): Promise<V | L> {
    return new Promise<V | L>((resolve, reject) => {
      const timer = new AbortController()
      const settle = (): void => {
        this.#listeners.delete(fail)
        timer.abort(SETTLED)
      }
      const succeed = (value: V | L): void => {
        settle()
        resolve(value)
      }
      const fail = (error: unknown): void => {
        settle()
        reject(error)
      }
      work.then(succeed, fail)
      if (this.ending !== undefined) {
        fail(this.ending)
        return
      }
      this.#listeners.add(fail)
      const wait = (waitMs: number): void => {
        this.#clock.sleep(waitMs, timer.signal).then(timedOut, () => {}) // It was settled.
      }
      const timedOut = (): void => {
        const moreMs = extendMs?.()
        if (moreMs !== undefined) {
          wait(moreMs)
          return
        }
        try {
          succeed(late())
        } catch (error) {
          fail(error)
        }
      }
      wait(ms)
    })
  }
}

/** Whether a connection receives bytes. No driver notices a peer that disappeared, and a response may take long. */
export class ReceivedBytes {
  readonly #bytesRead: () => number | undefined
  readonly #clock: Clock
  #last: number | undefined
  #at: number

  constructor(bytesRead: () => number | undefined, clock: Clock) {
    this.#bytesRead = bytesRead
    this.#clock = clock
    this.#at = clock.now()
  }

  /** When bytes were last received. A call notices only that bytes arrived since the call before it. */
  get at(): number {
    const bytes = this.#bytesRead()
    if (bytes !== this.#last) {
      this.#last = bytes
      this.#at = this.#clock.now()
    }
    return this.#at
  }

  /** Returns the `extendMs` of a deadline that passes after this many periods in succession without bytes. */
  extension(periodMs: number, most: number): () => number | undefined {
    let last = this.at
    let periods = 0
    return () => {
      periods = this.at === last ? periods + 1 : 0
      last = this.at
      return periods < most ? periodMs : undefined
    }
  }

  /** Calls `report` regularly while bytes are received, until the returned function is called. */
  reportActivity(everyMs: number, report: () => void): () => void {
    return repeat(this.#clock, everyMs, () => {
      if (this.#clock.now() - this.at < everyMs) report()
    })
  }
}

/** Calls `work` after each period, until the returned function is called. */
export function repeat(clock: Clock, everyMs: number, work: () => void): () => void {
  const timer = new AbortController()
  const run = async (): Promise<void> => {
    for (;;) {
      await clock.sleep(everyMs, timer.signal)
      work()
    }
  }
  run().catch(() => {}) // The timer was aborted.
  return () => timer.abort(SETTLED)
}
