import { type MemorySource, memorySource } from '../../../adapters/memory/index.js'
import { SourceError } from '../../../src/index.js'
import { SeededRandom } from '../../../testing/seeded-random.js'
import { SimClock } from '../system/sim-clock.js'
import { areCollected } from './collected.js'
import type { ShareRule } from './share-rules.js'
import { SharedMirror } from './shared-mirror.js'
import { type Network, simulatePorts } from './simulated-channel.js'
import { type Fate, type FollowerHost, SimulatedFollower, type Variant } from './simulated-follower.js'
import { type Item, tenants, UpstreamStates } from './upstream-states.js'

export interface ShareOutcome {
  readonly seed: number
  readonly steps: number
  readonly virtualMs: number
  readonly trace: number
  readonly counts: Readonly<Record<string, number>>
  readonly violation: { readonly rule: ShareRule; readonly message: string } | undefined
}

const KEYS = ['a', 'b', 'c', 'd', 'e', 'f']
const STEPS = 40
const MAX_FOLLOWERS = 4
/** A follower of a cleared mirror waits up to 30 s after failures, and so does the mirror itself. */
const HEAL_MS = 180_000
/** A follower whose port is closed has failed after this time, in milliseconds. */
const CUT_MS = 60_000
/** A feed without followers ends within this time, in milliseconds. */
const IDLE_MS = 330_000
/** The share looks this often whether its snapshot can still be used, in milliseconds. */
const DROP_MS = 21_000
const WHOLE_HISTORY = 16 * 1024 * 1024
/** All users of an informer have heard of a change after this time, in milliseconds. */
const HEARD_MS = 1_000
const MAX_EVENTS = 100_000

const ACTIONS = [
  ...(['write', 'write', 'write', 'write', 'large', 'large', 'mark', 'fresh'] as const),
  ...(['join', 'join', 'join', 'joins', 'kill', 'kill', 'block', 'block', 'unblock', 'leave', 'close port'] as const),
  ...(['disconnect', 'stall', 'expire', 'outage', 'deny', 'restore', 'close share', 'stop informer'] as const),
]
type Action = (typeof ACTIONS)[number]

/** They make followers list, or the share pack again. */
const DISTURBING: readonly Action[] = ['deny', 'restore', 'close share', 'stop informer']

/** What may happen in the middle of a join. */
const ENDS = ['kill', 'kill', 'block', 'stop', 'closePort'] as const
const LOSSES = ['deny', 'deny', 'restore', 'replace'] as const

/** One schedule of a share, its followers in workers, and their ports. Returns the first violation. */
export function runShare(seed: number, onEvent?: (line: string) => void): Promise<ShareOutcome> {
  return new ShareWorld(seed, onEvent).run()
}

/** The settings of a schedule. */
function settingsOf(random: SeededRandom) {
  // Nothing happens that makes a follower list, or the share pack again.
  const isCalm = random.chance(0.3)
  const isBulky = !isCalm && random.chance(0.2)
  const isLarge = !isBulky && random.chance(0.03)
  const histories = isBulky ? [700_000, WHOLE_HISTORY] : [1_500, 6_000, 40_000, WHOLE_HISTORY]
  return {
    isCalm,
    padding: isBulky ? 'x'.repeat(60_000) : '',
    /** The keys of large transactions. */
    keys: isLarge ? Array.from({ length: 1_100 }, (_, nth) => `k${nth}`) : KEYS,
    historyBytes: isCalm ? WHOLE_HISTORY : random.pick(histories),
    heartbeatMs: random.pick([2_000, 10_000]),
    onAccessLost: random.pick(['clear', 'keep'] as const),
    /** Slow code: the time that passes with each read of the clock. */
    driftMs: random.pick([0, 0, 0.2, 2, 9]),
    /** The longest time of a message. */
    delayMs: random.pick([0, 1, 30, 400]),
    /** The shared informer is started so late. */
    startsAfterMs: random.chance(0.2) ? random.below(70_000) : 0,
    /** Whether it is checked in the end that the memory of snapshots was released. */
    isCollected: random.chance(0.1),
  }
}

class ShareWorld implements FollowerHost, Network {
  readonly random: SeededRandom
  readonly clock: SimClock
  readonly source: MemorySource<Item>
  readonly states = new UpstreamStates()
  readonly settings: ReturnType<typeof settingsOf>
  hasCleared = false
  readonly #seed: number
  readonly #onEvent: ((line: string) => void) | undefined
  #mirror: SharedMirror
  /** The earlier ones, whose share is not closed. */
  #left: SharedMirror[] = []
  #followers: SimulatedFollower[] = []
  /** Those that joined when the shared informer had no objects after lost access. */
  readonly #joinedCleared = new Set<SimulatedFollower>()
  readonly #counts: Record<string, number> = {}
  #packs = 0
  #joined = 0
  #writes = 0
  #events = 0
  #clearedAt: number | undefined
  #isHealing = false
  #trace = 0x811c9dc5
  #violation: ShareOutcome['violation']

  constructor(seed: number, onEvent: ((line: string) => void) | undefined) {
    const random = new SeededRandom(seed)
    this.#seed = seed
    this.random = random
    this.#onEvent = onEvent
    this.clock = new SimClock(() => random.next())
    this.settings = settingsOf(random)
    this.source = memorySource<Item>({ heartbeatMs: this.settings.heartbeatMs })
    simulatePorts(this)
    this.#write(3)
    this.#mirror = this.#begin()
  }

  get heartbeatMs(): number {
    return this.settings.heartbeatMs
  }

  delayMs(): number {
    return this.random.next() * this.settings.delayMs
  }

  async run(): Promise<ShareOutcome> {
    let steps = 0
    const { emitWarning } = process
    const failed = (error: unknown): void => this.#crashed(error)
    process.emitWarning = (warning: string | Error) => this.violate('warning', String(warning))
    process.on('unhandledRejection', failed)
    try {
      this.clock.driftMs = this.settings.driftMs
      this.#join()
      for (; steps < STEPS && this.#violation === undefined; steps++) {
        this.#act()
        await this.#advance(this.random.pick([0, 0, 1, 20, 200, 2_000, 6_000]))
      }
      await this.#heal()
      await this.#end()
    } catch (error) {
      this.#crashed(error)
    } finally {
      process.emitWarning = emitWarning
      process.off('unhandledRejection', failed)
    }
    return {
      seed: this.#seed,
      steps,
      virtualMs: this.clock.elapsed,
      trace: this.#trace >>> 0,
      counts: this.#counts,
      violation: this.#violation,
    }
  }

  violate = (rule: ShareRule, message: string): void => {
    if (this.#violation !== undefined) return
    this.#violation = { rule, message }
    this.#note(`VIOLATION of ${rule}: ${message}`)
  }

  #crashed(error: unknown): void {
    this.violate('crash', error instanceof Error ? `${error.message}\n${error.stack}` : String(error))
  }

  #act(): void {
    const { random } = this
    const action = random.pick(ACTIONS)
    if (this.settings.isCalm && DISTURBING.includes(action)) return
    this.#note(action)
    const alive = this.#followers.filter(({ isAlive }) => isAlive)
    const one = alive.length === 0 ? undefined : random.pick(alive)
    const actions: Readonly<Record<Action, () => void>> = {
      write: () => this.#write(1 + random.below(2)),
      large: () => this.#write(this.settings.keys.length),
      mark: () => one && this.#wait(one, 'mark'),
      fresh: () => one && this.#wait(one, 'fresh'),
      join: () => this.#join(),
      joins: () => {
        for (let nth = 0; nth < 3; nth++) this.#join()
      },
      kill: () => one?.kill(),
      block: () => one?.block(),
      unblock: () => this.#unblock(),
      leave: () => one?.stop(),
      'close port': () => one?.closePort(),
      disconnect: () => this.source.disconnect(),
      stall: () => this.source.stall(),
      expire: () => {
        this.source.compact()
        this.source.disconnect()
      },
      outage: () => this.#fail('UNAVAILABLE'),
      deny: () => random.chance(0.5) && this.#deny(),
      restore: () => random.chance(0.3) && this.#restore(),
      'close share': () => random.chance(0.3) && this.#replace(false),
      'stop informer': () => random.chance(0.3) && this.#replace(true),
    }
    actions[action]()
  }

  /** One transaction of the source. Each state is unique by the numbers of `tx a` and `tx b`. */
  #write(count: number): void {
    const { random } = this
    const { keys, padding } = this.settings
    const n = ++this.#writes
    this.source.transaction((tx) => {
      const put = (key: string, item: Item): void => {
        tx.put(key, item)
        this.states.content.set(key, item)
      }
      for (const tenant of tenants) put(`tx ${tenant}`, { n, tenant })
      for (let i = 0; i < count; i++) {
        const key = count === keys.length ? (keys[i] as string) : random.pick(keys)
        if (random.chance(0.3)) {
          tx.delete(key)
          this.states.content.delete(key)
        } else put(key, { n, tenant: random.pick(tenants), padding })
      }
    })
    this.states.remember()
  }

  /** The source is restored from a backup. */
  #restore(): void {
    const { content } = this.states
    this.states.fork()
    for (const key of this.settings.keys) if (this.random.chance(0.5)) content.delete(key)
    const n = ++this.#writes
    for (const tenant of tenants) content.set(`tx ${tenant}`, { n, tenant })
    this.source.restore(content)
    this.states.remember()
  }

  #deny(): void {
    this.hasCleared ||= this.settings.onAccessLost === 'clear'
    this.#fail('UNAUTHORIZED')
  }

  #fail(code: 'UNAVAILABLE' | 'UNAUTHORIZED'): void {
    this.source.fail(new SourceError('the source fails', { code }), 1 + this.random.below(4))
    this.source.disconnect()
  }

  #begin(): SharedMirror {
    const { clock, random, source, states, settings } = this
    const packed = (): void => {
      if (++this.#packs > 1 && settings.isCalm) this.violate('calm', `the objects are packed ${this.#packs} times`)
    }
    const mirror = new SharedMirror({ ...settings, clock, random, source, states, packed })
    const start = (): void => {
      if (!mirror.isStopped) mirror.informer.start()
    }
    clock.in(settings.startsAfterMs, start)
    return mirror
  }

  /** The share or its informer ends, and another one begins. */
  #replace(stops: boolean): void {
    const mirror = this.#mirror
    const ends: Promise<void>[] = []
    if (stops) ends.push(mirror.stop())
    if (!stops || this.random.chance(0.5)) ends.push(mirror.close())
    if (!mirror.isClosed || !mirror.isStopped) this.#left.push(mirror)
    for (const end of ends) end.catch((error: unknown) => this.#crashed(error))
    this.#mirror = this.#begin()
  }

  #join(): void {
    const { random } = this
    if (this.#followers.filter(({ isAlive }) => isAlive).length >= MAX_FOLLOWERS) return
    const variant = random.pick<Variant>(['packed', 'packed', 'packed', 'indexed', 'listing', 'scoped'])
    const end = random.pick(this.settings.isCalm ? ENDS : [...ENDS, ...LOSSES])
    const messages = 1 + random.below(10)
    const name = `follower ${++this.#joined}`
    const fate: Fate | undefined = random.chance(0.3) ? { messages, act: () => this.#meet(name, end) } : undefined
    const follower: SimulatedFollower = new SimulatedFollower(this, {
      name,
      variant,
      mirror: this.#mirror,
      tenant: random.pick(tenants),
      fate,
    })
    if (this.hasCleared && this.#mirror.isCleared) this.#joinedCleared.add(follower)
    this.#followers.push(follower)
  }

  /** Something happens in the middle of what a worker does. */
  #meet(name: string, end: (typeof ENDS)[number] | (typeof LOSSES)[number]): void {
    const follower = this.#followers.find((each) => each.name === name)
    if (this.#isHealing || follower?.life !== 'running') return
    this.#note(`${end} in the middle`)
    const act = (): void => {
      if (end === 'deny') this.#deny()
      else if (end === 'restore') this.#restore()
      else if (end === 'replace') this.#replace(this.random.chance(0.5))
      else follower[end]()
    }
    // A thread may end between any two messages. Other code does not run while a message is sent.
    if (end === 'kill' || end === 'block') act()
    else this.clock.in(0, () => this.#isHealing || act())
  }

  #unblock(): void {
    for (const each of this.#followers) each.unblock()
  }

  #wait(follower: SimulatedFollower, by: 'mark' | 'fresh'): void {
    const { states, source } = this
    const [index, history] = [states.last, states.history]
    const { informer, name } = follower
    void source.head().then(async (mark) => {
      const wait = { timeoutMs: 20_000 }
      const waited = await (by === 'mark' ? informer.waitFor(mark, wait) : informer.fresh(wait)).then(
        () => true,
        () => false,
      )
      const shown = follower.showsNow
      if (waited && follower.isAlive && shown >= 0 && shown < index && states.historyOf(shown) === history)
        this.violate('wait', `${name} shows state ${shown} after a wait for state ${index} (${by})`)
    })
  }

  /** Faults are over: every follower that runs shows the last state, also while others are blocked. */
  async #heal(): Promise<void> {
    if (this.#violation !== undefined) return
    this.#note('faults are over')
    this.#isHealing = true
    this.clock.driftMs = 0
    if (this.#mirror.isStopped) this.#replace(true)
    await Promise.all(this.#left.map((mirror) => mirror.close()))
    if (!this.#followers.some(({ isConnected }) => isConnected)) {
      const blocked = this.#followers.filter(({ life }) => life === 'blocked')
      if (blocked.length >= MAX_FOLLOWERS) this.#unblock()
      else this.#join()
    }
    this.#write(1)
    await this.#converge()
    this.#unblock()
    await this.#converge()
    const running = this.#followers.filter(({ life }) => life === 'running')
    const cut = running.filter(({ isCut }) => isCut)
    // A failed follower tries again from time to time.
    for (let ms = 0; ms < CUT_MS && cut.some((each) => !each.hasFailed); ms += 500) await this.#advance(500)
    for (const follower of running) follower.checkAnswers()
    for (const follower of cut) this.#checkCut(follower)
    if (this.#mirror.openPins > 0) this.violate('released', `${this.#mirror.openPins} versions are pinned`)
  }

  async #converge(): Promise<void> {
    const { last } = this.states
    const late = (): readonly SimulatedFollower[] =>
      this.#followers.filter((each) => each.isConnected && !(each.shown === last && each.isFolded && each.isLive))
    const until = this.clock.elapsed + HEAL_MS
    while (this.clock.elapsed < until && this.#violation === undefined && late().length > 0) await this.#advance(500)
    const { state, reason } = this.#mirror.informer.status
    for (const { name, shown, isFolded, informer } of late()) {
      const text = `${name} shows state ${shown} of ${last}, and its handler has ${isFolded ? 'all' : 'not all'} of it`
      this.violate('live', `${text}: ${informer.status.reason} (the shared informer: ${state}, ${reason})`)
    }
  }

  #checkCut({ name, informer, shown, hasFailed }: SimulatedFollower): void {
    const { state, lastError } = informer.status
    if (!hasFailed)
      this.violate('status', `${name} has the state ${state} behind a closed port, and the error ${lastError?.code}`)
    if (shown >= 0 && informer.size === 0 && !this.hasCleared)
      this.violate('status', `${name} has lost its objects with its port`)
  }

  /** The followers go, and then the share. Nothing of them may be left. */
  async #end(): Promise<void> {
    const mirror = this.#mirror
    if (this.#violation === undefined) {
      if (this.settings.isCollected && !this.settings.isCalm) await this.#checkDropped()
      await this.#checkReleased()
    }
    for (const each of this.#followers) each.stop()
    const ended = Promise.all([mirror.close(), mirror.stop(), ...this.#left.map((each) => each.stop())])
    ended.catch((error: unknown) => this.#crashed(error))
    await this.#advance(60_000)
    if (mirror.clock.sleeping > 0) this.violate('released', `${mirror.clock.sleeping} timers of a closed share`)
  }

  /** When half of the history is used, the share drops its snapshot. Followers keep theirs. */
  async #checkDropped(): Promise<void> {
    const { historyBytes } = this.settings
    if (historyBytes > 10_000) return
    const given = this.#followers.flatMap(({ checker }) => checker.given)
    for (let bytes = 0; bytes < historyBytes; bytes += 100) this.#write(1)
    await this.#advance(DROP_MS)
    if (!(await areCollected(given))) this.violate('released', 'the share has an old snapshot')
  }

  async #checkReleased(): Promise<void> {
    const snapshots = this.#endFollowers()
    await this.#advance(5_000)
    this.#checkEnded()
    await this.#advance(IDLE_MS)
    this.#forgetFollowers()
    const { sleeping } = this.#mirror.clock
    if (sleeping > 0) this.violate('released', `${sleeping} timers of a share without followers`)
    if (this.settings.isCollected && !(await areCollected(snapshots)))
      this.violate('released', 'the memory of a snapshot that no follower uses')
    if (this.#violation !== undefined || !this.random.chance(0.3)) return
    this.#packs = 0
    this.#join()
    await this.#converge()
  }

  /**
   * Ends all followers. Returns the memory of their snapshots. No variable of an async function may refer to a follower
   * later.
   */
  #endFollowers(): readonly WeakRef<object>[] {
    const { random } = this
    for (const follower of this.#followers) {
      if (!follower.isAlive) continue
      follower[random.pick(['kill', 'closePort', 'stop', 'stop', 'stop'] as const)]()
    }
    // The memory of a thread ends with it.
    return this.#followers.flatMap(({ life, checker: { given, taken } }) =>
      life === 'dead' ? given : [...given, ...taken],
    )
  }

  #checkEnded(): void {
    for (const { life, name, port } of this.#followers)
      if (life === 'stopped' && port.hasRef()) this.violate('released', `the port of ${name} keeps its process alive`)
    for (const follower of this.#followers) follower.stop()
  }

  #forgetFollowers(): void {
    for (const { life, name, clock, port } of this.#followers) {
      port.channel.tap = undefined
      if (life === 'stopped' && clock.sleeping > 0) this.violate('released', `${name} has ${clock.sleeping} timers`)
    }
    this.#followers = []
    this.#joinedCleared.clear()
  }

  async #advance(ms: number): Promise<void> {
    const by = this.clock.elapsed + ms
    await turn()
    while (this.#violation === undefined && this.clock.advance(by)) {
      if (++this.#events > MAX_EVENTS) return this.violate('crash', `more than ${MAX_EVENTS} events`)
      await turn()
    }
    this.clock.still(() => this.#look())
  }

  #look(): void {
    const mirror = this.#mirror
    if (!mirror.isCleared) this.#clearedAt = undefined
    else this.#clearedAt ??= this.clock.elapsed
    mirror.hasBeenCleared = this.#clearedAt !== undefined && this.clock.elapsed > this.#clearedAt + HEARD_MS
    for (const follower of this.#followers) {
      follower.look()
      this.#trace = Math.imul(this.#trace ^ follower.shown, 0x01000193)
    }
    this.#trace = Math.imul(this.#trace ^ this.clock.elapsed, 0x01000193)
    for (const follower of this.#joinedCleared) {
      if (!follower.mirror.isCleared) this.#joinedCleared.delete(follower)
      else if (follower.informer.status.isSynced && follower.informer.size > 0)
        this.violate('access', `${follower.name} has objects that were deleted after lost access`)
    }
    if (this.settings.isCalm) this.#checkLists()
  }

  #checkLists(): void {
    for (const { name, informer, startsFromSnapshot, wasBlocked, checker } of this.#followers) {
      if (wasBlocked) continue
      if (startsFromSnapshot && checker.lists > 0) this.violate('calm', `${name} has listed`)
      if (informer.status.relists > 0) this.violate('calm', `${name} has listed again: ${informer.status.reason}`)
    }
  }

  #note(what: string): void {
    this.#counts[what] = (this.#counts[what] ?? 0) + 1
    const followers = this.#followers.map(({ name, variant, life, shown }) => `${name} ${variant} ${life} ${shown}`)
    this.#onEvent?.(`${this.clock.elapsed} ${what} (state ${this.states.last}; ${followers.join(', ')})`)
  }
}

/** Resolves after all microtasks. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
