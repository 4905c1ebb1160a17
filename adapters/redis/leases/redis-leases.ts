import type { Leases } from '../../../src/contract/leases.js'
import { isCount } from '../../../src/util/validate-options.js'
import { type LeaseOptions, leasesOf } from '../../common/lease-options.js'
import { clientFlaw, type RedisClient } from '../connection/client.js'
import { redisLeaseSession } from './lease-session.js'

/**
 * The options of `redisLeases`.
 *
 * @example
 * ```ts
 * import { Redis } from 'ioredis'
 * import { redisLeases } from 'listwatch/redis'
 *
 * const client = new Redis({ name: 'shop', sentinels: [{ host: 'sentinel-0', port: 26_379 }], lazyConnect: true })
 * const leases = redisLeases({ client, group: 'orders', waitForReplicas: 1 }) // For three servers. Default: none.
 * ```
 */
export interface RedisLeasesOptions extends LeaseOptions {
  /**
   * A `Redis` or `Cluster` of ioredis. Each controller opens two connections with the same options, and never closes
   * the client.
   */
  readonly client: RedisClient
  /**
   * How many replicas of the server must have a record before the renewal counts, by WAIT. With half of the number of
   * servers, rounded down, a master that was replaced renews no lease. Default: none; then two members may run a key
   * while two servers act as master.
   */
  readonly waitForReplicas?: number
}

/**
 * Creates the lease store of a group of replicas in Redis 7 or later, or Valkey. It has one key, `{<group>}:leases`,
 * after the client's `keyPrefix`.
 * @returns The lease store, for the option `leases` of `reconcile`.
 * @throws OptionError when an option is missing or not allowed.
 *
 * @example
 * ```ts
 * import { Redis } from 'ioredis'
 * import { redisLeases } from 'listwatch/redis'
 *
 * const leases = redisLeases({ client: new Redis(url, { lazyConnect: true }), group: 'orders' })
 * ```
 */
export function redisLeases(options: RedisLeasesOptions): Leases {
  return leasesOf(options, {
    call: 'redisLeases',
    store: 'redis',
    checks: { client: clientFlaw, waitForReplicas: isCount },
    required: [['client', 'new Redis(url) of ioredis']],
    open: (given, settings) => redisLeaseSession({ ...given, ...settings }),
  })
}
