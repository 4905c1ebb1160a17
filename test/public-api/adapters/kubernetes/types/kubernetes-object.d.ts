/**
 * The fields that every object has in the API server's JSON. Use `kubernetesSource<T>` for the fields of one kind.
 *
 * @example
 * ```ts
 * import type { KubernetesObject } from 'listwatch/kubernetes'
 *
 * interface Site extends KubernetesObject {
 *   readonly spec: { readonly page: string }
 * }
 * const source = kubernetesSource<Site>({ kubeConfig, apiVersion: 'example.com/v1', kind: 'Site' })
 * const site = createInformer({ source }).get('default/shop')
 * console.log(site?.metadata.creationTimestamp, site?.spec.page)
 * ```
 */
export interface KubernetesObject {
    /** The group and the version: `apps/v1`, or `v1` for the core group. */
    readonly apiVersion: string;
    /** The kind: `Pod`. */
    readonly kind: string;
    /** The fields that every object has. */
    readonly metadata: {
        readonly name: string;
        readonly namespace?: string;
        readonly uid: string;
        readonly resourceVersion: string;
        readonly generation?: number;
        /** An ISO date: `2026-01-31T12:00:00Z`. */
        readonly creationTimestamp: string;
        readonly deletionTimestamp?: string;
        readonly labels?: Readonly<Record<string, string>>;
        readonly annotations?: Readonly<Record<string, string>>;
        readonly finalizers?: readonly string[];
        readonly ownerReferences?: readonly {
            readonly apiVersion: string;
            readonly kind: string;
            readonly name: string;
            readonly uid: string;
            readonly controller?: boolean;
            readonly blockOwnerDeletion?: boolean;
        }[];
    };
}
