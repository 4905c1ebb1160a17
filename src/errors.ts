/**
 * What went wrong, and with it what the reflector does about it:
 *
 * | code | answer |
 * |---|---|
 * | `VERSION_EXPIRED` | the history after our version is gone: one relist |
 * | `EPOCH_CHANGED` | another incarnation of the source: one relist that trusts no version; waiters reject |
 * | `STALE_LIST` | a list older than what was already shown: refused, listed again after a delay |
 * | `UNAVAILABLE`, `TIMEOUT`, `DECODE` | transient: back off, resume where we were |
 * | `UNAUTHORIZED`, `NOT_FOUND`, `PROTOCOL` | the state becomes `failed`: reported, and tried again every 15 to 30 s |
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

/** Marks instances across copies of the package. */
const brand = Symbol.for('listwatch.SourceError')

/**
 * The one error class of the library. Sources throw it to say what to do next; informers report it.
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

Object.defineProperty(SourceError.prototype, brand, { value: true })
Object.defineProperty(SourceError, Symbol.hasInstance, {
  value(this: typeof SourceError, value: unknown): boolean {
    // What is derived from it inherits this, and has instances of its own only.
    if (this !== SourceError) return Function.prototype[Symbol.hasInstance].call(this, value)
    return typeof value === 'object' && value !== null && brand in value
  },
})

/** Why something of our own ended that nobody needs any more; one for all, because making one takes time. */
export const over: SourceError = new SourceError('no longer wanted', { code: 'STOPPED' })

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

/** Any thrown value as a SourceError that says where it happened; what is not one counts as `UNAVAILABLE`. */
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
    code: known?.code ?? where.code ?? 'UNAVAILABLE',
    cause: known === undefined ? thrown : known.cause,
    retryAfterMs: known?.retryAfterMs,
    key: known?.key ?? where.key,
    phase: known?.phase ?? where.phase,
    source: known?.source ?? where.source,
  })
}
