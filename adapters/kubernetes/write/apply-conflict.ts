import { SourceError } from '../../../src/contract/errors.js'
import { apiStatusIn } from '../http/api-error.js'

/**
 * A field that another manager owns.
 *
 * @example
 * ```ts
 * import { ApplyConflictError, type FieldConflict } from 'listwatch/kubernetes'
 *
 * const describe = ({ manager, field }: FieldConflict): string => `${field} belongs to ${manager}`
 * function reasonOf(error: unknown): string {
 *   return error instanceof ApplyConflictError ? error.conflicts.map(describe).join(', ') : String(error)
 * }
 * ```
 */
export interface FieldConflict {
  /** The name of the other field manager: `kubectl-client-side-apply`. */
  readonly manager: string
  /** The path of the field: `.spec.replicas`. */
  readonly field: string
}

/**
 * `apply` was refused, because other field managers own some of the fields with other values. Its code is
 * `UNAVAILABLE`: a retry succeeds when they have given the fields up. `force: true` takes the fields.
 *
 * @example
 * ```ts
 * import { ApplyConflictError } from 'listwatch/kubernetes'
 *
 * orders.on('error', ({ cause }) => {
 *   if (cause instanceof ApplyConflictError) for (const { manager, field } of cause.conflicts) console.warn(manager, field)
 * })
 * ```
 */
export class ApplyConflictError extends SourceError {
  /** `ApplyConflictError`. */
  override readonly name: string = 'ApplyConflictError'
  /** The fields, with their managers. */
  readonly conflicts: readonly FieldConflict[]

  constructor(message: string, options: { readonly conflicts: readonly FieldConflict[]; readonly cause?: unknown }) {
    super(message, { code: 'UNAVAILABLE', cause: options.cause })
    this.conflicts = options.conflicts
  }
}

/** Returns the error of a conflict of field managers; of any other failure the error itself. */
export function withConflicts(error: unknown, what: string): unknown {
  const status = apiStatusIn(error)
  if (status?.code !== 409) return error
  const conflicts = status.causes
    .filter(({ reason }) => reason === 'FieldManagerConflict')
    .map(({ message, field }) => ({ manager: /conflict with "((?:[^"\\]|\\.)*)"/.exec(message)?.[1] ?? '', field }))
  if (conflicts.length === 0) return error
  const managers = [...new Set(conflicts.map(({ manager }) => `"${manager}"`))].join(', ')
  const fields = conflicts.map(({ field }) => field).join(', ')
  const message = `apply of ${what}: ${managers} owns ${fields} with another value; force: true takes the fields`
  return new ApplyConflictError(message, { conflicts, cause: error })
}
