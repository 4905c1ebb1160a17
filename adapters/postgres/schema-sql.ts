import { EPOCH_SQL } from './epoch-sql.js'
import { INSTALL_SQL } from './install-sql.js'
import { LOG_SQL } from './log-sql.js'
import { SHAPE_SQL } from './shape-sql.js'
import { WAKE_SQL } from './wake-sql.js'

/** The version of the schema's objects, as `listwatch.schema_version()` returns it. */
export const SCHEMA_VERSION = 1

/**
 * SQL that creates or updates the schema `listwatch` of a database. It is run as the schema's future owner, which need
 * not be a superuser, on Postgres 14 or later.
 *
 * All data that changes at run time is UNLOGGED: it costs no WAL, and no publication contains it. Postgres empties it
 * whenever commits may have been lost: by crash recovery, promotion or physical restore. A mirror notices the loss by
 * that.
 */
export const SCHEMA_SQL: string = `CREATE SCHEMA IF NOT EXISTS listwatch;
COMMENT ON SCHEMA listwatch IS 'Change logs for mirrors of tables. Created and removed by: listwatch pg install, listwatch pg uninstall.';
GRANT USAGE ON SCHEMA listwatch TO PUBLIC;

CREATE OR REPLACE FUNCTION listwatch.schema_version() RETURNS integer LANGUAGE sql IMMUTABLE AS 'SELECT ${SCHEMA_VERSION}';

${EPOCH_SQL}
${LOG_SQL}
${WAKE_SQL}
${SHAPE_SQL}
${INSTALL_SQL}
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA listwatch FROM PUBLIC;
GRANT EXECUTE ON FUNCTION listwatch.mark(), listwatch.schema_version() TO PUBLIC;
`
