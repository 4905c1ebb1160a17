-- The SQL of schema version 1, as `listwatch pg install-leases` and then `listwatch pg install` of two tables printed it at
-- a786678e. The installations repeat the first part, which is here once. The tables t and p, and the role, exist before.
BEGIN;
SET LOCAL lock_timeout = '3s';
SELECT pg_advisory_xact_lock(7305191, 2); -- One migration of listwatch at a time.
CREATE SCHEMA IF NOT EXISTS listwatch;
COMMENT ON SCHEMA listwatch IS 'Change logs for mirrors of tables. Created and removed by: listwatch pg install, listwatch pg uninstall.';
GRANT USAGE ON SCHEMA listwatch TO PUBLIC;

CREATE OR REPLACE FUNCTION listwatch.schema_version() RETURNS integer LANGUAGE sql IMMUTABLE AS 'SELECT 1';

-- One row: the incarnation of the database, and the snapshot up to which the logs may have been trimmed.
CREATE UNLOGGED TABLE IF NOT EXISTS listwatch.state (
  one       boolean     PRIMARY KEY DEFAULT true CHECK (one),
  -- A random part, the transaction that seeded it, and when: the later one of two epochs is recognized by these.
  epoch     text        NOT NULL DEFAULT pg_catalog.concat_ws('-', pg_catalog.replace(pg_catalog.gen_random_uuid()::text, '-', ''), pg_catalog.pg_current_xact_id(), (extract(epoch FROM pg_catalog.clock_timestamp()) * 1000)::bigint),
  system_id text        NOT NULL,
  database  oid         NOT NULL,
  floor     pg_snapshot NOT NULL DEFAULT pg_current_snapshot(),
  -- Transactions that were prepared when the epoch began. A crash removes the log rows of such a transaction, but not
  -- the transaction: a reader that sees one of them end has to list again.
  prepared  xid8[]      NOT NULL DEFAULT '{}'
);

-- Snapshots of the past. The logs are trimmed up to one of them.
CREATE UNLOGGED TABLE IF NOT EXISTS listwatch.mark (
  id   bigint      PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
  at   timestamptz NOT NULL DEFAULT clock_timestamp(),
  snap pg_snapshot NOT NULL DEFAULT pg_current_snapshot()
);

CREATE OR REPLACE FUNCTION listwatch.system_id() RETURNS text LANGUAGE sql STABLE SET search_path = '' AS
  'SELECT system_identifier::text FROM pg_catalog.pg_control_system()';

CREATE OR REPLACE FUNCTION listwatch.database_id() RETURNS oid LANGUAGE sql STABLE SET search_path = '' AS
  'SELECT oid FROM pg_catalog.pg_database WHERE datname = pg_catalog.current_database()';

-- The epoch, or NULL if Postgres has emptied the state, or if the state was copied from another database.
CREATE OR REPLACE FUNCTION listwatch.seeded() RETURNS text LANGUAGE sql STABLE SECURITY DEFINER SET search_path = '' AS
  'SELECT s.epoch FROM listwatch.state s WHERE s.system_id = listwatch.system_id() AND s.database = listwatch.database_id()';

-- The prepared transactions of this database. Their 32-bit ids are completed from the current 64-bit id.
CREATE OR REPLACE FUNCTION listwatch.prepared() RETURNS xid8[] LANGUAGE sql VOLATILE SET search_path = '' AS $$
  SELECT ARRAY (SELECT (n.now - ((n.now - p.transaction::pg_catalog.text::pg_catalog.int8) & 4294967295))::pg_catalog.text::pg_catalog.xid8
    FROM (SELECT pg_catalog.pg_snapshot_xmax(pg_catalog.pg_current_snapshot())::pg_catalog.text::pg_catalog.int8 AS now) n, pg_catalog.pg_prepared_xacts p
   WHERE p.database = pg_catalog.current_database())
$$;

-- The epoch. Seeds the state if Postgres has emptied it or if it was copied. Only readers and owners call this: other
-- sessions wait for the seeding transaction.
CREATE OR REPLACE FUNCTION listwatch.epoch() RETURNS text LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
DECLARE
  found_epoch pg_catalog.text := listwatch.seeded();
  log pg_catalog.regclass;
BEGIN
  IF found_epoch IS NOT NULL THEN RETURN found_epoch; END IF;
  PERFORM pg_catalog.pg_advisory_xact_lock(7305191, 1);
  found_epoch := listwatch.seeded();
  IF found_epoch IS NOT NULL THEN RETURN found_epoch; END IF;
  DELETE FROM listwatch.state;
  DELETE FROM listwatch.mark;
  FOR log IN SELECT l.log FROM listwatch.logs() l LOOP
    EXECUTE pg_catalog.format('DELETE FROM %s', log);
  END LOOP;
  INSERT INTO listwatch.state (system_id, database, prepared) VALUES (listwatch.system_id(), listwatch.database_id(), listwatch.prepared())
    RETURNING epoch INTO found_epoch;
  -- Writes to unlogged tables alone are committed asynchronously. The id of this transaction must not be used again.
  PERFORM pg_catalog.set_config('synchronous_commit', 'local', true);
  PERFORM pg_catalog.pg_logical_emit_message(true, 'listwatch', found_epoch);
  RETURN found_epoch;
END $$;

-- The mark of a writer's transaction, for readers: the epoch and the transaction's id. It never writes: while no epoch is seeded,
-- the mark contains the snapshot that shows no epoch instead.
CREATE OR REPLACE FUNCTION listwatch.mark() RETURNS text LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = '' AS $$
  SELECT pg_catalog.concat_ws('.', 'pgm1', listwatch.system_id(), listwatch.database_id(), coalesce(listwatch.seeded(), s.snapshot), pg_catalog.pg_current_xact_id())
    FROM (SELECT CASE WHEN pg_catalog.length(c.now::pg_catalog.text) <= 100 THEN c.now::pg_catalog.text
                      ELSE pg_catalog.concat(pg_catalog.pg_snapshot_xmin(c.now), ':', pg_catalog.pg_snapshot_xmin(c.now), ':') END AS snapshot
            FROM (SELECT pg_catalog.pg_current_snapshot() AS now) c) s
$$;

-- Whether everything that is visible in f is visible in s: then a reader at s misses nothing that was trimmed up to f.
CREATE OR REPLACE FUNCTION listwatch.covers(s pg_snapshot, f pg_snapshot) RETURNS boolean LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = '' AS $$
BEGIN
  RETURN pg_catalog.pg_snapshot_xmax(s) >= pg_catalog.pg_snapshot_xmax(f)
     AND NOT EXISTS (SELECT FROM pg_catalog.pg_snapshot_xip(s) x WHERE pg_catalog.pg_visible_in_snapshot(x, f));
END $$;

-- All logs, each with the table whose triggers write it. A log is found through its trigger, not by its name: a dump contains
-- names, but not oids.
CREATE OR REPLACE FUNCTION listwatch.logs() RETURNS TABLE (relid oid, log regclass, options jsonb)
LANGUAGE sql STABLE SET search_path = '' AS $$
  SELECT t.tgrelid, l.oid::pg_catalog.regclass, pg_catalog.obj_description(l.oid, 'pg_class')::pg_catalog.jsonb
    FROM pg_catalog.pg_trigger t
    JOIN pg_catalog.pg_class l ON l.relnamespace = 'listwatch'::pg_catalog.regnamespace
     AND l.relname = pg_catalog.convert_from(pg_catalog.substring(t.tgargs, 1, pg_catalog.length(t.tgargs) - 1), 'UTF8')
   WHERE t.tgname = 'zz_listwatch_t' AND NOT t.tgisinternal
$$;

-- Removes the rows that were visible `keep` ago from all logs, at most `at_most` rows of each. It is exact: a long transaction
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

-- claimed: the time and the transaction of the last claim of a wake-up. announced: the time, in milliseconds, of the last claim
-- whose transaction is known to have committed. Unlogged sequences exist since Postgres 15.
DO $do$ BEGIN
  IF pg_catalog.current_setting('server_version_num')::pg_catalog.int4 >= 150000 THEN
    CREATE UNLOGGED SEQUENCE IF NOT EXISTS listwatch.claimed MINVALUE 0;
    CREATE UNLOGGED SEQUENCE IF NOT EXISTS listwatch.announced MINVALUE 0;
  ELSE
    CREATE SEQUENCE IF NOT EXISTS listwatch.claimed MINVALUE 0;
    CREATE SEQUENCE IF NOT EXISTS listwatch.announced MINVALUE 0;
  END IF;
END $do$;

-- Whether rows of a table are changed by more than statements on the table: by statements on its parent table, or by logical
-- replication, which applies changes row by row. Triggers for each statement do not fire for these.
CREATE OR REPLACE FUNCTION listwatch.needs_row_triggers(rel oid) RETURNS boolean LANGUAGE sql STABLE SET search_path = '' AS $$
  SELECT EXISTS (SELECT FROM pg_catalog.pg_class c WHERE c.oid = rel AND c.relkind = 'p')
      OR EXISTS (SELECT FROM pg_catalog.pg_inherits i WHERE i.inhrelid = rel)
      OR EXISTS (SELECT FROM pg_catalog.pg_subscription_rel s WHERE s.srrelid = rel)
$$;

-- When a trigger that is not ENABLE ALWAYS fires, as the predicate of a sentence. NULL stands for a trigger that does not exist.
CREATE OR REPLACE FUNCTION listwatch.firing(enabled "char") RETURNS text LANGUAGE sql IMMUTABLE SET search_path = '' AS $$
  SELECT CASE enabled WHEN 'D' THEN 'is disabled' WHEN 'R' THEN 'fires only if session_replication_role is replica'
    WHEN 'O' THEN 'does not fire if session_replication_role is replica (pg_restore --disable-triggers and ENABLE TRIGGER do this)' ELSE 'is missing' END
$$;

-- Whether a column holds no NULL. NOT NULL that is NOT VALID (Postgres 18) leaves NULLs that were there before.
CREATE OR REPLACE FUNCTION listwatch.is_not_null(rel oid, attnum int2) RETURNS boolean LANGUAGE sql STABLE SET search_path = '' AS $$
  SELECT a.attnotnull AND NOT EXISTS (SELECT FROM pg_catalog.pg_constraint c
           WHERE c.conrelid = a.attrelid AND c.contype = 'n' AND c.conkey = ARRAY[a.attnum] AND NOT c.convalidated)
    FROM pg_catalog.pg_attribute a WHERE a.attrelid = $1 AND a.attnum = $2
$$;

-- Why a table's log may miss changes, because of what happened to the table after the installation. Empty if it does not.
CREATE OR REPLACE FUNCTION listwatch.problems(rel oid) RETURNS text[] LANGUAGE sql STABLE SET search_path = '' AS $$
  SELECT ARRAY (
    SELECT pg_catalog.format('the trigger zz_listwatch_%s %s', name, listwatch.firing(t.tgenabled))
      FROM listwatch.logs() l
      CROSS JOIN pg_catalog.unnest(CASE l.options->>'fires' WHEN 'row' THEN '{r,t}' ELSE '{i,u,d,t}' END::pg_catalog.text[]) name
      LEFT JOIN pg_catalog.pg_trigger t ON t.tgrelid = rel AND t.tgname LIKE 'zz\_listwatch\_' || name || '%' AND t.tgparentid = 0
     WHERE l.relid = rel AND t.tgenabled IS DISTINCT FROM 'A'
    UNION ALL
    SELECT pg_catalog.format('the trigger %s of %s partitions, such as %s, %s', t.tgname, pg_catalog.count(*),
             pg_catalog.min(p.relid::pg_catalog.regclass::pg_catalog.text), listwatch.firing(pg_catalog.min(t.tgenabled::pg_catalog.text)::"char"))
      FROM pg_catalog.pg_trigger own
      JOIN pg_catalog.pg_partition_tree(rel) p ON p.relid <> rel
      JOIN pg_catalog.pg_trigger t ON t.tgrelid = p.relid AND t.tgname = own.tgname AND t.tgenabled <> 'A'
     WHERE own.tgrelid = rel AND own.tgparentid = 0 AND own.tgname LIKE 'zz\_listwatch\_r\_%' GROUP BY t.tgname
    UNION ALL
    SELECT 'its triggers fire for each statement, and its rows change by other tables'' statements or by replication too'
      FROM listwatch.logs() l WHERE l.relid = rel AND l.options->>'fires' = 'statement' AND listwatch.needs_row_triggers(rel)
    UNION ALL
    SELECT 'tables inherit from it, whose rows its triggers do not see'
      FROM pg_catalog.pg_class c WHERE c.oid = rel AND c.relkind = 'r' AND EXISTS (SELECT FROM pg_catalog.pg_inherits i WHERE i.inhparent = rel)
    UNION ALL
    SELECT pg_catalog.format('the columns of its key (%s) are no longer there, or no longer NOT NULL and unique', pg_catalog.array_to_string(k.names, ', '))
      FROM listwatch.logs() l, LATERAL (SELECT ARRAY (SELECT pg_catalog.jsonb_array_elements_text(l.options->'keyColumns')) AS names) k
     WHERE l.relid = rel AND NOT EXISTS (
       SELECT FROM pg_catalog.pg_index i JOIN pg_catalog.pg_attribute a ON a.attrelid = rel AND a.attname = ANY (k.names) AND listwatch.is_not_null(rel, a.attnum)
        WHERE i.indrelid = rel AND i.indisunique AND i.indisvalid AND i.indpred IS NULL AND i.indexprs IS NULL
          AND a.attnum = ANY ((i.indkey::pg_catalog.int2[])[0:i.indnkeyatts - 1])
        GROUP BY i.indexrelid, i.indnkeyatts HAVING pg_catalog.count(*) = i.indnkeyatts AND i.indnkeyatts = pg_catalog.cardinality(k.names)))
$$;

-- A hash of everything that changes rows, or their meaning, without firing a trigger: columns and their types, rewrites,
-- partitions, row security, and the triggers of listwatch. A reader computes it first, and when the fingerprint changed.
CREATE OR REPLACE FUNCTION listwatch.shape(rel oid) RETURNS text LANGUAGE plpgsql STABLE SET search_path = '' AS $$
BEGIN
  RETURN (WITH RECURSIVE own_type(oid) AS (
    SELECT a.atttypid FROM pg_catalog.pg_attribute a WHERE a.attrelid = rel AND a.attnum > 0 AND a.atttypid >= 16384
    UNION
    SELECT part.oid FROM own_type JOIN pg_catalog.pg_type t ON t.oid = own_type.oid CROSS JOIN LATERAL (
      SELECT t.typelem UNION ALL SELECT t.typbasetype
      UNION ALL SELECT a.atttypid FROM pg_catalog.pg_attribute a WHERE a.attrelid = t.typrelid AND a.attnum > 0
      UNION ALL SELECT r.rngsubtype FROM pg_catalog.pg_range r WHERE t.oid IN (r.rngtypid, r.rngmultitypid)
    ) part(oid) WHERE part.oid >= 16384
  ), leaf(oid) AS (
    SELECT rel UNION ALL
    SELECT i.inhrelid FROM leaf JOIN pg_catalog.pg_inherits i ON i.inhparent = leaf.oid AND NOT i.inhdetachpending
  )
  SELECT pg_catalog.md5(pg_catalog.string_agg(x, ',' ORDER BY x)) FROM (
    SELECT pg_catalog.concat_ws(':', 'a', a.attnum, a.attname, a.atttypid, a.atttypmod, a.attisdropped, a.attgenerated) AS x
      FROM pg_catalog.pg_attribute a WHERE a.attrelid = rel AND a.attnum > 0
    UNION ALL
    SELECT pg_catalog.concat_ws(':', 'g', d.adnum, d.xmin) FROM pg_catalog.pg_attribute a
      JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
     WHERE a.attrelid = rel AND a.attgenerated <> ''
    UNION ALL
    SELECT pg_catalog.concat_ws(':', 'e', e.enumtypid, e.oid, e.enumlabel) FROM own_type JOIN pg_catalog.pg_enum e ON e.enumtypid = own_type.oid
    UNION ALL
    SELECT pg_catalog.concat_ws(':', 'f', a.attrelid, a.attnum, a.attname, a.atttypid, a.atttypmod, a.attisdropped)
      FROM own_type JOIN pg_catalog.pg_type t ON t.oid = own_type.oid
      JOIN pg_catalog.pg_attribute a ON a.attrelid = t.typrelid AND a.attnum > 0
    UNION ALL
    SELECT pg_catalog.concat_ws(':', 'c', c.oid, pg_catalog.pg_relation_filenode(c.oid), c.relrowsecurity, c.relforcerowsecurity, c.relispartition,
        CASE WHEN c.oid = rel THEN c.relowner END)
      FROM leaf JOIN pg_catalog.pg_class c ON c.oid = leaf.oid
    UNION ALL
    SELECT pg_catalog.concat_ws(':', 'i', i.inhparent, i.inhrelid) FROM pg_catalog.pg_inherits i WHERE i.inhparent = rel OR i.inhrelid = rel
    UNION ALL
    SELECT pg_catalog.concat_ws(':', 's', s.srsubid) FROM pg_catalog.pg_subscription_rel s WHERE s.srrelid = rel
    UNION ALL
    SELECT DISTINCT pg_catalog.concat_ws(':', 'u', i.indnkeyatts, i.indkey) FROM pg_catalog.pg_index i
     WHERE i.indrelid = rel AND i.indisunique AND i.indisvalid AND i.indpred IS NULL AND i.indexprs IS NULL
    UNION ALL
    SELECT DISTINCT pg_catalog.concat_ws(':', 'n', k.attnum, listwatch.is_not_null(rel, k.attnum))
      FROM pg_catalog.pg_index i, pg_catalog.unnest(i.indkey::pg_catalog.int2[]) k(attnum)
     WHERE i.indrelid = rel AND i.indisunique AND NOT i.indisprimary AND i.indexprs IS NULL
    UNION ALL
    SELECT pg_catalog.concat_ws(':', 'p', p.oid, p.xmin) FROM pg_catalog.pg_policy p WHERE p.polrelid = rel
    UNION ALL
    SELECT pg_catalog.concat_ws(':', 't', t.tgrelid, t.tgname, t.tgenabled, t.xmin)
      FROM leaf JOIN pg_catalog.pg_trigger t ON t.tgrelid = leaf.oid WHERE t.tgname LIKE 'zz\_listwatch\_%'
  ) parts);
END $$;

-- A hash of the versions (xmin and ctid) of all catalog rows that the shape reads. DDL that changes the shape
-- changes it too, and other DDL may. It costs a fraction of the shape, and plpgsql keeps its plan. XOR does not depend on the
-- order of rows. Each catalog has a seed of its own. It must read at least the rows that the shape reads.
CREATE OR REPLACE FUNCTION listwatch.fingerprint(rel oid) RETURNS bigint LANGUAGE plpgsql STABLE SET search_path = '' AS $$
DECLARE
  hash pg_catalog.int8;
  has_own_types pg_catalog.bool;
  has_children pg_catalog.bool;
BEGIN
  SELECT pg_catalog.bit_xor(x), pg_catalog.bool_or(v.is_own), pg_catalog.bool_or(v.is_child) INTO hash, has_own_types, has_children FROM (
    SELECT pg_catalog.hash_record_extended(ROW(c.xmin, c.ctid), 1) AS x, false AS is_own, false AS is_child FROM pg_catalog.pg_class c WHERE c.oid = rel
    UNION ALL
    SELECT pg_catalog.hash_record_extended(ROW(a.xmin, a.ctid), 2), a.atttypid >= 16384, false FROM pg_catalog.pg_attribute a WHERE a.attrelid = rel AND a.attnum > 0
    UNION ALL
    SELECT pg_catalog.hash_record_extended(ROW(t.xmin, t.ctid), 3), false, false FROM pg_catalog.pg_trigger t WHERE t.tgrelid = rel
    UNION ALL
    SELECT pg_catalog.hash_record_extended(ROW(d.xmin, d.ctid), 4), false, false FROM pg_catalog.pg_attrdef d WHERE d.adrelid = rel
    UNION ALL
    SELECT pg_catalog.hash_record_extended(ROW(i.xmin, i.ctid), 5), false, false FROM pg_catalog.pg_inherits i WHERE i.inhrelid = rel
    UNION ALL
    SELECT pg_catalog.hash_record_extended(ROW(s.xmin, s.ctid), 6), false, false FROM pg_catalog.pg_subscription_rel s WHERE s.srrelid = rel
    UNION ALL
    SELECT pg_catalog.hash_record_extended(ROW(i.xmin, i.ctid), 7), false, false FROM pg_catalog.pg_index i WHERE i.indrelid = rel
    UNION ALL
    SELECT pg_catalog.hash_record_extended(ROW(p.xmin, p.ctid), 8), false, false FROM pg_catalog.pg_policy p WHERE p.polrelid = rel
    UNION ALL
    SELECT pg_catalog.hash_record_extended(ROW(c.xmin, c.ctid), 9), false, false FROM pg_catalog.pg_constraint c WHERE c.conrelid = rel
    UNION ALL
    (SELECT 0, false, true FROM pg_catalog.pg_inherits i WHERE i.inhparent = rel LIMIT 1)
  ) v;
  IF has_children THEN
    hash := hash OPERATOR(pg_catalog.#) (WITH RECURSIVE leaf(oid, link) AS (
      SELECT i.inhrelid, pg_catalog.hash_record_extended(ROW(i.xmin, i.ctid), 10) FROM pg_catalog.pg_inherits i WHERE i.inhparent = rel
      UNION ALL
      SELECT i.inhrelid, pg_catalog.hash_record_extended(ROW(i.xmin, i.ctid), 10) FROM leaf JOIN pg_catalog.pg_inherits i ON i.inhparent = leaf.oid
    )
    SELECT pg_catalog.bit_xor(x) FROM (
      SELECT leaf.link OPERATOR(pg_catalog.#) pg_catalog.hash_record_extended(ROW(c.xmin, c.ctid), 11) AS x FROM leaf JOIN pg_catalog.pg_class c ON c.oid = leaf.oid
      UNION ALL
      SELECT pg_catalog.hash_record_extended(ROW(t.xmin, t.ctid), 12) FROM leaf JOIN pg_catalog.pg_trigger t ON t.tgrelid = leaf.oid
    ) versions);
  END IF;
  -- Types of users are rare, and the look-up of their parts is expensive.
  IF has_own_types THEN
    hash := hash OPERATOR(pg_catalog.#) (WITH RECURSIVE own_type(oid) AS (
      SELECT a.atttypid FROM pg_catalog.pg_attribute a WHERE a.attrelid = rel AND a.attnum > 0 AND a.atttypid >= 16384
      UNION
      SELECT part.oid FROM own_type JOIN pg_catalog.pg_type t ON t.oid = own_type.oid CROSS JOIN LATERAL (
        SELECT t.typelem UNION ALL SELECT t.typbasetype
        UNION ALL SELECT a.atttypid FROM pg_catalog.pg_attribute a WHERE a.attrelid = t.typrelid AND a.attnum > 0
        UNION ALL SELECT r.rngsubtype FROM pg_catalog.pg_range r WHERE t.oid IN (r.rngtypid, r.rngmultitypid)
      ) part(oid) WHERE part.oid >= 16384
    )
    SELECT pg_catalog.bit_xor(x) FROM (
      SELECT pg_catalog.hash_record_extended(ROW(t.xmin, t.ctid), 13) AS x FROM own_type JOIN pg_catalog.pg_type t ON t.oid = own_type.oid
      UNION ALL
      SELECT pg_catalog.hash_record_extended(ROW(e.xmin, e.ctid), 14) FROM own_type JOIN pg_catalog.pg_enum e ON e.enumtypid = own_type.oid
      UNION ALL
      SELECT pg_catalog.hash_record_extended(ROW(a.xmin, a.ctid), 15) FROM own_type JOIN pg_catalog.pg_type t ON t.oid = own_type.oid
        JOIN pg_catalog.pg_attribute a ON a.attrelid = t.typrelid AND a.attnum > 0
      UNION ALL
      SELECT pg_catalog.hash_record_extended(ROW(r.xmin, r.ctid), 16) FROM own_type JOIN pg_catalog.pg_range r ON own_type.oid IN (r.rngtypid, r.rngmultitypid)
    ) versions);
  END IF;
  RETURN hash;
END $$;

-- Creates the log of a table and the triggers that write it. Replaces existing ones.
CREATE OR REPLACE FUNCTION listwatch.install(
  rel regclass, key text[] DEFAULT NULL, level text DEFAULT 'auto', wake text DEFAULT 'auto',
  bulk integer DEFAULT 100000, readers text[] DEFAULT '{}'
) RETURNS text LANGUAGE plpgsql SET search_path = '' AS $install$
DECLARE
  rel_kind pg_catalog."char";
  key_columns pg_catalog.name[];
  log pg_catalog.text := 'log_' || pg_catalog.left(pg_catalog.replace(pg_catalog.gen_random_uuid()::pg_catalog.text, '-', ''), 12);
  col record;
  log_type pg_catalog.text;
  log_columns pg_catalog.text := '';
  names pg_catalog.text := '';
  of_new pg_catalog.text := '';
  of_old pg_catalog.text := '';
  of_new_row pg_catalog.text := '';
  of_old_row pg_catalog.text := '';
  signal pg_catalog.text := '';
  chosen_level pg_catalog.text := level;
  chosen_wake pg_catalog.text := wake;
  event record;
  reader pg_catalog.text;
  n pg_catalog.int4 := 0;
BEGIN
  IF level NOT IN ('auto', 'statement', 'row') THEN RAISE EXCEPTION 'level must be auto, statement or row, not %', level USING ERRCODE = '22023'; END IF;
  IF wake NOT IN ('auto', 'bucket', 'each', 'none') THEN RAISE EXCEPTION 'wake must be auto, bucket, each or none, not %', wake USING ERRCODE = '22023'; END IF;
  IF bulk < 1 THEN RAISE EXCEPTION 'bulk must be at least 1, not %', bulk USING ERRCODE = '22023'; END IF;
  SELECT c.relkind INTO rel_kind FROM pg_catalog.pg_class c WHERE c.oid = rel;
  IF rel_kind NOT IN ('r', 'p') THEN
    RAISE EXCEPTION '% is not a table', rel USING ERRCODE = '42809', HINT = 'Name a table with --table: one that a view reads, for example.';
  END IF;
  IF rel_kind = 'r' AND EXISTS (SELECT FROM pg_catalog.pg_inherits i WHERE i.inhparent = rel) THEN
    RAISE EXCEPTION '% has tables that inherit from it, whose rows its triggers do not see', rel USING ERRCODE = '0A000',
      HINT = 'Name those that inherit with --table, or use declarative partitioning.';
  END IF;
  IF EXISTS (SELECT FROM pg_catalog.pg_partition_tree(rel) p JOIN pg_catalog.pg_class c ON c.oid = p.relid WHERE c.relkind = 'f') THEN
    RAISE EXCEPTION '% has partitions that are foreign tables, whose changes fire no trigger here', rel USING ERRCODE = '0A000';
  END IF;

  -- CREATE TRIGGER takes the same lock: it waits for every writer that began before the triggers existed.
  EXECUTE pg_catalog.format('LOCK TABLE %s IN SHARE ROW EXCLUSIVE MODE', rel);
  -- Roles that may read the old log may read the new one.
  SELECT readers || pg_catalog.array_agg(r.name) INTO readers
    FROM listwatch.logs() l CROSS JOIN pg_catalog.jsonb_array_elements_text(l.options->'readers') r(name)
   WHERE l.relid = rel AND r.name <> ALL (readers) AND EXISTS (SELECT FROM pg_catalog.pg_roles p WHERE p.rolname = r.name);
  PERFORM listwatch.uninstall(rel);
  PERFORM listwatch.epoch();

  -- The key: the primary key, or the columns of a unique index without NULLs that covers all rows.
  SELECT pg_catalog.array_agg(a.attname ORDER BY k.place) INTO key_columns
    FROM (
      SELECT i.indrelid, i.indkey, i.indnkeyatts FROM pg_catalog.pg_index i
       WHERE i.indrelid = rel AND i.indisunique AND i.indisvalid AND i.indpred IS NULL AND i.indexprs IS NULL
         AND CASE WHEN key IS NULL THEN i.indisprimary ELSE key = ARRAY (
               SELECT a.attname::pg_catalog.text FROM pg_catalog.unnest(i.indkey::pg_catalog.int2[]) WITH ORDINALITY u(attnum, place)
                 JOIN pg_catalog.pg_attribute a ON a.attrelid = rel AND a.attnum = u.attnum
                WHERE u.place <= i.indnkeyatts ORDER BY u.place) END
       LIMIT 1
    ) i, pg_catalog.unnest(i.indkey::pg_catalog.int2[]) WITH ORDINALITY k(attnum, place)
    JOIN pg_catalog.pg_attribute a ON a.attrelid = rel AND a.attnum = k.attnum
   WHERE k.place <= i.indnkeyatts;
  IF key_columns IS NULL AND key IS NULL THEN
    RAISE EXCEPTION '% has no primary key', rel USING ERRCODE = '42704',
      HINT = pg_catalog.format('Add one, ALTER TABLE %s ADD PRIMARY KEY (...), or name the columns of a unique index whose columns are all NOT NULL: --key a,b', rel);
  ELSIF key_columns IS NULL THEN
    RAISE EXCEPTION '% has no unique index on exactly (%)', rel, pg_catalog.array_to_string(key, ', ') USING ERRCODE = '42704',
      HINT = pg_catalog.format('Make one, CREATE UNIQUE INDEX ON %s (%s), or name others with --key.', rel, pg_catalog.array_to_string(key, ', '));
  END IF;

  FOR col IN
    WITH RECURSIVE base(attnum, attname, is_not_null, coll, typ) AS (
      SELECT a.attnum, a.attname, listwatch.is_not_null(rel, a.attnum), a.attcollation, a.atttypid FROM pg_catalog.pg_attribute a
       WHERE a.attrelid = rel AND a.attname = ANY (key_columns)
      UNION ALL
      SELECT b.attnum, b.attname, b.is_not_null, b.coll, t.typbasetype FROM base b JOIN pg_catalog.pg_type t ON t.oid = b.typ WHERE t.typtype = 'd'
    )
    SELECT b.attnum, b.attname, b.is_not_null, b.typ, t.typtype,
           (SELECT pg_catalog.format(' COLLATE %I.%I', n.nspname, c.collname) FROM pg_catalog.pg_collation c
              JOIN pg_catalog.pg_namespace n ON n.oid = c.collnamespace WHERE c.oid = b.coll AND c.collname <> 'default') AS collation,
           (SELECT c.collisdeterministic FROM pg_catalog.pg_collation c WHERE c.oid = b.coll) AS is_exact
      FROM base b JOIN pg_catalog.pg_type t ON t.oid = b.typ
     WHERE t.typtype <> 'd' ORDER BY pg_catalog.array_position(key_columns, b.attname)
  LOOP
    n := n + 1;
    IF NOT col.is_not_null THEN
      RAISE EXCEPTION 'column % of % may be NULL, which a key must not be', pg_catalog.quote_ident(col.attname), rel USING ERRCODE = '42704',
        HINT = coalesce(
          (SELECT pg_catalog.format('ALTER TABLE %s VALIDATE CONSTRAINT %I', rel, c.conname) FROM pg_catalog.pg_constraint c
            WHERE c.conrelid = rel AND c.contype = 'n' AND c.conkey = ARRAY[col.attnum] AND NOT c.convalidated),
          pg_catalog.format('ALTER TABLE %s ALTER COLUMN %I SET NOT NULL', rel, col.attname));
    END IF;
    IF col.is_exact IS FALSE THEN
      RAISE EXCEPTION 'column % of % has a nondeterministic collation: keys that are equal would have two texts',
        pg_catalog.quote_ident(col.attname), rel USING ERRCODE = '0A000';
    END IF;
    log_type := CASE
      -- Wider than the column, so that a column that is made wider does not break its writers.
      WHEN col.typ IN ('int2'::pg_catalog.regtype, 'int4'::pg_catalog.regtype, 'int8'::pg_catalog.regtype) THEN 'pg_catalog.int8'
      WHEN col.typ IN ('text'::pg_catalog.regtype, 'varchar'::pg_catalog.regtype) THEN 'pg_catalog.text'
      WHEN col.typ = 'bpchar'::pg_catalog.regtype THEN 'pg_catalog.bpchar'
      WHEN col.typtype = 'e' OR col.typ IN ('uuid'::pg_catalog.regtype, 'bool'::pg_catalog.regtype, 'date'::pg_catalog.regtype,
        'timestamp'::pg_catalog.regtype, 'timestamptz'::pg_catalog.regtype, 'bytea'::pg_catalog.regtype, 'oid'::pg_catalog.regtype,
        'inet'::pg_catalog.regtype, 'cidr'::pg_catalog.regtype, 'macaddr'::pg_catalog.regtype) THEN pg_catalog.format_type(col.typ, NULL)
    END;
    IF log_type IS NULL THEN
      RAISE EXCEPTION 'column % of % has type %: keys that are equal may have two texts', pg_catalog.quote_ident(col.attname), rel,
        pg_catalog.format_type(col.typ, NULL) USING ERRCODE = '0A000',
        HINT = 'Integers, text, varchar, char, uuid, boolean, date, timestamps, bytea, enums and network addresses are allowed.';
    END IF;
    log_columns := log_columns || pg_catalog.format(', k%s %s%s', n, log_type, col.collation);
    names := names || pg_catalog.format(', k%s', n);
    of_new := of_new || pg_catalog.format(', n.%I', col.attname);
    of_old := of_old || pg_catalog.format(', o.%I', col.attname);
    of_new_row := of_new_row || pg_catalog.format(', NEW.%I', col.attname);
    of_old_row := of_old_row || pg_catalog.format(', OLD.%I', col.attname);
  END LOOP;

  IF listwatch.needs_row_triggers(rel) THEN
    IF level = 'statement' THEN
      RAISE EXCEPTION 'rows of % change by statements on other tables or by replication, which fire only triggers of level row', rel USING ERRCODE = '0A000';
    END IF;
    chosen_level := 'row';
  ELSIF level = 'auto' THEN
    chosen_level := 'statement';
  END IF;
  IF wake = 'auto' THEN
    -- A transaction that has notified cannot be prepared.
    chosen_wake := CASE WHEN pg_catalog.current_setting('max_prepared_transactions') = '0' THEN 'bucket' ELSE 'none' END;
  END IF;

  EXECUTE pg_catalog.format('CREATE UNLOGGED TABLE listwatch.%I (xid pg_catalog.xid8 NOT NULL, op "char" NOT NULL DEFAULT ''K''%s)
    WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 10000, autovacuum_analyze_threshold = 10000, autovacuum_vacuum_insert_threshold = -1)',
    log, log_columns);
  EXECUTE pg_catalog.format('CREATE INDEX ON listwatch.%I (xid)', log);

  signal := CASE chosen_wake
    WHEN 'none' THEN ''
    WHEN 'each' THEN $s$ PERFORM pg_catalog.pg_notify('listwatch', '');$s$
    ELSE $s$
  IF ((pg_catalog.date_part('epoch', pg_catalog.clock_timestamp()) * 1000)::pg_catalog.int8 - pg_catalog.pg_sequence_last_value('listwatch.announced'::pg_catalog.regclass)) & -32 IS DISTINCT FROM 0 THEN
    DECLARE
      me CONSTANT pg_catalog.int8 := pg_catalog.pg_current_xact_id()::pg_catalog.text::pg_catalog.int8;
      now_ms CONSTANT pg_catalog.int8 := (pg_catalog.date_part('epoch', pg_catalog.clock_timestamp()) * 1000)::pg_catalog.int8;
      claim pg_catalog.int8 := pg_catalog.pg_sequence_last_value('listwatch.claimed'::pg_catalog.regclass);
      claimant CONSTANT pg_catalog.int8 := (me & ~274877906943) | (claim & 274877906943);
      age CONSTANT pg_catalog.int8 := (now_ms - (claim >> 39)) & 16777215;
      status pg_catalog.text;
    BEGIN
      IF age < 32 AND claimant <> me THEN
        -- A later transaction may be one that does not exist, in a restored dump: its status is not looked up.
        status := CASE WHEN claimant < me THEN pg_catalog.pg_xact_status(claimant::pg_catalog.text::pg_catalog.xid8) ELSE 'in progress' END;
      END IF;
      IF status = 'committed' THEN
        PERFORM pg_catalog.setval('listwatch.announced'::pg_catalog.regclass, now_ms - age);
      ELSIF pg_catalog.current_setting('listwatch.woken', true) IS DISTINCT FROM me::pg_catalog.text THEN
        IF status IS DISTINCT FROM 'in progress' THEN
          IF pg_catalog.pg_sequence_last_value('listwatch.claimed'::pg_catalog.regclass) IS NOT DISTINCT FROM claim THEN
            PERFORM pg_catalog.setval('listwatch.claimed'::pg_catalog.regclass, ((now_ms & 16777215) << 39) | (me & 274877906943)
              | CASE WHEN age BETWEEN 32 AND 250 THEN 0 ELSE 274877906944 END);
          ELSE
            -- Another transaction has found the same, and has claimed at this moment.
            claim := pg_catalog.pg_sequence_last_value('listwatch.claimed'::pg_catalog.regclass);
            status := 'in progress';
          END IF;
        END IF;
        IF status IS DISTINCT FROM 'in progress' OR claim & 274877906944 <> 0 THEN
          PERFORM pg_catalog.set_config('listwatch.woken', me::pg_catalog.text, true);
          PERFORM pg_catalog.pg_notify('listwatch', '');
        END IF;
      END IF;
    END;
  END IF;$s$ END;

  FOR event IN
    SELECT * FROM (VALUES
      ('i', 'INSERT', 'REFERENCING NEW TABLE AS n', 'statement', 'n', 'SELECT ' || pg_catalog.substr(of_new, 3) || ' FROM n'),
      ('u', 'UPDATE', 'REFERENCING OLD TABLE AS o NEW TABLE AS n', 'statement', 'n',
        'SELECT ' || pg_catalog.substr(of_old, 3) || ' FROM o UNION SELECT ' || pg_catalog.substr(of_new, 3) || ' FROM n'),
      ('d', 'DELETE', 'REFERENCING OLD TABLE AS o', 'statement', 'o', 'SELECT ' || pg_catalog.substr(of_old, 3) || ' FROM o'),
      -- Partitions get this trigger too, and may have one of their own: the name distinguishes the two.
      ('r_' || pg_catalog.substr(log, 5), 'INSERT OR UPDATE OR DELETE', '', 'row', NULL, NULL),
      ('t', 'TRUNCATE', '', NULL, NULL, NULL)
    ) v(name, on_what, referencing, at_level, rows_of, keys) WHERE v.at_level IS NULL OR v.at_level = chosen_level
  LOOP
    -- The bodies are literals: a column's name may contain any text that would end another kind of quoting.
    EXECUTE pg_catalog.format('CREATE FUNCTION listwatch.%I() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = '''' AS %L',
      log || '_' || event.name, pg_catalog.format($f$
DECLARE
  written pg_catalog.int8;
BEGIN
  %s
  RETURN NULL;
END $f$, CASE
      WHEN event.at_level = 'statement' THEN pg_catalog.format($b$INSERT INTO listwatch.%1$I (xid%2$s) SELECT pg_catalog.pg_current_xact_id(), k.* FROM (%5$s) k
    WHERE NOT EXISTS (SELECT FROM %3$s OFFSET %4$s);
  GET DIAGNOSTICS written = ROW_COUNT;
  IF written = 0 THEN
    IF NOT EXISTS (SELECT FROM %3$s) THEN RETURN NULL; END IF;
    INSERT INTO listwatch.%1$I (xid, op) VALUES (pg_catalog.pg_current_xact_id(), 'T');
    written := 1;
  END IF;%6$s
  IF pg_catalog.random() * 4096 < written THEN PERFORM listwatch.tidy('listwatch.%1$I', written); END IF;$b$,
        log, names, event.rows_of, bulk, event.keys, signal)
      WHEN event.at_level = 'row' THEN pg_catalog.format($b$IF TG_OP <> 'DELETE' THEN
    INSERT INTO listwatch.%1$I (xid%2$s) VALUES (pg_catalog.pg_current_xact_id()%3$s);
  END IF;
  IF TG_OP = 'DELETE' OR (TG_OP = 'UPDATE' AND (%5$s) IS DISTINCT FROM (%6$s)) THEN
    INSERT INTO listwatch.%1$I (xid%2$s) VALUES (pg_catalog.pg_current_xact_id()%4$s);
  END IF;%7$s
  IF pg_catalog.random() * 4096 < 1 THEN PERFORM listwatch.tidy('listwatch.%1$I', 1); END IF;$b$,
        log, names, of_new_row, of_old_row, pg_catalog.substr(of_old_row, 3), pg_catalog.substr(of_new_row, 3), signal)
      ELSE pg_catalog.format($b$INSERT INTO listwatch.%1$I (xid, op) VALUES (pg_catalog.pg_current_xact_id(), 'T');%2$s$b$, log, signal)
    END));
    -- Otherwise any role could write to the log from its own table. The creator of a partition needs the right for row triggers.
    IF event.at_level IS DISTINCT FROM 'row' THEN
      EXECUTE pg_catalog.format('REVOKE ALL ON FUNCTION listwatch.%I() FROM PUBLIC', log || '_' || event.name);
    END IF;
    EXECUTE pg_catalog.format('CREATE TRIGGER zz_listwatch_%s AFTER %s ON %s %s FOR EACH %s EXECUTE FUNCTION listwatch.%I(%L)',
      event.name, event.on_what, rel, event.referencing, CASE event.at_level WHEN 'row' THEN 'ROW' ELSE 'STATEMENT' END, log || '_' || event.name, log);
    -- They fire even if a restore or a replication tool has set session_replication_role to replica.
    EXECUTE pg_catalog.format('ALTER TABLE %s ENABLE ALWAYS TRIGGER zz_listwatch_%s', rel, event.name);
  END LOOP;

  EXECUTE pg_catalog.format('COMMENT ON TABLE listwatch.%I IS %L', log, pg_catalog.jsonb_build_object(
    'table', rel::pg_catalog.text, 'generation', pg_catalog.gen_random_uuid(), 'key', key, 'level', level, 'wake', wake, 'bulk', bulk,
    'readers', readers, 'keyColumns', key_columns, 'fires', chosen_level, 'wakes', chosen_wake));
  FOREACH reader IN ARRAY readers LOOP
    PERFORM listwatch.grant_to(rel, reader);
  END LOOP;
  RETURN 'listwatch.' || log;
END $install$;

-- Installs again with the same options. Call it in the migration that changes the table's key, after the change.
CREATE OR REPLACE FUNCTION listwatch.reinstall(rel regclass) RETURNS text LANGUAGE plpgsql SET search_path = '' AS $$
DECLARE
  o pg_catalog.jsonb;
BEGIN
  SELECT l.options INTO o FROM listwatch.logs() l WHERE l.relid = rel;
  IF o IS NULL THEN RAISE EXCEPTION '% has no triggers of listwatch', rel USING ERRCODE = '42704'; END IF;
  RETURN listwatch.install(rel,
    CASE WHEN o->'key' <> 'null' THEN ARRAY (SELECT pg_catalog.jsonb_array_elements_text(o->'key')) END,
    o->>'level', o->>'wake', (o->>'bulk')::pg_catalog.int4,
    ARRAY (SELECT pg_catalog.jsonb_array_elements_text(o->'readers')));
END $$;

-- Removes the log and the triggers of a table. Returns whether there was a log.
CREATE OR REPLACE FUNCTION listwatch.uninstall(rel regclass) RETURNS boolean LANGUAGE plpgsql SET search_path = '' AS $$
DECLARE
  log pg_catalog.regclass;
  t record;
  f record;
BEGIN
  SELECT l.log INTO log FROM listwatch.logs() l WHERE l.relid = rel;
  FOR t IN SELECT g.tgname, g.tgfoid::pg_catalog.regprocedure AS fn FROM pg_catalog.pg_trigger g
            WHERE g.tgrelid = rel AND NOT g.tgisinternal AND g.tgparentid = 0 AND g.tgname LIKE 'zz\_listwatch\_%' LOOP
    EXECUTE pg_catalog.format('DROP TRIGGER %I ON %s', t.tgname, rel);
    EXECUTE pg_catalog.format('DROP FUNCTION %s', t.fn);
  END LOOP;
  IF log IS NULL THEN RETURN false; END IF;
  EXECUTE pg_catalog.format('DROP TABLE %s', log);
  RETURN true;
END $$;

-- Grants a role the rights that it needs to mirror the table, and no others.
CREATE OR REPLACE FUNCTION listwatch.grant_to(rel regclass, role_name text) RETURNS void LANGUAGE plpgsql SET search_path = '' AS $$
DECLARE
  log pg_catalog.regclass;
BEGIN
  SELECT l.log INTO log FROM listwatch.logs() l WHERE l.relid = rel;
  -- If the role was granted columns, it keeps these alone. A role that reads the table as a member of another role gets the right itself.
  IF pg_catalog.has_table_privilege(role_name, rel, 'SELECT') OR NOT pg_catalog.has_any_column_privilege(role_name, rel, 'SELECT') THEN
    EXECUTE pg_catalog.format('GRANT SELECT ON %s TO %I', rel, role_name);
  END IF;
  EXECUTE pg_catalog.format('GRANT SELECT ON %s, listwatch.state TO %I', log, role_name);
  EXECUTE pg_catalog.format('GRANT EXECUTE ON FUNCTION listwatch.epoch(), listwatch.seeded(), listwatch.shape(oid), listwatch.fingerprint(oid), listwatch.problems(oid), listwatch.needs_row_triggers(oid), listwatch.firing("char"), listwatch.is_not_null(oid, int2), listwatch.covers(pg_snapshot, pg_snapshot), listwatch.tend(), listwatch.logs(), listwatch.system_id(), listwatch.database_id(), listwatch.schema_version() TO %I', role_name);
END $$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA listwatch FROM PUBLIC;
GRANT EXECUTE ON FUNCTION listwatch.mark(), listwatch.schema_version() TO PUBLIC;

-- One row for each group. Its lock orders all renewals of the group.
CREATE TABLE IF NOT EXISTS listwatch.lease_groups (
  name  text   PRIMARY KEY,
  fence bigint NOT NULL
) WITH (fillfactor = 10);

CREATE TABLE IF NOT EXISTS listwatch.leases (
  group_name text        NOT NULL,
  member     text        NOT NULL,
  renewal    bigint      NOT NULL,
  body       text        NOT NULL,
  written_at timestamptz NOT NULL,
  PRIMARY KEY (group_name, member)
) WITH (fillfactor = 10);

-- Evicts records, writes the record of a member, and then reads all records of the group. Each statement of the function sees all
-- transactions that were committed before the statement began. The statements after the lock therefore see the renewal for which the
-- lock waited. A single statement would use the snapshot of the time before the lock, and would miss that renewal.
CREATE OR REPLACE FUNCTION listwatch.renew_lease(
  of_group text, of_member text, new_renewal bigint, new_body text, evicted text[], evicted_renewals bigint[]
) RETURNS text LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
DECLARE
  -- Postgres empties the table of the epoch whenever commits may have been lost.
  epoch CONSTANT pg_catalog.text := listwatch.epoch();
  new_fence pg_catalog.int8;
  old_renewal pg_catalog.int8;
  old_body pg_catalog.text;
  is_changed pg_catalog.bool;
BEGIN
  IF pg_catalog.current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION 'renew_lease needs the isolation level read committed' USING ERRCODE = '25001';
  END IF;
  IF pg_catalog.current_setting('synchronous_commit') IN ('off', 'local', 'remote_write') THEN
    PERFORM pg_catalog.set_config('synchronous_commit', 'on', true);
  END IF;

  -- The clock makes a fence greater than those before a failover that has lost the last ones.
  INSERT INTO listwatch.lease_groups AS g (name, fence) VALUES (of_group, (extract(epoch FROM pg_catalog.clock_timestamp()) * 1000000)::pg_catalog.int8)
    ON CONFLICT (name) DO UPDATE SET fence = greatest(g.fence + 1, (extract(epoch FROM pg_catalog.clock_timestamp()) * 1000000)::pg_catalog.int8) RETURNING g.fence INTO new_fence;
  SELECT l.renewal, l.body INTO old_renewal, old_body FROM listwatch.leases l WHERE l.group_name = of_group AND l.member = of_member;
  IF (old_renewal IS NULL) <> (new_renewal = 0) OR old_renewal >= new_renewal THEN
    RETURN pg_catalog.json_build_object('lost', true, 'found', old_renewal)::pg_catalog.text;
  END IF;

  DELETE FROM listwatch.leases l USING unnest(evicted, evicted_renewals) e(member, renewal)
   WHERE l.group_name = of_group AND l.member = e.member AND l.renewal = e.renewal AND l.member <> of_member;
  is_changed := FOUND OR old_body IS DISTINCT FROM new_body;
  INSERT INTO listwatch.leases AS l (group_name, member, renewal, body, written_at)
    VALUES (of_group, of_member, new_renewal, new_body, pg_catalog.clock_timestamp())
    ON CONFLICT (group_name, member) DO UPDATE SET renewal = EXCLUDED.renewal, body = EXCLUDED.body, written_at = EXCLUDED.written_at;
  IF is_changed THEN PERFORM pg_catalog.pg_notify('listwatch_leases', pg_catalog.concat(of_group, ' ', of_member)); END IF;

  RETURN (SELECT pg_catalog.json_build_object('fence', new_fence, 'epoch', epoch, 'records', pg_catalog.json_agg(pg_catalog.json_build_object(
            'member', l.member, 'renewal', l.renewal, 'body', l.body,
            'ageMs', extract(epoch FROM pg_catalog.clock_timestamp() - l.written_at) * 1000)))
            FROM listwatch.leases l WHERE l.group_name = of_group)::pg_catalog.text;
END $$;

-- Removes the record of a member.
CREATE OR REPLACE FUNCTION listwatch.leave_group(of_group text, of_member text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
BEGIN
  DELETE FROM listwatch.leases l WHERE l.group_name = of_group AND l.member = of_member;
  IF FOUND THEN PERFORM pg_catalog.pg_notify('listwatch_leases', pg_catalog.concat(of_group, ' ', of_member)); END IF;
END $$;

REVOKE ALL ON FUNCTION listwatch.renew_lease(text, text, bigint, text, text[], bigint[]), listwatch.leave_group(text, text) FROM PUBLIC;

SELECT listwatch.install('t', readers => ARRAY['schema_1_reader']::text[]);
SELECT listwatch.install('p', readers => ARRAY['schema_1_reader']::text[]);
COMMIT;
