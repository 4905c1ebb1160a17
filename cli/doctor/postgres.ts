import type pg from 'pg'
import {
  outdatedCollationsSql,
  outdatedIndexes,
  SCHEMA_VERSION,
  UNTRUSTED_SQL,
} from '../../adapters/postgres/internal.js'
import { formatDuration } from '../args/duration.js'
import { withCommands } from '../output/error-hints.js'
import { withPg } from '../sources/pg-client.js'
import type { TableFlags } from '../sources/source-types.js'
import { type Check, type Diagnose, errorCheck, type Finding, megabytes, runChecks, warningCheck } from './check.js'

/** The oldest version of the server that has what a change log needs, as in `server_version_num`. */
const OLDEST_SERVER = 140_000
/** A log of more bytes causes a warning if it is larger than its table. */
const LARGE_LOG_BYTES = 64 * 1024 ** 2
/** A prepared transaction that is older causes a warning, in milliseconds. */
const OLD_PREPARED_MS = 10_000
const FULL = 0.8

type Row = Readonly<Record<string, unknown>>

interface PostgresContext {
  readonly flags: TableFlags
  /** The oid of the table; undefined if there is none of this name. */
  readonly relid: string | undefined
  /** Whether the schema listwatch exists, and this role may use it. */
  readonly hasSchema: boolean
  /** The owner of the schema listwatch, if this role is a superuser and the owner is not. */
  readonly untrustedOwner: string | undefined
  /** The oid of the log; undefined if nothing is installed on the table, or if the role may not see that. */
  readonly log: string | undefined
  readonly client: pg.Client
  /** Returns the first row; an empty one if there is none. */
  first(sql: string, values?: readonly unknown[]): Promise<Row>
  withOther<V>(work: (other: pg.Client) => Promise<V>): Promise<V>
  command(text: string): string
}

export const diagnosePostgres: Diagnose<TableFlags> = async (url, flags, onProgress) => {
  const target = { url, table: flags.table }
  return await withPg(target, async (client) => {
    const first = async (sql: string, values: readonly unknown[] = []): Promise<Row> =>
      (await client.query<Row>(sql, [...values])).rows[0] ?? {}
    const found = await first(
      `SELECT pg_catalog.to_regclass($1::pg_catalog.text)::pg_catalog.oid::pg_catalog.text AS relid,
         coalesce(pg_catalog.has_schema_privilege(pg_catalog.to_regnamespace('listwatch')::pg_catalog.oid, 'USAGE'), false) AS has_schema, ${UNTRUSTED_SQL} AS untrusted`,
      [flags.table],
    )
    const relid = typeof found['relid'] === 'string' ? found['relid'] : undefined
    const untrusted = found['untrusted']
    const hasSchema = found['has_schema'] === true && untrusted === null
    const untrustedOwner = typeof untrusted === 'string' && untrusted !== '' ? untrusted : undefined
    // A role without rights on the functions cannot see the logs; the check `rights` reports that.
    const logs = hasSchema
      ? await first(
          'SELECT l.log::pg_catalog.oid::pg_catalog.text AS log FROM listwatch.logs() l WHERE l.relid OPERATOR(pg_catalog.=) $1::pg_catalog.oid',
          [relid],
        ).catch(() => ({}))
      : {}
    const log: unknown = Object(logs).log
    const context: PostgresContext = {
      flags,
      relid,
      hasSchema,
      untrustedOwner,
      log: typeof log === 'string' ? log : undefined,
      client,
      first,
      withOther: (work) => withPg(target, work),
      command: (text) => withCommands(text, target),
    }
    return await runChecks(postgresChecks, context, { onProgress })
  })
}

const INSTALL = 'run: listwatch pg install <url> --table <table>'

export const postgresChecks: readonly Check<PostgresContext>[] = [
  errorCheck('server-version', async ({ first }) => {
    const row = await first(
      `SELECT pg_catalog.current_setting('server_version_num')::int AS number, pg_catalog.current_setting('server_version') AS version`,
    )
    if (Number(row['number']) >= OLDEST_SERVER) return undefined
    return {
      problem: `the server is Postgres ${String(row['version'])}, and a change log needs Postgres ${OLDEST_SERVER / 10_000} or later`,
      remedy: 'upgrade the server',
    }
  }),
  errorCheck('table', async ({ relid, flags, first }) => {
    if (relid !== undefined) return undefined
    const { database, path } = await first(
      `SELECT pg_catalog.current_database() AS database, pg_catalog.current_setting('search_path') AS path`,
    )
    return {
      problem: `there is no table "${flags.table}" in the database ${String(database)} on the search path ${String(path)}`,
      remedy: 'name it as in SQL with --table: orders, shop.orders, "Orders"',
    }
  }),
  errorCheck('key', async ({ relid, flags, first }) => {
    const sql = `SELECT pg_catalog.count(*) FILTER (WHERE i.indisunique AND i.indpred IS NULL)::int AS keys FROM pg_catalog.pg_index i WHERE i.indrelid OPERATOR(pg_catalog.=) $1::pg_catalog.oid`
    if (relid === undefined || (await first(sql, [relid]))['keys'] !== 0) return undefined
    return {
      problem: `${flags.table} has no unique index, so nothing identifies its rows`,
      remedy: `run: ALTER TABLE ${flags.table} ADD PRIMARY KEY (…)`,
    }
  }),
  errorCheck('inheritance', async ({ relid, flags, first }) => {
    const sql = `SELECT c.relkind OPERATOR(pg_catalog.=) 'r'::pg_catalog."char" AND EXISTS (SELECT FROM pg_catalog.pg_inherits h WHERE h.inhparent OPERATOR(pg_catalog.=) c.oid) AS has_heirs
      FROM pg_catalog.pg_class c WHERE c.oid OPERATOR(pg_catalog.=) $1::pg_catalog.oid`
    if ((await first(sql, [relid]))['has_heirs'] !== true) return undefined
    return {
      problem: `tables inherit from ${flags.table}, and its triggers do not see their rows`,
      remedy: 'mirror each table that inherits, or use declarative partitioning',
    }
  }),
  errorCheck('change-log', async ({ relid, flags, first, command }) => {
    if (relid === undefined) return undefined
    const sql = `SELECT EXISTS (SELECT FROM pg_catalog.pg_trigger t WHERE t.tgrelid OPERATOR(pg_catalog.=) $1::pg_catalog.oid AND t.tgname OPERATOR(pg_catalog.=) 'zz_listwatch_t'::pg_catalog.name) AS has_trigger`
    if ((await first(sql, [relid]))['has_trigger'] === true) return undefined
    return { problem: `no change log is installed on ${flags.table}`, remedy: command(INSTALL) }
  }),
  errorCheck('schema-owner', async ({ untrustedOwner }) => {
    if (untrustedOwner === undefined) return undefined
    return {
      problem: `this role is a superuser, and "${untrustedOwner}", which owns the functions of the schema listwatch, is not: they would run as a superuser`,
      remedy: `connect as ${untrustedOwner}, or as a role that was granted the right to mirror`,
    }
  }),
  errorCheck('change-log-version', async ({ hasSchema, first, command }) => {
    if (!hasSchema) return undefined
    const { version } = await first('SELECT listwatch.schema_version()::int AS version')
    if (version === SCHEMA_VERSION) return undefined
    return {
      problem: `the schema listwatch is of version ${String(version)}, and this program needs ${SCHEMA_VERSION}`,
      remedy: command(INSTALL),
    }
  }),
  errorCheck('leases', async ({ first, command }) => {
    // Only a database in which they were installed needs them.
    const { objects } = await first(`SELECT pg_catalog.array_agg(c.relname::pg_catalog.text) AS objects FROM (
        SELECT c.relname, c.relnamespace AS schema FROM pg_catalog.pg_class c UNION ALL SELECT p.proname, p.pronamespace FROM pg_catalog.pg_proc p) c
      WHERE c.schema OPERATOR(pg_catalog.=) pg_catalog.to_regnamespace('listwatch')
        AND c.relname OPERATOR(pg_catalog.=) ANY (ARRAY['lease_groups', 'leases', 'lease_rights', 'renew_lease', 'leave_group']::pg_catalog.name[])`)
    const found = Array.isArray(objects) ? objects.map(String) : []
    if (!found.includes('leases') || found.length === 5) return undefined
    return {
      problem: 'the tables and functions of leases are incomplete',
      remedy: command('run: listwatch pg install-leases <url>'),
    }
  }),
  errorCheck('triggers', async ({ log, relid, first, command }) => {
    if (log === undefined) return undefined
    const { problems } = await first('SELECT listwatch.problems($1::pg_catalog.oid) AS problems', [relid])
    if (!Array.isArray(problems) || problems.length === 0) return undefined
    return { problem: `changes are missed: ${problems.join('; ')}`, remedy: command(INSTALL) }
  }),
  warningCheck('collation-version', async ({ relid, flags, first }) => {
    if (relid === undefined) return undefined
    const { version } = await first(`SELECT pg_catalog.current_setting('server_version_num')::int AS version`)
    const sql = `SELECT ${outdatedCollationsSql('$1::pg_catalog.oid', Number(version))} AS refreshes`
    const { refreshes } = await first(sql, [relid])
    return Array.isArray(refreshes) && refreshes.length > 0 ? outdatedIndexes(flags.table, refreshes) : undefined
  }),
  errorCheck('rights', async ({ relid, first, command }) => {
    if (relid === undefined) return undefined
    const row = await first(
      `SELECT current_user AS me,
        pg_catalog.has_any_column_privilege($1::pg_catalog.oid, 'SELECT') AS "SELECT on the table",
        coalesce(pg_catalog.has_schema_privilege(pg_catalog.to_regnamespace('listwatch')::pg_catalog.oid, 'USAGE'), true) AS "USAGE on the schema listwatch",
        coalesce((SELECT pg_catalog.has_table_privilege(l.oid, 'SELECT') FROM pg_catalog.pg_trigger t JOIN pg_catalog.pg_proc f ON f.oid OPERATOR(pg_catalog.=) t.tgfoid
           JOIN pg_catalog.pg_class l ON l.relnamespace OPERATOR(pg_catalog.=) f.pronamespace AND pg_catalog.concat(l.relname, '_t') OPERATOR(pg_catalog.=) f.proname::pg_catalog.text
           WHERE t.tgrelid OPERATOR(pg_catalog.=) $1::pg_catalog.oid AND t.tgname OPERATOR(pg_catalog.=) 'zz_listwatch_t'::pg_catalog.name
             AND f.pronamespace OPERATOR(pg_catalog.=) pg_catalog.to_regnamespace('listwatch')), true) AS "SELECT on the change log"`,
      [relid],
    )
    const missing = Object.keys(row).filter((name) => row[name] === false)
    if (missing.length === 0) return undefined
    return {
      problem: `the role ${String(row['me'])} lacks ${missing.join(', ')}`,
      remedy: command('run as the owner of the table: listwatch pg install <url> --table <table> --grant <role>'),
    }
  }),
  errorCheck('row-security', async ({ relid, flags, first }) => {
    if (relid === undefined || flags.rls === 'row-local') return undefined
    if (
      (await first('SELECT pg_catalog.row_security_active($1::pg_catalog.oid) AS active', [relid]))['active'] !== true
    )
      return undefined
    return {
      problem: `row security of ${flags.table} applies to this role, so a row whose visibility depends on other rows would be missed`,
      remedy: 'use --rls row-local if no policy reads other rows, or a role with BYPASSRLS',
    }
  }),
  errorCheck('standby', async ({ first }) => {
    if ((await first('SELECT pg_catalog.pg_is_in_recovery() AS standby'))['standby'] !== true) return undefined
    return {
      problem: 'the server is a standby, which cannot mirror',
      remedy: 'use the URL of the primary server, or add ?target_session_attrs=read-write for several hosts',
    }
  }),
  warningCheck('epoch', async ({ log, flags, first, command }) => {
    if (log === undefined || (await first('SELECT listwatch.seeded() AS epoch'))['epoch'] !== null) return undefined
    return {
      problem: `the logs are empty since a crash of the server or a restore, so each mirror of ${flags.table} lists once`,
      remedy: command('a mirror that lists repairs it: listwatch list <url> --table <table>'),
    }
  }),
  warningCheck('log-size', async ({ log, relid, first, command }) => {
    if (log === undefined) return undefined
    const sql =
      'SELECT pg_catalog.pg_total_relation_size($1::pg_catalog.oid)::pg_catalog.float8 AS log, pg_catalog.pg_total_relation_size($2::pg_catalog.oid)::pg_catalog.float8 AS "table"'
    const row = await first(sql, [log, relid])
    const bytes = Number(row['log'])
    if (bytes <= LARGE_LOG_BYTES || bytes <= Number(row['table'])) return undefined
    return {
      problem: `the change log has ${megabytes(bytes)}, which is more than the table: it is not trimmed, or not vacuumed`,
      remedy: command('run: listwatch pg trim <url>'),
    }
  }),
  warningCheck('wake-of-prepared-transactions', async ({ log, relid, first, command }) => {
    if (log === undefined) return undefined
    const row = await first(
      `SELECT pg_catalog.current_setting('max_prepared_transactions')::int AS most,
        (SELECT l.options OPERATOR(pg_catalog.->>) 'wakes'::pg_catalog.text FROM listwatch.logs() l WHERE l.relid OPERATOR(pg_catalog.=) $1::pg_catalog.oid) AS wakes`,
      [relid],
    )
    if (row['most'] === 0 || row['wakes'] === 'none') return undefined
    return {
      problem: `a transaction that wakes readers cannot be prepared, and max_prepared_transactions is ${String(row['most'])}`,
      remedy: command(`${INSTALL} --wake none`),
    }
  }),
  warningCheck('prepared-transactions', async ({ first }) => {
    const row = await first(
      `SELECT p.gid, extract(epoch FROM pg_catalog.clock_timestamp() OPERATOR(pg_catalog.-) p.prepared)::pg_catalog.float8 OPERATOR(pg_catalog.*) 1000::pg_catalog.float8 AS age
        FROM pg_catalog.pg_prepared_xacts p WHERE p.database OPERATOR(pg_catalog.=) pg_catalog.current_database() ORDER BY p.prepared LIMIT 1`,
    )
    const ageMs = Number(row['age'] ?? 0)
    if (ageMs < OLD_PREPARED_MS) return undefined
    return {
      problem: `the transaction "${String(row['gid'])}" has been prepared for ${formatDuration(ageMs)}: it holds locks, and dead rows of the logs stay`,
      remedy: `run: COMMIT PREPARED '${String(row['gid']).replaceAll("'", "''")}', or ROLLBACK PREPARED`,
    }
  }),
  warningCheck('notification-queue', async ({ first }) => {
    const usage = Number((await first('SELECT pg_catalog.pg_notification_queue_usage() AS usage'))['usage'])
    if (usage <= FULL / 2) return undefined
    return {
      problem: `the queue of notifications is ${Math.round(usage * 100)} % full, and commits of writers fail once it is full`,
      remedy: `end the session that listens and does not read: SELECT pid, query FROM pg_stat_activity WHERE state LIKE 'idle in transaction%'`,
    }
  }),
  warningCheck('connections', async ({ first }) => {
    const row = await first(
      `SELECT pg_catalog.count(*)::int AS used, pg_catalog.current_setting('max_connections')::int AS most FROM pg_catalog.pg_stat_activity a
        WHERE a.backend_type OPERATOR(pg_catalog.=) 'client backend'::pg_catalog.text`,
    )
    const [used, most] = [Number(row['used']), Number(row['most'])]
    if (used / most <= FULL) return undefined
    return {
      problem: `${used} of ${most} connections are used, and a mirror needs one for its watch and one for each list`,
      remedy: 'raise max_connections, or close idle connections',
    }
  }),
  warningCheck('pooler', findPooler),
  // The slots of others. A mirror needs none, but a slot that is not read fills the disk of the server.
  warningCheck('replication-slot', async ({ first }) => {
    const slots = slotsOf((await first(SLOTS))['slots'])
    // Behind: it retains more than max_wal_size.
    const bad = slots.find(({ status }) => status !== 'reserved')
    if (bad === undefined) return undefined
    const { name, isActive, status, bytes } = bad
    const drop = `SELECT pg_drop_replication_slot('${name.replaceAll("'", "''")}')`
    if (status === 'lost')
      return {
        problem: `the replication slot "${name}" lost the log that its consumer needs, which cannot continue`,
        remedy: `run: ${drop}; then create it again, and copy the data of its consumer again`,
      }
    const consumer = isActive ? 'its consumer is slower than the writers' : 'no consumer is connected to it'
    return {
      problem: `the replication slot "${name}" retains ${megabytes(bytes)} of write-ahead log, because ${consumer}`,
      remedy: isActive ? 'see: SELECT * FROM pg_stat_replication' : `start its consumer, or run: ${drop}`,
    }
  }),
  warningCheck('unlimited-wal', async ({ first }) => {
    const { slots, most } = await first(SLOTS)
    const retaining = slotsOf(slots).filter(({ status }) => status !== 'lost')
    if (most !== '-1' || retaining.length === 0) return undefined
    const names = retaining.map(({ name }) => `"${name}"`).join(', ')
    return {
      problem: `max_slot_wal_keep_size is -1 and there are replication slots (${names}): if a consumer stops, log fills the disk`,
      remedy: `run: ALTER SYSTEM SET max_slot_wal_keep_size = '10GB'; SELECT pg_reload_conf()`,
    }
  }),
]

/** A pooler invents the process id of the driver. In transaction mode the process changes between transactions. */
async function findPooler({ client, withOther }: PostgresContext): Promise<Finding | undefined> {
  const pidOf = async (on: pg.Client): Promise<number> =>
    Number((await on.query<Row>('SELECT pg_catalog.pg_backend_pid() AS pid')).rows[0]?.['pid'])
  const pid = await pidOf(client)
  if (Object(client).processID === pid) return undefined
  const changes = await withOther(async (other) => {
    await other.query('BEGIN READ ONLY')
    const isSame = (await pidOf(other)) === pid || (await pidOf(client)) !== pid
    await other.query('ROLLBACK')
    return isSame
  })
  if (!changes) return undefined
  return {
    problem:
      'a pooler in transaction mode is between: notifications do not arrive, so a change is noticed by the next poll',
    remedy: 'use the URL of the database itself, or of a pool in session mode',
  }
}

interface Slot {
  readonly name: string
  readonly isActive: boolean
  /** `unreserved`: the next checkpoint removes what it needs. `lost`: removed. Other values: it has that. */
  readonly status: string
  readonly bytes: number
}

/** A slot without `restart_lsn` has not retained anything yet, or has lost it. */
const SLOTS = `SELECT coalesce(pg_catalog.json_agg(pg_catalog.json_build_object('name', s.slot_name, 'isActive', s.active, 'status', s.wal_status,
    'bytes', coalesce(pg_catalog.pg_wal_lsn_diff(now.here, s.restart_lsn), 0)) ORDER BY s.restart_lsn), '[]') AS slots,
    pg_catalog.current_setting('max_slot_wal_keep_size') AS most
  FROM pg_catalog.pg_replication_slots s,
    (SELECT CASE WHEN pg_catalog.pg_is_in_recovery() THEN pg_catalog.pg_last_wal_replay_lsn() ELSE pg_catalog.pg_current_wal_lsn() END AS here) now
  WHERE s.wal_status IS NOT NULL AND NOT s.temporary`

function slotsOf(value: unknown): readonly Slot[] {
  if (!Array.isArray(value)) return []
  return value.map((slot: unknown) => {
    const { name, isActive, status, bytes } = Object(slot)
    return { name: String(name), isActive: isActive === true, status: String(status), bytes: Number(bytes) }
  })
}
