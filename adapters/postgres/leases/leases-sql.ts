import type { Eviction, LeaseRecord } from '../../../src/contract/leases.js'
import { encodeBody } from '../../shared/lease-records.js'
import { quoteLiteral } from '../table-catalog.js'

/** The channel of hints. A payload is the name of the group, a space, and the member. */
export const LEASES_CHANNEL = 'listwatch_leases'

/** Microseconds since the Unix epoch. */
const NOW_US = `(extract(epoch FROM pg_catalog.clock_timestamp()) * 1000000)::pg_catalog.int8`

/**
 * SQL that creates the tables and functions of leases, in the schema \`listwatch\`. Unlike the change logs these tables
 * are logged: a crash of the server must not lose a record. Roles need only the right to call the two functions.
 */
export const LEASES_SQL: string = `-- One row for each group. Its lock orders all renewals of the group.
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
  INSERT INTO listwatch.lease_groups AS g (name, fence) VALUES (of_group, ${NOW_US})
    ON CONFLICT (name) DO UPDATE SET fence = greatest(g.fence + 1, ${NOW_US}) RETURNING g.fence INTO new_fence;
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
  IF is_changed THEN PERFORM pg_catalog.pg_notify('${LEASES_CHANNEL}', pg_catalog.concat(of_group, ' ', of_member)); END IF;

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
  IF FOUND THEN PERFORM pg_catalog.pg_notify('${LEASES_CHANNEL}', pg_catalog.concat(of_group, ' ', of_member)); END IF;
END $$;

REVOKE ALL ON FUNCTION listwatch.renew_lease(text, text, bigint, text, text[], bigint[]), listwatch.leave_group(text, text) FROM PUBLIC;
`

/** SQL that lets a role, which is quoted already, renew leases. */
export function grantLeasesSql(role: string): string {
  return `GRANT EXECUTE ON FUNCTION listwatch.renew_lease(text, text, bigint, text, text[], bigint[]), listwatch.leave_group(text, text) TO ${role};\n`
}

/** One message with one transaction, whatever the settings of the role and the pooler are. */
function request(statement: string, timeoutMs: number): string {
  const ms = Math.ceil(timeoutMs)
  return `SET TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE; SET LOCAL lock_timeout = ${ms}; SET LOCAL statement_timeout = ${ms}; ${statement}`
}

export function renewSql(group: string, record: LeaseRecord, evict: readonly Eviction[], timeoutMs: number): string {
  const texts = [group, record.member].map(quoteLiteral).join(', ')
  const members = evict.map(({ member }) => quoteLiteral(member)).join(', ')
  const renewals = evict.map(({ renewal }) => renewal).join(', ')
  const rest = `${record.renewal}, ${quoteLiteral(encodeBody(record))}, ARRAY[${members}]::text[], ARRAY[${renewals}]::bigint[]`
  return request(`SELECT listwatch.renew_lease(${texts}, ${rest}) AS view`, timeoutMs)
}

export function leaveSql(group: string, member: string, timeoutMs: number): string {
  return request(`SELECT listwatch.leave_group(${quoteLiteral(group)}, ${quoteLiteral(member)})`, timeoutMs)
}
