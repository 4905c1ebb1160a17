/** Internal code that the command line uses. It does not follow semantic versioning. */
export { LEASES_SQL } from './leases/leases-sql.js'
export { codeOf, postgresError } from './postgres-errors.js'
export { SCHEMA_VERSION } from './schema-sql.js'
