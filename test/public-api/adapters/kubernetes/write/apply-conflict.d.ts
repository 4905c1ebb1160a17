import { SourceError } from '../../../src/contract/errors.js';
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
    readonly manager: string;
    /** The path of the field: `.spec.replicas`. */
    readonly field: string;
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
export declare class ApplyConflictError extends SourceError {
    /** `ApplyConflictError`. */
    readonly name: string;
    /** The fields, with their managers. */
    readonly conflicts: readonly FieldConflict[];
    constructor(message: string, options: {
        readonly conflicts: readonly FieldConflict[];
        readonly cause?: unknown;
    });
}
/** Returns the error of a conflict of field managers; of any other failure the error itself. */
export declare function withConflicts(error: unknown, what: string): unknown;
