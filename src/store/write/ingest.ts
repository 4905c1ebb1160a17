import { messageOf, SourceError } from '../../contract/errors.js'
import type { SavedEntry } from '../../contract/mirror-cache.js'
import type { Entry, Put } from '../../contract/source.js'
import { redact } from '../../util/redact.js'
import { assertSynchronous } from '../../util/type-guards.js'
import { deepFreeze } from '../deep-freeze.js'
import { type ComparisonOptions, structuralEqual } from '../structural-equal.js'
import { Interner } from './interner.js'

export interface IngestOptions<T> {
  /** Returns the object to store; `undefined` filters it out. If it throws, the object is invalid. */
  readonly prepare?: ((object: unknown, key: string) => T | undefined) | undefined
  readonly equals?: ((a: T, b: T) => boolean) | undefined
  readonly freeze: boolean
  readonly intern?: boolean | undefined
  /** Returns the names of the source of a partition, for messages. */
  readonly sourceOf?: ((partition: string | undefined) => NamedSource | undefined) | undefined
  /** Called once, when the comparison of two objects fails for the first time. */
  readonly report: (error: SourceError) => void
}

interface NamedSource {
  readonly name: string
  /** Names the informer too, if it has a name. */
  readonly title: string
}

/** The store has this object already. */
export const UNCHANGED: unique symbol = Symbol('unchanged')
export const FILTERED: unique symbol = Symbol('filtered')

/**
 * Makes the entry to write of an object that arrives; or returns `UNCHANGED`, `FILTERED` or the error of an invalid
 * object. An entry that has the stored object differs only in its version or uid.
 */
export class Ingest<T> {
  readonly #options: IngestOptions<T>
  readonly #interner: Interner | undefined
  readonly #comparison: ComparisonOptions
  #hasEqualsFailed = false

  constructor(options: IngestOptions<T>) {
    this.#options = options
    const onHidden = (name: string): void =>
      this.#reportOnce(`a comparison cannot see the private state of the class ${name}; use the option "equals"`)
    this.#comparison = { isMade: options.prepare !== undefined, onHidden }
    this.#interner = options.intern === true ? new Interner() : undefined
  }

  ingest(
    arrived: Entry<unknown>,
    current: Entry<T> | undefined,
    ignoreVersions: boolean,
    partition?: string,
  ): Entry<T> | SourceError | typeof UNCHANGED | typeof FILTERED {
    const isOther = current === undefined || isOtherIdentity(current, arrived)
    if (!isOther && !ignoreVersions && current.version !== undefined && current.version === arrived.version)
      return UNCHANGED
    const { prepare, freeze } = this.#options
    if (arrived.object === undefined) return this.invalid(arrived.key, new TypeError('it has no object'), partition)
    let object = arrived.object as T | undefined
    if (prepare !== undefined) {
      try {
        object = prepare(arrived.object, arrived.key)
      } catch (error) {
        return this.invalid(arrived.key, error, partition)
      }
    }
    if (object === undefined) return FILTERED
    if (!isOther && this.#equals(current.object, object)) {
      if (current.version === arrived.version && current.uid === arrived.uid) return UNCHANGED
      return { ...arrived, key: current.key, object: current.object }
    }
    try {
      if (this.#interner !== undefined) object = this.#interner.intern(object)
      if (freeze) deepFreeze(object)
    } catch (error) {
      return this.invalid(arrived.key, error, partition) // A getter of the object, or a proxy, threw.
    }
    if (object === arrived.object) return arrived as Entry<T>
    return { ...arrived, key: current?.key ?? arrived.key, object }
  }

  restored(saved: SavedEntry): Entry<T> {
    const object = this.#interner === undefined ? saved.object : this.#interner.intern(saved.object)
    const entry: Put<unknown> = { ...saved, type: 'put', object }
    if (this.#options.freeze) deepFreeze(object)
    return entry as Put<unknown> & Entry<T>
  }

  /** Returns the error of an object that cannot be decoded. It names the object, and the source if that is known. */
  invalid(key: string | undefined, error: unknown, partition: string | undefined): SourceError {
    const source = this.#options.sourceOf?.(partition)
    const of = source === undefined ? '' : ` of ${source.title}`
    const what = key === undefined ? `an object${of} whose key is unknown` : `the object "${key}"${of}`
    return new SourceError(`${what} is invalid: ${redact(messageOf(error))}`, {
      code: 'DECODE',
      phase: 'decode',
      cause: error,
      key,
      source: source?.name,
    })
  }

  /** Returns the last state that a delete event contains, or undefined if there is none or if it is invalid. */
  lastState(key: string, object: unknown): T | undefined {
    const { prepare, freeze } = this.#options
    if (object === undefined) return undefined
    try {
      const last = prepare === undefined ? (object as T) : prepare(object, key)
      return freeze ? deepFreeze(last) : last
    } catch {
      return undefined // The key is deleted anyway, with the stored state.
    }
  }

  #equals(a: T, b: T): boolean {
    const { equals } = this.#options
    try {
      if (equals === undefined) return structuralEqual(a, b, this.#comparison)
      const isEqual: unknown = equals(a, b)
      assertSynchronous(isEqual, 'equals function')
      return Boolean(isEqual)
    } catch (error) {
      this.#reportOnce(`the equals function failed: ${messageOf(error)}`, error)
      return false
    }
  }

  #reportOnce(what: string, cause?: unknown): void {
    if (this.#hasEqualsFailed) return
    this.#hasEqualsFailed = true
    const message = `${what}; such objects count as changed`
    this.#options.report(new SourceError(message, { code: 'DECODE', phase: 'apply', cause }))
  }
}

/** Whether two entries of one key are different objects. If an entry has no uid, they count as the same object. */
export function isOtherIdentity(a: Entry<unknown>, b: Entry<unknown>): boolean {
  return a.uid !== undefined && b.uid !== undefined && a.uid !== b.uid
}
