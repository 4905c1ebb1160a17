import { INTEGER_TYPES, TEXT_TYPES } from './shape-sql.js'
import { WAKE_BLOCK } from './wake-sql.js'

/** What a reader calls for each log. These functions run as the reader, except `epoch` and `tend`. */
const READER_FUNCTIONS = [
  'epoch()',
  'tend()',
  'logs()',
  'shows_keys(pg_catalog.regclass)',
  'covers(pg_catalog.pg_snapshot, pg_catalog.pg_snapshot)',
  'shape(pg_catalog.oid)',
  'fingerprint(pg_catalog.oid)',
  'problems(pg_catalog.oid)',
  'needs_row_triggers(pg_catalog.oid)',
  'firing(pg_catalog."char")',
  'is_not_null(pg_catalog.oid, pg_catalog.int2)',
  'base_type(pg_catalog.oid, pg_catalog.int4)',
  'is_own_order(pg_catalog.oid, pg_catalog.oid)',
  'collate_clause(pg_catalog.oid)',
]

/** SQL that installs and removes the log of one table and its triggers, and grants rights to readers. */
export const INSTALL_SQL: string = `-- Creates the log of a table and the triggers that write it. Replaces existing ones.
CREATE OR REPLACE FUNCTION listwatch.install(
  rel pg_catalog.regclass, key pg_catalog.text[] DEFAULT NULL, level pg_catalog.text DEFAULT 'auto', wake pg_catalog.text DEFAULT 'auto',
  bulk pg_catalog.int4 DEFAULT 100000, readers pg_catalog.text[] DEFAULT '{}'
) RETURNS pg_catalog.text LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $install$
DECLARE
  rel_kind pg_catalog."char";
  key_columns pg_catalog.name[];
  log pg_catalog.text := 'log_' || pg_catalog.left(pg_catalog.replace(pg_catalog.gen_random_uuid()::pg_catalog.text, '-', ''), 12);
  log_table pg_catalog.regclass;
  col pg_catalog.record;
  log_type pg_catalog.text;
  log_columns pg_catalog.text := '';
  chosen_level pg_catalog.text := level;
  chosen_wake pg_catalog.text := wake;
  missing pg_catalog.text;
  kept pg_catalog.text[];
  n pg_catalog.int4 := 0;
BEGIN
  IF level NOT IN ('auto', 'statement', 'row') THEN RAISE EXCEPTION 'level must be auto, statement or row, not %', level USING ERRCODE = '22023'; END IF;
  IF wake NOT IN ('auto', 'bucket', 'each', 'none') THEN RAISE EXCEPTION 'wake must be auto, bucket, each or none, not %', wake USING ERRCODE = '22023'; END IF;
  IF bulk < 1 THEN RAISE EXCEPTION 'bulk must be at least 1, not %', bulk USING ERRCODE = '22023'; END IF;
  SELECT r.name INTO missing FROM pg_catalog.unnest(readers) r(name) WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_roles p WHERE p.rolname = r.name);
  IF missing IS NOT NULL THEN RAISE EXCEPTION 'role "%" does not exist', missing USING ERRCODE = '42704'; END IF;
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
  kept := ARRAY (SELECT r.name FROM listwatch.logs() l CROSS JOIN listwatch.readers(rel, l.log) r(name) WHERE l.relid = rel AND r.name <> ALL (readers));
  PERFORM listwatch.uninstall(rel);
  PERFORM listwatch.epoch();

  -- The key: the primary key, or the columns of a unique index without NULLs that covers all rows.
  SELECT pg_catalog.array_agg(a.attname ORDER BY k.place) INTO key_columns
    FROM (
      SELECT i.indrelid, i.indkey, i.indnkeyatts FROM pg_catalog.pg_index i
       WHERE i.indrelid = rel AND i.indisunique AND i.indisvalid AND i.indpred IS NULL AND i.indexprs IS NULL AND listwatch.is_own_order(rel, i.indexrelid)
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
    SELECT a.attnum, a.attname, listwatch.is_not_null(rel, a.attnum) AS is_not_null, b.typ, b.typmod, t.typtype,
           listwatch.collate_clause(a.attcollation) AS collation,
           (SELECT c.collisdeterministic FROM pg_catalog.pg_collation c WHERE c.oid = a.attcollation) AS is_exact
      FROM pg_catalog.pg_attribute a CROSS JOIN LATERAL listwatch.base_type(a.atttypid, a.atttypmod) b JOIN pg_catalog.pg_type t ON t.oid = b.typ
     WHERE a.attrelid = rel AND a.attname = ANY (key_columns) ORDER BY pg_catalog.array_position(key_columns, a.attname)
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
      WHEN col.typ = ANY ('${INTEGER_TYPES}'::pg_catalog.regtype[]) THEN 'pg_catalog.int8'
      WHEN col.typ = ANY ('${TEXT_TYPES}'::pg_catalog.regtype[]) THEN 'pg_catalog.text'
      WHEN col.typ = 'pg_catalog.bpchar'::pg_catalog.regtype AND col.typmod <> -1 THEN 'pg_catalog.bpchar'
      WHEN col.typtype = 'e' OR col.typ IN ('pg_catalog.uuid'::pg_catalog.regtype, 'pg_catalog.bool'::pg_catalog.regtype, 'pg_catalog.date'::pg_catalog.regtype,
        'pg_catalog.timestamp'::pg_catalog.regtype, 'pg_catalog.timestamptz'::pg_catalog.regtype, 'pg_catalog.bytea'::pg_catalog.regtype, 'pg_catalog.oid'::pg_catalog.regtype,
        'pg_catalog.inet'::pg_catalog.regtype, 'pg_catalog.cidr'::pg_catalog.regtype, 'pg_catalog.macaddr'::pg_catalog.regtype) THEN pg_catalog.format_type(col.typ, NULL)
    END;
    IF log_type IS NULL THEN
      RAISE EXCEPTION 'column % of % has type %: keys that are equal may have two texts', pg_catalog.quote_ident(col.attname), rel,
        pg_catalog.format_type(col.typ, -1) USING ERRCODE = '0A000',
        HINT = 'Integers, text, varchar, char(n), uuid, boolean, date, timestamps, bytea, enums and network addresses are allowed.';
    END IF;
    log_columns := log_columns || pg_catalog.format(', k%s %s%s', n, log_type, col.collation);
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

  EXECUTE pg_catalog.format('CREATE UNLOGGED TABLE listwatch.%I (xid pg_catalog.xid8 NOT NULL, op pg_catalog."char" NOT NULL DEFAULT ''K''%s)
    WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 10000, autovacuum_analyze_threshold = 10000, autovacuum_vacuum_insert_threshold = -1)',
    log, log_columns);
  EXECUTE pg_catalog.format('CREATE INDEX ON listwatch.%I (xid)', log);
  EXECUTE pg_catalog.format('COMMENT ON TABLE listwatch.%I IS %L', log, pg_catalog.jsonb_build_object(
    'table', rel::pg_catalog.text, 'generation', pg_catalog.gen_random_uuid(), 'key', key, 'level', level, 'wake', wake, 'bulk', bulk,
    'readers', readers || kept, 'keyColumns', key_columns, 'fires', chosen_level, 'wakes', chosen_wake));
  log_table := pg_catalog.format('listwatch.%I', log)::pg_catalog.regclass;
  PERFORM listwatch.define(rel, log_table);
  PERFORM listwatch.grant_to(rel, log_table, r.name) FROM pg_catalog.unnest(readers) r(name);
  PERFORM listwatch.grant_log(log_table, r.name) FROM pg_catalog.unnest(kept) r(name);
  FOR col IN SELECT t.* FROM listwatch.triggers(log, chosen_level) t LOOP
    EXECUTE pg_catalog.format('CREATE TRIGGER %I AFTER %s ON %s %s FOR EACH %s EXECUTE FUNCTION listwatch.%I()',
      col.name, col.event, rel, col.referencing, col.for_each, col.fn);
    -- They fire even if a restore or a replication tool has set session_replication_role to replica.
    EXECUTE pg_catalog.format('ALTER TABLE %s ENABLE ALWAYS TRIGGER %I', rel, col.name);
  END LOOP;
  RETURN 'listwatch.' || log;
END $install$;

-- The triggers of a table and their functions. Partitions get the trigger for rows too, and may have one of their own: its name distinguishes
-- the two.
CREATE OR REPLACE FUNCTION listwatch.triggers(log pg_catalog.text, fires pg_catalog.text)
RETURNS TABLE (name pg_catalog.text, fn pg_catalog.text, event pg_catalog.text, referencing pg_catalog.text, for_each pg_catalog.text)
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT 'zz_listwatch_' || v.suffix, log || '_' || v.suffix, v.event, v.referencing, CASE v.fires WHEN 'row' THEN 'ROW' ELSE 'STATEMENT' END
    FROM (VALUES
      ('i', 'INSERT', 'REFERENCING NEW TABLE AS n', 'statement'),
      ('u', 'UPDATE', 'REFERENCING OLD TABLE AS o NEW TABLE AS n', 'statement'),
      ('d', 'DELETE', 'REFERENCING OLD TABLE AS o', 'statement'),
      ('r_' || pg_catalog.substr(log, 5), 'INSERT OR UPDATE OR DELETE', '', 'row'),
      ('t', 'TRUNCATE', '', NULL)
    ) v(suffix, event, referencing, fires) WHERE v.fires IS NULL OR v.fires = triggers.fires
$$;

-- Creates or replaces the trigger functions of a log, its policy, and the rights of its readers. It takes no lock on the table.
--
-- The trigger functions run as their owner, because writers have no right on the log. Therefore they read the value of a key column only if
-- the column has the type and the collation that the log was made for: another type may have its own cast, which is a function of another
-- role. Otherwise they log that something changed, and mirrors list. The type is that of the parsed statement, because a look-up in the
-- catalog shows an older definition to a transaction with an older snapshot. The type of CASE is the base type of a domain. The check is a
-- statement before the one that reads keys: the planner of that one may already call the functions of a cast. The plan of a statement that
-- reads a transition table is made again after a change of the table. That of an expression is not, so a check of NEW reads NEW: then
-- PL/pgSQL refuses another type than at the first execution. The text of pg_collation_for has the collation that it names, and two collations
-- cannot be compared, so a third one compares the texts.
CREATE OR REPLACE FUNCTION listwatch.define(rel pg_catalog.regclass, log pg_catalog.regclass) RETURNS pg_catalog.void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $define$
DECLARE
  log_name pg_catalog.text := (SELECT l.relname FROM pg_catalog.pg_class l WHERE l.oid = log);
  options pg_catalog.jsonb := pg_catalog.obj_description(log, 'pg_class')::pg_catalog.jsonb;
  signal pg_catalog.text := CASE options->>'wakes'
    WHEN 'none' THEN ''
    WHEN 'each' THEN $s$ PERFORM pg_catalog.pg_notify('listwatch', '');$s$
    ELSE $s$${WAKE_BLOCK}$s$ END;
  names pg_catalog.text;
  of_new pg_catalog.text;
  of_old pg_catalog.text;
  of_new_row pg_catalog.text;
  of_old_row pg_catalog.text;
  is_known_new pg_catalog.text;
  is_known_old pg_catalog.text;
  is_known_row pg_catalog.text;
  made pg_catalog.record;
  owner pg_catalog.oid;
BEGIN
  SELECT pg_catalog.string_agg(c.logged, ', ' ORDER BY c.place),
         pg_catalog.string_agg('n.' || c.col, ', ' ORDER BY c.place), pg_catalog.string_agg('o.' || c.col, ', ' ORDER BY c.place),
         pg_catalog.string_agg('NEW.' || c.col, ', ' ORDER BY c.place), pg_catalog.string_agg('OLD.' || c.col, ', ' ORDER BY c.place),
         pg_catalog.string_agg(pg_catalog.format(c.is_known, 'CASE WHEN false THEN n.' || c.col || ' END', log, c.logged), ' AND ' ORDER BY c.place),
         pg_catalog.string_agg(pg_catalog.format(c.is_known, 'CASE WHEN false THEN o.' || c.col || ' END', log, c.logged), ' AND ' ORDER BY c.place),
         pg_catalog.string_agg(pg_catalog.format(c.is_known, pg_catalog.format('CASE WHEN NEW.%1$s IS NULL THEN NEW.%1$s END', c.col), log, c.logged), ' AND ' ORDER BY c.place)
    INTO names, of_new, of_old, of_new_row, of_old_row, is_known_new, is_known_old, is_known_row
    FROM (
      SELECT k.place, pg_catalog.quote_ident(k.name) AS col, g.attname::pg_catalog.text AS logged, 'pg_catalog.pg_typeof(%1$s)' || CASE g.atttypid
          WHEN 'pg_catalog.int8'::pg_catalog.regtype THEN ' = ANY (''${INTEGER_TYPES}''::pg_catalog.regtype[])'
          WHEN 'pg_catalog.text'::pg_catalog.regtype THEN ' = ANY (''${TEXT_TYPES}''::pg_catalog.regtype[])'
          ELSE ' = pg_catalog.pg_typeof((NULL::%2$s).%3$s)' END
        || CASE WHEN g.attcollation <> 0 THEN ' AND pg_catalog.pg_collation_for(%1$s) COLLATE pg_catalog."C" = pg_catalog.pg_collation_for((NULL::%2$s).%3$s)' ELSE '' END AS is_known
        FROM pg_catalog.jsonb_array_elements_text(options->'keyColumns') WITH ORDINALITY k(name, place)
        JOIN pg_catalog.pg_attribute g ON g.attrelid = log AND g.attname = pg_catalog.concat('k', k.place)
    ) c;

  FOR made IN SELECT g.* FROM listwatch.triggers(log_name, options->>'fires') g LOOP
    -- The bodies are literals: a column's name may contain any text that would end another kind of quoting.
    EXECUTE pg_catalog.format('CREATE OR REPLACE FUNCTION listwatch.%I() RETURNS pg_catalog.trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS %L',
      made.fn, pg_catalog.format($f$
DECLARE
  written pg_catalog.int8 := 0;
BEGIN
  %s
  RETURN NULL;
END $f$, CASE
      WHEN made.event = 'TRUNCATE' THEN pg_catalog.format($b$INSERT INTO %1$s (xid, op) VALUES (pg_catalog.pg_current_xact_id(), 'T');%2$s$b$, log, signal)
      WHEN made.for_each = 'ROW' THEN pg_catalog.format($b$IF (%7$s) IS NOT TRUE THEN
    INSERT INTO %1$s (xid, op) VALUES (pg_catalog.pg_current_xact_id(), 'T');
  ELSE
    IF TG_OP <> 'DELETE' THEN
      INSERT INTO %1$s (xid, %2$s) VALUES (pg_catalog.pg_current_xact_id(), %3$s);
    END IF;
    IF TG_OP = 'DELETE' OR (TG_OP = 'UPDATE' AND (%4$s) IS DISTINCT FROM (%3$s)) THEN
      INSERT INTO %1$s (xid, %2$s) VALUES (pg_catalog.pg_current_xact_id(), %4$s);
    END IF;
  END IF;%5$s
  IF pg_catalog.random() * 4096 < 1 THEN PERFORM listwatch.tidy(%6$L, 1); END IF;$b$,
        log, names, of_new_row, of_old_row, signal, log, is_known_row)
      ELSE pg_catalog.format($b$IF EXISTS (SELECT FROM %5$s WHERE %4$s) THEN
    INSERT INTO %1$s (xid, %2$s) SELECT pg_catalog.pg_current_xact_id(), k.* FROM (%3$s) k WHERE NOT EXISTS (SELECT FROM %5$s OFFSET %6$s);
    GET DIAGNOSTICS written = ROW_COUNT;
  END IF;
  IF written = 0 THEN
    IF NOT EXISTS (SELECT FROM %5$s) THEN RETURN NULL; END IF;
    INSERT INTO %1$s (xid, op) VALUES (pg_catalog.pg_current_xact_id(), 'T');
    written := 1;
  END IF;%7$s
  IF pg_catalog.random() * 4096 < written THEN PERFORM listwatch.tidy(%8$L, written); END IF;$b$,
        log, names,
        CASE made.event
          WHEN 'INSERT' THEN pg_catalog.format('SELECT %s FROM n', of_new)
          WHEN 'DELETE' THEN pg_catalog.format('SELECT %s FROM o', of_old)
          ELSE pg_catalog.format('SELECT %s FROM o UNION SELECT %s FROM n', of_old, of_new) END,
        CASE made.event WHEN 'DELETE' THEN is_known_old ELSE is_known_new END, CASE made.event WHEN 'DELETE' THEN 'o' ELSE 'n' END,
        options->>'bulk', signal, log)
    END));
    -- Otherwise any role could write to the log from its own table.
    PERFORM listwatch.revoke_all(made.fn);
    -- Who creates a partition needs the right for row triggers.
    SELECT c.relowner INTO owner FROM pg_catalog.pg_class c WHERE c.oid = rel AND c.relkind = 'p';
    IF made.for_each = 'ROW' AND owner IS NOT NULL THEN
      EXECUTE pg_catalog.format('GRANT EXECUTE ON FUNCTION listwatch.%I() TO %s', made.fn, owner::pg_catalog.regrole);
    END IF;
  END LOOP;

  -- Whether the log has rows of a transaction that is not older than the first argument, or of one of the given transactions. For readers to
  -- which the log shows no keys.
  EXECUTE pg_catalog.format('CREATE OR REPLACE FUNCTION listwatch.%I(pg_catalog.xid8, pg_catalog.xid8[]) RETURNS pg_catalog.bool
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS %L', log_name || '_changes',
    pg_catalog.format('SELECT EXISTS (SELECT FROM %1$s l WHERE l.xid >= $1) OR EXISTS (SELECT FROM %1$s l WHERE l.xid = ANY ($2))', log));
  PERFORM listwatch.revoke_all(log_name || '_changes');
  EXECUTE pg_catalog.format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', log);
  EXECUTE pg_catalog.format('DROP POLICY IF EXISTS shown ON %s', log);
  EXECUTE pg_catalog.format('CREATE POLICY shown ON %s FOR SELECT USING ((SELECT listwatch.shows_keys(%L::pg_catalog.regclass)))', log, log);
  PERFORM listwatch.grant_log(log, r.name) FROM listwatch.readers(rel, log) r(name);
  EXECUTE pg_catalog.format('COMMENT ON TABLE %s IS %L', log,
    options || pg_catalog.jsonb_build_object('schemaVersion', listwatch.schema_version()));
END $define$;

-- Revokes the right to execute a function of a log from all roles but its owner.
CREATE OR REPLACE FUNCTION listwatch.revoke_all(fn pg_catalog.text) RETURNS pg_catalog.void LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  grantee pg_catalog.regrole;
BEGIN
  EXECUTE pg_catalog.format('REVOKE ALL ON FUNCTION listwatch.%I FROM PUBLIC', fn);
  FOR grantee IN SELECT DISTINCT a.grantee FROM pg_catalog.pg_proc p, pg_catalog.aclexplode(p.proacl) a
    WHERE p.pronamespace = 'listwatch'::pg_catalog.regnamespace AND p.proname = fn AND a.grantee <> p.proowner LOOP
    EXECUTE pg_catalog.format('REVOKE ALL ON FUNCTION listwatch.%I FROM %s', fn, grantee);
  END LOOP;
END $$;

-- The roles that were granted the right to mirror a table, and that still have it.
CREATE OR REPLACE FUNCTION listwatch.readers(rel pg_catalog.regclass, log pg_catalog.regclass) RETURNS SETOF pg_catalog.text
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT r.name FROM pg_catalog.jsonb_array_elements_text(pg_catalog.obj_description(log, 'pg_class')::pg_catalog.jsonb->'readers') r(name)
    JOIN pg_catalog.pg_roles p ON p.rolname = r.name
   WHERE pg_catalog.has_table_privilege(p.oid, log, 'SELECT') AND pg_catalog.has_any_column_privilege(p.oid, rel, 'SELECT')
$$;

-- Installs again with the same options. Call it in the migration that changes the table's key, after the change.
CREATE OR REPLACE FUNCTION listwatch.reinstall(rel pg_catalog.regclass) RETURNS pg_catalog.text LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  o pg_catalog.jsonb;
BEGIN
  SELECT l.options INTO o FROM listwatch.logs() l WHERE l.relid = rel;
  IF o IS NULL THEN RAISE EXCEPTION '% has no triggers of listwatch', rel USING ERRCODE = '42704'; END IF;
  RETURN listwatch.install(rel,
    CASE WHEN o->'key' <> 'null' THEN ARRAY (SELECT k.name FROM pg_catalog.jsonb_array_elements_text(o->'key') k(name)) END,
    o->>'level', o->>'wake', (o->>'bulk')::pg_catalog.int4);
END $$;

-- Removes the log and the triggers of a table. Returns whether there was a log. It drops no function that another role has given a trigger.
CREATE OR REPLACE FUNCTION listwatch.uninstall(rel pg_catalog.regclass) RETURNS pg_catalog.bool LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  log_name pg_catalog.text;
  t pg_catalog.record;
BEGIN
  -- The trigger for TRUNCATE names the log; if it was dropped, the others do. The rest of a function's name begins after the log's.
  SELECT pg_catalog.left(f.proname, 16) INTO log_name FROM pg_catalog.pg_trigger g
    JOIN pg_catalog.pg_proc f ON f.oid = g.tgfoid AND f.pronamespace = 'listwatch'::pg_catalog.regnamespace
   WHERE g.tgrelid = rel AND g.tgname LIKE 'zz\\_listwatch\\_%' AND NOT g.tgisinternal AND g.tgparentid = 0
   ORDER BY g.tgname = 'zz_listwatch_t' DESC LIMIT 1;
  IF log_name IS NULL THEN RETURN false; END IF;
  FOR t IN SELECT g.tgname, f.oid::pg_catalog.regprocedure AS fn FROM pg_catalog.pg_trigger g
             JOIN pg_catalog.pg_proc f ON f.oid = g.tgfoid AND f.pronamespace = 'listwatch'::pg_catalog.regnamespace
            WHERE g.tgrelid = rel AND NOT g.tgisinternal AND g.tgparentid = 0 AND pg_catalog.starts_with(f.proname, log_name || '_') LOOP
    EXECUTE pg_catalog.format('DROP TRIGGER %I ON %s', t.tgname, rel);
    -- CASCADE: another role may have attached it to its own table, or made a view of the log.
    EXECUTE pg_catalog.format('DROP FUNCTION IF EXISTS %s CASCADE', t.fn);
  END LOOP;
  EXECUTE pg_catalog.format('DROP FUNCTION IF EXISTS listwatch.%I CASCADE', log_name || '_changes');
  IF pg_catalog.to_regclass(pg_catalog.format('listwatch.%I', log_name)) IS NULL THEN RETURN false; END IF;
  EXECUTE pg_catalog.format('DROP TABLE listwatch.%I CASCADE', log_name);
  RETURN true;
END $$;

-- Grants a role the rights that it needs to mirror the table, and no others.
CREATE OR REPLACE FUNCTION listwatch.grant_to(rel pg_catalog.regclass, log pg_catalog.regclass, role_name pg_catalog.text) RETURNS pg_catalog.void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  -- If the role was granted columns, it keeps these alone. A role that reads the table as a member of another role gets the right itself.
  IF pg_catalog.has_table_privilege(role_name, rel, 'SELECT') OR NOT pg_catalog.has_any_column_privilege(role_name, rel, 'SELECT') THEN
    EXECUTE pg_catalog.format('GRANT SELECT ON %s TO %I', rel, role_name);
  END IF;
  PERFORM listwatch.grant_log(log, role_name);
END $$;

-- The same without the table.
CREATE OR REPLACE FUNCTION listwatch.grant_log(log pg_catalog.regclass, role_name pg_catalog.text) RETURNS pg_catalog.void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  EXECUTE pg_catalog.format('GRANT SELECT ON %s, listwatch.floor TO %I', log, role_name);
  EXECUTE pg_catalog.format('GRANT EXECUTE ON FUNCTION %s TO %I', log || '_changes', role_name);
  EXECUTE pg_catalog.format('GRANT EXECUTE ON FUNCTION ${READER_FUNCTIONS.map((each) => `listwatch.${each}`).join(', ')} TO %I', role_name);
END $$;
`
