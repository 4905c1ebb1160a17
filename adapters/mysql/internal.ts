/** What the command line needs, besides the entry point. */
export { mysqlError } from './connection/mysql-errors.js'
