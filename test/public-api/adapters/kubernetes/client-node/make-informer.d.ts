import { type KubeConfigLike } from '../http/credentials.js';
import type { KubernetesObject } from '../types/kubernetes-object.js';
/** The informer of @kubernetes/client-node, as its users know it. A callback for `error` may say of its parameter what it likes. */
export interface ClientNodeInformer<T> {
    on(verb: 'add' | 'update' | 'delete' | 'change', callback: (object: T) => void): void;
    on(verb: 'error', callback: (error: Error) => void): void;
    on(verb: 'error' | 'connect', callback: (error: never) => void): void;
    off(verb: 'add' | 'update' | 'delete' | 'change', callback: (object: T) => void): void;
    off(verb: 'error', callback: (error: Error) => void): void;
    off(verb: 'error' | 'connect', callback: (error: never) => void): void;
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
 * where there are at most 1 000 objects, and a process warning tells where it selects others. As with client-node, the objects
 * get their type from `listFn`; they are as the API server says them all the same: `Wire` is their exact type.
 */
export declare function makeInformer<T extends object = KubernetesObject>(kubeConfig: KubeConfigLike, path: string, listFn: () => Promise<{
    readonly items: readonly T[];
}>, labelSelector?: string): ClientNodeInformer<T>;
/** The same of what you say that the objects are, as `Wire<V1Pod>`, whatever the type of `listFn` says. */
export declare function makeInformer<T extends object = KubernetesObject>(kubeConfig: KubeConfigLike, path: string, listFn: () => Promise<unknown>, labelSelector?: string): ClientNodeInformer<T>;
