import { OptionError } from '../../../src/contract/errors.js'
import { checkOptions, isNames } from '../../../src/util/validate-options.js'
import { assertConnected } from '../connection/client-factory.js'
import { migrate, migration } from '../schema/change-log-admin.js'
import type { PgConnected } from '../schema/change-log-types.js'
import { SCHEMA_SQL } from '../schema/schema-sql.js'
import { grantLeasesSql, LEASE_TABLES_SQL } from './leases-sql.js'

/**
 * Options of `installLeases` and `installLeasesSql`.
 *
 * @example
 * ```ts
 * import { installLeases } from 'listwatch/postgres'
 *
 * const client = await pool.connect() // Not the pool: it uses one session.
 * await installLeases(client, { grant: ['worker'], groups: ['orders'] }) // Default: only the owner renews leases.
 * client.release()
 * ```
 */
export interface InstallLeasesOptions {
  /** Roles that may renew leases of the `groups`. They are granted only the rights that this needs. Default: none. */
  readonly grant?: readonly string[]
  /** The groups that the roles of `grant` may use, as the option `group` of `postgresLeases` names them. */
  readonly groups?: readonly string[]
}

/**
 * Returns the SQL of a migration that creates the tables and functions of `postgresLeases`, in the schema `listwatch`.
 * Any role that may create a schema, or owns that one, can run it.
 * @returns The SQL of one transaction.
 * @throws OptionError for a wrong option, or for `grant` without `groups` or `groups` without `grant`.
 *
 * @example
 * ```ts
 * import { installLeasesSql } from 'listwatch/postgres'
 *
 * console.log(installLeasesSql({ grant: ['worker'], groups: ['orders'] }))
 * ```
 */
export function installLeasesSql(options: InstallLeasesOptions = {}): string {
  checkOptions('installLeasesSql', options, { grant: isNames, groups: isNames })
  const { grant = [], groups = [] } = options
  for (const [option, names, other] of [['groups', groups, grant] as const, ['grant', grant, groups] as const]) {
    if (names.length === 0 && other.length > 0)
      throw new OptionError(
        `installLeasesSql: option "${option}" is missing: a role is granted the use of named groups`,
        { option },
      )
  }
  const grants = grant.flatMap((role) => groups.map((group) => grantLeasesSql(role, group)))
  return migration(`${SCHEMA_SQL}\n${LEASE_TABLES_SQL}${grants.join('')}`)
}

/**
 * Creates the tables and functions of `postgresLeases`, or updates them. Existing leases are kept.
 * @throws OptionError for a wrong option, TypeError if the client is a pool or has no connection. SourceError
 * `UNAUTHORIZED` with a hint if a right is missing.
 *
 * @example
 * ```ts
 * import { installLeases } from 'listwatch/postgres'
 * import pg from 'pg'
 *
 * const client = new pg.Client(url)
 * await client.connect()
 * await installLeases(client, { grant: ['worker'], groups: ['orders'] })
 * await client.end()
 * ```
 */
export async function installLeases(client: PgConnected, options: InstallLeasesOptions = {}): Promise<void> {
  assertConnected('installLeases', client, true)
  await migrate(client, installLeasesSql(options))
}
