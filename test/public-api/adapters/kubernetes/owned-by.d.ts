/** An object with owner references, as every object of Kubernetes may have them. */
export interface Owned {
    /** The fields that every object has. */
    readonly metadata?: {
        readonly namespace?: string | undefined;
        readonly ownerReferences?: readonly {
            readonly apiVersion: string;
            readonly kind: string;
            readonly name: string;
        }[];
    };
}
/** The options of `ownedBy`. */
export interface OwnedByOptions {
    /** Only owners of this API version, for example `apps/v1`. Default: of any. */
    readonly apiVersion?: string;
    /** Whether the owners are in the namespace of the object. Default: true. False for an owner without a namespace. */
    readonly isNamespaced?: boolean;
}
/**
 * Returns a function for `watches` of a controller: the keys of the owners of an object, by its owner references.
 *
 * @throws OptionError for a wrong option, TypeError if `kind` is not a string.
 *
 * @example
 * ```ts
 * import { createInformer } from 'listwatch'
 * import { kubernetesSource, ownedBy } from 'listwatch/kubernetes'
 *
 * const sets = createInformer({ source: kubernetesSource({ kubeConfig, apiVersion: 'apps/v1', kind: 'ReplicaSet' }) })
 * const pods = createInformer({ source: kubernetesSource({ kubeConfig, kind: 'Pod' }) })
 * sets.reconcile(async (key) => console.log(`scale ${key}`), {
 *   watches: [{ informer: pods, keys: ownedBy('ReplicaSet', { apiVersion: 'apps/v1' }) }],
 * })
 * ```
 */
export declare function ownedBy(kind: string, options?: OwnedByOptions): (object: Owned) => readonly string[];
