/**
 * SQL of the change logs: their catalog, and how they are trimmed. The triggers that write them are in install-sql.ts.
 */
export const LOG_SQL: string = `-- All logs, each with the table whose triggers write it. A log is found through its trigger, not by its name: a dump contains
-- names, but not oids.
CREATE OR REPLACE FUNCTION listwatch.logs() RETURNS TABLE (relid oid, log regclass, options jsonb)
LANGUAGE sql STABLE SET search_path = '' AS $$
  SELECT t.tgrelid, l.oid::pg_catalog.regclass, pg_catalog.obj_description(l.oid, 'pg_class')::pg_catalog.jsonb
    FROM pg_catalog.pg_trigger t
    JOIN pg_catalog.pg_class l ON l.relnamespace = 'listwatch'::pg_catalog.regnamespace
     AND l.relname = pg_catalog.convert_from(pg_catalog.substring(t.tgargs, 1, pg_catalog.length(t.tgargs) - 1), 'UTF8')
   WHERE t.tgname = 'zz_listwatch_t' AND NOT t.tgisinternal
$$;

-- Removes the rows that were visible \`keep\` ago from all logs, at most \`at_most\` rows of each. It is exact: a long transaction
-- delays nothing. Returns the number of rows, or -1 if another session is trimming. The floor never decreases.
CREATE OR REPLACE FUNCTION listwatch.trim(keep interval DEFAULT '1 hour', at_most bigint DEFAULT NULL) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
DECLARE
  past listwatch.mark;
  upto pg_catalog.pg_snapshot;
  log pg_catalog.regclass;
  removed pg_catalog.int8;
  total pg_catalog.int8 := 0;
BEGIN
  IF NOT pg_catalog.pg_try_advisory_xact_lock(7305191, 0) THEN RETURN -1; END IF;
  PERFORM listwatch.epoch();
  -- Its side effect frees the queue of notifications. Postgres does not free a queue that was full by itself.
  PERFORM pg_catalog.pg_notification_queue_usage();
  INSERT INTO listwatch.mark DEFAULT VALUES;
  SELECT m.* INTO past FROM listwatch.mark m WHERE m.at <= pg_catalog.clock_timestamp() - keep ORDER BY m.id DESC LIMIT 1;
  IF past.id IS NOT NULL THEN
    UPDATE listwatch.state s SET floor = past.snap WHERE listwatch.covers(past.snap, s.floor);
    DELETE FROM listwatch.mark m WHERE m.id < past.id;
  END IF;
  SELECT s.floor INTO upto FROM listwatch.state s;
  FOR log IN SELECT l.log FROM listwatch.logs() l LOOP
    EXECUTE pg_catalog.format(
      'DELETE FROM %1$s WHERE ctid = ANY (ARRAY (SELECT ctid FROM %1$s WHERE xid < pg_catalog.pg_snapshot_xmax($1) AND pg_catalog.pg_visible_in_snapshot(xid, $1) LIMIT $2))',
      log) USING upto, at_most;
    GET DIAGNOSTICS removed = ROW_COUNT;
    total := total + removed;
  END LOOP;
  RETURN total;
END $$;

-- Connected readers call this regularly.
CREATE OR REPLACE FUNCTION listwatch.tend() RETURNS bigint LANGUAGE sql SECURITY DEFINER SET search_path = '' AS
  'SELECT listwatch.trim(at_most => 10000)';

-- Writers call this at random, so that a log stays bounded even if no reader ever connects. It never fails their statement, and
-- does nothing in transactions that it could disturb.
CREATE OR REPLACE FUNCTION listwatch.tidy(log regclass, written bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
BEGIN
  IF pg_catalog.current_setting('transaction_isolation') <> 'read committed' THEN RETURN; END IF;
  IF pg_catalog.pg_relation_size(log) < 16777216 OR listwatch.seeded() IS NULL THEN RETURN; END IF;
  PERFORM listwatch.trim(at_most => 20000 + 4 * written);
EXCEPTION WHEN OTHERS THEN
  RETURN;
END $$;
`
