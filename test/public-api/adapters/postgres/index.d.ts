export { type ChangeLog, type ChangeLogOptions, type ChangeLogStatus, changeLogStatus, installChangeLog, installChangeLogSql, type PgConnected, trimChangeLogs, uninstallChangeLog, uninstallChangeLogSql, } from './change-log-admin.js';
export type { PgClient, PgTransaction } from './pg-client.js';
export type { PostgresSource, PostgresSourceOptions } from './postgres-options.js';
export { postgresSource } from './postgres-source.js';
