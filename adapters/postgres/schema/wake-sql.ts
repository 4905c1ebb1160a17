/** A wake-up is sent at most once in this many milliseconds under load: about 30 times a second. A power of two. */
const PERIOD_MS = 32
/** Readers still poll often by themselves if the last claim is at most this many milliseconds old. */
const AWAKE_MS = 250

/**
 * A claim is one bigint: 24 bits of milliseconds, one bit that is set if the claim is the first after quiet, 38 bits of
 * the transaction's id.
 */
const CLOCK_BITS = 16777215
const FIRST_BIT = 274877906944
const XID_BITS = 274877906943

/**
 * SQL of the wake-ups of readers. Notifying commits wait for each other in the whole cluster, so most transactions must
 * not notify. Sequences hold the state, because they are written at once, whatever becomes of the transaction, and
 * without a lock for which another writer waits.
 */
export const WAKE_SQL: string = `-- claimed: the time and the transaction of the last claim of a wake-up. announced: the time, in milliseconds, of the last claim
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
`

const NOW_MS = `(pg_catalog.date_part('epoch', pg_catalog.clock_timestamp()) * 1000)::pg_catalog.int8`
const LAST_CLAIM = `pg_catalog.pg_sequence_last_value('listwatch.claimed'::pg_catalog.regclass)`

/**
 * The block of a trigger function that wakes readers. Transactions claim a wake-up at most once in ${PERIOD_MS} ms,
 * however long claimants take to commit. Other transactions rely on the claim, with two exceptions: its transaction was
 * rolled back, or it still runs and is the first after a quiet period, so that readers may be asleep. No transaction
 * waits for a claim to commit, because with slow commits every transaction would then notify.
 *
 * Under load nearly all transactions evaluate only the first condition, because each expression of PL/pgSQL costs a
 * writer about a microsecond. It is false if the time since the announced claim is from 0 to ${PERIOD_MS - 1} ms: no
 * other bit is set.
 */
export const WAKE_BLOCK: string = `
  IF (${NOW_MS} - pg_catalog.pg_sequence_last_value('listwatch.announced'::pg_catalog.regclass)) & -${PERIOD_MS} IS DISTINCT FROM 0 THEN
    DECLARE
      me CONSTANT pg_catalog.int8 := pg_catalog.pg_current_xact_id()::pg_catalog.text::pg_catalog.int8;
      now_ms CONSTANT pg_catalog.int8 := ${NOW_MS};
      claim pg_catalog.int8 := ${LAST_CLAIM};
      claimant CONSTANT pg_catalog.int8 := (me & ~${XID_BITS}) | (claim & ${XID_BITS});
      age CONSTANT pg_catalog.int8 := (now_ms - (claim >> 39)) & ${CLOCK_BITS};
      status pg_catalog.text;
    BEGIN
      IF age < ${PERIOD_MS} AND claimant <> me THEN
        -- A later transaction may be one that does not exist, in a restored dump: its status is not looked up.
        status := CASE WHEN claimant < me THEN pg_catalog.pg_xact_status(claimant::pg_catalog.text::pg_catalog.xid8) ELSE 'in progress' END;
      END IF;
      IF status = 'committed' THEN
        PERFORM pg_catalog.setval('listwatch.announced'::pg_catalog.regclass, now_ms - age);
      ELSIF pg_catalog.current_setting('listwatch.woken', true) IS DISTINCT FROM me::pg_catalog.text THEN
        IF status IS DISTINCT FROM 'in progress' THEN
          IF ${LAST_CLAIM} IS NOT DISTINCT FROM claim THEN
            PERFORM pg_catalog.setval('listwatch.claimed'::pg_catalog.regclass, ((now_ms & ${CLOCK_BITS}) << 39) | (me & ${XID_BITS})
              | CASE WHEN age BETWEEN ${PERIOD_MS} AND ${AWAKE_MS} THEN 0 ELSE ${FIRST_BIT} END);
          ELSE
            -- Another transaction has found the same, and has claimed at this moment.
            claim := ${LAST_CLAIM};
            status := 'in progress';
          END IF;
        END IF;
        IF status IS DISTINCT FROM 'in progress' OR claim & ${FIRST_BIT} <> 0 THEN
          PERFORM pg_catalog.set_config('listwatch.woken', me::pg_catalog.text, true);
          PERFORM pg_catalog.pg_notify('listwatch', '');
        END IF;
      END IF;
    END;
  END IF;`
