import type { Leases } from '../../../src/contract/leases.js'
import { isName } from '../../../src/util/validate-options.js'
import { type LeaseOptions, leasesOf } from '../../common/lease-options.js'
import { checkConnection, connectionChecks, type EtcdSourceOptions } from '../etcd-options.js'
import { etcdLeaseSession } from './lease-session.js'

/**
 * The options of `etcdLeases`: one of `client` and `endpoints`, as in those of `etcdSource`.
 *
 * @example
 * ```ts
 * import { etcdLeases } from 'listwatch/etcd'
 *
 * const leases = etcdLeases({ client: etcd, group: 'orders', prefix: 'shop/' }) // Default: `listwatch/leases/`.
 * orders.reconcile((key, { object }) => makeItSo(key, object), { leases })
 * ```
 */
export interface EtcdLeasesOptions
  extends LeaseOptions,
    Pick<EtcdSourceOptions<unknown>, 'client' | 'endpoints' | 'credentials' | 'auth'> {
  /**
   * The prefix of the keys, which the user may read and write. A key is the prefix, the group, `/` and the member.
   * Default `listwatch/leases/`.
   */
  readonly prefix?: string
}

/**
 * Creates the lease store of a group of replicas in etcd 3.4 or later. A renewal is one transaction. Records are plain
 * keys: the other members remove that of a member that has crashed.
 * @returns The lease store, for the option `leases` of `reconcile`.
 * @throws OptionError when an option is missing or not allowed.
 *
 * @example
 * ```ts
 * import { etcdLeases } from 'listwatch/etcd'
 *
 * const leases = etcdLeases({ endpoints: ['http://127.0.0.1:2379'], group: 'orders' })
 * ```
 */
export function etcdLeases(options: EtcdLeasesOptions): Leases {
  const leases = leasesOf(options, {
    call: 'etcdLeases',
    store: 'etcd',
    checks: { ...connectionChecks, prefix: isName },
    required: [],
    open: (given, settings) => etcdLeaseSession({ ...given, ...settings }),
  })
  checkConnection('etcdLeases', options)
  return leases
}
