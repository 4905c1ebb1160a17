import type { LeaseView } from '../../../src/contract/leases.js'
import { type Instant, type LeaseRequest, Membership } from '../../../src/subscriptions/replicas/membership.js'
import type { Stream } from '../workload/random-decisions.js'
import type { ReplicaWorld } from './replica-world.js'

export type Run = { readonly key: string; readonly fence: number }

/** One process: the real membership, and fake runs that stop at their abort. */
export class SimulatedReplica {
  readonly name: string
  readonly random: Stream
  readonly runs = new Map<string, Run>()
  isAlive = true
  isPaused = false
  isLeaving = false
  requests = 0
  /** How many requests pass before the network to the store is cut. The reply to the last one is late. */
  requestsUntilCut = Infinity
  runMs: number
  readonly #world: ReplicaWorld
  readonly #concurrency: number
  /** The rate of its clocks. */
  readonly #rate: number
  readonly #renewMs: number
  readonly #membership: Membership
  /** How far the monotonic clock is behind, because the machine slept. */
  #sleptMs = 0
  #pausedAt = 0
  /** The number of the last timer. */
  #wakes = 0
  /** The time of the timer by the monotonic clock. */
  #wakeMono = Infinity
  /** What happened while it was paused. */
  #missed: (() => void)[] = []

  constructor(world: ReplicaWorld, name: string) {
    const { mode, leaseMs } = world
    const random = world.decisions.of(name)
    this.#world = world
    this.name = name
    this.random = random
    this.#concurrency = 1 + random.below(3)
    this.#rate = 0.98 + random.next() * 0.04
    this.runMs = leaseMs * random.pick([0.05, 0.3, 1.2])
    this.#renewMs = leaseMs / 5
    this.#membership = new Membership({ mode, leaseMs, renewMs: this.#renewMs, random })
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
    return `${this.name}=${member.slice(0, 4)} members=${members.map((each) => each.slice(0, 4))} lease=${ends} fence=${fence} runs=${runs}`
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
    if (leave !== undefined) this.#world.store.leave(this, leave)
    if (send !== undefined) this.#send(send)
    this.#wake(wakeAt, at.now)
    if (send !== undefined) this.begin()
  }

  /** Begins as many runs as are allowed. */
  begin(): void {
    if (!this.isAlive || this.isPaused) return
    const { keys } = this.#world
    const from = this.random.below(keys.length)
    for (let nth = 0; nth < keys.length && this.runs.size < this.#concurrency; nth++) {
      const key = keys[(from + nth) % keys.length] as string
      if (this.runs.has(key) || !this.#world.wants(this, key) || !this.mayRun(key)) continue
      const run = { key, fence: this.#membership.fence }
      this.runs.set(key, run)
      this.#membership.begin(key)
      this.#world.began(this, run)
      this.#later(1 + this.random.next() ** 2 * this.runMs, () => this.#settle(run))
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
    this.#pausedAt = this.#world.clock.elapsed
  }

  /** `hasSlept`: the monotonic clock stood still. */
  resume(hasSlept: boolean): void {
    if (!this.isPaused || !this.isAlive) return
    this.isPaused = false
    if (hasSlept) this.#sleptMs += this.#world.clock.elapsed - this.#pausedAt
    // Code that resumes before any timer looks at its signal, which looks at the clock.
    if (this.#membership.leaseEndsInMs(this.#instant) === 0) this.#abort()
    this.#world.resumed(this)
    const missed = this.#missed
    this.#missed = []
    // A timer does not count the time of the sleep.
    if (hasSlept) this.#wake(this.#wakeMono, this.#instant.now)
    else if (this.random.chance(0.5)) this.pump()
    for (const each of missed) each()
    if (!hasSlept) this.pump()
  }

  get #instant(): Instant {
    const wall = this.#world.clock.elapsed * this.#rate
    return { now: wall - this.#sleptMs * this.#rate, wall }
  }

  #send(request: LeaseRequest): void {
    this.requests++
    this.#world.note('sends', this.name, request.record.renewal, request.evict.length, request.released.length)
    if (this.requestsUntilCut <= 0) {
      this.#world.mark('a replica was cut off from the lease store')
      return
    }
    const isLast = --this.requestsUntilCut === 0
    const lateMs = isLast ? (this.random.next() * this.#world.leaseMs) / 3 : 0
    this.#world.store.renew(this, request, (result) => this.#later(lateMs, () => this.#answered(request, result)))
  }

  #answered(request: LeaseRequest, result: unknown): void {
    this.#world.note('got', this.name, result instanceof Error ? result.message : 'a view')
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
    this.#later(this.random.next() ** 3 * this.#renewMs, () => this.begin())
  }

  #abort(): void {
    if (this.runs.size > 0) {
      this.#world.note('aborts', this.name, ...this.runs.keys())
      this.#world.mark('a replica aborted its runs')
    }
    for (const key of this.runs.keys()) this.#membership.end(key)
    this.runs.clear()
  }

  #wake(wakeAt: number, now: number): void {
    this.#wakeMono = wakeAt
    if (wakeAt === Infinity) {
      this.#wakes++
      return
    }
    // Timers are a little late.
    const inMs = Math.max(0, wakeAt - now) / this.#rate + this.random.next() ** 4 * 20
    const wake = ++this.#wakes
    this.#world.clock.in(inMs, () => this.#whenRunning(() => this.#wakes === wake && this.pump()))
  }

  #later(ms: number, act: () => void): void {
    this.#world.clock.in(ms, () => this.#whenRunning(act))
  }

  #whenRunning(act: () => void): void {
    if (!this.isAlive) return
    if (this.isPaused) this.#missed.push(act)
    else act()
  }
}
