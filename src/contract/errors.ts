/**
 * What went wrong, and with it what the reflector does about it:
 *
 * | code | answer |
 * |---|---|
 * | `VERSION_EXPIRED` | the history after our version is gone: one relist |
 * | `EPOCH_CHANGED` | another incarnation of the source: one relist that trusts no version; waiters reject |
 * | `STALE_LIST` | a list older than what was already shown: refused, listed again after a delay |
 * | `UNAVAILABLE`, `TIMEOUT`, `DECODE` | transient: back off, resume where we were |
 * | `UNAUTHORIZED`, `NOT_FOUND`, `PROTOCOL` | the state becomes `failed`: reported, and retried at growing distances; so it does for an `OptionError` |
 * | `STOPPED`, `HANDLER` | never thrown by a source: the informer was stopped; a handler threw |
 *
 * Any other code counts as `UNAVAILABLE`.
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

/** The step that broke. */
export type SourceErrorPhase = 'list' | 'watch' | 'decode' | 'apply' | 'handle'

export interface SourceErrorOptions {
  readonly code: SourceErrorCode
  readonly cause?: unknown
  /** The server's own wish, in milliseconds; 0, negative and NaN count as absent. */
  readonly retryAfterMs?: number | undefined
  /** The key of the object concerned, where there is one. */
  readonly key?: string | undefined
  /** Filled in by the core where a source leaves it out. */
  readonly phase?: SourceErrorPhase | undefined
  /** Name of the source; filled in by the core where a source leaves it out. */
  readonly source?: string | undefined
}

/**
 * The error class for everything that fails in operation. Sources throw it to say what to do next; informers report it.
 * `instanceof` also recognises instances made by another copy of the package.
 */
export class SourceError extends Error {
  override readonly name: string = 'SourceError'
  readonly code: SourceErrorCode
  readonly phase: SourceErrorPhase | undefined
  readonly source: string | undefined
  readonly key: string | undefined
  readonly retryAfterMs: number | undefined

  constructor(message: string, options: SourceErrorOptions) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
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
 */
export class OptionError extends TypeError {
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

recogniseAcrossCopies(SourceError, Symbol.for('listwatch.SourceError'))
recogniseAcrossCopies(OptionError, Symbol.for('listwatch.OptionError'))

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

/** Whether the source says that its history is another one. */
export function isEpochChange(error: unknown): boolean {
  return error instanceof SourceError && error.code === 'EPOCH_CHANGED'
}

/** Why something of our own ended that nobody needs any more; one for all, because making one takes time. */
export const ABORTED: SourceError = new SourceError('no longer wanted', { code: 'STOPPED' })

/** The message of anything that can be thrown. */
export function messageOf(thrown: unknown): string {
  try {
    if (thrown instanceof AggregateError && thrown.message === '') return thrown.errors.map(messageOf).join('; ')
    if (thrown instanceof Error) return thrown.message === '' ? thrown.name : thrown.message
    return String(thrown)
  } catch {
    return 'an object' // One without a prototype, or whose own toString throws.
  }
}

/**
 * Any thrown value as a SourceError that says where it happened. An `OptionError` counts as `PROTOCOL`; any other value that
 * is not a SourceError counts as `UNAVAILABLE`.
 */
export function toSourceError(
  thrown: unknown,
  where: {
    readonly phase: SourceErrorPhase
    readonly source?: string
    readonly code?: SourceErrorCode
    readonly key?: string
  },
): SourceError {
  const known = thrown instanceof SourceError ? thrown : undefined
  if (known?.phase !== undefined && known.source !== undefined) return known
  return new SourceError(messageOf(thrown), {
    code: known?.code ?? where.code ?? (thrown instanceof OptionError ? 'PROTOCOL' : 'UNAVAILABLE'),
    cause: known === undefined ? thrown : known.cause,
    retryAfterMs: known?.retryAfterMs,
    key: known?.key ?? where.key,
    phase: known?.phase ?? where.phase,
    source: known?.source ?? where.source,
  })
}
