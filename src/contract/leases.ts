import { SourceError } from './errors.js'

/**
 * The lease store of one group of replicas. `reconcile` takes it as its option `leases`: each replica then runs only
 * the keys that it owns.
 *
 * @example
 * ```ts
 * import type { Leases, LeaseSession } from 'listwatch/adapter'
 *
 * declare function openSession(group: string): LeaseSession
 * function myLeases(group: string): Leases {
 *   const name = `my leases "${group}"`
 *   return { name, mode: 'share', leaseMs: 10_000, renewMs: 2_000, open: () => openSession(group) }
 * }
 * orders.reconcile((key, { object }) => makeItSo(key, object), { leases: myLeases('orders') })
 * ```
 */
export interface Leases {
  /** The store and the group, for errors: `postgres leases "orders"`. */
  readonly name: string
  /** `share`: every member owns about as many keys. `leader`: one member owns all keys. Default `share`. */
  readonly mode: 'share' | 'leader'
  /** For how many milliseconds a member may run keys after it sent a renewal. Default 10 000. */
  readonly leaseMs: number
  /** Milliseconds between two renewals. Default `leaseMs / 5`. */
  readonly renewMs: number
  /** Opens the session of one member. Each controller opens its own. Must not fail: `renew` reports what fails. */
  open(): LeaseSession
}

/**
 * The requests of one controller. After `LEASE_LOST` it joins again as a new member, through the same session.
 *
 * @example
 * ```ts
 * import type { LeaseSession, LeaseView } from 'listwatch/adapter'
 *
 * declare function post<R>(path: string, body: object, signal?: AbortSignal): Promise<R>
 * const session: LeaseSession = {
 *   renew: (record, evict, signal) => post<LeaseView>('/renew', { record, evict }, signal),
 *   leave: (member) => post<void>('/leave', { member }),
 *   close: async () => {},
 * }
 * ```
 */
export interface LeaseSession {
  /**
   * Evicts records, writes the record of this member, and then reads all records. That is one atomic step, or a
   * linearizable read that begins after the write is durable. An eviction of the member itself has no effect.
   *
   * @throws LeaseLostError if the record of this member is missing, or has the same or a later renewal. Then nothing
   * was written. A record with renewal 0 creates the record; it claims and holds nothing. It is refused if the record
   * exists.
   */
  renew(record: LeaseRecord, evict: readonly Eviction[], signal: AbortSignal): Promise<LeaseView>
  /** Removes the record of this member, without waiting longer than `leaseMs`. It may fail: then the record expires. */
  leave(member: string): Promise<void>
  /**
   * Calls `changed` soon after another member wrote a record that differs in more than its renewal, or after a record
   * was removed, until `signal` aborts. It is a hint: calls may be missed, and there may be too many. `released` is the
   * member if its record was removed or claims no key any more: others then claim its keys one request earlier. A store
   * may leave it out.
   */
  watch?(changed: (released?: string) => void, signal: AbortSignal): void
  /** Frees what the session opened. Requests that are pending may fail. */
  close(): Promise<void>
}

/**
 * What a member publishes.
 *
 * @example
 * ```ts
 * import { LeaseLostError, type LeaseRecord } from 'listwatch/adapter'
 *
 * // The check before `record` replaces the stored record of its member.
 * function assertRenewable({ member, renewal }: LeaseRecord, stored: LeaseRecord | undefined): void {
 *   const isHeld = stored === undefined ? renewal === 0 : stored.renewal < renewal
 *   if (!isHeld) throw new LeaseLostError(`the record of ${member} was removed, or has a later renewal`)
 * }
 * ```
 */
export interface LeaseRecord {
  /** The name of the member: 12 random characters of a–z and 0–9, new each time that it joins. */
  readonly member: string
  /** 0 for the first request of the member, and 1 more with each request. */
  readonly renewal: number
  /** The members over which this member computes the owners of keys, itself included. Empty: it claims no key. */
  readonly members: readonly string[]
  /** Keys that it still runs, but does not own by `members`. At most its concurrency. */
  readonly holds: readonly string[]
  /**
   * The `mode` of its `Leases`. A member with another one claims no key as long as this one claims any. A store that
   * does not keep it lets members with different modes run the same key.
   */
  readonly mode?: 'share' | 'leader' | undefined
  /** The `leaseMs` of its `Leases`. The same rule applies to it. */
  readonly leaseMs?: number | undefined
}

/**
 * All records of a group, as read by one request.
 *
 * @example
 * ```ts
 * import type { LeaseRecord, LeaseView } from 'listwatch/adapter'
 *
 * // The result of `renew`. The store adds 1 to `fence` at each renewal, and replaces `epoch` if it lost writes.
 * function viewOf(rows: readonly { record: LeaseRecord; ageMs: number }[], fence: number, epoch: string): LeaseView {
 *   return { fence, epoch, records: rows.map(({ record, ageMs }) => ({ ...record, ageMs })) }
 * }
 * ```
 */
export interface LeaseView {
  /** A safe integer, greater than every fence that any member got from a request that ended before this one began. */
  readonly fence: number
  /** Changes if the store may have lost writes, as by a failover or a restore. */
  readonly epoch: string
  /**
   * The records of all members, with the one that was just written. `ageMs`: milliseconds from the write of the record
   * to this read, by the clock of the store; 0 if the store does not know it.
   */
  readonly records: readonly (LeaseRecord & { readonly ageMs: number })[]
}

/**
 * Removes the record of a member if its renewal is still this one.
 *
 * @example
 * ```ts
 * import type { Eviction, LeaseRecord } from 'listwatch/adapter'
 *
 * function evictFrom(records: Map<string, LeaseRecord>, evictions: readonly Eviction[]): void {
 *   for (const { member, renewal } of evictions) {
 *     if (records.get(member)?.renewal === renewal) records.delete(member)
 *   }
 * }
 * ```
 */
export interface Eviction {
  /** The member. */
  readonly member: string
  /** The renewal of its expired record. */
  readonly renewal: number
}

/**
 * A member lost its lease: its record is gone, or it could not renew in time. It joins again as a new member.
 *
 * @example
 * ```ts
 * import { LeaseLostError } from 'listwatch/adapter'
 *
 * orders.on('error', (error) => {
 *   if (error instanceof LeaseLostError) console.warn(`this replica joins its group again: ${error.message}`)
 * })
 * ```
 */
export class LeaseLostError extends SourceError {
  /** `LeaseLostError`. */
  override readonly name: string = 'LeaseLostError'

  constructor(message: string, options: { readonly cause?: unknown } = {}) {
    super(message, { code: 'LEASE_LOST', cause: options.cause })
  }
}
