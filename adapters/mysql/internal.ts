/** What the command line needs, besides the entry point. */
export { mysqlError } from './connection/mysql-errors.js'
export { quotedName } from './sql-text.js'
export { parseTableName } from './table/table.js'
