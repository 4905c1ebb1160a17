import { EventEmitter } from 'eventemitter3'
import type { Clock } from '../contract/clock.js'
import { messageOf, SourceError, toSourceError } from '../contract/errors.js'
import { emitWarning } from '../contract/node-or-browser.js'
import type { Logger, Status } from '../contract/status.js'
import { RunToCompletion } from '../util/run-to-completion.js'
import { channels } from '../util/telemetry.js'
import { isThenable } from '../util/type-guards.js'

/** Process warnings about unhandled errors are at least this far apart, in milliseconds. */
const WARNING_MS = 60_000

interface Events {
  error(error: SourceError): void
  status(status: Status, previous: Status): void
}

type AnyListener = (...args: unknown[]) => void

/** An error of a listener is a process warning; the others are still called. */
export class InformerEvents {
  readonly #events = new EventEmitter<Events>()
  readonly #clock: Clock
  readonly #logger: Logger | undefined
  readonly #nameNow: () => string
  readonly #titleOf: (source: string) => string
  readonly #notifications = new RunToCompletion()
  #warnedAt = -Infinity
  #isClosed = false

  /** `titleOf` names the informer of a source in messages. */
  constructor(
    clock: Clock,
    logger: Logger | undefined,
    nameNow: () => string,
    titleOf: (source: string) => string = (source) => source,
  ) {
    this.#clock = clock
    this.#logger = logger
    this.#nameNow = nameNow
    this.#titleOf = titleOf
  }

  on(event: keyof Events, listener: unknown): void {
    this.#events.on(event, checked('on', event, listener))
  }

  off(event: keyof Events, listener: unknown): void {
    this.#events.off(event, checked('off', event, listener))
  }

  /** Nothing is emitted, logged or reported after this. */
  close(): void {
    this.#isClosed = true
  }

  report(error: SourceError, source: string = this.#nameNow()): void {
    if (this.#isClosed) return
    const located = toSourceError(error, { phase: error.phase ?? 'apply', source })
    if (channels.error.hasSubscribers) channels.error.publish({ source, error: located })
    this.log('warn', located.message, { code: located.code, key: located.key })
    if (this.#events.listenerCount('error') > 0) this.#emit('error', located)
    else if (this.#logger === undefined) this.#warn(located)
  }

  warning(message: string): void {
    if (this.#isClosed) return
    this.log('warn', message, {})
    if (this.#logger === undefined) emitWarning(message)
  }

  /** The status of a set takes time for each of its sources: it is computed for listeners only. */
  status(changed: () => readonly [status: Status, previous: Status]): void {
    if (this.#events.listenerCount('status') > 0) this.#emit('status', ...changed())
  }

  log(level: keyof Logger, message: string, fields: object): void {
    if (this.#isClosed) return
    this.#isolate(
      () => this.#logger?.[level](message, fields),
      () => `the logger of ${this.#titleOf(this.#nameNow())}`,
    )
  }

  #emit<E extends keyof Events>(event: E, ...args: Parameters<Events[E]>): void {
    this.#notifications.defer(
      ...this.#events.listeners(event).map((listener) => () => {
        if (this.#events.listeners(event).includes(listener))
          this.#isolate(
            () => Reflect.apply(listener, undefined, args),
            () => `a listener of "${event}" on ${this.#titleOf(this.#nameNow())}`,
          )
      }),
    )
  }

  #isolate(call: () => unknown, nameOf: () => string): void {
    const warn = (thrown: unknown): void =>
      this.#warn(new SourceError(`${nameOf()} threw: ${messageOf(thrown)}`, { code: 'HANDLER', cause: thrown }))
    try {
      const result = call()
      if (isThenable(result)) result.then(undefined, warn)
    } catch (thrown) {
      warn(thrown)
    }
  }

  #warn(error: SourceError): void {
    const now = this.#clock.now()
    if (now - this.#warnedAt < WARNING_MS) return
    this.#warnedAt = now
    const { message, code, cause } = error
    const detail = cause instanceof Error ? cause.stack : undefined
    emitWarning(message, { code, ...(detail === undefined ? {} : { detail }) })
  }
}

function checked(call: string, event: unknown, listener: unknown): AnyListener {
  if (event !== 'error' && event !== 'status')
    throw new TypeError(`${call}: the event must be "error" or "status", got "${String(event)}"`)
  if (typeof listener !== 'function') throw new TypeError(`${call}: the listener must be a function`)
  return listener as AnyListener
}
