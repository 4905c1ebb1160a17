import type { Leases } from '../../../src/contract/leases.js'
import type { OptionCheck } from '../../../src/util/validate-options.js'
import { type LeaseOptions, leasesOf } from '../../common/lease-options.js'
import { Credentials, type KubeConfigProvider } from '../http/credentials.js'
import { CONFIG_EXAMPLE, isConfigProvider, isNamespace } from '../kubernetes-options.js'
import { kubernetesLeaseSession } from './lease-session.js'

/**
 * The options of `kubernetesLeases`.
 *
 * @example
 * ```ts
 * import { kubernetesLeases } from 'listwatch/kubernetes'
 *
 * const leases = kubernetesLeases({ kubeConfig, namespace: 'shop', group: 'orders', mode: 'leader' })
 * orders.reconcile((key, { object }) => makeItSo(key, object), { leases })
 * ```
 */
export interface KubernetesLeasesOptions extends LeaseOptions {
  /**
   * A KubeConfig of @kubernetes/client-node, or a function that returns one. The function is called again before the
   * next connection when a connection failed or the server rejected the credentials or the user.
   */
  readonly kubeConfig: KubeConfigProvider
  /** The namespace of the Lease objects. */
  readonly namespace: string
}

/** A name that fits into the name of an object, with a dash and the name of a member, and into the value of a label. */
const isGroup: OptionCheck = (value) =>
  typeof value === 'string' && /^[a-z0-9]([-a-z0-9]{0,48}[a-z0-9])?$/.test(value)
    ? undefined
    : 'must have at most 50 small letters, digits and "-", and begin and end with a letter or digit'

/**
 * Returns the lease store of a group of replicas in a Kubernetes API server: one Lease object of
 * `coordination.k8s.io/v1` for each member. A renewal is an update and a list. The rights `create`, `get`, `list`,
 * `watch`, `update` and `delete` on leases are needed.
 * @returns The lease store, for the option `leases` of `reconcile`.
 * @throws OptionError for an option that is missing, unknown or wrong.
 *
 * @example
 * ```ts
 * import { kubernetesLeases } from 'listwatch/kubernetes'
 *
 * const leases = kubernetesLeases({ kubeConfig, namespace: 'default', group: 'orders' })
 * ```
 */
export function kubernetesLeases(options: KubernetesLeasesOptions): Leases {
  let credentials: Credentials | undefined
  return leasesOf(options, {
    call: 'kubernetesLeases',
    store: 'kubernetes',
    checks: { kubeConfig: isConfigProvider, namespace: isNamespace, group: isGroup },
    required: [
      ['kubeConfig', CONFIG_EXAMPLE],
      ['namespace', "'default'"],
    ],
    open: ({ kubeConfig, namespace, group }, settings) => {
      credentials ??= new Credentials(kubeConfig, 'kubernetesLeases')
      return kubernetesLeaseSession({ credentials, namespace, group, ...settings })
    },
  })
}
