import { messageOf, SourceError } from '../../contract/errors.js'
import { drainHint } from '../delivery/call-messages.js'
import type { Feed } from '../feed.js'

/** Reports the errors of a controller. */
export class ControllerErrors<T> {
  readonly #feed: Feed<T>

  constructor(feed: Feed<T>) {
    this.#feed = feed
  }

  /** `next`: the delay of the retry in milliseconds; undefined if there is none before a change. */
  failed(key: string, attempt: number, cause: unknown, next: number | 'closing' | undefined): void {
    const message = `${this.#name} failed at key "${key}" (attempt ${attempt}): ${messageOf(cause)}; ${then(next)}`
    this.#report(message, key, cause)
  }

  slow(key: string, ms: number): void {
    this.#feed.counts.slow++
    const hung = `${this.#name} has not settled for ${Math.round(ms / 1_000)} s at key "${key}"`
    this.#report(hung + drainHint(this.#feed), key)
  }

  priorityFailed(key: string, cause: unknown): void {
    const message = `the priority function of ${this.#name} failed at key "${key}": ${messageOf(cause)}; it counts as 0`
    this.#report(message, key, cause)
  }

  blocked(reason: string): void {
    this.#report(`${this.#name} runs no key: ${reason}`)
  }

  #report(message: string, key?: string, cause?: unknown): void {
    this.#feed.host.report(new SourceError(message, { code: 'HANDLER', phase: 'handle', cause, key }))
  }

  get #name(): string {
    const { name, host } = this.#feed
    return `${name === undefined ? 'reconcile' : `reconcile "${name}"`} on ${host.title}`
  }
}

function then(next: number | 'closing' | undefined): string {
  if (next === 'closing') return 'not again, for the controller is being closed'
  return next === undefined ? 'not again before it changes' : `again in ${(next / 1_000).toFixed(1)} s`
}
