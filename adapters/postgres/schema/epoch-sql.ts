/** SQL of the epoch: the incarnation of the database, marks of writers, and comparison of snapshots. */
export const EPOCH_SQL: string = `-- One row: the incarnation of the database. Any role may read it, because marks contain it.
CREATE UNLOGGED TABLE IF NOT EXISTS listwatch.state (
  one       pg_catalog.bool    PRIMARY KEY CHECK (one),
  -- A random part, the transaction that seeded it, and when: the later one of two epochs is recognized by these.
  epoch     pg_catalog.text    NOT NULL,
  system_id pg_catalog.text    NOT NULL,
  database  pg_catalog.oid     NOT NULL,
  -- Transactions that were prepared when the epoch began. A crash removes the log rows of such a transaction, but not
  -- the transaction: a reader that sees one of them end has to list again.
  prepared  pg_catalog.xid8[]  NOT NULL
);
GRANT SELECT ON listwatch.state TO PUBLIC;

-- The logs may have been trimmed up to each of these snapshots. A row for each trim, so that none waits for another one.
CREATE UNLOGGED TABLE IF NOT EXISTS listwatch.floor (snap pg_catalog.pg_snapshot NOT NULL);

-- Snapshots of the past. The logs are trimmed up to one of them.
CREATE UNLOGGED TABLE IF NOT EXISTS listwatch.mark (
  id   pg_catalog.int8        PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
  at   pg_catalog.timestamptz NOT NULL DEFAULT pg_catalog.clock_timestamp(),
  snap pg_catalog.pg_snapshot NOT NULL DEFAULT pg_catalog.pg_current_snapshot()
);

CREATE OR REPLACE FUNCTION listwatch.system_id() RETURNS pg_catalog.text LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS
  'SELECT c.system_identifier::pg_catalog.text FROM pg_catalog.pg_control_system() c';

CREATE OR REPLACE FUNCTION listwatch.database_id() RETURNS pg_catalog.oid LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS
  'SELECT d.oid FROM pg_catalog.pg_database d WHERE d.datname = pg_catalog.current_database()';

-- The epoch, or NULL if Postgres has emptied the state, or if the state was copied from another database.
CREATE OR REPLACE FUNCTION listwatch.seeded() RETURNS pg_catalog.text LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS
  'SELECT s.epoch FROM listwatch.state s WHERE s.system_id = listwatch.system_id() AND s.database = listwatch.database_id()';

-- The prepared transactions of this database. Their 32-bit ids are completed from the current 64-bit id.
CREATE OR REPLACE FUNCTION listwatch.prepared() RETURNS pg_catalog.xid8[] LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
  SELECT ARRAY (SELECT (n.now - ((n.now - p.transaction::pg_catalog.text::pg_catalog.int8) & 4294967295))::pg_catalog.text::pg_catalog.xid8
    FROM (SELECT pg_catalog.pg_snapshot_xmax(pg_catalog.pg_current_snapshot())::pg_catalog.text::pg_catalog.int8 AS now) n, pg_catalog.pg_prepared_xacts p
   WHERE p.database = pg_catalog.current_database())
$$;

-- The epoch. Seeds the state if Postgres has emptied it or if it was copied. Only readers and owners call this. It runs as the owner,
-- because readers cannot write. It takes no argument, and reads no value of its caller.
CREATE OR REPLACE FUNCTION listwatch.epoch() RETURNS pg_catalog.text LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  found_epoch pg_catalog.text := listwatch.seeded();
  log pg_catalog.regclass;
BEGIN
  IF found_epoch IS NOT NULL THEN RETURN found_epoch; END IF;
  -- Other sessions wait for the seeding transaction. A role without rights cannot hold this lock, unlike an advisory one.
  LOCK TABLE listwatch.state IN SHARE ROW EXCLUSIVE MODE;
  found_epoch := listwatch.seeded();
  IF found_epoch IS NOT NULL THEN RETURN found_epoch; END IF;
  DELETE FROM listwatch.state;
  DELETE FROM listwatch.mark;
  DELETE FROM listwatch.floor;
  FOR log IN SELECT l.log FROM listwatch.logs() l LOOP
    EXECUTE pg_catalog.format('DELETE FROM %s', log);
  END LOOP;
  INSERT INTO listwatch.floor (snap) VALUES (pg_catalog.pg_current_snapshot());
  INSERT INTO listwatch.state (one, epoch, system_id, database, prepared)
    VALUES (true, pg_catalog.concat_ws('-', pg_catalog.replace(pg_catalog.gen_random_uuid()::pg_catalog.text, '-', ''), pg_catalog.pg_current_xact_id(),
              (extract(epoch FROM pg_catalog.clock_timestamp()) * 1000)::pg_catalog.int8),
            listwatch.system_id(), listwatch.database_id(), listwatch.prepared())
    RETURNING epoch INTO found_epoch;
  -- Writes to unlogged tables alone are committed asynchronously. The id of this transaction must not be used again.
  PERFORM pg_catalog.set_config('synchronous_commit', 'local', true);
  PERFORM pg_catalog.pg_logical_emit_message(true, 'listwatch', found_epoch);
  RETURN found_epoch;
END $$;

-- The mark of a writer's transaction, for readers: the epoch and the transaction's id. Any role may take one. It runs as its caller. It
-- never writes: while no epoch is seeded, the mark contains the snapshot that shows no epoch instead.
CREATE OR REPLACE FUNCTION listwatch.mark() RETURNS pg_catalog.text LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
  SELECT pg_catalog.concat_ws('.', 'pgm1', listwatch.system_id(), listwatch.database_id(), coalesce(listwatch.seeded(), s.snapshot), pg_catalog.pg_current_xact_id())
    FROM (SELECT CASE WHEN pg_catalog.length(c.now::pg_catalog.text) <= 100 THEN c.now::pg_catalog.text
                      ELSE pg_catalog.concat(pg_catalog.pg_snapshot_xmin(c.now), ':', pg_catalog.pg_snapshot_xmin(c.now), ':') END AS snapshot
            FROM (SELECT pg_catalog.pg_current_snapshot() AS now) c) s
$$;

-- Whether everything that is visible in f is visible in s: then a reader at s misses nothing that was trimmed up to f.
CREATE OR REPLACE FUNCTION listwatch.covers(s pg_catalog.pg_snapshot, f pg_catalog.pg_snapshot) RETURNS pg_catalog.bool
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN pg_catalog.pg_snapshot_xmax(s) >= pg_catalog.pg_snapshot_xmax(f)
     AND NOT EXISTS (SELECT FROM pg_catalog.pg_snapshot_xip(s) x WHERE pg_catalog.pg_visible_in_snapshot(x, f));
END $$;
`
