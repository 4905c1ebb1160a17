/**
 * A source over a table of Postgres, the change log that it reads, and leases of replicas.
 *
 * @module listwatch/postgres
 */
export type { LeaseOptions } from '../shared/lease-options.js';
export { changeLogStatus, installChangeLog, installChangeLogSql, trimChangeLogs, uninstallChangeLog, uninstallChangeLogSql, } from './change-log-admin.js';
export type { ChangeLog, ChangeLogOptions, ChangeLogStatus, PgConnected } from './change-log-types.js';
export { type InstallLeasesOptions, installLeases, installLeasesSql } from './leases/install-leases.js';
export type { PgPool, PgPoolClient } from './leases/pg-pool.js';
export { type PostgresLeasesOptions, postgresLeases } from './leases/postgres-leases.js';
export type { PgClient, PgTransaction } from './pg-client.js';
export type { PostgresSource, PostgresSourceOptions } from './postgres-options.js';
export { postgresSource } from './postgres-source.js';
