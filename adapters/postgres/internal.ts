/** Internal code that the command line uses. It does not follow semantic versioning. */
export { outdatedCollationsSql, outdatedIndexes } from './outdated-collations.js'
export { codeOf, postgresError } from './postgres-errors.js'
export { SCHEMA_VERSION } from './schema-sql.js'
export { UNTRUSTED_SQL } from './trusted-owner.js'
