import type { ListEvent, WatchEvent } from '../../src/contract/source.js';
/**
 * One of several equal parts of a collection, by a hash of the uid.
 *
 * @example
 * ```ts
 * const index = Number(process.env['POD_INDEX']) // 0, 1 or 2: a pod of a StatefulSet.
 * const source = kubernetesSource<Wire<V1Pod>>({ kubeConfig, kind: 'Pod', shard: { index, count: 3 } })
 * ```
 */
export interface KubernetesShard {
    /** The number of the part, from 0. */
    readonly index: number;
    /** How many parts there are. Every process needs the same number. */
    readonly count: number;
}
/**
 * A field selector for every object: no name has a slash. What an API server reads from etcd, and not from its watch
 * cache, it selects by `shardSelector` only if there is a label or field selector too (Kubernetes 1.36).
 */
export declare const EVERY_OBJECT = "metadata.name!=/";
/** The hashes of one shard. The server selects by them, and each object that it sends is checked. */
export declare class Shard {
    #private;
    /** The value of the parameter `shardSelector`. */
    readonly selector: string;
    constructor({ index, count }: KubernetesShard);
    includes(uid: string): boolean;
    /**
     * Throws `PROTOCOL` if an object belongs to another shard: a server without the feature ignores the selector. The
     * field `shardInfo` of lists shows less. Lists of custom resources and of metadata lack it, and watches have no place
     * for it.
     */
    check(events: readonly (ListEvent<unknown> | WatchEvent<unknown>)[]): void;
}
