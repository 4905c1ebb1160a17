/** Internal code that the command line uses. It does not follow semantic versioning. */

export { codeOf, postgresError } from './connection/postgres-errors.js'
export { outdatedCollationsSql, outdatedIndexes } from './schema/outdated-collations.js'
export { SCHEMA_VERSION } from './schema/schema-sql.js'
export { UNTRUSTED_SQL } from './schema/trusted-owner.js'
