import { SourceError } from '../../../src/contract/errors.js'
import { refusalIn } from './api-error.js'

/** A timer may ring so much too early, in milliseconds; servers count in seconds. */
const EARLY_MS = 10

/** A server's wish to be left alone until some moment. Times are a clock's. */
export class ServerWish {
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
    return refusalIn(this.#error)?.code === 429
  }

  /** What an error says of it. Other refusals that name a time mean the one question: another one may be answered before. */
  heed(error: unknown, now: number): void {
    const code = refusalIn(error)?.code
    if (!(error instanceof SourceError) || (code !== 429 && code !== 503)) return
    const until = now + Math.max(error.retryAfterMs ?? 0, code === 429 ? this.#busyMs : 0)
    if (until <= Math.max(now, this.#until)) return
    this.#until = until
    this.#error = error
  }

  /** Throws, with what is left of it, until it is over. */
  assertOver(now: number): void {
    const retryAfterMs = this.#until - now
    if (this.#error === undefined || retryAfterMs <= EARLY_MS) return
    const { message, code, cause } = this.#error
    throw new SourceError(message, { code, retryAfterMs, cause })
  }
}

const wishes = new WeakMap<object, Map<string, ServerWish>>()

/** The one of all who ask for the same with one configuration, and may share a watch of it. */
export function wishOf(giver: object, what: string): ServerWish {
  const all = wishes.get(giver) ?? new Map<string, ServerWish>()
  wishes.set(giver, all)
  const wish = all.get(what) ?? new ServerWish()
  all.set(what, wish)
  return wish
}
