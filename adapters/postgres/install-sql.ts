import { WAKE_BLOCK } from './wake-sql.js'

/** SQL that installs and removes the log of one table and its triggers, and grants rights to readers. */
export const INSTALL_SQL: string = `-- Creates the log of a table and the triggers that write it. Replaces existing ones.
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
    ELSE $s$${WAKE_BLOCK}$s$ END;

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
            WHERE g.tgrelid = rel AND NOT g.tgisinternal AND g.tgparentid = 0 AND g.tgname LIKE 'zz\\_listwatch\\_%' LOOP
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
`
