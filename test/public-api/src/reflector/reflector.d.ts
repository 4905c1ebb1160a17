import { type Clock } from '../contract/clock.js';
import { SourceError } from '../contract/errors.js';
import { type Random } from '../contract/random.js';
import { type ListerWatcher, type Sink } from '../contract/source.js';
import { type Version } from '../contract/version.js';
import { type ReflectorState } from './reflector-state.js';
/** What an informer wants to know of its reflector. */
export interface ReflectorHooks {
    onStateChange?(state: ReflectorState, previous: ReflectorState): void;
    /** A list or a watch failed. Called before `onError`, which says what happens next. */
    onFailure?(error: SourceError): void;
    onError?(error: SourceError): void;
    /** The source has something to say that stops nothing. */
    onWarning?(message: string): void;
    /** The source requests an audit. */
    onAuditRequest?(reason: string): void;
    /** The watch cannot report its position, and a wait for a version is pending. */
    onProofRequest?(): void;
    /** Something was left out that the source said for the second time. */
    onDuplicate?(version: Version): void;
    /** Whether somebody waits for a version. */
    hasWaiters?(): boolean;
    /**
     * Resolves when a relist may begin; what it gives is called when that is over. Rejects when `signal` aborts. Undefined where it
     * may begin at once.
     */
    acquireRelistSlot?(signal: AbortSignal): Promise<() => void> | undefined;
}
/**
 * Keeps a sink equal to a source: lists, watches from the list's version, resumes where a watch broke off, and lists
 * again only where the history after its version is gone. The only reader of the source. It never gives up before
 * `signal` aborts, and no loop of it is without a delay.
 */
export declare class Reflector<T> {
    #private;
    constructor(source: ListerWatcher<T>, sink: Sink<T>, options?: {
        readonly clock?: Clock;
        readonly random?: Random;
    });
    /** Runs until `signal` aborts, then resolves; also where the source is stalled. Once. */
    run(options: {
        readonly signal: AbortSignal;
    }): Promise<void>;
}
/** Refuses what is no source, at the call. */
export declare function assertSource(source: unknown, call: string): void;
/** Lets an iterator clean up, and resolves when it has. One that waits cannot, and its signal has told it already. */
export declare function close(iterator: AsyncIterator<unknown> | undefined): Promise<void>;
