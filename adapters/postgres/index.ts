export type { PgClient, PgTransaction } from './client.js'
export {
  type InstalledTable,
  type InstallOptions,
  type InstallStatus,
  install,
  installSql,
  type PgConnected,
  status,
  trim,
  uninstall,
  uninstallSql,
} from './install.js'
export { type PostgresSource, type PostgresSourceOptions, postgresSource } from './postgres-source.js'
