import type { Version } from '../../../src/contract/version.js';
/**
 * What became of a change:
 *
 * | code | |
 * |---|---|
 * | `CONFLICT` | nothing was written: the collection is at another version than `ifVersion`; `version` says which |
 * | `NOT_WRITTEN` | nothing was written: the server said no, or could not be reached; `cause` says why |
 * | `OUTCOME_UNKNOWN` | the answer was lost: it was written, or not, or it will be in a moment |
 */
export type RedisWriteCode = 'CONFLICT' | 'NOT_WRITTEN' | 'OUTCOME_UNKNOWN';
export declare class RedisWriteError extends Error {
    readonly name = "RedisWriteError";
    readonly code: RedisWriteCode;
    /** Of a `CONFLICT`: where the collection is; undefined where there is none. */
    readonly version: Version | undefined;
    constructor(code: RedisWriteCode, message: string, options?: {
        readonly cause?: unknown;
        readonly version?: Version;
    });
}
