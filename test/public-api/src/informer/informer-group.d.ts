import type { Lifecycle } from './informer-types.js';
/**
 * Groups informers, or other groups, that start, sync and stop together. Informers that a controller waits for
 * (`after`, `watches`) start before its informer. A stop with `drainMs` stops them after it; the time counts for all
 * together. With `maxRelists` at most that many of them list again at the same time, so that a restarted server is not
 * overloaded. First lists are not limited. A relist that takes longer than 5 minutes continues without its slot.
 * Default: no limit.
 *
 * @returns The group. It has the methods of one informer for all of them.
 * @throws TypeError if the first argument is not an array of informers or groups; OptionError for a wrong option.
 *
 * @example
 * ```ts
 * const group = groupInformers([orders, pods], { maxRelists: 1 })
 * await group.start({ signal }).synced()
 * await group.stop({ drainMs: 5_000 })
 * ```
 */
export declare function groupInformers(informers: readonly Lifecycle[], options?: {
    readonly maxRelists?: number | undefined;
}): Lifecycle;
