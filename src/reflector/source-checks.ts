import type { Clock } from '../contract/clock.js'
import { OptionError, SourceError } from '../contract/errors.js'
import { DEFAULT_HEARTBEAT_MS, type Invalid, type ListerWatcher, type WatchEvent } from '../contract/source.js'
import { isThenable, membersOf } from '../util/type-guards.js'
import { checkOptions, isFunction, isPositive } from '../util/validate-options.js'
import type { Attempt } from './attempt.js'
import { SLICE_EVENTS } from './sink-calls.js'

/** Reports of unknown events are at least this far apart, in milliseconds. */
const REPORT_MS = 60_000

/** Returns the time, in milliseconds, after which a watch of a source without data counts as lost. */
export function idleMsOf({ heartbeatMs = DEFAULT_HEARTBEAT_MS }: Pick<ListerWatcher<unknown>, 'heartbeatMs'>): number {
  return 2 * heartbeatMs + 5_000
}

export const WRONG_REPLACE = 'a replace must have entries with string keys'

const METHODS = ['list', 'watch', 'hasReached', 'isLaterEpoch', 'head', 'versions', 'resumeState']

export function assertSource(source: unknown, call: string): asserts source is ListerWatcher<unknown> {
  if (isThenable(source))
    throw new OptionError(`${call}: the source is a promise: await it first`, { option: 'source' })
  const members = membersOf(source)
  const { name, list, watch, heartbeatMs } = members
  if (typeof name !== 'string') throw new TypeError(`${call}: the source must have a name`)
  for (const method of METHODS)
    checkOptions(`${call}: the source "${name}"`, { [method]: members[method] }, { [method]: isFunction })
  if (list === undefined || watch === undefined) {
    throw new TypeError(`${call}: the source "${name}" must have list and watch`)
  }
  if (heartbeatMs !== undefined && isPositive(heartbeatMs) !== undefined) {
    throw new TypeError(`${call}: the source's heartbeatMs must be a finite number above 0, got ${heartbeatMs}`)
  }
}

/** Returns the iterator of a source's result. Throws if it is not an async iterable, such as an array or a promise. */
export function iterated<V>(what: string, given: AsyncIterable<V>): AsyncIterator<V> {
  if (typeof given?.[Symbol.asyncIterator] === 'function') return given[Symbol.asyncIterator]()
  throw new SourceError(`${what} did not return an async iterable; it must be an async generator`, { code: 'PROTOCOL' })
}

/** Ends an iterator. Resolves when it has cleaned up; a pending `next()` ends by its signal. */
export async function close(iterator: AsyncIterator<unknown> | undefined): Promise<void> {
  try {
    await iterator?.return?.()
  } catch {
    // The iterator has ended either way.
  }
}

type Valid<E> = readonly (E | Invalid)[]

interface ValidatorHooks {
  report(error: SourceError): void
  relistSoon(reason: string): void
}

export class EventValidator {
  readonly #source: string
  readonly #clock: Clock
  readonly #hooks: ValidatorHooks
  #reportedAt = -Infinity

  constructor(source: string, clock: Clock, hooks: ValidatorHooks) {
    this.#source = source
    this.#clock = clock
    this.#hooks = hooks
  }

  /** Makes events without a key `invalid`, and drops those of unknown types. Many are validated in slices. */
  valid<E extends WatchEvent<unknown>>(events: readonly E[], attempt: Attempt): Valid<E> | Promise<Valid<E>> {
    if (!Array.isArray(events)) throw new SourceError('the events are not an array', { code: 'PROTOCOL' })
    return events.length > SLICE_EVENTS ? this.#validInSlices(events, attempt) : this.#valid(events)
  }

  async #validInSlices<E extends WatchEvent<unknown>>(events: readonly E[], attempt: Attempt): Promise<Valid<E>> {
    let good: (E | Invalid)[] | undefined
    for (let at = 0; at < events.length; at += SLICE_EVENTS) {
      const slice = events.slice(at, at + SLICE_EVENTS)
      const valid = this.#valid(slice)
      if (valid !== slice) good ??= events.slice(0, at)
      good?.push(...valid)
      await attempt.yieldIfDue()
    }
    return good ?? events
  }

  #valid<E extends WatchEvent<unknown>>(events: readonly E[]): Valid<E> {
    if (events.every(isUnderstood)) return events
    const good: (E | Invalid)[] = []
    for (const event of events) {
      const type = event?.type
      if (isUnderstood(event)) good.push(event)
      else if (type === 'put' || type === 'delete' || type === 'invalid') {
        const error =
          type === 'invalid' ? event.error : new TypeError(`its key must be a string, got ${typeof event.key}`)
        good.push({ type: 'invalid', error })
        this.#hooks.relistSoon('an object came without a key')
      } else if (type === 'replace') {
        throw new SourceError(WRONG_REPLACE, { code: 'PROTOCOL' })
      } else {
        this.#reportUnknown(type)
        this.#hooks.relistSoon('an event of an unknown type came')
      }
    }
    return good
  }

  #reportUnknown(type: unknown): void {
    if (this.#clock.now() - this.#reportedAt < REPORT_MS) return
    this.#reportedAt = this.#clock.now()
    const message = `an event of the unknown type "${String(type)}" of ${this.#source} was left out: put, delete, replace and invalid are allowed; a list follows within 5 minutes`
    this.#hooks.report(new SourceError(message, { code: 'DECODE' }))
  }
}

export function isUnderstood(event: WatchEvent<unknown>): boolean {
  switch (event?.type) {
    case 'put':
    case 'delete':
    case 'invalid':
      return typeof event.key === 'string'
    case 'replace':
      return Array.isArray(event.entries) && event.entries.every((entry) => typeof entry?.key === 'string')
    default:
      return false
  }
}
