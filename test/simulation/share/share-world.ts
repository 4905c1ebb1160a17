import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { SourceError } from '../../../src/index.js'
import type { ScheduleOptions } from '../runner/schedule.js'
import { tenants } from '../upstream/upstream-states.js'
import { KEYS, UpstreamWorld } from '../upstream/upstream-world.js'
import type { Stream } from '../workload/random-decisions.js'
import { SharedMirror } from './shared-mirror.js'
import { restorePorts, simulatePorts } from './simulated-channel.js'
import { type Fate, SimulatedFollower, type Variant } from './simulated-follower.js'

const MAX_FOLLOWERS = 4
/** A follower of a cleared mirror waits up to 30 s after failures, and so does the mirror itself. */
const HEAL_MS = 180_000
/** A follower whose port is closed has failed after this time, in milliseconds. */
const CUT_MS = 60_000
/** A feed without followers ends within this time, in milliseconds. */
const IDLE_MS = 330_000
/** The share looks this often whether its snapshot can still be used, in milliseconds. */
const DROP_MS = 21_000
/** The earlier shares are closed after this time, in milliseconds. */
const CLOSE_MS = 60_000
const WHOLE_HISTORY = 16 * 1024 * 1024
/** All users of an informer have heard of a change after this time, in milliseconds. */
const HEARD_MS = 1_000

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

function settingsOf(random: Stream) {
  // Nothing happens that makes a follower list, or the share pack again.
  const isCalm = random.chance(0.3)
  const isBulky = !isCalm && random.chance(0.2)
  const isLarge = !isBulky && random.chance(0.03)
  const histories = isBulky ? [700_000, WHOLE_HISTORY] : [1_500, 6_000, 40_000, WHOLE_HISTORY]
  return {
    isCalm,
    tenants,
    padding: isBulky ? 'x'.repeat(60_000) : '',
    keys: isLarge ? Array.from({ length: 1_100 }, (_, nth) => `k${nth}`) : KEYS,
    historyBytes: isCalm ? WHOLE_HISTORY : random.pick(histories),
    heartbeatMs: random.pick([2_000, 10_000]),
    onAccessLost: random.pick(['clear', 'keep'] as const),
    /** Slow code: the time that passes with each read of the clock. */
    driftMs: random.pick([0, 0, 0.2, 2, 9]),
    delayMs: random.pick([0, 1, 30, 400]),
    /** The shared informer is started so late. */
    startsAfterMs: random.chance(0.2) ? random.below(70_000) : 0,
    /** Whether it is checked in the end that the memory of snapshots was released. */
    isCollected: random.chance(0.1),
  }
}

/** One schedule of a share, its followers in workers, and their ports. */
export class ShareWorld extends UpstreamWorld<Action, SimulatedFollower> {
  readonly kind = 'share'
  readonly settings: ReturnType<typeof settingsOf>
  hasCleared = false
  readonly #delays: Stream
  readonly #emitWarning = process.emitWarning
  #mirror: SharedMirror
  /** The earlier ones, whose share is not closed. */
  #left: SharedMirror[] = []
  /** Those that joined when the shared informer had no objects after lost access. */
  readonly #joinedCleared = new Set<SimulatedFollower>()
  #mirrors = 0
  #packs = 0
  #joined = 0
  #clearedAt: number | undefined
  #isHealing = false

  constructor(seed: number, options: ScheduleOptions = {}) {
    let settings: ReturnType<typeof settingsOf> | undefined
    super(seed, options, (random) => {
      settings = settingsOf(random)
      return settings
    })
    if (settings === undefined) throw new Error('there are no settings')
    this.settings = settings
    this.#delays = this.decisions.of('delays')
    process.emitWarning = (warning: string | Error) => this.violate('warning', String(warning))
    simulatePorts(this)
    this.#mirror = this.#begin()
  }

  /** The time that a message takes, in milliseconds. */
  delayMs(): number {
    return this.#delays.next() * this.settings.delayMs
  }

  protected override *schedule(): Generator<undefined, void> {
    this.clock.driftMs = this.settings.driftMs
    this.#join(this.decisions.of('first join'))
    yield* this.act(this.settings.isCalm ? ACTIONS.filter((action) => !DISTURBING.includes(action)) : ACTIONS)
    yield* this.#heal()
    yield* this.#end()
  }

  protected override tidy(): void {
    process.emitWarning = this.#emitWarning
    restorePorts()
  }

  protected override get between(): string {
    const { state, reason } = this.#mirror.informer.status
    const lives = this.followers.map(({ name, variant, life }) => `${name} ${variant} ${life}`)
    return `${lives.join(', ')}, the shared informer ${state}: ${reason}`
  }

  protected override get late(): readonly SimulatedFollower[] {
    const { last } = this.states
    return this.followers.filter((each) => each.isConnected && !(each.shown === last && each.isFolded && each.isLive))
  }

  protected override actions(random: Stream): Readonly<Record<Action, () => unknown>> {
    const alive = this.followers.filter(({ isAlive }) => isAlive)
    const one = alive.length === 0 ? undefined : random.pick(alive)
    return {
      write: () => this.write(random, 1 + random.below(2)),
      large: () => this.write(random, this.settings.keys.length),
      mark: () => one && this.wait(one, 'mark'),
      fresh: () => one && this.wait(one, 'fresh'),
      join: () => this.#join(random),
      joins: () => {
        for (let nth = 0; nth < 3; nth++) this.#join(random)
      },
      kill: () => one?.kill(),
      block: () => one?.block(),
      unblock: () => this.#unblock(),
      leave: () => one?.stop(),
      'close port': () => {
        if (one?.isLive) this.mark('a port was closed while its follower was live')
        one?.closePort()
      },
      disconnect: () => this.source.disconnect(),
      stall: () => this.source.stall(),
      expire: () => {
        this.source.compact()
        this.source.disconnect()
      },
      outage: () => this.#fail('UNAVAILABLE', random),
      deny: () => random.chance(0.5) && this.#deny(random),
      restore: () => random.chance(0.3) && this.restore(random),
      'close share': () => random.chance(0.3) && this.#replace(false, random),
      'stop informer': () => random.chance(0.3) && this.#replace(true, random),
    }
  }

  #deny(random: Stream): void {
    this.hasCleared ||= this.settings.onAccessLost === 'clear'
    this.#fail('UNAUTHORIZED', random)
  }

  #fail(code: 'UNAVAILABLE' | 'UNAUTHORIZED', random: Stream): void {
    this.source.fail(new SourceError('the source fails', { code }), 1 + random.below(4))
    this.source.disconnect()
  }

  #begin(): SharedMirror {
    const { clock, source, states, settings } = this
    const random = this.decisions.of(`jitter of mirror ${++this.#mirrors}`)
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
  #replace(stops: boolean, random: Stream): void {
    const mirror = this.#mirror
    if (this.followers.filter(({ isConnected }) => isConnected).length > 1)
      this.mark('a share ended while others followed it')
    const ends: Promise<void>[] = []
    if (stops) ends.push(mirror.stop())
    if (!stops || random.chance(0.5)) ends.push(mirror.close())
    if (!mirror.isClosed || !mirror.isStopped) this.#left.push(mirror)
    for (const end of ends) end.catch((error: unknown) => this.crashed(error))
    this.#mirror = this.#begin()
  }

  #join(random: Stream): void {
    if (this.followers.filter(({ isAlive }) => isAlive).length >= MAX_FOLLOWERS) return
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
    if (this.hasCleared && this.#mirror.isCleared) {
      this.#joinedCleared.add(follower)
      this.mark('a follower joined a share without objects after lost access')
    }
    if (this.#mirror.shown < 0) this.mark('a follower joined before the first list')
    this.followers.push(follower)
  }

  /** Something happens in the middle of what a worker does. */
  #meet(name: string, end: (typeof ENDS)[number] | (typeof LOSSES)[number]): void {
    const follower = this.followers.find((each) => each.name === name)
    if (this.#isHealing || follower?.life !== 'running') return
    if (!this.decisions.take(`${end} in the middle#${name.split(' ').at(-1)}`)) return
    this.note(`${end} in the middle`, name)
    if (!follower.isLive)
      this.mark(
        end === 'block' ? 'a worker was blocked in the middle of a join' : 'a worker ended in the middle of a join',
      )
    const random = this.decisions.of(`fate of ${name}`)
    const act = (): void => {
      if (end === 'deny') this.#deny(random)
      else if (end === 'restore') this.restore(random)
      else if (end === 'replace') this.#replace(random.chance(0.5), random)
      else follower[end]()
    }
    // A thread may end between any two messages. Other code does not run while a message is sent.
    if (end === 'kill' || end === 'block') act()
    else this.clock.in(0, () => this.#isHealing || act())
  }

  #unblock(): void {
    for (const each of this.followers) each.unblock()
  }

  /** Faults are over: every follower that runs shows the last state, also while others are blocked. */
  *#heal(): Generator<undefined, void> {
    if (this.hasFailed) return
    this.note('faults are over')
    this.#isHealing = true
    this.clock.driftMs = 0
    const random = this.decisions.of('heal')
    const since = this.clock.elapsed
    if (this.#mirror.isStopped) this.#replace(true, random)
    let isClosed = false
    Promise.all(this.#left.map((mirror) => mirror.close())).then(
      () => (isClosed = true),
      (error: unknown) => this.crashed(error),
    )
    yield* this.until(() => isClosed, since + CLOSE_MS)
    if (!isClosed) this.violate('live', `the earlier shares are not closed after ${CLOSE_MS} ms`)
    if (!this.followers.some(({ isConnected }) => isConnected)) {
      const blocked = this.followers.filter(({ life }) => life === 'blocked')
      if (blocked.length >= MAX_FOLLOWERS) this.#unblock()
      else this.#join(random)
    }
    this.write(random, 1)
    if (this.followers.some(({ life }) => life === 'blocked')) this.mark('a worker was blocked while others converged')
    yield* this.converge(HEAL_MS)
    this.#unblock()
    yield* this.converge(HEAL_MS)
    const running = this.followers.filter(({ life }) => life === 'running')
    const cut = running.filter(({ isCut }) => isCut)
    // A failed follower tries again from time to time.
    for (let ms = 0; ms < CUT_MS && cut.some((each) => !each.hasFailed); ms += 500) yield* this.advance(500)
    this.healMs = this.clock.elapsed - since
    for (const follower of running) follower.checkAnswers()
    for (const follower of cut) this.#checkCut(follower)
    if (this.#mirror.openPins > 0) this.violate('released', `${this.#mirror.openPins} versions are pinned`)
  }

  #checkCut({ name, informer, shown, hasFailed }: SimulatedFollower): void {
    const { state, lastError } = informer.status
    if (!hasFailed)
      this.violate('status', `${name} has the state ${state} behind a closed port, and the error ${lastError?.code}`)
    if (shown >= 0 && informer.size === 0 && !this.hasCleared)
      this.violate('status', `${name} has lost its objects with its port`)
  }

  /** The followers go, and then the share. Nothing of them may be left. */
  *#end(): Generator<undefined, void> {
    const mirror = this.#mirror
    if (!this.hasFailed) {
      if (this.settings.isCollected && !this.settings.isCalm) yield* this.#checkDropped()
      yield* this.#checkReleased()
    }
    for (const each of this.followers) each.stop()
    const ended = Promise.all([mirror.close(), mirror.stop(), ...this.#left.map((each) => each.stop())])
    ended.catch((error: unknown) => this.crashed(error))
    yield* this.advance(60_000)
    if (mirror.clock.sleeping > 0) this.violate('released', `${mirror.clock.sleeping} timers of a closed share`)
  }

  /** When half of the history is used, the share drops its snapshot. Followers keep theirs. */
  *#checkDropped(): Generator<undefined, void> {
    const { historyBytes } = this.settings
    if (historyBytes > 10_000) return
    const random = this.decisions.of('drop')
    const given = this.followers.flatMap(({ checker }) => checker.given)
    for (let bytes = 0; bytes < historyBytes; bytes += 100) this.write(random, 1)
    yield* this.advance(DROP_MS)
    if (!(yield* areCollected(given))) this.violate('released', 'the share has an old snapshot')
  }

  *#checkReleased(): Generator<undefined, void> {
    const snapshots = this.#endFollowers()
    yield* this.advance(5_000)
    this.#checkEnded()
    yield* this.advance(IDLE_MS)
    this.#forgetFollowers()
    const { sleeping } = this.#mirror.clock
    if (sleeping > 0) this.violate('released', `${sleeping} timers of a share without followers`)
    if (this.settings.isCollected && !(yield* areCollected(snapshots)))
      this.violate('released', 'the memory of a snapshot that no follower uses')
    else if (this.settings.isCollected && snapshots.length > 0) this.mark('the memory of snapshots was released')
    const random = this.decisions.of('late join')
    if (this.hasFailed || !random.chance(0.3)) return
    this.mark('a follower joined after all others had gone')
    this.#packs = 0
    this.#join(random)
    yield* this.converge(HEAL_MS)
  }

  /**
   * Ends all followers. Returns the memory of their snapshots. No variable of an async function may refer to a follower
   * later.
   */
  #endFollowers(): readonly WeakRef<object>[] {
    const random = this.decisions.of('ends')
    for (const follower of this.followers) {
      if (!follower.isAlive) continue
      follower[random.pick(['kill', 'closePort', 'stop', 'stop', 'stop'] as const)]()
    }
    // The memory of a thread ends with it.
    return this.followers.flatMap(({ life, checker: { given, taken } }) =>
      life === 'dead' ? given : [...given, ...taken],
    )
  }

  #checkEnded(): void {
    for (const { life, name, port } of this.followers)
      if (life === 'stopped' && port.hasRef()) this.violate('released', `the port of ${name} keeps its process alive`)
    for (const follower of this.followers) follower.stop()
  }

  #forgetFollowers(): void {
    for (const { life, name, clock, port } of this.followers) {
      port.channel.tap = undefined
      if (life === 'stopped' && clock.sleeping > 0) this.violate('released', `${name} has ${clock.sleeping} timers`)
    }
    this.followers = []
    this.#joinedCleared.clear()
  }

  protected override look(): void {
    const mirror = this.#mirror
    if (!mirror.isCleared) this.#clearedAt = undefined
    else this.#clearedAt ??= this.clock.elapsed
    mirror.hasBeenCleared = this.#clearedAt !== undefined && this.clock.elapsed > this.#clearedAt + HEARD_MS
    super.look()
    for (const follower of this.#joinedCleared) {
      if (!follower.mirror.isCleared) this.#joinedCleared.delete(follower)
      else if (follower.informer.status.isSynced && follower.informer.size > 0)
        this.violate('access', `${follower.name} has objects that were deleted after lost access`)
    }
    if (this.settings.isCalm) this.#checkLists()
  }

  #checkLists(): void {
    for (const { name, informer, startsFromSnapshot, wasBlocked, checker } of this.followers) {
      if (wasBlocked) continue
      if (startsFromSnapshot && checker.lists > 0) this.violate('calm', `${name} has listed`)
      if (informer.status.relists > 0) this.violate('calm', `${name} has listed again: ${informer.status.reason}`)
    }
  }
}

/**
 * How long garbage is collected, in milliseconds. What a finalizer releases is collected in a later round. V8 compiles
 * functions in other threads. Until that has ended, it refers to what they use: for seconds, if the processor is busy.
 */
const COLLECTED_MS = 10_000

let collect: (() => void) | undefined

/** Collects garbage, step by step. Returns whether all objects were collected. */
export function* areCollected(objects: readonly WeakRef<object>[]): Generator<undefined, boolean> {
  if (collect === undefined) {
    setFlagsFromString('--expose-gc')
    collect = runInNewContext('gc') as () => void
  }
  for (const since = performance.now(); performance.now() - since < COLLECTED_MS; ) {
    // An object that this job has read from its reference is alive until the job ends.
    yield
    collect()
    if (objects.every((each) => each.deref() === undefined)) return true
  }
  return false
}
