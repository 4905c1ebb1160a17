import type { Eviction, LeaseRecord } from '../../../src/contract/leases.js'
import { encodeBody } from '../../common/lease-records.js'
import { MAX_INT4, quoteIdentifier, quoteLiteral } from '../schema/quoting.js'
import { ASSERT_TRUSTED_SQL } from '../schema/trusted-owner.js'

/** The channel of hints. A payload is the name of the group, a space, and the member. */
export const LEASES_CHANNEL = 'listwatch_leases'

/** Microseconds since the Unix epoch. */
const NOW_US = `(extract(epoch FROM pg_catalog.clock_timestamp()) * 1000000)::pg_catalog.int8`

/**
 * SQL that creates the tables of leases, in the schema \`listwatch\`. Unlike the change logs these tables are logged: a
 * crash of the server must not lose a record. Publications of all tables contain them, so they exist only if leases are
 * used.
 */
export const LEASE_TABLES_SQL: string = `-- One row for each group. Its lock orders all renewals of the group.
CREATE TABLE IF NOT EXISTS listwatch.lease_groups (
  name  pg_catalog.text COLLATE pg_catalog."C" PRIMARY KEY,
  fence pg_catalog.int8 NOT NULL
) WITH (fillfactor = 10);

CREATE TABLE IF NOT EXISTS listwatch.leases (
  group_name pg_catalog.text        COLLATE pg_catalog."C" NOT NULL,
  member     pg_catalog.text        COLLATE pg_catalog."C" NOT NULL,
  renewal    pg_catalog.int8        NOT NULL,
  body       pg_catalog.text        NOT NULL,
  written_at pg_catalog.timestamptz NOT NULL,
  PRIMARY KEY (group_name, member)
) WITH (fillfactor = 10);

-- The groups that a role may use.
CREATE TABLE IF NOT EXISTS listwatch.lease_rights (
  group_name pg_catalog.text    COLLATE pg_catalog."C" NOT NULL,
  role       pg_catalog.regrole NOT NULL,
  PRIMARY KEY (group_name, role)
);

-- A role sees and changes the rows of its groups.
ALTER TABLE listwatch.lease_groups ENABLE ROW LEVEL SECURITY;
ALTER TABLE listwatch.leases ENABLE ROW LEVEL SECURITY;
ALTER TABLE listwatch.lease_rights ENABLE ROW LEVEL SECURITY;
DROP POLICY IF EXISTS used ON listwatch.lease_groups;
DROP POLICY IF EXISTS used ON listwatch.leases;
DROP POLICY IF EXISTS used ON listwatch.lease_rights;
CREATE POLICY used ON listwatch.lease_groups USING (name = ANY (ARRAY (SELECT r.group_name FROM listwatch.lease_rights r)));
CREATE POLICY used ON listwatch.leases USING (group_name = ANY (ARRAY (SELECT r.group_name FROM listwatch.lease_rights r)));
CREATE POLICY used ON listwatch.lease_rights FOR SELECT USING (pg_catalog.pg_has_role(role, 'USAGE'));
`

/**
 * SQL of the functions of leases. They run as their caller, and row security selects the groups. A function that runs as
 * its owner would not know its caller: the role of the session may be another one, as in an ANALYZE of a superuser. The
 * one that does takes no argument.
 */
export const LEASE_FUNCTIONS_SQL: string = `-- Throws unless this role may use a group. Row security shows a role its own rights, and does not apply to the owner of the tables.
CREATE OR REPLACE FUNCTION listwatch.assert_group(of_group pg_catalog.text) RETURNS pg_catalog.void
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF pg_catalog.row_security_active('listwatch.leases'::pg_catalog.regclass) 
      AND NOT EXISTS (SELECT FROM listwatch.lease_rights r WHERE r.group_name = of_group) THEN
    RAISE EXCEPTION 'permission denied for the lease group "%"', of_group USING ERRCODE = '42501';
  END IF;
END $$;

-- Removes the records without a body, which have ended. It runs as the owner, because a right to delete would be one to lock the table for
-- all groups. It takes no argument.
CREATE OR REPLACE FUNCTION listwatch.remove_ended_leases() RETURNS pg_catalog.void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  DELETE FROM listwatch.leases l WHERE l.ctid = ANY (ARRAY (SELECT e.ctid FROM listwatch.leases e WHERE e.body = '' FOR UPDATE SKIP LOCKED));
END $$;

-- Evicts records, writes the record of a member, and then reads all records of the group. Each statement of the function sees all
-- transactions that were committed before the statement began. The statements after the lock therefore see the renewal for which the
-- lock waited. A single statement would use the snapshot of the time before the lock, and would miss that renewal.
CREATE OR REPLACE FUNCTION listwatch.renew_lease(
  of_group pg_catalog.text, of_member pg_catalog.text, new_renewal pg_catalog.int8, new_body pg_catalog.text,
  evicted pg_catalog.text[], evicted_renewals pg_catalog.int8[]
) RETURNS pg_catalog.text LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  epoch pg_catalog.text;
  new_fence pg_catalog.int8;
  old_renewal pg_catalog.int8;
  old_body pg_catalog.text;
  is_evicted pg_catalog.bool;
  is_changed pg_catalog.bool;
BEGIN
  PERFORM listwatch.assert_group(of_group);
  IF pg_catalog.current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION 'renew_lease needs the isolation level read committed' USING ERRCODE = '25001';
  END IF;
  IF pg_catalog.current_setting('synchronous_commit') IN ('off', 'local', 'remote_write') THEN
    PERFORM pg_catalog.set_config('synchronous_commit', 'on', true);
  END IF;
  -- Postgres empties the table of the epoch whenever commits may have been lost.
  epoch := listwatch.epoch();

  -- The clock makes a fence greater than those before a failover that has lost the last ones.
  INSERT INTO listwatch.lease_groups AS g (name, fence) VALUES (of_group, ${NOW_US})
    ON CONFLICT (name) DO UPDATE SET fence = greatest(g.fence + 1, ${NOW_US}) RETURNING g.fence INTO new_fence;
  SELECT l.renewal, l.body INTO old_renewal, old_body FROM listwatch.leases l
   WHERE l.group_name = of_group AND l.member = of_member AND l.body <> '';
  IF (old_renewal IS NULL) <> (new_renewal = 0) OR old_renewal >= new_renewal THEN
    RETURN pg_catalog.json_build_object('lost', true, 'found', old_renewal)::pg_catalog.text;
  END IF;

  UPDATE listwatch.leases l SET body = '' FROM ROWS FROM (pg_catalog.unnest(evicted), pg_catalog.unnest(evicted_renewals)) e(member, renewal)
   WHERE l.group_name = of_group AND l.member = e.member AND l.renewal = e.renewal AND l.member <> of_member;
  is_evicted := FOUND;
  IF is_evicted THEN PERFORM listwatch.remove_ended_leases(); END IF;
  is_changed := is_evicted OR old_body IS DISTINCT FROM new_body;
  INSERT INTO listwatch.leases AS l (group_name, member, renewal, body, written_at)
    VALUES (of_group, of_member, new_renewal, new_body, pg_catalog.clock_timestamp())
    ON CONFLICT (group_name, member) DO UPDATE SET renewal = EXCLUDED.renewal, body = EXCLUDED.body, written_at = EXCLUDED.written_at;
  IF is_changed THEN PERFORM pg_catalog.pg_notify('${LEASES_CHANNEL}', pg_catalog.concat(of_group, ' ', of_member)); END IF;

  RETURN (SELECT pg_catalog.json_build_object('fence', new_fence, 'epoch', epoch, 'records', pg_catalog.json_agg(pg_catalog.json_build_object(
            'member', l.member, 'renewal', l.renewal, 'body', l.body,
            'ageMs', extract(epoch FROM pg_catalog.clock_timestamp() - l.written_at) * 1000)))
            FROM listwatch.leases l WHERE l.group_name = of_group AND l.body <> '')::pg_catalog.text;
END $$;

-- Removes the record of a member, after a renewal that may be in progress.
CREATE OR REPLACE FUNCTION listwatch.leave_group(of_group pg_catalog.text, of_member pg_catalog.text) RETURNS pg_catalog.void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM listwatch.assert_group(of_group);
  INSERT INTO listwatch.lease_groups AS g (name, fence) VALUES (of_group, 0) ON CONFLICT (name) DO UPDATE SET fence = g.fence;
  UPDATE listwatch.leases l SET body = '' WHERE l.group_name = of_group AND l.member = of_member;
  IF FOUND THEN
    PERFORM listwatch.remove_ended_leases();
    PERFORM pg_catalog.pg_notify('${LEASES_CHANNEL}', pg_catalog.concat(of_group, ' ', of_member));
  END IF;
END $$;
`

/**
 * SQL that lets a role renew the leases of a group. A right to delete, or to update any column, would be one to lock the
 * tables for the other groups too.
 */
export function grantLeasesSql(role: string, group: string): string {
  const to = quoteIdentifier(role)
  return `GRANT EXECUTE ON FUNCTION listwatch.epoch(), listwatch.remove_ended_leases(), listwatch.assert_group(pg_catalog.text), listwatch.renew_lease(pg_catalog.text, pg_catalog.text, pg_catalog.int8, pg_catalog.text, pg_catalog.text[], pg_catalog.int8[]), listwatch.leave_group(pg_catalog.text, pg_catalog.text) TO ${to};
GRANT SELECT, INSERT, UPDATE (fence) ON listwatch.lease_groups TO ${to};
GRANT SELECT, INSERT, UPDATE (renewal, body, written_at) ON listwatch.leases TO ${to};
GRANT SELECT ON listwatch.lease_rights TO ${to};
INSERT INTO listwatch.lease_rights (group_name, role) VALUES (${quoteLiteral(group)}, ${quoteLiteral(to)}::pg_catalog.regrole) ON CONFLICT DO NOTHING;
`
}

/** One message with one transaction, whatever the settings of the role and the pooler are. */
function request(statement: string, timeoutMs: number): string {
  const ms = Math.min(Math.ceil(timeoutMs), MAX_INT4)
  return `SET TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE; SET LOCAL lock_timeout = ${ms}; SET LOCAL statement_timeout = ${ms}; SET LOCAL row_security = on; ${ASSERT_TRUSTED_SQL}; ${statement}`
}

export function renewSql(group: string, record: LeaseRecord, evict: readonly Eviction[], timeoutMs: number): string {
  const texts = [group, record.member].map(quoteLiteral).join(', ')
  const members = evict.map(({ member }) => quoteLiteral(member)).join(', ')
  const renewals = evict.map(({ renewal }) => renewal).join(', ')
  const rest = `${record.renewal}, ${quoteLiteral(encodeBody(record))}, ARRAY[${members}]::pg_catalog.text[], ARRAY[${renewals}]::pg_catalog.int8[]`
  return request(`SELECT listwatch.renew_lease(${texts}, ${rest}) AS view`, timeoutMs)
}

export function leaveSql(group: string, member: string, timeoutMs: number): string {
  return request(`SELECT listwatch.leave_group(${quoteLiteral(group)}, ${quoteLiteral(member)})`, timeoutMs)
}
