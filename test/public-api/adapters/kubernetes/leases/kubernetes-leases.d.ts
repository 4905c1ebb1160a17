import type { Leases } from '../../../src/contract/leases.js';
import { type LeaseOptions } from '../../shared/lease-options.js';
import { type KubeConfigProvider } from '../http/credentials.js';
/**
 * The options of `kubernetesLeases`.
 *
 * @example
 * ```ts
 * import { kubernetesLeases } from 'listwatch/kubernetes'
 *
 * const replicas = kubernetesLeases({ kubeConfig, namespace: 'shop', group: 'orders', mode: 'leader' })
 * orders.reconcile((key, { object }) => makeItSo(key, object), { replicas })
 * ```
 */
export interface KubernetesLeasesOptions extends LeaseOptions {
    /**
     * A KubeConfig of @kubernetes/client-node, or a function that returns one. The function is called again when the
     * server rejects the credentials.
     */
    readonly kubeConfig: KubeConfigProvider;
    /** The namespace of the Lease objects. */
    readonly namespace: string;
}
/**
 * Returns the lease store of a group of replicas in a Kubernetes API server: one Lease object of
 * `coordination.k8s.io/v1` for each member. A renewal is an update and a list. The rights `create`, `get`, `list`,
 * `watch`, `update` and `delete` on leases are needed.
 * @returns The lease store, for the option `replicas` of `reconcile`.
 * @throws OptionError for an option that is missing, unknown or wrong.
 *
 * @example
 * ```ts
 * import { kubernetesLeases } from 'listwatch/kubernetes'
 *
 * const replicas = kubernetesLeases({ kubeConfig, namespace: 'default', group: 'orders' })
 * ```
 */
export declare function kubernetesLeases(options: KubernetesLeasesOptions): Leases;
