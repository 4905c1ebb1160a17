import { SeededRandom } from '../../../testing/seeded-random.js'
import { EventQueue } from './event-queue.js'
import { type Run, type RunListener, SimulatedReplica } from './simulated-replica.js'
import { SimulatedStore, type StoreFaults } from './simulated-store.js'

/** The rules that a schedule checks. */
export type ReplicaRule = 'exclusive' | 'fenced' | 'live' | 'calm' | 'crash'

export interface ReplicaOutcome {
  readonly seed: number
  readonly steps: number
  readonly virtualMs: number
  /** From the end of faults until every key had one owner, in leases. */
  readonly healLeases: number
  readonly trace: number
  /** How many runs began, how many keys moved to another replica, and what else happened. */
  readonly counts: Readonly<Record<string, number>>
  readonly violation: { readonly rule: ReplicaRule; readonly message: string } | undefined
}

/** Begins of runs of a key. */
interface Owner {
  readonly replica: SimulatedReplica
  readonly member: string
  readonly fence: number
}

/** After this many leases without faults every key has one owner, and has been run by it. */
const HEAL_LEASES = 2.3
/** More requests than this of one replica in a lease are a loop. */
const MAX_REQUESTS_PER_LEASE = 60

/** One schedule of replicas over one store with faults. Returns the violations. */
export function runReplicas(seed: number, onEvent?: (line: string) => void): ReplicaOutcome {
  return new ReplicaWorld(seed, onEvent).run()
}

class ReplicaWorld implements RunListener {
  readonly #seed: number
  readonly #random: SeededRandom
  readonly #onEvent: ((line: string) => void) | undefined
  readonly #events = new EventQueue()
  readonly #store: SimulatedStore
  readonly #faults: StoreFaults
  readonly #replicas: SimulatedReplica[] = []
  readonly #last = new Map<string, Owner>()
  readonly #counts: Record<string, number> = {}
  readonly #leaseMs: number
  readonly #keys: readonly string[]
  readonly #hasHints: boolean
  readonly #mode: 'share' | 'leader'
  #isQuiet = false
  #healedAt = 0
  #steps = 0
  #trace = 0x811c9dc5
  #violation: ReplicaOutcome['violation']

  constructor(seed: number, onEvent: ((line: string) => void) | undefined) {
    const random = new SeededRandom(seed)
    this.#seed = seed
    this.#random = random
    this.#onEvent = onEvent
    this.#leaseMs = random.pick([1_000, 3_000, 10_000])
    this.#keys = Array.from({ length: 1 + random.below(5) }, (_, nth) => `key-${nth}`)
    this.#hasHints = random.chance(0.6)
    this.#mode = random.chance(0.8) ? 'share' : 'leader'
    const rate = random.chance(0.2) ? 0 : random.next() ** 2 * 0.4
    this.#faults = { rate, lateMs: this.#leaseMs * random.pick([0.3, 1, 2]) }
    this.#store = new SimulatedStore(this.#events, random, this.#faults, (from, released) => this.#hint(from, released))
  }

  run(): ReplicaOutcome {
    let healMs = 0
    try {
      const lease = this.#leaseMs
      const first = 1 + this.#random.below(3)
      for (let nth = 0; nth < first; nth++) this.#join(this.#random.next() * lease * 0.5)
      const endOfFaults = lease * (2.5 + this.#random.next() * 3)
      const faults = 1 + this.#random.below(9)
      for (let nth = 0; nth < faults; nth++)
        this.#events.at(lease * 0.3 + this.#random.next() * (endOfFaults - lease * 0.3), () => this.#fault(endOfFaults))
      if (this.#until(() => false, endOfFaults)) {
        this.#heal()
        this.#until(() => false, endOfFaults + lease * HEAL_LEASES)
        // It stays so.
        for (let nth = 0; nth < 5 && this.#violation === undefined; nth++) {
          if (!this.#isHealed) this.#violate('live', this.#unhealed)
          this.#until(() => false, this.#events.now + lease / 10)
        }
        healMs = this.#healedAt - endOfFaults
        this.#checkCalm()
      }
    } catch (error) {
      this.#violate('crash', error instanceof Error ? (error.stack ?? error.message) : String(error))
    }
    return {
      seed: this.#seed,
      steps: this.#steps,
      virtualMs: this.#events.now,
      healLeases: healMs / this.#leaseMs,
      trace: this.#trace >>> 0,
      counts: this.#counts,
      violation: this.#violation,
    }
  }

  began(replica: SimulatedReplica, { key, fence }: Run): void {
    this.note(replica, 'begins', key)
    this.#count('runs')
    for (const other of this.#replicas)
      if (other !== replica && !other.isPaused && other.runs.has(key))
        this.#violate('exclusive', `${replica.settings.name} begins ${key}, which ${other.settings.name} runs`)
    const last = this.#last.get(key)
    if (last !== undefined && last.member !== replica.member) {
      this.#count('moves')
      if (fence <= last.fence)
        this.#violate('fenced', `${key} has fence ${fence} after ${last.fence} of ${last.replica.settings.name}`)
    } else if (last !== undefined && fence < last.fence)
      this.#violate('fenced', `${key} has fence ${fence} after ${last.fence}`)
    this.#last.set(key, { replica, member: replica.member, fence })
  }

  resumed(replica: SimulatedReplica): void {
    this.note(replica, 'resumes')
    for (const key of replica.runs.keys())
      for (const other of this.#replicas)
        if (other !== replica && !other.isPaused && other.runs.has(key))
          this.#violate('exclusive', `${replica.settings.name} resumes with ${key}, which ${other.settings.name} runs`)
  }

  /** Without faults, a key runs once when it is gained. */
  wants(replica: SimulatedReplica, key: string): boolean {
    return !this.#isQuiet || this.#last.get(key)?.member !== replica.member
  }

  note(replica: SimulatedReplica, what: string, about?: unknown): void {
    this.#trace = Math.imul(this.#trace ^ (what.length + this.#replicas.indexOf(replica) * 31), 0x01000193)
    this.#trace ^= Math.floor(this.#events.now * 1_000)
    this.#tell(() => `${what} ${about === undefined ? '' : JSON.stringify(about)}   [${replica.state}]`)
  }

  #tell(line: () => string): void {
    this.#onEvent?.(`${this.#events.now.toFixed(1).padStart(9)} ms  ${line()}`)
  }

  #until(holds: () => boolean, end: number): boolean {
    while (this.#violation === undefined && !holds()) {
      if (!this.#events.next(end)) return true
      if (++this.#steps > 50_000) {
        this.#violate('calm', 'more than 50000 steps')
        return false
      }
    }
    return this.#violation === undefined
  }

  #join(at: number): void {
    const random = this.#random
    const name = `r${this.#replicas.length}`
    const replica = new SimulatedReplica(
      {
        name,
        mode: this.#mode,
        leaseMs: this.#leaseMs,
        renewMs: this.#leaseMs / 5,
        keys: this.#keys,
        concurrency: 1 + random.below(3),
        rate: 0.98 + random.next() * 0.04,
        runMs: this.#leaseMs * random.pick([0.05, 0.3, 1.2]),
      },
      { events: this.#events, store: this.#store, random, listener: this },
    )
    this.#replicas.push(replica)
    this.#events.at(at, () => replica.start())
  }

  #fault(endOfFaults: number): void {
    const random = this.#random
    const [now, lease] = [this.#events.now, this.#leaseMs]
    const living = this.#replicas.filter(({ isAlive, hasLeft }) => isAlive && !hasLeft)
    const one = living.length === 0 ? undefined : random.pick(living)
    const kind = random.below(11)
    const until = Math.min(endOfFaults, now + lease * random.next() * random.pick([0.3, 1, 2.5]))
    const names = ['join', 'leave', 'crash', 'stop', 'sleep', 'away', 'fork', 'step', 'join', 'cut', 'cut'] as const
    const name = names[kind] as (typeof names)[number]
    this.#count(name)
    this.#tell(() => `FAULT ${name} ${one?.settings.name} until ${until.toFixed(0)}`)
    if (name === 'join' && living.length < 6) this.#join(now)
    else if (name === 'leave') one?.leave()
    else if (name === 'crash') one?.crash()
    else if ((name === 'stop' || name === 'sleep') && one !== undefined && !one.isPaused) {
      one.pause()
      this.#events.at(until, () => one.resume(name === 'sleep'))
    } else if (name === 'away') {
      this.#store.isAvailable = false
      this.#events.at(until, () => {
        this.#store.isAvailable = true
      })
    } else if (name === 'cut' && one !== undefined) {
      one.requestsUntilCut = random.below(3)
      this.#events.at(Math.min(endOfFaults, now + lease * (0.5 + 2 * random.next())), () => {
        one.requestsUntilCut = Infinity
      })
    } else if (name === 'fork') this.#store.table.fork(1 + random.below(random.pick([2, 12])))
    else if (name === 'step') this.#store.clockStepMs += (random.next() * 2 - 0.5) * lease * 2
  }

  #heal(): void {
    this.#isQuiet = true
    this.#faults.rate = 0
    this.#store.isQuiet = true
    this.#store.isAvailable = true
    this.#tell(() => 'faults are over')
    if (this.#replicas.every(({ isAlive, isLeaving }) => !isAlive || isLeaving)) this.#join(this.#events.now)
    for (const replica of this.#replicas) replica.resume(false)
    for (const replica of this.#replicas) {
      replica.requests = 0
      replica.requestsUntilCut = Infinity
      replica.runMs = this.#leaseMs * 0.02
    }
    const poke = (): void => {
      for (const replica of this.#replicas) replica.begin()
      if (!this.#isHealed) this.#healedAt = this.#events.now
      this.#events.at(this.#events.now + this.#leaseMs / 10, poke)
    }
    poke()
  }

  #hint(from: object, released: string | undefined): void {
    if (!this.#hasHints) return
    for (const replica of this.#replicas)
      if (replica !== from && (this.#isQuiet || this.#random.chance(0.8))) {
        // A hint may be wrong.
        const isWrong = !this.#isQuiet && this.#random.chance(0.1)
        const named = isWrong ? this.#random.pick(this.#replicas).member : released
        this.#events.at(this.#events.now + this.#random.next() * 50, () => replica.hint(named))
      }
  }

  /** Every key has one owner, which has run it. */
  get #isHealed(): boolean {
    return this.#keys.every((key) => {
      const owners = this.#replicas.filter((replica) => replica.mayRun(key))
      const last = this.#last.get(key)
      return owners.length === 1 && last?.replica === owners[0]
    })
  }

  get #unhealed(): string {
    const of = (key: string): string => {
      const owners = this.#replicas.filter((replica) => replica.mayRun(key))
      return `${key} of ${owners.map(({ settings }) => settings.name).join(' ')}`
    }
    return `${this.#keys.map(of).join(', ')}; ${this.#replicas.map(({ state }) => state).join('; ')}`
  }

  #checkCalm(): void {
    for (const { requests, settings } of this.#replicas)
      if (requests > MAX_REQUESTS_PER_LEASE * (HEAL_LEASES + 0.5))
        this.#violate('calm', `${settings.name} sent ${requests} requests`)
  }

  #violate(rule: ReplicaRule, message: string): void {
    if (this.#violation !== undefined) return
    this.#violation = { rule, message }
    this.#tell(() => `VIOLATION of ${rule}: ${message}`)
  }

  #count(what: string): void {
    this.#counts[what] = (this.#counts[what] ?? 0) + 1
  }
}
