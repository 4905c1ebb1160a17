import { EPOCH_SQL } from './epoch-sql.js'
import { INSTALL_SQL } from './install-sql.js'
import { LOG_SQL } from './log-sql.js'
import { SHAPE_SQL } from './shape-sql.js'
import { WAKE_SQL } from './wake-sql.js'

/** The version of the objects below, answered by `listwatch.schema_version()`. */
export const SCHEMA_VERSION = 1

/**
 * Once per database: the schema `listwatch`, as the role that shall own it; no superuser is needed. Postgres 14 or
 * later. It may be run again. Everything that changes at run time is UNLOGGED: it costs no WAL, no publication sees it,
 * and Postgres empties it where commits may have been lost (crash recovery, promotion, physical restore), which is how
 * a mirror notices.
 */
export const SCHEMA_SQL: string = `CREATE SCHEMA IF NOT EXISTS listwatch;
COMMENT ON SCHEMA listwatch IS 'Change logs for mirrors of tables. Made and removed by: listwatch pg install, listwatch pg uninstall.';
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
