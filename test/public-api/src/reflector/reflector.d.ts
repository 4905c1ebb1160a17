import { type Clock } from '../contract/clock.js';
import { SourceError } from '../contract/errors.js';
import { type Random } from '../contract/random.js';
import { type ListerWatcher, type Sink } from '../contract/source.js';
import { type Version } from '../contract/version.js';
import { type ReflectorState } from './reflector-state.js';
/** The callbacks of a reflector to its informer. */
export interface ReflectorHooks {
    onStateChange?(state: ReflectorState, previous: ReflectorState): void;
    /** A list or a watch failed. Called before `onError`, whose message says what happens next. */
    onFailure?(error: SourceError): void;
    onError?(error: SourceError): void;
    /** The source reports a problem that does not stop it. */
    onWarning?(message: string): void;
    /** The source requests an audit. */
    onAuditRequest?(reason: string): void;
    /** The watch cannot report its position, and a wait for a version is pending. */
    onProofRequest?(): void;
    /** A batch was dropped because the sink includes it already. */
    onDuplicate?(version: Version): void;
    /** Returns whether a reader waits for a version. */
    hasWaiters?(): boolean;
    /**
     * Resolves when a relist may begin, with a function that releases the slot. Rejects when `signal` aborts. Returns undefined
     * if the relist may begin at once.
     */
    acquireRelistSlot?(signal: AbortSignal): Promise<() => void> | undefined;
}
/**
 * Keeps a sink equal to a source. It lists, watches from the version of the list, and resumes a broken watch from its last
 * version. It lists again only if the history after that version is gone. It retries, with delays, until `signal` aborts.
 */
export declare class Reflector<T> {
    #private;
    constructor(source: ListerWatcher<T>, sink: Sink<T>, options?: {
        readonly clock?: Clock;
        readonly random?: Random;
    });
    /**
     * Runs until `signal` aborts, then resolves, even if the source is stalled.
     *
     * @throws TypeError if it was called before.
     */
    run(options: {
        readonly signal: AbortSignal;
    }): Promise<void>;
}
