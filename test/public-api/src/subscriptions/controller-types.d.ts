import type { Subscription } from './subscription-types.js';
/** The second argument of a reconcile function. */
export interface ReconcileContext<T> {
    /** The object as it is in the store now; undefined if it was deleted, or is out of the scope. */
    readonly object: T | undefined;
    /** The last state of a deleted object, until a run for the deletion has succeeded; otherwise undefined. */
    readonly deleted: T | undefined;
    /** 1 for the first run and after a success, and 1 more after each failure. */
    readonly attempt: number;
    /** Aborts when the controller or the informer stops, and when the option `timeoutMs` is over. */
    readonly signal: AbortSignal;
    /**
     * Runs the key again after `delayMs` milliseconds, if this run succeeds. A change, a resync or an `enqueue` of the key
     * before that time cancels it.
     *
     * @throws TypeError if `delayMs` is not a finite number above 0.
     */
    requeueAfter(delayMs: number): void;
}
/**
 * A level-triggered controller: it runs a function for each key that changed, with the state in the store at the time of the
 * run, until the function succeeds. Its `version` is the version up to which every change was reconciled with success.
 */
export interface Controller extends Subscription {
    /**
     * Runs a key for a reason other than a change: as soon as possible, or after `delayMs` milliseconds. An earlier run of
     * the key does not cancel the delay. Of several delays of a key the earliest counts. Has no effect after `close`.
     *
     * @throws TypeError if the key is not a string, or an option is not valid.
     */
    enqueue(key: string, options?: {
        readonly delayMs?: number;
    }): void;
}
