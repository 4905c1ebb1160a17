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
export type SourceErrorCode = 'VERSION_EXPIRED' | 'EPOCH_CHANGED' | 'STALE_LIST' | 'UNAVAILABLE' | 'UNAUTHORIZED' | 'NOT_FOUND' | 'PROTOCOL' | 'DECODE' | 'TIMEOUT' | 'STOPPED' | 'HANDLER';
/** The step that broke. */
export type SourceErrorPhase = 'list' | 'watch' | 'decode' | 'apply' | 'handle';
export interface SourceErrorOptions {
    readonly code: SourceErrorCode;
    readonly cause?: unknown;
    /** The server's own wish, in milliseconds; 0, negative and NaN count as absent. */
    readonly retryAfterMs?: number | undefined;
    /** The key of the object concerned, where there is one. */
    readonly key?: string | undefined;
    /** Filled in by the core where a source leaves it out. */
    readonly phase?: SourceErrorPhase | undefined;
    /** Name of the source; filled in by the core where a source leaves it out. */
    readonly source?: string | undefined;
}
/**
 * The error class for everything that fails in operation. Sources throw it to say what to do next; informers report it.
 * `instanceof` also recognises instances made by another copy of the package.
 */
export declare class SourceError extends Error {
    readonly name: string;
    readonly code: SourceErrorCode;
    readonly phase: SourceErrorPhase | undefined;
    readonly source: string | undefined;
    readonly key: string | undefined;
    readonly retryAfterMs: number | undefined;
    constructor(message: string, options: SourceErrorOptions);
}
/**
 * A mistake in the program: an option, or the value that an option returns, is not allowed. A source may throw it from
 * `list`, `watch` and `head` too: the state becomes `failed`, and `synced()` rejects with this very error.
 * `instanceof` also recognises instances made by another copy of the package.
 */
export declare class OptionError extends TypeError {
    #private;
    constructor(message: string, options: {
        readonly option: string;
        readonly cause?: unknown;
    });
    /** The name of the option. */
    get option(): string;
}
/** The error that a caller's promise rejects with: a mistake in the program is thrown as it is. */
export declare function thrownFor(error: SourceError | undefined): Error | undefined;
/** Whether the source says that its history is another one. */
export declare function isEpochChange(error: unknown): boolean;
/** Why something of our own ended that nobody needs any more; one for all, because making one takes time. */
export declare const ABORTED: SourceError;
/** The message of anything that can be thrown. */
export declare function messageOf(thrown: unknown): string;
/**
 * Any thrown value as a SourceError that says where it happened. An `OptionError` counts as `PROTOCOL`; any other value that
 * is not a SourceError counts as `UNAVAILABLE`.
 */
export declare function toSourceError(thrown: unknown, where: {
    readonly phase: SourceErrorPhase;
    readonly source?: string;
    readonly code?: SourceErrorCode;
    readonly key?: string;
}): SourceError;
