import type { Lifecycle } from '../../../src/informer/informer.js'
import { groupInformers } from '../../../src/informer/informer-group.js'
import type { BackendShard } from '../backend/backend-shard.js'
import { drawDrain } from '../checkers/stop-checker.js'
import { WaiterChecker } from '../checkers/waiter-checker.js'
import { InformerDriver } from '../system/informer-driver.js'
import type { Scenario } from '../system/scenario.js'
import type { Participants } from '../system/system-under-test.js'
import { Callers } from '../workload/callers.js'
import { type Member, RelistSlotChecker } from './relist-slot-checker.js'

/** Members that take turns: so many of them list again at a time. */
interface Circle {
  readonly members: readonly InformerDriver[]
  readonly max: number
}

/** One life of a group of informers, each with its source and all who use it. */
export class GroupSystem implements Participants {
  readonly drives: readonly InformerDriver[]
  readonly #scene: Scenario
  readonly #life: number
  readonly #group: Lifecycle
  readonly #turns: readonly RelistSlotChecker[]
  readonly #names = new Map<InformerDriver, string>()
  readonly #members = new Map<InformerDriver, Member>()
  readonly #abort = new AbortController()
  #isStopping = false
  #isStopped = false
  /** Those who wait for the group. */
  readonly #pending: WaiterChecker
  readonly #callers: Callers
  #looks = 0

  constructor(scene: Scenario, sites: readonly BackendShard[], life: number) {
    this.#scene = scene
    this.#life = life
    this.#pending = new WaiterChecker(scene)
    this.#callers = new Callers(scene, life)
    this.drives = sites.map((site) => new InformerDriver(site, life))
    this.drives.forEach((drive, nth) => {
      this.#names.set(drive, sites[nth]?.name ?? '')
    })
    const { group, circles } = this.#formed()
    this.#group = group
    this.#turns = circles.map((circle) => this.#turnsOf(circle))
  }

  get state(): string {
    return this.drives.map(({ state }) => state).join(' | ')
  }

  get isStopping(): boolean {
    return this.#isStopping
  }

  get isStopped(): boolean {
    return this.#isStopped
  }

  get isIncomplete(): boolean {
    return this.#going.some(({ isIncomplete }) => isIncomplete)
  }

  get unfinished(): string | undefined {
    if (this.#isStopping) return 'the stop is'
    if (this.#pending.any !== undefined) return 'synced of the group is'
    return this.#going.map(({ unfinished }) => unfinished).find((what) => what !== undefined)
  }

  start(): void {
    const { draws } = this.#scene
    const isLate = draws.chance('members start first', 0.3)
    if (!isLate) {
      this.#group.start({ signal: this.#abort.signal })
      const idle = this.drives.find(({ informer }) => informer.status.state === 'idle')
      if (idle !== undefined) this.#scene.violate('groups', `${this.#names.get(idle)} was not started with its group`)
    }
    for (const drive of this.drives) drive.start()
    if (isLate) this.#group.start({ signal: this.#abort.signal })
    this.waitUntilSynced()
  }

  look(): void {
    for (const drive of this.drives) drive.look()
    for (const turns of this.#turns) turns.look()
    this.#pending.look()
    this.#callers.look()
    if (++this.#looks % 16 === 0) this.#lookAtHealth()
  }

  heal(): void {
    for (const drive of this.drives) drive.heal()
  }

  check(): void {
    for (const drive of this.#going) drive.check()
    this.#lookAtHealth()
  }

  skipped(): void {
    for (const drive of this.drives) drive.skipped()
  }

  /** Everybody reads everything again, at once. */
  expireAll(): void {
    for (const { source } of this.#going) source.expire()
  }

  relistAll(): void {
    for (const drive of this.#going) drive.relist()
  }

  stopOne(): void {
    const drive = this.#scene.draws.pick('stops', this.drives)
    if (drive === undefined || drive.isStopping) return
    this.#scene.note('one is stopped', this.#names.get(drive) ?? '')
    this.#markStop(drive)
    drive.stop()
  }

  stop(): void {
    if (this.#isStopping) return
    this.#isStopping = true
    const { draws, violate, clock } = this.#scene
    for (const drive of this.drives) this.#markStop(drive)
    const ms = drawDrain(this.#scene, this.#life)
    if (ms === undefined && draws.chance('group stops by signal', 0.4)) this.#abort.abort()
    for (const drive of this.drives) drive.stop({ stop: (options) => this.#stopped(drive, options) }, { ms })
    this.#group.stop({ drainMs: ms }).then(
      () => clock.in(1, () => this.#ended()),
      (error: unknown) => violate('crash', `stop() of the group failed: ${error}`),
    )
  }

  /** One that was stopped alone before may take longer than the others. */
  #stopped({ informer }: InformerDriver, options: Parameters<Lifecycle['stop']>[0]): Promise<void> {
    const { violate } = this.#scene
    this.#group.stop(options).catch((error: unknown) => violate('crash', `stop() of the group failed: ${error}`))
    if (informer.status.state !== 'stopped') violate('groups', 'one goes on when its group is stopped')
    return informer.stop(options)
  }

  checkStopped(): void {
    const { violate, listenersOf } = this.#scene
    for (const drive of this.drives) drive.checkStopped()
    if (listenersOf(this.#abort.signal) > 0) violate('I15', "a listener is left on the signal of the group's caller")
    if (this.#pending.any !== undefined) violate('groups', 'synced of the group has not ended with stop()')
    this.#callers.checkStopped()
    if (this.#group.health().isLive) violate('groups', 'a group that was stopped says that it is live')
  }

  get #going(): readonly InformerDriver[] {
    return this.drives.filter(({ isStopping }) => !isStopping)
  }

  /** The group; sometimes a group of groups, where the outer limit counts if there is one. */
  #formed(): { readonly group: Lifecycle; readonly circles: readonly Circle[] } {
    const { drives } = this
    const { draws, settings, mark } = this.#scene
    const { maxRelists: max } = settings
    const informersOf = (from: readonly InformerDriver[]): readonly Lifecycle[] => from.map(({ informer }) => informer)
    const circlesOf = (members: readonly InformerDriver[]): readonly Circle[] =>
      max === undefined ? [] : [{ members, max }]
    const limit = { maxRelists: max }
    if (!draws.chance('nested', 0.3))
      return { group: groupInformers(informersOf(drives), limit), circles: circlesOf(drives) }
    mark('a group held a group')
    const [some, others] = [drives.slice(0, 2), drives.slice(2)]
    const isOuter = max !== undefined && draws.chance('outer limit', 0.5)
    const inner = groupInformers(informersOf(some), isOuter ? { maxRelists: 1 } : limit)
    const group = groupInformers([inner, ...informersOf(others)], isOuter ? limit : {})
    return { group, circles: circlesOf(isOuter ? drives : some) }
  }

  #turnsOf({ members, max }: Circle): RelistSlotChecker {
    const all = members.map((drive): Member => {
      const { informer, opens } = drive
      const member = {
        get state() {
          return informer.status.state
        },
        get hasListed() {
          return informer.status.isSynced
        },
        get lists() {
          return opens.lists
        },
      }
      informer.on('status', () => turns.moved(member))
      this.#members.set(drive, member)
      return member
    })
    const turns = new RelistSlotChecker(this.#scene, all, max)
    return turns
  }

  /** Somebody waits for all of them; perhaps not for long. */
  waitUntilSynced(): void {
    if (this.#isStopping) return
    const { violate, draws, mark } = this.#scene
    const timeoutMs = draws.chance('limit', 0.3) ? 1 + draws.below('timeout', 5_000) : 600_000
    const limits = this.#callers.sign('synced of the group', { timeoutMs })
    const isAllSynced = (): boolean => this.drives.every(({ informer }) => informer.status.isSynced)
    this.#pending.wait(this.#group.synced(limits), {
      what: 'synced of the group',
      limits,
      isDue: () => isAllSynced() && this.drives.every(({ isStopping }) => !isStopping),
      mayFail: (code) => {
        if (code === 'STOPPED') return this.drives.some(({ isStopping }) => isStopping)
        if (!this.drives.some(({ source }) => source.refusedWith === code)) return false
        mark('a group was refused')
        return true
      },
      ended: () => {
        for (const drive of this.drives)
          if (!drive.informer.status.isSynced) violate('groups', `synced before ${this.#names.get(drive)} was`)
      },
    })
  }

  #lookAtHealth(): void {
    const { violate } = this.#scene
    const health = this.#group.health()
    const all = this.drives.map(({ informer }) => informer.health())
    const [isLive, isReady] = [all.every((each) => each.isLive), all.every((each) => each.isReady)]
    if (health.isLive !== isLive || health.isReady !== isReady)
      violate(
        'groups',
        `the group is live ${health.isLive} and ready ${health.isReady}, its members ${isLive} and ${isReady}`,
      )
  }

  #markStop(drive: InformerDriver): void {
    const member = this.#members.get(drive)
    for (const turns of this.#turns) if (member !== undefined) turns.left(member)
  }

  /** Members that were stopped alone may take longer. */
  #ended(): void {
    if (this.drives.every(({ isStopped }) => isStopped)) this.#isStopped = true
    else this.#scene.clock.in(1, () => this.#ended())
  }
}
