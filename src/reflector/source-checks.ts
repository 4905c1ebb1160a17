import { SourceError } from '../contract/errors.js'
import type { ListerWatcher } from '../contract/source.js'
import { membersOf } from '../util/type-guards.js'
import { checkOptions, isFunction, isPositive } from '../util/validate-options.js'

/** Throws a TypeError that names `call` if the value is not a source. */
export function assertSource(source: unknown, call: string): asserts source is ListerWatcher<unknown> {
  const { name, list, watch, heartbeatMs, hasReached, isLaterEpoch, head, versions, resumeState } = membersOf(source)
  if (typeof name !== 'string') throw new TypeError(`${call}: the source must have a name`)
  checkOptions(
    `${call}: the source "${name}"`,
    { list, watch, hasReached, isLaterEpoch, head, versions, resumeState },
    {
      list: isFunction,
      watch: isFunction,
      hasReached: isFunction,
      isLaterEpoch: isFunction,
      head: isFunction,
      versions: isFunction,
      resumeState: isFunction,
    },
  )
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
