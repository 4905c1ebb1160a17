import { SourceError } from '../../contract/errors.js'
import type { Eviction, LeaseRecord, Leases, LeaseView } from '../../contract/leases.js'
import type { Random } from '../../contract/random.js'
import { type Backoff, backoff, drawDelay, grown, reset } from '../../reflector/backoff.js'
import { hashOf, isSameList, Owners } from './owners.js'
import { Ownership } from './ownership.js'

/** A moment by both clocks: the monotonic one may stand still while a machine sleeps, and the other may be set. */
export interface Instant {
  readonly now: number
  readonly wall: number
}

export interface LeaseRequest {
  readonly record: LeaseRecord
  readonly evict: readonly Eviction[]
  /** Members that claim no key any more, as hints said before. The view shows whether that is so. */
  readonly released: readonly string[]
  readonly sent: Instant
}

export type MembershipOptions = Pick<Leases, 'mode' | 'leaseMs' | 'renewMs'> & { readonly random: Random }

export interface Step {
  /** All runs have to stop. */
  readonly isLost: boolean
  /** The pending request is given up, because its response is late. */
  readonly isAbandoned: boolean
  readonly send: LeaseRequest | undefined
  /** The member whose record has to be removed: it left. */
  readonly leave: string | undefined
  /** When to call `step` again, by the monotonic clock, if nothing else happens before. */
  readonly wakeAt: number
}

/**
 * The part of a lease after which its owner stops. Others evict it after a larger part, because clocks run at different
 * rates, and a run needs a moment to stop. They see a renewal up to `renewMs` after it was written, so a fifth of the
 * lease is left for that: the keys of a member that crashed have another owner after about one lease.
 */
const STOP_PART = 0.7
export const EXPIRY_PART = 0.85
/** The part of a lease after which a request is given up. */
const DEADLINE_PART = 1 / 3
/** With a lease, the clocks are read at least once in this part of it. */
const LOOK_PART = 1 / 20
/** The part of the time between renewals that lies at least between two requests because of hints. */
const HINT_PART = 1 / 20
const RESTORED =
  'because the store was restored to an older state: no key runs until it is greater; ' +
  'reset what compares fences, and restart all replicas'
const FIRST_RETRY_MS = 100
const MEMBER_LENGTH = 12

/**
 * The membership of one replica in its group: which record it publishes, and which keys it may run. A pure state
 * machine: the driver calls `step` at the time of its last result, and after every other call.
 *
 * Two members that both claim a key have both written before they read. The one that reads later sees the other claim.
 */
export class Membership {
  readonly #options: MembershipOptions
  readonly #stopMs: number
  readonly #expiryMs: number
  readonly #deadlineMs: number
  member: string
  #nextRenewal = 0
  #pending: LeaseRequest | undefined
  #published: { readonly record: LeaseRecord; readonly sentAt: number } | undefined
  /** The moment before the last successful renewal was sent. The lease begins there. */
  #leased: Instant | undefined
  /** Invariant: only keys that every record which may be in the store claims. */
  ownership: Ownership = Ownership.none
  #others: readonly LeaseRecord[] = []
  /** When this replica first saw the current renewal of each other member. */
  readonly #seen = new Map<string, { readonly renewal: number; readonly at: number; readonly expiryMs: number }>()
  fence: number = -Infinity
  #epoch: { readonly name: string; readonly firstSeen: number } | undefined
  /** Whether it claims keys. A new member first waits until no lease of a lost epoch can be valid. */
  #isClaiming = false
  #isHinted = false
  readonly #released = new Set<string>()
  #retry: Backoff
  #retryAt = -Infinity
  /** The number of runs of each key that runs. A run that timed out may still run beside its retry. */
  readonly #running = new Map<string, number>()
  /** The runs that are left of memberships that were lost. */
  readonly #strays = new Set<string>()
  /** The names that this replica had, as far as their records are in the last view. */
  readonly #former = new Set<string>()
  /** The name of a join that failed, until the next request. */
  #failedJoin: string | undefined
  #isReady = false
  #phase: 'member' | 'leaving' | 'left' = 'member'

  constructor(options: MembershipOptions) {
    const { leaseMs, renewMs } = options
    this.#options = options
    this.#stopMs = leaseMs * STOP_PART
    this.#expiryMs = leaseMs * EXPIRY_PART
    this.#deadlineMs = leaseMs * DEADLINE_PART
    this.#retry = backoff(Math.min(FIRST_RETRY_MS, renewMs), renewMs)
    this.member = newMember(options.random)
  }

  /** The members over which it computes owners. */
  get members(): readonly string[] {
    return this.#published?.record.members ?? []
  }

  get hasLeft(): boolean {
    return this.#phase === 'left'
  }

  leaseEndsInMs(at: Instant): number {
    if (this.#leased === undefined) return 0
    // The monotonic clock of Linux stands still while the machine sleeps.
    const elapsed = Math.max(at.now - this.#leased.now, at.wall - this.#leased.wall)
    return Math.max(0, this.#stopMs - elapsed)
  }

  mayRun(key: string, at: Instant): boolean {
    return this.leaseEndsInMs(at) > 0 && this.ownership.includes(key)
  }

  /** It can run keys. Before, it claims none. */
  ready(): void {
    this.#isReady = true
  }

  begin(key: string): void {
    this.#running.set(key, (this.#running.get(key) ?? 0) + 1)
  }

  /** Returns whether `step` has to be called. */
  end(key: string): boolean {
    const left = (this.#running.get(key) ?? 0) - 1
    if (left > 0) {
      this.#running.set(key, left)
      return false
    }
    this.#running.delete(key)
    const wasStray = this.#strays.delete(key)
    return wasStray || this.#phase !== 'member' || this.#published?.record.holds.includes(key) === true
  }

  /** `released`: a member that claims no key any more. If that is wrong, its record still prevents runs of its keys. */
  hinted(released?: string): void {
    this.#isHinted = true
    if (released !== undefined) this.#released.add(released)
  }

  /** It claims no key from now on, and leaves when its runs have settled. */
  leave(): void {
    if (this.#phase === 'left') return
    this.#phase = 'leaving'
    this.ownership = Ownership.none
  }

  /** The reply to a request. Returns whether the lease was lost, as `step` does. @throws SourceError `PROTOCOL`. */
  replied(request: LeaseRequest, view: LeaseView, at: Instant): boolean {
    if (request !== this.#pending) return false
    if (this.#hasEnded(at)) return this.#lost()
    const { record, released, sent } = request
    const flaw = this.#flawIn(view, record)
    if (flaw !== undefined) {
      this.failed(request, at)
      throw new SourceError(flaw, { code: 'PROTOCOL' })
    }
    this.#pending = undefined
    this.#leased = sent
    if (this.#hasEnded(at)) return this.#lost()
    // A store that always forgets new members must not be asked without a delay.
    if (record.renewal > 0) this.#retry = reset(this.#retry)
    this.#retryAt = -Infinity
    this.fence = view.fence
    if (this.#epoch?.name !== view.epoch) this.#epoch = { name: view.epoch, firstSeen: at.now }
    this.#observe(view, at.now)
    for (const member of released) this.#released.delete(member)
    this.ownership = this.#ownershipAfter(request)
    const foreign = this.#foreign
    if (foreign !== undefined) throw new SourceError(this.#differenceTo(foreign), { code: 'PROTOCOL' })
    return false
  }

  /** The request failed, and may have been performed. Returns whether the lease was lost. */
  failed(request: LeaseRequest, at: Instant, error?: unknown): boolean {
    if (request !== this.#pending) return false
    this.#pending = undefined
    this.#retryAt = at.now + drawDelay(this.#retry, this.#options.random)
    this.#retry = grown(this.#retry)
    if (error instanceof SourceError && error.code === 'LEASE_LOST') {
      // Others evict no valid lease. So the store may have lost their records too, as by FLUSHALL.
      if (this.#leased !== undefined && !this.#hasEnded(at)) this.#epoch = undefined
      return this.#lost()
    }
    // Whether the record exists is unknown. It joins again under another name, and removes it.
    if (request.record.renewal === 0) {
      this.#failedJoin = request.record.member
      this.#lost()
    }
    return false
  }

  step(at: Instant): Step {
    const isLost = this.#hasEnded(at) && this.#lost()
    let isAbandoned = false
    if (this.#pending !== undefined && at.now >= this.#pending.sent.now + this.#deadlineMs) {
      isAbandoned = true
      this.failed(this.#pending, at)
    }
    const none = { isLost, isAbandoned, send: undefined, leave: undefined }
    if (this.#phase === 'left') return { ...none, wakeAt: Infinity }
    if (this.#phase === 'leaving' && this.#running.size === 0) {
      this.#phase = 'left'
      // A record that was never sent does not exist.
      const leave = this.#published === undefined ? undefined : this.member
      return { ...none, leave, wakeAt: Infinity }
    }
    const isDue = this.#pending === undefined && at.now >= this.#dueAt(at.now)
    const send = isDue ? this.#request(at) : undefined
    return { ...none, send, wakeAt: this.#wakeAt(at) }
  }

  /** The next record. From now on it may be in the store, so what it does not claim must not begin any more. */
  #request(sent: Instant): LeaseRequest {
    const expired = this.#others.filter(({ member }) => this.#evictableAt(member) <= sent.now)
    const members = this.#membersAt(sent.now)
    const { mode, leaseMs } = this.#options
    const claim = new Owners(mode, members)
    const renewal = this.#nextRenewal++
    const holds = renewal === 0 ? [] : [...this.#running.keys()].filter((key) => !claim.owns(this.member, hashOf(key)))
    this.ownership = this.ownership.within(claim)
    const record = { member: this.member, renewal, members, holds, mode, leaseMs }
    const evict = expired.map(({ member, renewal: last }) => ({ member, renewal: last }))
    if (this.#failedJoin !== undefined) evict.push({ member: this.#failedJoin, renewal: 0 })
    this.#failedJoin = undefined
    const request = { record, evict, released: [...this.#released], sent }
    this.#published = { record, sentAt: sent.now }
    this.#pending = request
    this.#isHinted = false
    return request
  }

  #membersAt(now: number): readonly string[] {
    this.#isClaiming ||= this.#isReady && this.#leased !== undefined && now >= this.#settledAt
    if (this.#phase !== 'member' || !this.#isClaiming || this.#foreign !== undefined) return []
    const live = this.#others.filter(
      ({ member, members }) =>
        members.length > 0 && !this.#former.has(member) && !this.#released.has(member) && this.#expiresAt(member) > now,
    )
    return [this.member, ...live.map(({ member }) => member)].sort()
  }

  /** When no lease of an earlier epoch is valid any more: the store may have forgotten its holder. */
  get #settledAt(): number {
    return this.#epoch === undefined ? Infinity : this.#epoch.firstSeen + this.#expiryMs
  }

  /** The age that a view names does not count: the clock of the store may be changed, or be that of another server. */
  #expiresAt(member: string): number {
    const { at = Infinity, expiryMs = 0 } = this.#seen.get(member) ?? {}
    return at + expiryMs
  }

  /** A member with other options computes other owners, or has more time. While there is one, no key is claimed. */
  get #foreign(): LeaseRecord | undefined {
    const { mode, leaseMs } = this.#options
    return this.#others.find((other) => {
      const isEqual = (other.mode ?? mode) === mode && (other.leaseMs ?? leaseMs) === leaseMs
      return !isEqual && other.members.length + other.holds.length > 0
    })
  }

  #differenceTo({ member, mode, leaseMs }: LeaseRecord): string {
    const own = `mode "${this.#options.mode}" and leaseMs ${this.#options.leaseMs}`
    const difference = `member ${member} has mode "${mode}" and leaseMs ${leaseMs}, and this replica ${own}`
    return `${difference}: all replicas need the same; this one runs no key until those with others have left`
  }

  /** The record of an earlier membership of this replica is of no use when its runs have settled. */
  #evictableAt(member: string): number {
    return this.#former.has(member) && this.#strays.size === 0 ? -Infinity : this.#expiresAt(member)
  }

  #observe({ records }: LeaseView, now: number): void {
    this.#others = records.filter(({ member }) => member !== this.member)
    const names = new Set(this.#others.map(({ member }) => member))
    for (const member of this.#former) if (!names.has(member)) this.#former.delete(member)
    for (const member of this.#seen.keys()) if (!names.has(member)) this.#seen.delete(member)
    for (const { member, renewal, leaseMs = 0 } of this.#others) {
      const expiryMs = Math.max(this.#expiryMs, leaseMs * EXPIRY_PART)
      if (this.#seen.get(member)?.renewal !== renewal) this.#seen.set(member, { renewal, at: now, expiryMs })
    }
  }

  #ownershipAfter({ record, sent }: LeaseRequest): Ownership {
    if (this.#phase !== 'member' || sent.now < this.#settledAt || this.#foreign !== undefined) return Ownership.none
    const { mode } = this.#options
    const next = Ownership.after(mode, this.member, new Owners(mode, record.members), this.#others)
    return next.isSame(this.ownership) ? this.ownership : next
  }

  /** Why the store cannot be relied on. */
  #flawIn({ fence, epoch, records }: LeaseView, { member, renewal }: LeaseRecord): string | undefined {
    if (!Number.isSafeInteger(fence)) return `the fence ${fence} is not a safe integer`
    if (fence <= this.fence) {
      const flaw = `the fence ${fence} is not greater than the last one, ${this.fence}`
      return this.#epoch?.name === epoch ? flaw : `${flaw}, ${RESTORED}`
    }
    if (records.some((record) => record.member === member && record.renewal === renewal)) return undefined
    return 'the view does not have the record that was just written'
  }

  #hasEnded(at: Instant): boolean {
    return this.#leased !== undefined && this.leaseEndsInMs(at) === 0
  }

  /** Joins again as a new member. What still runs is published as held. */
  #lost(): true {
    this.#former.add(this.member)
    for (const key of this.#running.keys()) this.#strays.add(key)
    this.member = newMember(this.#options.random)
    this.#nextRenewal = 0
    this.#pending = undefined
    this.#published = undefined
    this.#leased = undefined
    this.ownership = Ownership.none
    this.#others = []
    this.#released.clear()
    this.#isClaiming = false
    if (this.#phase === 'leaving') this.#phase = 'left'
    return true
  }

  #dueAt(now: number): number {
    const published = this.#published
    if (published === undefined || this.#retryAt > -Infinity) return this.#retryAt
    const { record, sentAt } = published
    const settled = record.holds.some((key) => !this.#running.has(key))
    if (settled || !isSameList(record.members, this.#membersAt(now))) return now
    const { renewMs } = this.#options
    const soon = sentAt + renewMs * HINT_PART
    let due = this.#isHinted ? soon : sentAt + renewMs
    if (this.#isReady && !this.#isClaiming) due = Math.min(due, this.#settledAt)
    for (const { member } of this.#others) due = Math.min(due, this.#evictableAt(member))
    return Math.max(due, soon)
  }

  #wakeAt(at: Instant): number {
    const { now } = at
    const next = this.#pending === undefined ? this.#dueAt(now) : this.#pending.sent.now + this.#deadlineMs
    if (this.#leased === undefined) return next
    // A timer does not count the time in which the machine sleeps. So it may not be long.
    const look = now + this.#options.leaseMs * LOOK_PART
    return Math.min(next, look, now + this.leaseEndsInMs(at))
  }
}

function newMember(random: Random): string {
  return Array.from({ length: MEMBER_LENGTH }, () => Math.floor(random.next() * 36).toString(36)).join('')
}
