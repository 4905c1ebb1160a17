import { type KubeConfigLike } from './kube-config.js';
/** The informer of @kubernetes/client-node, as its users know it. */
export interface ClientNodeInformer<T> {
    on(verb: 'add' | 'update' | 'delete' | 'change', callback: (object: T) => void): void;
    on(verb: 'error' | 'connect', callback: (error?: unknown) => void): void;
    off(verb: 'add' | 'update' | 'delete' | 'change', callback: (object: T) => void): void;
    off(verb: 'error' | 'connect', callback: (error?: unknown) => void): void;
    /** Resolves when the first list is in and told, or could not be read: then `error` is told, and it is tried again. Who starts what is starting waits for the same. */
    start(): Promise<void>;
    /** Resolves when nothing more will be told. It can be started again. */
    stop(): Promise<void>;
    get(name: string, namespace?: string): T | undefined;
    list(namespace?: string): readonly T[];
    /** Where it is. */
    latestResourceVersion(): string;
}
/**
 * `makeInformer` of @kubernetes/client-node with the same signature and events, on the engine of this library: it goes on
 * after errors, and misses no deletion. Everything is read from `path`, which may have a query (`?fieldSelector=…`), so that a
 * list and a watch cannot disagree about what is wanted. What `listFn` gives is not used: after the first list it is called once,
 * where there are at most 1 000 objects, and a process warning tells where it selects others.
 */
export declare function makeInformer<T extends object>(kubeConfig: KubeConfigLike, path: string, listFn: () => Promise<unknown>, labelSelector?: string): ClientNodeInformer<T>;
