/**
 * The kind of failure. It decides how the reflector recovers:
 *
 * | code | recovery |
 * |---|---|
 * | `VERSION_EXPIRED` | the history after the stored version is gone: one relist |
 * | `EPOCH_CHANGED` | another history of the source: one relist that ignores versions; waits for the old one reject |
 * | `STALE_LIST` | a list older than the store: rejected, listed again after a delay |
 * | `UNAVAILABLE`, `TIMEOUT`, `DECODE` | transient: resumed from the last version, with backoff |
 * | `UNAUTHORIZED`, `NOT_FOUND`, `PROTOCOL` | the state is `failed`, also for an `OptionError`; retried, more slowly |
 * | `INVALID_MARK` | not for sources: the version of a wait is not one of this source |
 * | `STOPPED`, `HANDLER` | not for sources: the informer was stopped; a handler threw |
 * | `LEASE_LOST` | not for sources: a replica lost its lease, and joins its group again |
 * | `CONFLICT` | not for sources: another relay writes to the store of a relay |
 *
 * Any other code counts as `UNAVAILABLE`.
 *
 * @example
 * ```ts
 * import type { SourceErrorCode } from 'listwatch/adapter'
 *
 * function codeOf(status: number): SourceErrorCode {
 *   if (status === 410) return 'VERSION_EXPIRED'
 *   if (status === 401 || status === 403) return 'UNAUTHORIZED'
 *   return status === 404 ? 'NOT_FOUND' : 'UNAVAILABLE'
 * }
 * ```
 */
export type SourceErrorCode =
  | 'VERSION_EXPIRED'
  | 'EPOCH_CHANGED'
  | 'STALE_LIST'
  | 'UNAVAILABLE'
  | 'UNAUTHORIZED'
  | 'NOT_FOUND'
  | 'PROTOCOL'
  | 'DECODE'
  | 'TIMEOUT'
  | 'STOPPED'
  | 'HANDLER'
  | 'LEASE_LOST'
  | 'CONFLICT'
  | 'INVALID_MARK'

/**
 * The step that failed.
 *
 * @example
 * ```ts
 * orders.on('error', ({ phase, key, message }) => {
 *   if (phase === 'handle') console.error(`a handler failed for ${key}: ${message}`)
 *   else console.warn(`${phase}: ${message}`) // The informer continues to mirror.
 * })
 * ```
 */
export type SourceErrorPhase = 'list' | 'watch' | 'decode' | 'apply' | 'handle' | 'derive'

/**
 * The properties of a new `SourceError`.
 *
 * @example
 * ```ts
 * import { SourceError } from 'listwatch'
 *
 * function failureOf({ status, headers }: Response): SourceError {
 *   const retryAfterMs = Number(headers.get('retry-after')) * 1_000 // 0 and NaN are ignored.
 *   return new SourceError(`the server responded with ${status}`, { code: 'UNAVAILABLE', phase: 'list', retryAfterMs })
 * }
 * ```
 */
export interface SourceErrorOptions {
  /** The kind of failure. */
  readonly code: SourceErrorCode
  /** The original error. */
  readonly cause?: unknown
  /** The delay that the server requests, in milliseconds. Values that are not above 0 and finite are ignored. */
  readonly retryAfterMs?: number | undefined
  /** The key of the object, if the failure concerns one object. */
  readonly key?: string | undefined
  /** The step that failed. The core adds it if a source omits it. */
  readonly phase?: SourceErrorPhase | undefined
  /** The name of the source. The core adds it if a source omits it. */
  readonly source?: string | undefined
}

/**
 * The error of everything that fails in operation. A source throws it to choose the recovery; an informer reports it.
 * `instanceof` also recognises instances made by another copy of the package.
 *
 * @example
 * ```ts
 * orders.on('error', (error) => {
 *   if (error.code === 'UNAUTHORIZED') console.error(`${error.source} rejects the credentials: ${error.message}`)
 * })
 * ```
 */
export class SourceError extends Error {
  /** `SourceError`, or the name of the class that extends it. */
  override readonly name: string = 'SourceError'
  /** The kind of failure. */
  readonly code: SourceErrorCode
  /** The step that failed. */
  readonly phase: SourceErrorPhase | undefined
  /** The name of the source. */
  readonly source: string | undefined
  /** The key of the object, if the failure concerns one object. */
  readonly key: string | undefined
  /** The delay that the server requests, in milliseconds. */
  readonly retryAfterMs: number | undefined

  constructor(message: string, options: SourceErrorOptions) {
    super(printable(message), options.cause === undefined ? undefined : { cause: options.cause })
    this.code = options.code
    this.phase = options.phase
    this.source = options.source
    this.key = options.key
    const after = options.retryAfterMs
    this.retryAfterMs = after !== undefined && after > 0 && Number.isFinite(after) ? after : undefined
  }
}

/**
 * A mistake in the program: an option, or the value that an option returns, is not allowed. A source may throw it from
 * `list`, `watch` and `head` too: the state becomes `failed`, and `synced()` rejects with this very error.
 * `instanceof` also recognises instances made by another copy of the package.
 *
 * @example
 * ```ts
 * import { OptionError } from 'listwatch'
 *
 * try {
 *   createInformer({ source, onInvalid: 'omit' })
 * } catch (error) {
 *   if (error instanceof OptionError) console.error(`${error.option}: ${error.message}`)
 * }
 * ```
 */
export class OptionError extends TypeError {
  /** Always `OptionError`. */
  override readonly name: string = 'OptionError'
  readonly #option: string

  constructor(message: string, options: { readonly option: string; readonly cause?: unknown }) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.#option = options.option
  }

  /** The name of the option. */
  get option(): string {
    return this.#option
  }
}

/**
 * A failure that a retry cannot repair. If a run of a controller throws it, its key is not retried: it runs again only
 * for a change, a resync or an `enqueue`. `instanceof` also recognises instances made by another copy of the package.
 *
 * @example
 * ```ts
 * import { TerminalError } from 'listwatch'
 *
 * orders.reconcile(async (key, { object }) => {
 *   if (object?.total === 0) throw new TerminalError(`the order ${key} has no lines`)
 * })
 * ```
 */
export class TerminalError extends Error {
  /** Always `TerminalError`. */
  override readonly name: string = 'TerminalError'
}

/**
 * Returns a `TerminalError` with the message of `cause`.
 *
 * @returns The error to throw.
 *
 * @example
 * ```ts
 * import { terminal } from 'listwatch'
 *
 * orders.reconcile(async (key, { object }) => {
 *   if (object?.total === 0) throw terminal('the order is empty')
 * })
 * ```
 */
export function terminal(cause: unknown): TerminalError {
  return new TerminalError(messageOf(cause), { cause })
}

recogniseAcrossCopies(SourceError, Symbol.for('listwatch.SourceError'))
recogniseAcrossCopies(OptionError, Symbol.for('listwatch.OptionError'))
recogniseAcrossCopies(TerminalError, Symbol.for('listwatch.TerminalError'))

/** Makes `instanceof` recognise the instances that another copy of the package made. */
function recogniseAcrossCopies(errorClass: { readonly prototype: Error }, brand: symbol): void {
  Object.defineProperty(errorClass.prototype, brand, { value: true })
  Object.defineProperty(errorClass, Symbol.hasInstance, {
    value(this: unknown, value: unknown): boolean {
      // A derived class inherits this method, and recognises only its own instances.
      if (this !== errorClass) return Function.prototype[Symbol.hasInstance].call(this, value)
      return typeof value === 'object' && value !== null && brand in value
    },
  })
}

/** The error that a caller's promise rejects with: a mistake in the program is thrown as it is. */
export function thrownFor(error: SourceError | undefined): Error | undefined {
  return error?.cause instanceof OptionError ? error.cause : error
}

/** Whether the error reports another history of the source. */
export function isEpochChange(error: unknown): boolean {
  return error instanceof SourceError && error.code === 'EPOCH_CHANGED'
}

/** The reason with which the library aborts its own operations. It is shared, because creating an error is slow. */
export const ABORTED: SourceError = new SourceError('no longer wanted', { code: 'STOPPED' })

/** Escapes control characters: the texts of servers and keys would forge lines of a log, or control a terminal. */
function printable(message: string): string {
  return message.replace(/[\p{Cc}\u2028\u2029]/gu, (character) => {
    const code = character.charCodeAt(0).toString(16)
    return character === '\n' ? '\\n' : `\\u${code.padStart(4, '0')}`
  })
}

/** The message of anything that can be thrown. */
export function messageOf(thrown: unknown): string {
  try {
    if (thrown instanceof AggregateError && thrown.message === '') return thrown.errors.map(messageOf).join('; ')
    if (thrown instanceof Error) return String(thrown.message === '' ? thrown.name : thrown.message) // Not always a text.
    return String(thrown)
  } catch {
    return 'an object' // One without a prototype, or whose own toString throws.
  }
}

/** The message of anything that can be thrown, with that of its cause: `fetch failed` alone says nothing. */
export function messageWithCause(thrown: unknown): string {
  const message = messageOf(thrown)
  const cause = thrown instanceof Error && thrown.cause !== undefined ? messageOf(thrown.cause) : ''
  return message.includes(cause) ? message : `${message}: ${cause}`
}

/**
 * Converts any thrown value to a SourceError with a phase and a source. An `OptionError` counts as `PROTOCOL`; any
 * other value that is not a SourceError counts as `UNAVAILABLE`.
 */
export function toSourceError(
  thrown: unknown,
  where: Partial<SourceErrorOptions> & { readonly phase: SourceErrorPhase },
): SourceError {
  const known = thrown instanceof SourceError ? thrown : undefined
  if (known?.phase !== undefined && known.source !== undefined) return known
  return new SourceError(known === undefined ? messageWithCause(thrown) : known.message, {
    code: known?.code ?? where.code ?? (thrown instanceof OptionError ? 'PROTOCOL' : 'UNAVAILABLE'),
    cause: known === undefined ? thrown : known.cause,
    retryAfterMs: known?.retryAfterMs,
    key: known?.key ?? where.key,
    phase: known?.phase ?? where.phase,
    source: known?.source ?? where.source,
  })
}
