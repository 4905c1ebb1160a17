import { ABORTED, messageOf, SourceError } from '../../contract/errors.js'
import { LeaseLostError, type LeaseSession, type Leases } from '../../contract/leases.js'
import type { Random } from '../../contract/random.js'
import { promised, settleWithin } from '../../util/deadline.js'
import type { ReplicaStatus } from '../controller/controller-types.js'
import type { FeedHost } from '../feed.js'
import { EXPIRY_PART, type Instant, type LeaseRequest, Membership } from './membership.js'
import { hashOf } from './owners.js'
import { Ownership } from './ownership.js'

/** An error of the store is reported at most once in this time. */
const REPORT_MS = 60_000

/** The number of hashes from which the share of a member is computed. */
const SAMPLES = 1_000

/** More past ownerships than this are not compared: then every key counts as gained. */
const MAX_PAST = 8

type GateHost = Pick<FeedHost<never>, 'clock' | 'report'>

interface GateHooks {
  /** Keys may have been gained: those that are not in all ownerships of `past`. */
  gained(): void
  left(): void
}

export interface OwnedRun {
  readonly signal: AbortSignal
  readonly fence: number
  end(): void
}

/** Sends the renewals of a controller in its group of replicas, and decides which keys may run. */
export class ReplicaGate {
  readonly #leases: Leases
  readonly #host: GateHost
  readonly #hooks: GateHooks
  readonly #session: LeaseSession
  readonly #membership: Membership
  readonly #end = new AbortController()
  #lease: AbortController
  #request: AbortController | undefined
  #timer: { readonly wakeAt: number; readonly stop: AbortController } | undefined
  #last: Ownership = Ownership.none
  /** When it got its lease, and for how long it had earlier ones. */
  #leasedAt = 0
  #leasedMs = 0
  /** The ownerships before the present one, as far as they are compared. The one that compares them forgets them. */
  past: Ownership[] = []
  readonly #reportedAt = new Map<string, number>()
  /** The error of the last request; undefined if it was successful. */
  failure: SourceError | undefined
  #isLeaving = false
  /** Its record was removed, or could not be. */
  hasLeft = false

  constructor(leases: Leases, host: GateHost, random: Random, hooks: GateHooks) {
    const { mode, leaseMs, renewMs } = leases
    this.#leases = leases
    this.#host = host
    this.#hooks = hooks
    this.#membership = new Membership({ mode, leaseMs, renewMs, random })
    this.#lease = this.#newLease()
    this.#session = leases.open()
    void this.#watch()
    this.#pump()
  }

  async #watch(): Promise<void> {
    const { signal } = this.#end
    const hinted = (released?: string): void => {
      this.#membership.hinted(released)
      this.#pump()
    }
    try {
      const watching: unknown = this.#session.watch?.(hinted, signal)
      await watching // A watch of a user may be asynchronous.
    } catch (error) {
      if (!signal.aborted) this.#report(error)
    }
  }

  /** Whether it claims no key yet, because an earlier member may still run keys. That lasts `settleMs`. */
  get isNew(): boolean {
    return this.#membership.members.length === 0
  }

  /** For how long a new member claims no key, in milliseconds. */
  get settleMs(): number {
    return this.#leases.leaseMs * EXPIRY_PART
  }

  /** For how long it has had a lease so far, in milliseconds. */
  get leasedMs(): number {
    return this.#leasedMs + (this.#last === Ownership.none ? 0 : this.#host.clock.now() - this.#leasedAt)
  }

  get status(): ReplicaStatus {
    const { member, members, fence, ownership } = this.#membership
    const leaseEndsInMs = this.#membership.leaseEndsInMs(this.#instant)
    let owned = 0
    if (leaseEndsInMs > 0)
      for (let sample = 0; sample < SAMPLES; sample++) if (ownership.includesHash(hashOf(String(sample)))) owned++
    return { member, members, share: owned / SAMPLES, leaseEndsInMs, fence: Number.isFinite(fence) ? fence : undefined }
  }

  ready(): void {
    this.#membership.ready()
    this.#pump()
  }

  mayRun(key: string): boolean {
    return this.#membership.mayRun(key, this.#instant)
  }

  begin(key: string): OwnedRun {
    this.#membership.begin(key)
    const end = (): void => {
      if (this.#membership.end(key)) this.#pump()
    }
    return { signal: this.#lease.signal, fence: this.#membership.fence, end }
  }

  /** Whether the key belongs to this replica, as long as its lease is valid. */
  owns(key: string, hash: number): boolean {
    return this.#membership.ownership.includes(key, hash)
  }

  /** Whether another replica runs the key, or did so in an ownership that was not compared yet. */
  isHeld(key: string): boolean {
    return [this.#membership.ownership, ...this.past].some((ownership) => ownership.isHeld(key))
  }

  /** Makes the signal of a run with a time limit look at the clock too. */
  checked(signal: AbortSignal): AbortSignal {
    return abortedByClock(signal, this.#checkLease)
  }

  /** No run begins any more, and those in progress abort. It leaves the group when they have settled. */
  leave(reason: SourceError): void {
    this.#membership.leave()
    this.#lease.abort(reason)
    this.#pump()
  }

  get #instant(): Instant {
    const { clock } = this.#host
    const now = clock.now()
    return { now, wall: clock.wallNow?.() ?? now }
  }

  readonly #checkLease = (): void => {
    if (this.#membership.leaseEndsInMs(this.#instant) === 0) this.#pump()
  }

  #newLease(): AbortController {
    const lease = new AbortController()
    abortedByClock(lease.signal, this.#checkLease)
    return lease
  }

  #pump(): void {
    if (this.#isLeaving) return
    const { isLost, isAbandoned, send, leave, wakeAt } = this.#membership.step(this.#instant)
    if (isAbandoned || isLost) {
      this.#request?.abort(ABORTED)
      this.#request = undefined
      if (isAbandoned) this.#report(new SourceError(`${this.#leases.name} does not answer`, { code: 'UNAVAILABLE' }))
    }
    if (send !== undefined) void this.#send(send)
    if (this.#membership.hasLeft) void this.#leave(leave)
    else this.#wakeAt(wakeAt)
    this.#compare()
    if (isLost) this.#lost('it was not renewed in time') // Last: a listener of a signal may close the controller.
  }

  async #send(request: LeaseRequest): Promise<void> {
    const abort = new AbortController()
    this.#request = abort
    try {
      const view = await this.#session.renew(request.record, request.evict, abort.signal)
      this.failure = undefined
      if (this.#membership.replied(request, view, this.#instant)) this.#lost('it was not renewed in time')
    } catch (error) {
      if (this.#membership.failed(request, this.#instant, error)) this.#lost(messageOf(error))
      else if (!abort.signal.aborted) this.#report(error)
    }
    if (this.#request === abort) this.#request = undefined
    this.#pump()
  }

  #lost(why: string): void {
    const message = `the lease of ${this.#leases.name} was lost: ${why}; joining again`
    const error = new LeaseLostError(message)
    this.#lease.abort(error)
    this.#lease = this.#newLease()
    this.#report(error)
  }

  #wakeAt(wakeAt: number): void {
    // A timer that is too early does no harm.
    if (this.#timer !== undefined && this.#timer.wakeAt <= wakeAt) return
    this.#timer?.stop.abort(ABORTED)
    if (wakeAt === Infinity) {
      this.#timer = undefined
      return
    }
    const timer = { wakeAt, stop: new AbortController() }
    this.#timer = timer
    const { clock } = this.#host
    const wake = (): void => {
      if (this.#timer !== timer) return
      this.#timer = undefined
      this.#pump()
    }
    clock.sleep(Math.max(0, wakeAt - clock.now()), timer.stop.signal).then(wake, () => {})
  }

  #compare(): void {
    const { ownership } = this.#membership
    if (ownership === this.#last) return
    this.#leasedMs = this.leasedMs
    this.#leasedAt = this.#host.clock.now()
    if (this.past.length < MAX_PAST) this.past.push(this.#last)
    else this.past = [Ownership.none]
    const hasGained = ownership !== Ownership.none && !ownership.onlyLosesFrom(this.#last)
    this.#last = ownership
    if (hasGained) this.#hooks.gained()
  }

  async #leave(member: string | undefined): Promise<void> {
    this.#isLeaving = true
    this.#timer?.stop.abort(ABORTED)
    this.#request?.abort(ABORTED)
    this.#end.abort(ABORTED)
    const session = this.#session
    const over = async (): Promise<void> => {
      const report = (error: unknown): void => this.#report(error)
      // The record expires if this fails.
      if (member !== undefined) await promised(() => session.leave(member)).catch(report)
      await promised(() => session.close()).catch(report)
    }
    await settleWithin(this.#leases.leaseMs, over(), this.#host.clock)
    this.hasLeft = true
    this.#hooks.left()
  }

  #report(thrown: unknown): void {
    const { name } = this.#leases
    const code = thrown instanceof SourceError ? thrown.code : 'UNAVAILABLE'
    const isOurs = thrown instanceof SourceError && thrown.message.includes(name)
    const message = isOurs ? thrown.message : `${name}: ${messageOf(thrown)}`
    const error = new SourceError(message, { code, cause: thrown, phase: 'handle' })
    this.failure = error
    const now = this.#host.clock.now()
    if (now - (this.#reportedAt.get(code) ?? -Infinity) < REPORT_MS) return
    this.#reportedAt.set(code, now)
    this.#host.report(error)
  }
}

/** `check` aborts the signal if its time is over: after a pause of the process, code reads it before a timer fires. */
function abortedByClock(signal: AbortSignal, check: () => void): AbortSignal {
  const { get } = Object.getOwnPropertyDescriptor(AbortSignal.prototype, 'aborted') ?? {}
  const isAborted = (): boolean => get?.call(signal) === true
  Object.defineProperty(signal, 'aborted', {
    configurable: true,
    get: () => {
      if (!isAborted()) check()
      return isAborted()
    },
  })
  Object.defineProperty(signal, 'throwIfAborted', {
    configurable: true,
    value: () => {
      if (signal.aborted) throw signal.reason
    },
  })
  return signal
}
