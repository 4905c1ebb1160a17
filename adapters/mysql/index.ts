/**
 * Sources over tables of MariaDB and MySQL, and the binlog that they read.
 *
 * @module listwatch/mysql
 */

export type { MysqlClient } from './connection/mysql-client.js'
export { type MysqlDatabase, mysqlDatabase, mysqlSource } from './mysql-database.js'
export type {
  MysqlDatabaseOptions,
  MysqlSource,
  MysqlSourceOptions,
  MysqlTable,
  MysqlTableOptions,
} from './mysql-options.js'
