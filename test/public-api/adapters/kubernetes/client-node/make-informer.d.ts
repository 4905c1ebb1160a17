import { type KubeConfigLike } from '../http/credentials.js';
import type { KubernetesObject } from '../types/kubernetes-object.js';
/**
 * The informer of @kubernetes/client-node. An `error` callback may declare any type for its parameter.
 *
 * @example
 * ```ts
 * const informer = makeInformer(kubeConfig, '/api/v1/pods', () => core.listPodForAllNamespaces())
 * informer.on('change', (pod) => console.log(pod.metadata?.name, pod.status?.phase))
 * informer.on('error', (error) => console.error(error.message))
 * await informer.start()
 * console.log(informer.list('default').length, informer.get('web-0', 'default')?.spec?.nodeName)
 * await informer.stop()
 * ```
 */
export interface ClientNodeInformer<T> {
    /**
     * Adds a callback for changes of objects. `change` stands for `add`, `update` and `delete`.
     *
     * @throws TypeError for an unknown verb.
     */
    on(verb: 'add' | 'update' | 'delete' | 'change', callback: (object: T) => void): void;
    /** Adds a callback for errors. Without one, errors are process warnings. */
    on(verb: 'error', callback: (error: Error) => void): void;
    /** Adds a callback for errors, or for the beginning of each connection attempt. */
    on(verb: 'error' | 'connect', callback: (error: never) => void): void;
    /** Removes a callback; without effect if it was not added. */
    off(verb: 'add' | 'update' | 'delete' | 'change', callback: (object: T) => void): void;
    /** Removes a callback for errors; without effect if it was not added. */
    off(verb: 'error', callback: (error: Error) => void): void;
    /** Removes a callback for errors, or for the beginning of each connection attempt. */
    off(verb: 'error' | 'connect', callback: (error: never) => void): void;
    /**
     * Starts the informer. Resolves when the first list is delivered, or when it failed: the `error` callbacks are then
     * called, and the list is retried. A call during a start waits for the same list.
     */
    start(): Promise<void>;
    /** Stops the informer. Resolves after the last callback. It can be started again. */
    stop(): Promise<void>;
    /** Returns an object by name, and by namespace unless its kind has none; undefined if it is not in the store. */
    get(name: string, namespace?: string): T | undefined;
    /** Returns the objects of a namespace. Default: of all namespaces. */
    list(namespace?: string): readonly T[];
    /** Returns the version of the store. */
    latestResourceVersion(): string;
}
/**
 * `makeInformer` of @kubernetes/client-node with the same signature and events, on the engine of this library: it
 * continues after errors, and misses no deletion. List and watch use `path`, which may have a query
 * (`?fieldSelector=…`), so that both select the same objects.
 *
 * The result of `listFn` is not used. It is called once, after the first list of at most 1 000 objects, and a process
 * warning reports if it selects other objects. As in client-node, the type of the objects is that of `listFn`. The
 * objects are as the API server sends them: `Wire` is their exact type.
 *
 * @returns The informer, which is idle until `start`.
 * @throws OptionError if `kubeConfig` or `listFn` is missing or has another type.
 * @throws TypeError if `path` is not the path of a resource.
 *
 * @example
 * ```ts
 * const informer = makeInformer(kubeConfig, '/api/v1/namespaces/default/pods', () =>
 *   core.listNamespacedPod({ namespace: 'default' }),
 * )
 * informer.on('add', (pod) => console.log(pod.metadata?.name))
 * await informer.start()
 * ```
 */
export declare function makeInformer<T extends object = KubernetesObject>(kubeConfig: KubeConfigLike, path: string, listFn: () => Promise<{
    readonly items: readonly T[];
}>, labelSelector?: string): ClientNodeInformer<T>;
/**
 * Returns the same informer for objects of a type that you name, such as `Wire<V1Pod>`, whatever the type of `listFn`.
 */
export declare function makeInformer<T extends object = KubernetesObject>(kubeConfig: KubeConfigLike, path: string, listFn: () => Promise<unknown>, labelSelector?: string): ClientNodeInformer<T>;
