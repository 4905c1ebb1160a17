/**
 * SQL of the change logs: their catalog, and how they are trimmed. The triggers that write them are in install-sql.ts.
 */
export const LOG_SQL: string = `-- All logs, each with the table whose triggers write it. A log is found through the function of its trigger: a dump contains names, but
-- not oids. Only the owner of the schema creates functions in it, so no trigger of another role counts as one of a log.
CREATE OR REPLACE FUNCTION listwatch.logs() RETURNS TABLE (relid pg_catalog.oid, log pg_catalog.regclass, options pg_catalog.jsonb)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT t.tgrelid, l.oid::pg_catalog.regclass, pg_catalog.obj_description(l.oid, 'pg_class')::pg_catalog.jsonb
    FROM pg_catalog.pg_trigger t
    JOIN pg_catalog.pg_proc f ON f.oid = t.tgfoid AND f.pronamespace = 'listwatch'::pg_catalog.regnamespace
    JOIN pg_catalog.pg_class l ON l.relnamespace = f.pronamespace AND l.relkind = 'r' AND f.proname = l.relname || '_t'
   WHERE t.tgname = 'zz_listwatch_t' AND NOT t.tgisinternal
$$;

-- Whether this role may see all keys of a log: it may read the key columns of the table, and row security of the table does not apply to
-- it. The policy of each log calls this, so that a log shows no key of a row that the table hides.
CREATE OR REPLACE FUNCTION listwatch.shows_keys(log pg_catalog.regclass) RETURNS pg_catalog.bool
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT coalesce(pg_catalog.bool_and(NOT pg_catalog.row_security_active(t.tgrelid) AND NOT EXISTS (
           SELECT FROM pg_catalog.jsonb_array_elements_text(pg_catalog.obj_description(log, 'pg_class')::pg_catalog.jsonb->'keyColumns') k(name)
             LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = t.tgrelid AND a.attname = k.name AND NOT a.attisdropped
            WHERE pg_catalog.has_column_privilege(a.attrelid, a.attnum, 'SELECT') IS NOT TRUE)), false)
    FROM pg_catalog.pg_class l
    JOIN pg_catalog.pg_proc f ON f.proname = l.relname || '_t' AND f.pronamespace = l.relnamespace
    JOIN pg_catalog.pg_depend d ON d.refclassid = 'pg_catalog.pg_proc'::pg_catalog.regclass AND d.refobjid = f.oid
    JOIN pg_catalog.pg_trigger t ON d.classid = 'pg_catalog.pg_trigger'::pg_catalog.regclass AND t.oid = d.objid
   WHERE l.oid = log
$$;

-- Removes the rows that were visible \`keep\` ago from all logs, at most \`at_most\` rows of each. It is exact: a long transaction
-- delays nothing. It skips rows that another session removes, and waits for none: several sessions may trim at a time, and stay open.
-- Returns the number of rows.
CREATE OR REPLACE FUNCTION listwatch.trim(keep pg_catalog.interval DEFAULT '1 hour', at_most pg_catalog.int8 DEFAULT NULL) RETURNS pg_catalog.int8
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  past pg_catalog.pg_snapshot;
  past_id pg_catalog.int8;
  upto pg_catalog.pg_snapshot;
  log pg_catalog.regclass;
  removed pg_catalog.int8;
  total pg_catalog.int8 := 0;
BEGIN
  PERFORM listwatch.epoch();
  -- Its side effect frees the queue of notifications. Postgres does not free a queue that was full by itself.
  PERFORM pg_catalog.pg_notification_queue_usage();
  -- At most one mark in 10 s, because each trim reads all of them.
  INSERT INTO listwatch.mark (at, snap) SELECT now.at, pg_catalog.pg_current_snapshot() FROM (SELECT pg_catalog.clock_timestamp() AS at) now
   WHERE NOT EXISTS (SELECT FROM listwatch.mark m WHERE m.at > now.at - least(keep, '10 s') AND m.at <= now.at);
  SELECT m.id, m.snap INTO past_id, past FROM listwatch.mark m WHERE m.at <= pg_catalog.clock_timestamp() - keep ORDER BY m.id DESC LIMIT 1;
  IF past_id IS NOT NULL THEN
    INSERT INTO listwatch.floor (snap) SELECT past WHERE NOT EXISTS (SELECT FROM listwatch.floor f WHERE listwatch.covers(f.snap, past));
    -- What the new floor covers is of no use any more. The floor that readers compare with never decreases.
    DELETE FROM listwatch.floor f WHERE f.ctid = ANY (ARRAY (SELECT g.ctid FROM listwatch.floor g
      WHERE listwatch.covers(past, g.snap) AND NOT listwatch.covers(g.snap, past) FOR UPDATE SKIP LOCKED));
    DELETE FROM listwatch.mark m WHERE m.id = ANY (ARRAY (SELECT o.id FROM listwatch.mark o WHERE o.id < past_id FOR UPDATE SKIP LOCKED));
  END IF;
  SELECT f.snap INTO upto FROM listwatch.floor f ORDER BY pg_catalog.pg_snapshot_xmax(f.snap) DESC LIMIT 1;
  FOR log IN SELECT l.log FROM listwatch.logs() l LOOP
    EXECUTE pg_catalog.format('DELETE FROM %1$s WHERE ctid = ANY (ARRAY (SELECT ctid FROM %1$s
        WHERE xid < pg_catalog.pg_snapshot_xmax($1) AND pg_catalog.pg_visible_in_snapshot(xid, $1) LIMIT $2 FOR UPDATE SKIP LOCKED))', log)
      USING upto, at_most;
    GET DIAGNOSTICS removed = ROW_COUNT;
    total := total + removed;
  END LOOP;
  RETURN total;
END $$;

-- Connected readers call this regularly. It runs as the owner, because readers cannot write. It takes no argument of its caller, and does
-- nothing in a transaction with an older snapshot, which does not see the last mark.
CREATE OR REPLACE FUNCTION listwatch.tend() RETURNS pg_catalog.int8 LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN CASE WHEN pg_catalog.current_setting('transaction_isolation') = 'read committed' THEN listwatch.trim(at_most => 10000) ELSE 0 END;
END $$;

-- The triggers call this at random, so that a log stays bounded even if no reader ever connects. It never fails the writer's statement, and
-- does nothing in transactions that it could disturb.
CREATE OR REPLACE FUNCTION listwatch.tidy(log pg_catalog.regclass, written pg_catalog.int8) RETURNS pg_catalog.void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF pg_catalog.current_setting('transaction_isolation') <> 'read committed' THEN RETURN; END IF;
  IF pg_catalog.pg_relation_size(log) < 16777216 OR listwatch.seeded() IS NULL THEN RETURN; END IF;
  PERFORM listwatch.trim(at_most => 20000 + 4 * written);
EXCEPTION WHEN OTHERS THEN
  RETURN;
END $$;
`
