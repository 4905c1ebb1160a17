import type { ScheduleOptions } from '../runner/schedule.js'
import { World } from '../runner/world.js'
import type { Stream } from '../workload/random-decisions.js'
import { type Run, SimulatedReplica } from './simulated-replica.js'
import { SimulatedStore } from './simulated-store.js'

/** The owner of a key when its last run began. */
type Owner = { readonly replica: SimulatedReplica; readonly member: string; readonly fence: number }

const FAULTS = ['join', 'leave', 'crash', 'stop', 'sleep', 'away', 'fork', 'step', 'join', 'cut', 'cut'] as const
/** After this many leases without faults every key has one owner, and has been run by it. */
const HEAL_LEASES = 2.3
/** More requests than this of one replica in a lease are a loop. */
const MAX_REQUESTS_PER_LEASE = 60

/** One schedule of replicas over one store with faults. */
export class ReplicaWorld extends World {
  readonly kind = 'replicas'
  readonly leaseMs: number
  readonly keys: readonly string[]
  readonly mode: 'share' | 'leader'
  readonly store: SimulatedStore
  readonly #replicas: SimulatedReplica[] = []
  readonly #last = new Map<string, Owner>()
  readonly #hasHints: boolean
  readonly #hints: Stream
  #healedAt = 0

  constructor(seed: number, options: ScheduleOptions = {}) {
    super(seed, options)
    const random = this.decisions.of('settings')
    this.leaseMs = random.pick([1_000, 3_000, 10_000])
    this.keys = Array.from({ length: 1 + random.below(5) }, (_, nth) => `key-${nth}`)
    this.#hasHints = random.chance(0.6)
    this.#hints = this.decisions.of('hints')
    this.mode = random.chance(0.8) ? 'share' : 'leader'
    const rate = random.chance(0.2) ? 0 : random.next() ** 2 * 0.4
    const faults = { rate, lateMs: this.leaseMs * random.pick([0.3, 1, 2]) }
    this.store = new SimulatedStore(this, faults, (from, released) => this.#hint(from, released))
  }

  override get state(): string {
    return this.#replicas.map(({ state }) => state).join('; ')
  }

  protected override get isAsync(): boolean {
    return false
  }

  protected override *schedule(): Generator<undefined, void> {
    const lease = this.leaseMs
    const random = this.decisions.of('plan')
    for (let first = 1 + random.below(3); first > 0; first--) this.#join(random.next() * lease * 0.5)
    const endOfFaults = lease * (2.5 + random.next() * 3)
    for (let nth = random.below(9); nth >= 0; nth--) {
      const name = random.pick(FAULTS)
      const at = lease * 0.3 + random.next() * (endOfFaults - lease * 0.3)
      if (this.decisions.take(`${name}#${nth}`))
        this.clock.in(at, () => this.#fault(name, this.decisions.of(`fault ${nth}`), endOfFaults))
    }
    yield* this.until(() => false, endOfFaults)
    if (this.hasFailed) return
    this.#heal()
    yield* this.until(() => false, endOfFaults + lease * HEAL_LEASES)
    // It stays so.
    for (let nth = 0; nth < 5 && !this.hasFailed; nth++) {
      if (!this.#isHealed) this.violate('live', this.#unhealed)
      yield* this.until(() => false, this.clock.elapsed + lease / 10)
    }
    this.healMs = this.#healedAt - endOfFaults
    for (const { requests, name } of this.#replicas)
      if (requests > MAX_REQUESTS_PER_LEASE * (HEAL_LEASES + 0.5))
        this.violate('calm', `${name} sent ${requests} requests`)
  }

  began(replica: SimulatedReplica, { key, fence }: Run): void {
    this.note('begins', replica.name, key)
    this.#checkExclusive(replica, key, 'begins')
    const last = this.#last.get(key)
    const hasMoved = last !== undefined && last.member !== replica.member
    if (hasMoved) this.mark('a key moved to another replica')
    if (last !== undefined && (hasMoved ? fence <= last.fence : fence < last.fence))
      this.violate('fenced', `${key} has fence ${fence} after ${last.fence} of ${last.replica.name}`)
    this.#last.set(key, { replica, member: replica.member, fence })
  }

  /** A paused replica resumes, and its runs have looked at their signals. */
  resumed(replica: SimulatedReplica): void {
    this.note('resumes', replica.name)
    for (const key of replica.runs.keys()) this.#checkExclusive(replica, key, 'resumes with')
  }

  /** Whether it is time for a run of the key. Without faults, a key runs once when it is gained. */
  wants(replica: SimulatedReplica, key: string): boolean {
    return !this.decisions.isQuiet || this.#last.get(key)?.member !== replica.member
  }

  #checkExclusive(replica: SimulatedReplica, key: string, what: string): void {
    for (const other of this.#replicas)
      if (other !== replica && !other.isPaused && other.runs.has(key))
        this.violate('exclusive', `${replica.name} ${what} ${key}, which ${other.name} runs`)
  }

  #join(inMs: number): void {
    const replica = new SimulatedReplica(this, `r${this.#replicas.length}`)
    this.#replicas.push(replica)
    this.clock.in(inMs, () => replica.start())
  }

  #fault(name: (typeof FAULTS)[number], random: Stream, endOfFaults: number): void {
    const { elapsed } = this.clock
    const lease = this.leaseMs
    const living = this.#replicas.filter(({ isAlive, hasLeft }) => isAlive && !hasLeft)
    const one = living.length === 0 ? undefined : random.pick(living)
    const forMs = Math.min(endOfFaults - elapsed, lease * random.next() * random.pick([0.3, 1, 2.5]))
    this.note(name, one?.name ?? 'nothing', forMs)
    switch (name) {
      case 'join':
        if (living.length < 6) this.#join(0)
        break
      case 'leave':
        if (one !== undefined && one.runs.size > 0) this.mark('a replica left while it ran a key')
        one?.leave()
        break
      case 'crash':
        if (one !== undefined && one.runs.size > 0) this.mark('a replica crashed while it ran a key')
        one?.crash()
        break
      case 'stop':
      case 'sleep':
        if (one === undefined || one.isPaused) break
        if (one.runs.size > 0)
          this.mark(name === 'stop' ? 'a process stopped while it ran a key' : 'a machine slept while it ran a key')
        if (forMs > lease) this.mark('a replica was paused for longer than its lease')
        one.pause()
        this.clock.in(forMs, () => one.resume(name === 'sleep'))
        break
      case 'away':
        if (this.#replicas.some(({ runs }) => runs.size > 0)) this.mark('the lease store was away while a key ran')
        this.store.isAvailable = false
        this.clock.in(forMs, () => (this.store.isAvailable = true))
        break
      case 'fork':
        if (this.#replicas.some(({ runs }) => runs.size > 0)) this.mark('the lease store lost writes while a key ran')
        this.store.table.fork(1 + random.below(random.pick([2, 12])))
        break
      case 'step':
        this.store.clockStepMs += (random.next() * 2 - 0.5) * lease * 2
        this.mark('the clock of the lease store jumped')
        break
      case 'cut':
        if (one === undefined) break
        one.requestsUntilCut = random.below(3)
        this.clock.in(Math.min(endOfFaults - elapsed, lease * (0.5 + 2 * random.next())), () => {
          one.requestsUntilCut = Infinity
        })
    }
  }

  #heal(): void {
    this.note('faults are over')
    this.decisions.isQuiet = true
    this.store.isAvailable = true
    if (this.#replicas.every(({ isAlive, isLeaving }) => !isAlive || isLeaving)) {
      this.mark('no replica was left when faults ended')
      this.#join(0)
    }
    for (const replica of this.#replicas) replica.resume(false)
    for (const replica of this.#replicas) {
      replica.requests = 0
      replica.requestsUntilCut = Infinity
      replica.runMs = this.leaseMs * 0.02
    }
    const poke = (): void => {
      for (const replica of this.#replicas) replica.begin()
      if (!this.#isHealed) this.#healedAt = this.clock.elapsed
      this.clock.in(this.leaseMs / 10, poke)
    }
    poke()
  }

  #hint(from: SimulatedReplica, released: string | undefined): void {
    if (!this.#hasHints) return
    const random = this.#hints
    const { isQuiet } = this.decisions
    for (const replica of this.#replicas) {
      if (replica === from || !(isQuiet || random.chance(0.8))) continue
      const isWrong = !isQuiet && random.chance(0.1) && this.decisions.take(`wrong hint#${random.drawn}`)
      if (isWrong) this.mark('a hint named another member')
      const named = isWrong ? random.pick(this.#replicas).member : released
      this.clock.in(random.next() * 50, () => replica.hint(named))
    }
  }

  #ownersOf(key: string): readonly SimulatedReplica[] {
    return this.#replicas.filter((replica) => replica.mayRun(key))
  }

  get #isHealed(): boolean {
    return this.keys.every((key) => {
      const [owner, another] = this.#ownersOf(key)
      return owner !== undefined && another === undefined && this.#last.get(key)?.replica === owner
    })
  }

  get #unhealed(): string {
    const owners = this.keys.map((key) => `${key} of ${this.#ownersOf(key).map(({ name }) => name)}`)
    return `${owners.join(', ')}; ${this.state}`
  }
}
