import { SourceError } from '../../../src/contract/errors.js'
import { apiStatusIn } from './api-error.js'

/** A timer may ring so much too early, in milliseconds; servers count in seconds. */
const EARLY_MS = 10

/** A server's wish to be left alone until some moment. Times are a clock's. */
export class RetryAfterGate {
  readonly #busyMs: number
  #until = -Infinity
  /** With which it said so. */
  #error: SourceError | undefined

  /** For so many milliseconds, at the least, is one left alone that is too busy (429). */
  constructor(busyMs = 0) {
    this.#busyMs = busyMs
  }

  get until(): number {
    return this.#until
  }

  /** Whether it was the API server's: one that is there, and too busy. A 503 may be of what stands before one that is not. */
  get isBusy(): boolean {
    return apiStatusIn(this.#error)?.code === 429
  }

  /** What an error says of it. Other refusals that name a time mean the one request: another one may be answered before. */
  observe(error: unknown, now: number): void {
    const code = apiStatusIn(error)?.code
    if (!(error instanceof SourceError) || (code !== 429 && code !== 503)) return
    const until = now + Math.max(error.retryAfterMs ?? 0, code === 429 ? this.#busyMs : 0)
    if (until <= Math.max(now, this.#until)) return
    this.#until = until
    this.#error = error
  }

  /** Throws, with what is left of it, until it is over. */
  assertOpen(now: number): void {
    const retryAfterMs = this.#until - now
    if (this.#error === undefined || retryAfterMs <= EARLY_MS) return
    const { message, code, cause } = this.#error
    throw new SourceError(message, { code, retryAfterMs, cause })
  }
}

const wishes = new WeakMap<object, Map<string, RetryAfterGate>>()

/** The one of all who ask for the same with one configuration, and may share a watch of it. */
export function wishOf(giver: object, what: string): RetryAfterGate {
  const all = wishes.get(giver) ?? new Map<string, RetryAfterGate>()
  wishes.set(giver, all)
  const wish = all.get(what) ?? new RetryAfterGate()
  all.set(what, wish)
  return wish
}
