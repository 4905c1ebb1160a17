/**
 * A source over a table of Postgres, the change log that it reads, and leases of replicas.
 *
 * @module listwatch/postgres
 */

export type { LeaseOptions } from '../common/lease-options.js'
export type { PgClient, PgTransaction } from './connection/pg-client.js'
export { type InstallLeasesOptions, installLeases, installLeasesSql } from './leases/install-leases.js'
export type { PgPool, PgPoolClient } from './leases/pg-pool.js'
export { type PostgresLeasesOptions, postgresLeases } from './leases/postgres-leases.js'
export {
  type PostgresDatabase,
  type PostgresTable,
  type PostgresTableOptions,
  postgresDatabase,
  postgresSource,
} from './postgres-database.js'
export type { PostgresDatabaseOptions, PostgresSource, PostgresSourceOptions } from './postgres-options.js'
export {
  changeLogStatus,
  installChangeLog,
  installChangeLogSql,
  trimChangeLogs,
  uninstallChangeLog,
  uninstallChangeLogSql,
} from './schema/change-log-admin.js'
export type { ChangeLog, ChangeLogOptions, ChangeLogStatus, PgConnected } from './schema/change-log-types.js'
