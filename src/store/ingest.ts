import { messageOf, SourceError } from '../contract/errors.js'
import type { Entry } from '../contract/source.js'
import { redact } from '../util/redact.js'
import { deepFreeze } from './deep-freeze.js'

/** How objects become what the store holds. */
export interface IntakeOptions<T> {
  /** The source's object as the store's; `undefined`: not mirrored. What it throws makes the object invalid. */
  readonly prepare?: ((object: unknown, key: string) => T | undefined) | undefined
  readonly equals: (a: T, b: T) => boolean
  /** Whether plain objects and arrays are deep-frozen. */
  readonly freeze: boolean
  /** The name of the source that a part of the store mirrors, for messages. */
  readonly sourceOf?: ((part: string | undefined) => string | undefined) | undefined
  /** Told of the first time that `equals` throws. */
  readonly report: (error: SourceError) => void
}

/** The store has this already. */
export const SAME: unique symbol = Symbol('same')
/** `prepare` left it out. */
export const OMITTED: unique symbol = Symbol('omitted')

/**
 * Decides what an object that arrives means, beside what the store holds of its key:
 * nothing (`SAME`), an entry to write, that it is not wanted (`OMITTED`), or that it is invalid (a SourceError).
 * An entry with the current object means that only its version moved on.
 */
export class Intake<T> {
  readonly #options: IntakeOptions<T>
  #hasEqualsFailed = false

  constructor(options: IntakeOptions<T>) {
    this.#options = options
  }

  take(
    arrived: Entry<unknown>,
    current: Entry<T> | undefined,
    ignoreVersions: boolean,
    part?: string,
  ): Entry<T> | SourceError | typeof SAME | typeof OMITTED {
    const isOther = current === undefined || isOtherIdentity(current, arrived)
    if (!isOther && !ignoreVersions && current.version !== undefined && current.version === arrived.version) return SAME
    const { prepare, freeze } = this.#options
    let object = arrived.object as T | undefined
    if (prepare !== undefined) {
      try {
        object = prepare(arrived.object, arrived.key)
      } catch (error) {
        return this.invalid(arrived.key, error, part)
      }
    }
    if (object === undefined) return OMITTED
    if (!isOther && this.#equals(current.object, object)) {
      if (current.version === arrived.version && current.uid === arrived.uid) return SAME
      return { ...arrived, object: current.object }
    }
    try {
      if (freeze) deepFreeze(object)
    } catch (error) {
      return this.invalid(arrived.key, error, part) // A getter of the object's own, or a proxy, threw.
    }
    return object === arrived.object ? (arrived as Entry<T>) : { ...arrived, object }
  }

  /** What `informer.invalid` says of an object of this part of the store. */
  invalid(key: string | undefined, error: unknown, part: string | undefined): SourceError {
    return invalid(key, error, this.#options.sourceOf?.(part))
  }

  /** The last state that a delete brought with it, where it is usable. */
  lastState(key: string, object: unknown): T | undefined {
    const { prepare, freeze } = this.#options
    if (object === undefined) return undefined
    try {
      const last = prepare === undefined ? (object as T) : prepare(object, key)
      return freeze ? deepFreeze(last) : last
    } catch {
      return undefined // The object goes anyway; the state that the store holds is told instead.
    }
  }

  #equals(a: T, b: T): boolean {
    try {
      return this.#options.equals(a, b)
    } catch (error) {
      if (!this.#hasEqualsFailed) {
        const message = `the equals function failed: ${messageOf(error)}; such objects count as changed`
        this.#options.report(new SourceError(message, { code: 'DECODE', phase: 'apply', cause: error }))
      }
      this.#hasEqualsFailed = true
      return false
    }
  }
}

/** Whether two entries of one key are two objects; where one of them has no uid nobody can tell, and they count as one. */
export function isOtherIdentity(a: Entry<unknown>, b: Entry<unknown>): boolean {
  return a.uid !== undefined && b.uid !== undefined && a.uid !== b.uid
}

/** The error of an object that cannot be decoded. It names the object, and the source if that is known. */
export function invalid(key: string | undefined, error: unknown, source?: string): SourceError {
  const of = source === undefined ? '' : ` of ${source}`
  const what = key === undefined ? `an object${of} whose key is unknown` : `the object "${key}"${of}`
  return new SourceError(`${what} is invalid: ${redact(messageOf(error))}`, {
    code: 'DECODE',
    phase: 'decode',
    cause: error,
    key,
    source,
  })
}
