import { type Check, type Finding, megabytes } from './check.js'

/** A replication slot that retains log, or that lost it. */
interface Slot {
  readonly name: string
  readonly isActive: boolean
  /**
   * `reserved` and `extended`: it has what it needs. `unreserved`: the next checkpoint removes that. `lost`: removed.
   */
  readonly status: string
  /** The write-ahead log that it retains, in bytes. */
  readonly bytes: number
}

interface SlotsContext {
  first(sql: string, values?: readonly unknown[]): Promise<Readonly<Record<string, unknown>>>
}

/** A slot without `restart_lsn` has not retained anything yet, or has lost it. */
const SLOTS = `SELECT coalesce(pg_catalog.json_agg(pg_catalog.json_build_object('name', s.slot_name, 'isActive', s.active, 'status', s.wal_status,
    'bytes', coalesce(pg_catalog.pg_wal_lsn_diff(now.here, s.restart_lsn), 0)) ORDER BY s.restart_lsn), '[]') AS slots,
    pg_catalog.current_setting('max_slot_wal_keep_size') AS most
  FROM pg_catalog.pg_replication_slots s,
    (SELECT CASE WHEN pg_catalog.pg_is_in_recovery() THEN pg_catalog.pg_last_wal_replay_lsn() ELSE pg_catalog.pg_current_wal_lsn() END AS here) now
  WHERE s.wal_status IS NOT NULL AND NOT s.temporary`

/**
 * The slots of others. A mirror reads tables and needs no slot, but a slot that is not read fills the disk of the
 * server, and a server without disk accepts no writes.
 */
export const slotChecks: readonly Check<SlotsContext>[] = [
  {
    name: 'replication-slot',
    severity: 'warning',
    async find({ first }): Promise<Finding | undefined> {
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
    },
  },
  {
    name: 'unlimited-wal',
    severity: 'warning',
    async find({ first }): Promise<Finding | undefined> {
      const { slots, most } = await first(SLOTS)
      const retaining = slotsOf(slots).filter(({ status }) => status !== 'lost')
      if (most !== '-1' || retaining.length === 0) return undefined
      const names = retaining.map(({ name }) => `"${name}"`).join(', ')
      return {
        problem: `max_slot_wal_keep_size is -1 and there are replication slots (${names}): if a consumer stops, log fills the disk`,
        remedy: `run: ALTER SYSTEM SET max_slot_wal_keep_size = '10GB'; SELECT pg_reload_conf()`,
      }
    },
  },
]

function slotsOf(value: unknown): readonly Slot[] {
  if (!Array.isArray(value)) return []
  return value.map((slot: unknown) => {
    const { name, isActive, status, bytes } = Object(slot)
    return { name: String(name), isActive: isActive === true, status: String(status), bytes: Number(bytes) }
  })
}
