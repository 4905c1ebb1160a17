/** The types of key columns that a log stores as int8, and as text: one may become another without a new log. */
export const INTEGER_TYPES = '{pg_catalog.int2,pg_catalog.int4,pg_catalog.int8}'
export const TEXT_TYPES = '{pg_catalog.text,pg_catalog.varchar}'

/** The types of users in the columns of `rel`, and those that these consist of. */
const OWN_TYPES = `own_type(oid) AS (
    SELECT a.atttypid FROM pg_catalog.pg_attribute a WHERE a.attrelid = rel AND a.attnum > 0 AND a.atttypid >= 16384
    UNION
    SELECT part.oid FROM own_type JOIN pg_catalog.pg_type t ON t.oid = own_type.oid CROSS JOIN LATERAL (
      SELECT t.typelem UNION ALL SELECT t.typbasetype
      UNION ALL SELECT a.atttypid FROM pg_catalog.pg_attribute a WHERE a.attrelid = t.typrelid AND a.attnum > 0
      UNION ALL SELECT r.rngsubtype FROM pg_catalog.pg_range r WHERE t.oid IN (r.rngtypid, r.rngmultitypid)
    ) part(oid) WHERE part.oid >= 16384
  )`

/** SQL of the checks that readers run: the shape of a table, and problems that keep its log from being complete. */
export const SHAPE_SQL: string = `-- Whether rows of a table are changed by more than statements on the table: by statements on its parent table, or by logical
-- replication, which applies changes row by row. Triggers for each statement do not fire for these.
CREATE OR REPLACE FUNCTION listwatch.needs_row_triggers(rel pg_catalog.oid) RETURNS pg_catalog.bool LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT EXISTS (SELECT FROM pg_catalog.pg_class c WHERE c.oid = rel AND c.relkind = 'p')
      OR EXISTS (SELECT FROM pg_catalog.pg_inherits i WHERE i.inhrelid = rel)
      OR EXISTS (SELECT FROM pg_catalog.pg_subscription_rel s WHERE s.srrelid = rel)
$$;

-- When a trigger that is not ENABLE ALWAYS fires, as the predicate of a sentence. NULL stands for a trigger that does not exist.
CREATE OR REPLACE FUNCTION listwatch.firing(enabled pg_catalog."char") RETURNS pg_catalog.text LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT CASE enabled WHEN 'D' THEN 'is disabled' WHEN 'R' THEN 'fires only if session_replication_role is replica'
    WHEN 'O' THEN 'does not fire if session_replication_role is replica (pg_restore --disable-triggers and ENABLE TRIGGER do this)' ELSE 'is missing' END
$$;

-- Whether a column holds no NULL. NOT NULL that is NOT VALID (Postgres 18) leaves NULLs that were there before.
CREATE OR REPLACE FUNCTION listwatch.is_not_null(rel pg_catalog.oid, attnum pg_catalog.int2) RETURNS pg_catalog.bool LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT a.attnotnull AND NOT EXISTS (SELECT FROM pg_catalog.pg_constraint c
           WHERE c.conrelid = a.attrelid AND c.contype = 'n' AND c.conkey = ARRAY[a.attnum] AND NOT c.convalidated)
    FROM pg_catalog.pg_attribute a WHERE a.attrelid = $1 AND a.attnum = $2
$$;

-- The collation of a column, for SQL. Empty for the default one, and for a type without collations.
CREATE OR REPLACE FUNCTION listwatch.collate_clause(coll pg_catalog.oid) RETURNS pg_catalog.text LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT coalesce((SELECT pg_catalog.format(' COLLATE %I.%I', n.nspname, c.collname) FROM pg_catalog.pg_collation c
    JOIN pg_catalog.pg_namespace n ON n.oid = c.collnamespace WHERE c.oid = coll AND c.oid <> 'pg_catalog."default"'::pg_catalog.regcollation), '')
$$;

-- The base type of a domain with its modifier; of another type, the type itself. The modifier of char without a length is -1.
CREATE OR REPLACE FUNCTION listwatch.base_type(of_type pg_catalog.oid, of_typmod pg_catalog.int4, OUT typ pg_catalog.oid, OUT typmod pg_catalog.int4)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  WITH RECURSIVE base(typ, typmod) AS (
    SELECT of_type, of_typmod UNION ALL SELECT t.typbasetype, t.typtypmod FROM base JOIN pg_catalog.pg_type t ON t.oid = base.typ WHERE t.typtype = 'd'
  )
  SELECT b.typ, b.typmod FROM base b JOIN pg_catalog.pg_type t ON t.oid = b.typ WHERE t.typtype <> 'd'
$$;

-- Whether an index has the collations of its columns, and operator classes of Postgres or of their types: another index does not find the
-- rows of a key.
CREATE OR REPLACE FUNCTION listwatch.is_own_order(rel pg_catalog.oid, index pg_catalog.oid) RETURNS pg_catalog.bool LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT pg_catalog.bool_and((o.opcdefault OR o.oid < 16384) AND k.coll = a.attcollation)
    FROM pg_catalog.pg_index i
   CROSS JOIN LATERAL ROWS FROM (pg_catalog.unnest(i.indkey::pg_catalog.int2[]), pg_catalog.unnest(i.indclass::pg_catalog.oid[]),
           pg_catalog.unnest(i.indcollation::pg_catalog.oid[])) k(attnum, opclass, coll)
    JOIN pg_catalog.pg_opclass o ON o.oid = k.opclass
    JOIN pg_catalog.pg_attribute a ON a.attrelid = rel AND a.attnum = k.attnum
   WHERE i.indexrelid = index
$$;

-- Why a table's log may miss changes, because of what happened to the table after the installation. Empty if it does not.
CREATE OR REPLACE FUNCTION listwatch.problems(rel pg_catalog.oid) RETURNS pg_catalog.text[] LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT ARRAY (
    SELECT pg_catalog.format('the trigger zz_listwatch_%s %s', name, listwatch.firing(t.tgenabled))
      FROM listwatch.logs() l
      CROSS JOIN pg_catalog.unnest(CASE l.options->>'fires' WHEN 'row' THEN '{r,t}' ELSE '{i,u,d,t}' END::pg_catalog.text[]) name
      LEFT JOIN (pg_catalog.pg_trigger t JOIN pg_catalog.pg_proc f ON f.oid = t.tgfoid AND f.pronamespace = 'listwatch'::pg_catalog.regnamespace)
        ON t.tgrelid = rel AND t.tgname LIKE 'zz\\_listwatch\\_' || name || '%' AND t.tgparentid = 0
     WHERE l.relid = rel AND t.tgenabled IS DISTINCT FROM 'A'
    UNION ALL
    SELECT pg_catalog.format('the trigger %s of %s partitions, such as %s, %s', t.tgname, pg_catalog.count(*),
             pg_catalog.min(p.relid::pg_catalog.regclass::pg_catalog.text), listwatch.firing(pg_catalog.min(t.tgenabled::pg_catalog.text)::pg_catalog."char"))
      FROM pg_catalog.pg_trigger own
      JOIN pg_catalog.pg_partition_tree(rel) p ON p.relid <> rel
      JOIN pg_catalog.pg_trigger t ON t.tgrelid = p.relid AND t.tgname = own.tgname AND t.tgenabled <> 'A'
     WHERE own.tgrelid = rel AND own.tgparentid = 0 AND own.tgname LIKE 'zz\\_listwatch\\_r\\_%' GROUP BY t.tgname
    UNION ALL
    SELECT 'its triggers fire for each statement, and its rows change by other tables'' statements or by replication too'
      FROM listwatch.logs() l WHERE l.relid = rel AND l.options->>'fires' = 'statement' AND listwatch.needs_row_triggers(rel)
    UNION ALL
    SELECT 'tables inherit from it, whose rows its triggers do not see'
      FROM pg_catalog.pg_class c WHERE c.oid = rel AND c.relkind = 'r' AND EXISTS (SELECT FROM pg_catalog.pg_inherits i WHERE i.inhparent = rel)
    UNION ALL
    SELECT pg_catalog.format('the columns of its key (%s) are no longer there, or no longer NOT NULL and unique by their own collation', pg_catalog.array_to_string(k.names, ', '))
      FROM listwatch.logs() l, LATERAL (SELECT ARRAY (SELECT pg_catalog.jsonb_array_elements_text(l.options->'keyColumns')) AS names) k
     WHERE l.relid = rel AND NOT EXISTS (
       SELECT FROM pg_catalog.pg_index i JOIN pg_catalog.pg_attribute a ON a.attrelid = rel AND a.attname = ANY (k.names) AND listwatch.is_not_null(rel, a.attnum)
        WHERE i.indrelid = rel AND i.indisunique AND i.indisvalid AND i.indpred IS NULL AND i.indexprs IS NULL AND listwatch.is_own_order(rel, i.indexrelid)
          AND a.attnum = ANY ((i.indkey::pg_catalog.int2[])[0:i.indnkeyatts - 1])
        GROUP BY i.indexrelid, i.indnkeyatts HAVING pg_catalog.count(*) = i.indnkeyatts AND i.indnkeyatts = pg_catalog.cardinality(k.names))
    UNION ALL
    -- The triggers log no key of such a column, but that something changed.
    SELECT pg_catalog.format('its key column %I is now of type %s, and its log was made for %s', a.attname,
             pg_catalog.format_type(a.atttypid, a.atttypmod) || listwatch.collate_clause(a.attcollation),
             coalesce(pg_catalog.format_type(g.atttypid, NULL) || listwatch.collate_clause(g.attcollation), 'a type that was dropped'))
      FROM listwatch.logs() l
     CROSS JOIN pg_catalog.jsonb_array_elements_text(l.options->'keyColumns') WITH ORDINALITY k(name, place)
      JOIN pg_catalog.pg_attribute a ON a.attrelid = rel AND a.attname = k.name
     CROSS JOIN LATERAL listwatch.base_type(a.atttypid, a.atttypmod) b
      LEFT JOIN pg_catalog.pg_attribute g ON g.attrelid = l.log AND g.attname = pg_catalog.concat('k', k.place)
     WHERE l.relid = rel AND (g.atttypid IS NULL OR a.attcollation <> g.attcollation OR (b.typ = 'pg_catalog.bpchar'::pg_catalog.regtype AND b.typmod = -1)
        OR NOT CASE g.atttypid
             WHEN 'pg_catalog.int8'::pg_catalog.regtype THEN b.typ = ANY ('${INTEGER_TYPES}'::pg_catalog.regtype[])
             WHEN 'pg_catalog.text'::pg_catalog.regtype THEN b.typ = ANY ('${TEXT_TYPES}'::pg_catalog.regtype[])
             ELSE b.typ = g.atttypid END))
$$;

-- A hash of everything that changes rows, or their meaning, without firing a trigger: columns and their types, rewrites,
-- partitions, row security, and the triggers of listwatch. A reader computes it first, and when the fingerprint changed.
CREATE OR REPLACE FUNCTION listwatch.shape(rel pg_catalog.oid) RETURNS pg_catalog.text LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN (WITH RECURSIVE ${OWN_TYPES}, leaf(oid) AS (
    SELECT rel UNION ALL
    SELECT i.inhrelid FROM leaf JOIN pg_catalog.pg_inherits i ON i.inhparent = leaf.oid AND NOT i.inhdetachpending
  )
  SELECT pg_catalog.md5(pg_catalog.string_agg(x, ',' ORDER BY x)) FROM (
    SELECT pg_catalog.concat_ws(':', 'a', a.attnum, a.attname, a.atttypid, a.atttypmod, a.attcollation, a.attisdropped, a.attgenerated) AS x
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
    SELECT DISTINCT pg_catalog.concat_ws(':', 'u', i.indnkeyatts, i.indkey, i.indcollation, i.indclass) FROM pg_catalog.pg_index i
     WHERE i.indrelid = rel AND i.indisunique AND i.indisvalid AND i.indpred IS NULL AND i.indexprs IS NULL
    UNION ALL
    SELECT DISTINCT pg_catalog.concat_ws(':', 'n', k.attnum, listwatch.is_not_null(rel, k.attnum))
      FROM pg_catalog.pg_index i, pg_catalog.unnest(i.indkey::pg_catalog.int2[]) k(attnum)
     WHERE i.indrelid = rel AND i.indisunique AND NOT i.indisprimary AND i.indexprs IS NULL
    UNION ALL
    SELECT pg_catalog.concat_ws(':', 'p', p.oid, p.xmin) FROM pg_catalog.pg_policy p WHERE p.polrelid = rel
    UNION ALL
    SELECT pg_catalog.concat_ws(':', 't', t.tgrelid, t.tgname, t.tgenabled, t.xmin)
      FROM leaf JOIN pg_catalog.pg_trigger t ON t.tgrelid = leaf.oid WHERE t.tgname LIKE 'zz\\_listwatch\\_%'
  ) parts);
END $$;

-- A hash of the versions (xmin and ctid) of all catalog rows that the shape reads. DDL that changes the shape
-- changes it too, and other DDL may. It costs a fraction of the shape, and plpgsql keeps its plan. XOR does not depend on the
-- order of rows. Each catalog has a seed of its own. It must read at least the rows that the shape reads.
CREATE OR REPLACE FUNCTION listwatch.fingerprint(rel pg_catalog.oid) RETURNS pg_catalog.int8 LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
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
    hash := hash OPERATOR(pg_catalog.#) (WITH RECURSIVE ${OWN_TYPES}
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
`
