import type { Leases } from '../../../src/contract/leases.js'
import { isCount } from '../../../src/util/validate-options.js'
import { type LeaseOptions, leasesOf } from '../../common/lease-options.js'
import type { NatsClient } from '../connection/nats-client.js'
import { CLIENT_EXAMPLE, isClient, isToken } from '../nats-options.js'
import { natsLeaseSession } from './lease-session.js'

/**
 * The options of `natsLeases`.
 *
 * @example
 * ```ts
 * import { natsLeases } from 'listwatch/nats'
 *
 * const leases = natsLeases({ client: connection, group: 'orders', bucket: 'shop-leases', leaseMs: 15_000 })
 * orders.reconcile((key, { object }) => makeItSo(key, object), { leases }) // Default bucket: `listwatch-leases`.
 * ```
 */
export interface NatsLeasesOptions extends LeaseOptions {
  /** A `NatsConnection` of the package @nats-io/transport-node 3.x. Controllers share it, and never close it. */
  readonly client: NatsClient
  /**
   * The bucket of the leases, which is created on first use. Several groups may share it: each is one key. Default
   * `listwatch-leases`.
   */
  readonly bucket?: string
  /**
   * How many servers of a cluster keep the bucket, when it is created. With 1, no lease is renewed while that server is
   * away. Default 1; 3 for a cluster of three.
   */
  readonly streamReplicas?: number
  /** The JetStream domain of the bucket. Default: that of the connection. */
  readonly domain?: string
}

const DEFAULT_BUCKET = 'listwatch-leases'

/**
 * Creates the lease store of a group of replicas in NATS JetStream: one key of a bucket. A renewal replaces it only if
 * no other member has done so since it was read.
 * @returns The lease store, for the option `leases` of `reconcile`.
 * @throws OptionError when an option is missing or not allowed.
 *
 * @example
 * ```ts
 * import { connect } from '@nats-io/transport-node'
 * import { natsLeases } from 'listwatch/nats'
 *
 * const connection = await connect({ servers: 'nats-0:4222', maxReconnectAttempts: -1 })
 * const leases = natsLeases({ client: connection, group: 'orders', streamReplicas: 3 })
 * ```
 */
export function natsLeases(options: NatsLeasesOptions): Leases {
  return leasesOf(options, {
    call: 'natsLeases',
    store: 'nats',
    checks: { client: isClient, bucket: isToken, streamReplicas: isCount, domain: isToken },
    required: [['client', CLIENT_EXAMPLE]],
    open: ({ bucket = DEFAULT_BUCKET, streamReplicas: replicas = 1, ...given }, settings) =>
      natsLeaseSession({ ...given, ...settings, bucket, replicas }),
  })
}
