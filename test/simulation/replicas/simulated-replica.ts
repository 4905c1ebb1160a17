import type { LeaseView } from '../../../src/contract/leases.js'
import { type Instant, type LeaseRequest, Membership } from '../../../src/subscriptions/replicas/membership.js'
import type { SeededRandom } from '../../../testing/seeded-random.js'
import type { EventQueue } from './event-queue.js'
import type { SimulatedStore } from './simulated-store.js'

/** A run of a key. */
export interface Run {
  readonly key: string
  readonly fence: number
}

/** What a replica reports to the checkers. */
export interface RunListener {
  began(replica: SimulatedReplica, run: Run): void
  /** A paused replica resumes, and its runs have looked at their signals. */
  resumed(replica: SimulatedReplica): void
  /** Whether it is time for a run of the key. */
  wants(replica: SimulatedReplica, key: string): boolean
  note(replica: SimulatedReplica, what: string, about?: unknown): void
}

export interface ReplicaSettings {
  readonly name: string
  readonly mode: 'share' | 'leader'
  readonly leaseMs: number
  readonly renewMs: number
  readonly keys: readonly string[]
  readonly concurrency: number
  /** The rate of its clocks. */
  readonly rate: number
  /** The longest run, in milliseconds. */
  readonly runMs: number
}

/** One process: the real membership, and fake runs that stop at their abort. */
export class SimulatedReplica {
  readonly settings: ReplicaSettings
  readonly runs = new Map<string, Run>()
  isAlive = true
  isPaused = false
  isLeaving = false
  requests = 0
  /** How many requests pass before the network to the store is cut. The reply to the last one is late. */
  requestsUntilCut = Infinity
  /** The longest run, in milliseconds. */
  runMs: number
  readonly #events: EventQueue
  readonly #store: SimulatedStore
  readonly #random: SeededRandom
  readonly #listener: RunListener
  readonly #membership: Membership
  /** How far the monotonic clock is behind, because the machine slept. */
  #sleptMs = 0
  #pausedAt = 0
  #wakeAt = Infinity
  /** The time of the timer by the monotonic clock. */
  #wakeMono = Infinity
  /** What happened while it was paused. */
  #missed: (() => void)[] = []

  constructor(
    settings: ReplicaSettings,
    around: { events: EventQueue; store: SimulatedStore; random: SeededRandom; listener: RunListener },
  ) {
    this.settings = settings
    this.runMs = settings.runMs
    this.#events = around.events
    this.#store = around.store
    this.#random = around.random
    this.#listener = around.listener
    const { mode, leaseMs, renewMs } = settings
    this.#membership = new Membership({ mode, leaseMs, renewMs, random: around.random })
    this.#membership.ready()
  }

  get member(): string {
    return this.#membership.member
  }

  get hasLeft(): boolean {
    return this.#membership.hasLeft
  }

  mayRun(key: string): boolean {
    return this.isAlive && this.#membership.mayRun(key, this.#instant)
  }

  get state(): string {
    const { member, members, fence } = this.#membership
    const ends = this.#membership.leaseEndsInMs(this.#instant).toFixed(0)
    const runs = [...this.runs.keys()].join(' ')
    return `${this.settings.name}=${member.slice(0, 4)} members=${members.map((each) => each.slice(0, 4))} lease=${ends} fence=${fence} runs=${runs}`
  }

  start(): void {
    this.#whenRunning(() => this.pump())
  }

  /** After any event: the same as the driver does. */
  pump(): void {
    if (!this.isAlive || this.isPaused) return
    const at = this.#instant
    const { isLost, send, leave, wakeAt } = this.#membership.step(at)
    if (isLost) this.#abort()
    if (leave !== undefined) this.#store.leave(this, leave)
    if (send !== undefined) this.#send(send)
    this.#wake(wakeAt, at.now)
    if (send !== undefined) this.begin()
  }

  /** Begins as many runs as are allowed. */
  begin(): void {
    if (!this.isAlive || this.isPaused) return
    const { keys, concurrency } = this.settings
    const from = this.#random.below(keys.length)
    for (let nth = 0; nth < keys.length && this.runs.size < concurrency; nth++) {
      const key = keys[(from + nth) % keys.length] as string
      if (this.runs.has(key) || !this.#listener.wants(this, key) || !this.mayRun(key)) continue
      const run = { key, fence: this.#membership.fence }
      this.runs.set(key, run)
      this.#membership.begin(key)
      this.#listener.began(this, run)
      this.#later(1 + this.#random.next() ** 2 * this.runMs, () => this.#settle(run))
    }
  }

  hint(released?: string): void {
    this.#whenRunning(() => {
      this.#membership.hinted(released)
      this.pump()
    })
  }

  leave(): void {
    this.isLeaving = true
    this.#whenRunning(() => {
      this.#membership.leave()
      this.pump()
    })
  }

  crash(): void {
    this.isAlive = false
    this.runs.clear()
  }

  pause(): void {
    if (this.isPaused || !this.isAlive) return
    this.isPaused = true
    this.#pausedAt = this.#events.now
  }

  /** `hasSlept`: the monotonic clock stood still. */
  resume(hasSlept: boolean): void {
    if (!this.isPaused || !this.isAlive) return
    this.isPaused = false
    if (hasSlept) this.#sleptMs += this.#events.now - this.#pausedAt
    // Code that resumes before any timer looks at its signal, which looks at the clock.
    if (this.#membership.leaseEndsInMs(this.#instant) === 0) this.#abort()
    this.#listener.resumed(this)
    const missed = this.#missed
    this.#missed = []
    // A timer does not count the time of the sleep.
    if (hasSlept) this.#wake(this.#wakeMono, this.#instant.now)
    else if (this.#random.chance(0.5)) this.pump()
    for (const each of missed) each()
    if (!hasSlept) this.pump()
  }

  get #instant(): Instant {
    const wall = this.#events.now * this.settings.rate
    return { now: wall - this.#sleptMs * this.settings.rate, wall }
  }

  #send(request: LeaseRequest): void {
    this.requests++
    this.#listener.note(this, 'sends', request)
    if (this.requestsUntilCut <= 0) return
    const isLast = --this.requestsUntilCut === 0
    const lateMs = isLast ? (this.#random.next() * this.settings.leaseMs) / 3 : 0
    this.#store.renew(this, request, (result) => this.#later(lateMs, () => this.#answered(request, result)))
  }

  #answered(request: LeaseRequest, result: unknown): void {
    this.#listener.note(this, 'got', result instanceof Error ? result.message : result)
    const at = this.#instant
    const isLost =
      result instanceof Error
        ? this.#membership.failed(request, at, result)
        : this.#membership.replied(request, result as LeaseView, at)
    if (isLost) this.#abort()
    this.begin()
    this.pump()
  }

  #settle(run: Run): void {
    if (this.runs.get(run.key) !== run) return
    this.runs.delete(run.key)
    if (this.#membership.end(run.key)) this.pump()
    this.#later(this.#random.next() ** 3 * this.settings.renewMs, () => this.begin())
  }

  /** All runs stop. */
  #abort(): void {
    if (this.runs.size > 0) this.#listener.note(this, 'aborts', [...this.runs.keys()])
    for (const key of this.runs.keys()) this.#membership.end(key)
    this.runs.clear()
  }

  #wake(wakeAt: number, now: number): void {
    this.#wakeMono = wakeAt
    if (wakeAt === Infinity) {
      this.#wakeAt = Infinity
      return
    }
    // Timers are a little late.
    const at = this.#events.now + Math.max(0, wakeAt - now) / this.settings.rate + this.#random.next() ** 4 * 20
    this.#wakeAt = at
    this.#events.at(at, () => this.#whenRunning(() => this.#wakeAt === at && this.pump()))
  }

  #later(ms: number, act: () => void): void {
    this.#events.at(this.#events.now + ms, () => this.#whenRunning(act))
  }

  #whenRunning(act: () => void): void {
    if (!this.isAlive) return
    if (this.isPaused) this.#missed.push(act)
    else act()
  }
}
