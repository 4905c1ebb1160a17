import type { Lifecycle } from './informer-types.js';
/**
 * Several informers, or groups of them, that start, sync and stop together. With `maxRelists` at most so many of them
 * read their sources again at a time, so that a server that comes back does not meet them all at once; first lists are not held back.
 */
export declare function groupInformers(informers: readonly Lifecycle[], options?: {
    readonly maxRelists?: number | undefined;
}): Lifecycle;
