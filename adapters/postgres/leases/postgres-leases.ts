import type { Leases } from '../../../src/contract/leases.js'
import { type LeaseOptions, leasesOf } from '../../common/lease-options.js'
import { hasMethods } from '../../common/properties.js'
import { clientFlaw } from '../connection/client-factory.js'
import type { PgClient } from '../connection/pg-client.js'
import { postgresLeaseSession } from './lease-session.js'
import type { PgPool } from './pg-pool.js'

/**
 * Options of `postgresLeases`.
 *
 * @example
 * ```ts
 * import { postgresLeases } from 'listwatch/postgres'
 * import pg from 'pg'
 *
 * const connect = () => new pg.Client({ connectionString: url }) // Default: changes are noticed at the next renewal.
 * const leases = postgresLeases({ pool, connect, group: 'orders', leaseMs: 5_000 }) // Default: 10 000.
 * orders.reconcile((key, { object }) => makeItSo(key, object), { leases })
 * ```
 */
export interface PostgresLeasesOptions extends LeaseOptions {
  /**
   * A Pool of pg 8. Each renewal takes a client of it for one statement. A pool that is used up by other work delays
   * renewals, and then leases end. A transaction pooler may be between the pool and the server. While the leases are
   * used, the pool has an `error` listener, so that a restart of the server does not end the process.
   */
  readonly pool: PgPool
  /**
   * Returns a new, unconnected client of pg 8, as the option `connect` of `postgresSource` does. With it a replica
   * learns of the changes of others at once, by notifications; it keeps one connection open. Default: it learns of them
   * at its next renewal.
   */
  readonly connect?: () => PgClient | Promise<PgClient>
}

/**
 * Returns the lease store of a group of replicas in Postgres. `listwatch pg install-leases` creates its tables first.
 * @returns The lease store, for the option `leases` of `reconcile`.
 * @throws OptionError that names a wrong or missing option.
 *
 * @example
 * ```ts
 * import { postgresLeases } from 'listwatch/postgres'
 * import pg from 'pg'
 *
 * const leases = postgresLeases({ pool: new pg.Pool({ connectionString: url }), group: 'orders' })
 * ```
 */
export function postgresLeases(options: PostgresLeasesOptions): Leases {
  return leasesOf(options, {
    call: 'postgresLeases',
    store: 'postgres',
    checks: {
      // A Client has `connect` and `query` too, but cannot be borrowed.
      pool: (value) =>
        hasMethods(value, 'connect', 'query') && !hasMethods(value, 'escapeLiteral')
          ? undefined
          : 'must be a Pool of pg 8, such as new pg.Pool(…)',
      connect: clientFlaw,
    },
    required: [['pool', 'new pg.Pool(…)']],
    open: ({ pool, connect, group }, settings) => postgresLeaseSession({ pool, connect, group, ...settings }),
  })
}
