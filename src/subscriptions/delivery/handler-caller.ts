import { messageOf, type SourceError } from '../../contract/errors.js'
import type { Change } from '../../queue/change.js'
import { type CallResult, channels, type HandlerMessage } from '../../util/telemetry.js'
import { isThenable } from '../../util/type-guards.js'
import type { Feed } from '../feed.js'
import type { Handlers } from './handler-types.js'
import { SlowHandlerMonitor } from './slow-handler-monitor.js'
import { timedRun } from './timed-run.js'

export class HandlerCaller<T> {
  readonly #feed: Feed<T>
  readonly #handlers: Handlers<T>
  readonly #timeoutMs: number | undefined
  readonly #waiting: () => number
  slow: SlowHandlerMonitor | undefined
  /** Whether the last call returned a promise. If not, the clock is not read before the next call: it costs 50 ns. */
  #returnedPromise = true
  #stop: AbortController | undefined
  #signal: AbortSignal | undefined

  constructor(feed: Feed<T>, handlers: Handlers<T>, timeoutMs: number | undefined, waiting: () => number) {
    this.#feed = feed
    this.#handlers = handlers
    this.#timeoutMs = timeoutMs
    this.#waiting = waiting
  }

  /** Returns a promise that never rejects, or undefined if the handler has finished. */
  call(change: Change<T>): Promise<void> | undefined {
    this.#stop ??= new AbortController()
    this.#signal ??= this.#stop.signal // Reading it from the controller costs as much as a call.
    const timed = timedRun(this.#feed.host.clock, this.#timeoutMs, this.#signal)
    try {
      const since = this.#returnedPromise ? this.#timeToPublish : undefined
      const result: unknown = this.#call(change, timed?.signal ?? this.#signal)
      if (!isThenable(result)) {
        this.#returnedPromise = false
        timed?.dispose()
        this.#feed.counts.succeeded++
        return undefined
      }
      this.#returnedPromise = true
      const began = since ?? this.#timeToPublish
      const working = (timed?.outcome(result) ?? Promise.resolve(result)).then(
        () => {
          this.#feed.counts.succeeded++
          this.#publish(change, began, 'success')
        },
        (error: unknown) => {
          this.#report(change, error)
          this.#publish(change, began, 'failure', error)
        },
      )
      this.slow ??= new SlowHandlerMonitor(this.#feed.host.clock, (key, ms) => this.#reportSlow(key, ms))
      return this.slow.monitor(change.key, working)
    } catch (error) {
      timed?.dispose()
      this.#report(change, error)
      return undefined
    }
  }

  get #timeToPublish(): number | undefined {
    return channels.handler.hasSubscribers ? this.#feed.host.clock.now() : undefined
  }

  #publish({ type, key }: Change<T>, began: number | undefined, result: CallResult, error?: unknown): void {
    if (began === undefined) return
    const { informer, name, host } = this.#feed
    const durationMs = host.clock.now() - began
    const message: HandlerMessage = { informer, subscription: name, type, key, durationMs, result, error }
    channels.handler.publish(message)
  }

  cancel(reason: SourceError): void {
    this.#stop?.abort(reason)
  }

  #call(change: Change<T>, signal: AbortSignal): unknown {
    switch (change.type) {
      case 'add':
        return this.#handlers.add?.(change, { signal })
      case 'update':
        return this.#handlers.update?.(change, { signal })
      case 'delete':
        return this.#handlers.delete?.(change, { signal })
    }
  }

  #report({ type, key }: Change<T>, cause: unknown): void {
    const feed = this.#feed
    feed.counts.failed++
    feed.report(`${feed.named(`the ${type} handler`)} failed at key "${key}": ${messageOf(cause)}`, cause, key)
  }

  #reportSlow(key: string, ms: number): void {
    const feed = this.#feed
    feed.counts.slow++
    const waiting = this.#waiting()
    const waits = `${waiting} ${waiting === 1 ? 'key waits' : 'keys wait'}`
    const hung = `${feed.named('a handler')} has not settled for ${Math.round(ms / 1_000)} s at key "${key}"; ${waits}`
    feed.report(hung + feed.drainHint, undefined, key)
  }
}
