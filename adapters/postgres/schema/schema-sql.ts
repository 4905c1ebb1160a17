import { LEASE_FUNCTIONS_SQL } from '../leases/leases-sql.js'
import { EPOCH_SQL } from './epoch-sql.js'
import { INSTALL_SQL } from './install-sql.js'
import { LOG_SQL } from './log-sql.js'
import { SHAPE_SQL } from './shape-sql.js'
import { OWNERS_FROM_SQL } from './trusted-owner.js'
import { WAKE_SQL } from './wake-sql.js'

/** The version of the schema's objects, as `listwatch.schema_version()` returns it. */
export const SCHEMA_VERSION = 3

/**
 * SQL that excludes other migrations until the end of the transaction: only the owner of the schema can hold this lock.
 * Then it throws if an object of the schema belongs to another role that is not a superuser, which could change what the
 * object does. The lock has waited for a role that was creating the schema.
 */
export const LOCK_SQL: string = `COMMENT ON SCHEMA listwatch IS 'Change logs for mirrors of tables. Created and removed by: listwatch pg install, listwatch pg uninstall.';
DO $do$ DECLARE
  owner pg_catalog.name := (SELECT r.rolname ${OWNERS_FROM_SQL} AND NOT r.rolsuper AND r.rolname <> current_user LIMIT 1);
BEGIN
  IF owner IS NOT NULL THEN RAISE EXCEPTION 'objects of the schema listwatch belong to %', owner USING ERRCODE = '42501'; END IF;
END $do$;`

/**
 * SQL that creates or updates the schema `listwatch` of a database. It is run as the schema's future owner, which need
 * not be a superuser, on Postgres 14 or later, and with the search path `pg_catalog, pg_temp`.
 *
 * No function lets a role do what the role could not do before:
 * - Each function has the search path `pg_catalog, pg_temp`. Postgres finds no function and no operator in `pg_temp`,
 *   and types and tables only after those of `pg_catalog`.
 * - A function runs as its caller, unless its caller could not do the work. The functions that run as their owner are
 *   `epoch`, `tend`, `remove_ended_leases`, and those of each log: of its triggers, and whether it has changes.
 * - PUBLIC may call the functions of marks, which run as their caller.
 *
 * All data of change logs is UNLOGGED: it costs no WAL, and no publication contains it. Postgres empties it whenever
 * commits may have been lost: by crash recovery, promotion or physical restore. A mirror notices the loss by that.
 */
export const SCHEMA_SQL: string = `DO $do$ BEGIN
  IF pg_catalog.to_regnamespace('listwatch') IS NULL THEN CREATE SCHEMA listwatch; END IF;
EXCEPTION WHEN unique_violation OR duplicate_schema THEN NULL; -- Another installation was faster.
END $do$;
${LOCK_SQL}
GRANT USAGE ON SCHEMA listwatch TO PUBLIC;

-- The state of version 1. Its defaults may call functions that the search path of the installation contained.
DO $do$ BEGIN
  IF EXISTS (SELECT FROM pg_catalog.pg_attribute a WHERE a.attrelid = pg_catalog.to_regclass('listwatch.state') AND a.attname = 'floor') THEN
    DROP TABLE listwatch.state, listwatch.mark CASCADE;
  END IF;
END $do$;

CREATE OR REPLACE FUNCTION listwatch.schema_version() RETURNS pg_catalog.int4 LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS
  'SELECT ${SCHEMA_VERSION}';

${EPOCH_SQL}
${LOG_SQL}
${WAKE_SQL}
${SHAPE_SQL}
${INSTALL_SQL}
${LEASE_FUNCTIONS_SQL}
-- Functions that are older than this transaction are of another version. It may have been split by savepoints.
DO $do$ DECLARE
  f pg_catalog.record;
BEGIN
  FOR f IN SELECT p.oid::pg_catalog.regprocedure AS signature FROM pg_catalog.pg_proc p
            WHERE p.pronamespace = 'listwatch'::pg_catalog.regnamespace AND p.proname NOT LIKE 'log\\_%' AND pg_catalog.age(p.xmin) > 0 LOOP
    EXECUTE pg_catalog.format('DROP FUNCTION %s CASCADE', f.signature);
  END LOOP;
END $do$;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA listwatch FROM PUBLIC;
GRANT EXECUTE ON FUNCTION listwatch.mark(), listwatch.seeded(), listwatch.system_id(), listwatch.database_id(), listwatch.schema_version() TO PUBLIC;

DO $do$ DECLARE
  l pg_catalog.record;
BEGIN
  FOR l IN SELECT k.relid, k.log, k.options FROM listwatch.logs() k WHERE k.options->>'schemaVersion' IS DISTINCT FROM '${SCHEMA_VERSION}' LOOP
    -- The type of a key may have been dropped, with the column of the log.
    IF pg_catalog.jsonb_array_length(l.options->'keyColumns') <> (SELECT pg_catalog.count(*) FROM pg_catalog.pg_attribute a
        WHERE a.attrelid = l.log AND a.attname LIKE 'k%' AND NOT a.attisdropped) THEN
      PERFORM listwatch.uninstall(l.relid);
      CONTINUE;
    END IF;
    -- A trigger of another role may call a trigger function of the log, since any role could execute some of version 1.
    IF EXISTS (SELECT FROM pg_catalog.pg_trigger t JOIN pg_catalog.pg_proc f ON f.oid = t.tgfoid JOIN pg_catalog.pg_class c ON c.oid = l.log
                WHERE f.pronamespace = c.relnamespace AND pg_catalog.starts_with(f.proname, c.relname || '_') AND t.tgparentid = 0 AND t.tgrelid <> l.relid) THEN
      PERFORM listwatch.reinstall(l.relid);
    ELSE
      PERFORM listwatch.define(l.relid, l.log);
    END IF;
  END LOOP;
END $do$;
`
