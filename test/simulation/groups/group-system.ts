import { groupInformers, type Lifecycle } from '../../../src/index.js'
import type { BackendShard } from '../backend/backend-shard.js'
import { drawDrain } from '../checkers/stop-checker.js'
import { WaiterChecker } from '../checkers/waiter-checker.js'
import { InformerDriver } from '../system/informer-driver.js'
import type { Scenario } from '../system/scenario.js'
import type { SystemUnderTest } from '../system/source-world.js'
import { Callers } from '../workload/callers.js'
import { RelistSlotChecker } from './relist-slot-checker.js'

/** Members that share relist slots: at most `max` of them list again at a time. */
interface SlotGroup {
  readonly members: readonly InformerDriver[]
  readonly max: number
  /** Whether some members share slots of another group too. */
  readonly isNested?: boolean
}

export class GroupSystem implements SystemUnderTest {
  readonly drivers: readonly InformerDriver[]
  readonly #scenario: Scenario
  readonly #life: number
  readonly #group: Lifecycle
  readonly #slots: readonly RelistSlotChecker[]
  readonly #names = new Map<InformerDriver, string>()
  readonly #abort = new AbortController()
  #isStopping = false
  #isStopped = false
  readonly #pending: WaiterChecker
  readonly #callers: Callers
  #steps = 0

  constructor(scenario: Scenario, shards: readonly BackendShard[], life: number) {
    this.#scenario = scenario
    this.#life = life
    this.#pending = new WaiterChecker(scenario)
    this.#callers = new Callers(scenario, life)
    this.drivers = shards.map((shard) => new InformerDriver(shard, life))
    for (const driver of this.drivers) driver.mayStopInWrite = false
    this.drivers.forEach((driver, nth) => void this.#names.set(driver, shards[nth]?.name ?? ''))
    const { group, slotGroups } = this.#formed()
    this.#group = group
    this.#slots = slotGroups.map(({ members, max, isNested }) => {
      const slots = new RelistSlotChecker(scenario, members, max, isNested)
      for (const member of members) member.informer.on('status', () => slots.moved(member))
      return slots
    })
  }

  get state(): string {
    return this.drivers.map(({ state }) => state).join(' | ')
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
    const isLate = this.#scenario.decisions.chance('members start first', 0.3)
    if (!isLate) {
      this.#group.start({ signal: this.#abort.signal })
      const idle = this.drivers.find(({ informer }) => informer.status.state === 'idle')
      if (idle !== undefined)
        this.#scenario.violate('groups', `${this.#names.get(idle)} was not started with its group`)
    }
    for (const driver of this.drivers) driver.start()
    if (isLate) this.#group.start({ signal: this.#abort.signal })
    this.waitUntilSynced()
  }

  checkStep(): void {
    for (const driver of this.drivers) driver.checkStep()
    for (const slots of this.#slots) slots.checkStep()
    this.#pending.checkStep()
    this.#callers.abortDue()
    if (++this.#steps % 16 === 0) this.#checkHealth()
  }

  heal(): void {
    for (const driver of this.drivers) driver.heal()
  }

  check(): void {
    for (const driver of this.#going) driver.check()
    this.#checkHealth()
  }

  skipped(): void {
    for (const driver of this.drivers) driver.skipped()
  }

  expireAll(): void {
    for (const { source } of this.#going) source.expire()
  }

  relistAll(): void {
    for (const driver of this.#going) driver.relist()
  }

  stopOne(): void {
    const driver = this.#scenario.decisions.pick('stops', this.drivers)
    if (driver === undefined || driver.isStopping) return
    this.#scenario.note('one is stopped', this.#names.get(driver) ?? '')
    this.#markStop(driver)
    driver.stop()
  }

  stop(): void {
    if (this.#isStopping) return
    this.#isStopping = true
    const { decisions, violate, clock } = this.#scenario
    for (const driver of this.drivers) this.#markStop(driver)
    const ms = drawDrain(this.#scenario, this.#life)
    if (ms === undefined && decisions.chance('group stops by signal', 0.4)) this.#abort.abort()
    for (const driver of this.drivers) driver.stop({ stop: (options) => this.#stopped(driver, options) }, { ms })
    this.#group.stop({ drainMs: ms }).then(
      () => clock.in(1, () => this.#ended()),
      (error: unknown) => violate('crash', `stop() of the group failed: ${error}`),
    )
  }

  /** A member that was stopped alone before may take longer than the others. */
  #stopped({ informer }: InformerDriver, options: Parameters<Lifecycle['stop']>[0]): Promise<void> {
    const { violate } = this.#scenario
    this.#group.stop(options).catch((error: unknown) => violate('crash', `stop() of the group failed: ${error}`))
    if (informer.status.state !== 'stopped') violate('groups', 'a member continues when its group is stopped')
    return informer.stop(options)
  }

  checkStopped(): void {
    const { violate, listenersOf } = this.#scenario
    for (const driver of this.drivers) driver.checkStopped()
    if (listenersOf(this.#abort.signal) > 0) violate('I15', "a listener is left on the signal of the group's caller")
    if (this.#pending.any !== undefined) violate('groups', 'synced of the group has not ended with stop()')
    this.#callers.checkStopped()
    if (this.#group.health().isLive) violate('groups', 'a group that was stopped reports that it is live')
  }

  get #going(): readonly InformerDriver[] {
    return this.drivers.filter(({ isStopping }) => !isStopping)
  }

  /** Creates the group; sometimes a group of groups, of which both or the inner one may have a limit. */
  #formed(): { readonly group: Lifecycle; readonly slotGroups: readonly SlotGroup[] } {
    const { drivers } = this
    const { decisions, settings, mark } = this.#scenario
    const { maxRelists: max } = settings
    const informersOf = (from: readonly InformerDriver[]): readonly Lifecycle[] => from.map(({ informer }) => informer)
    const slotGroupsOf = (members: readonly InformerDriver[]): readonly SlotGroup[] =>
      max === undefined ? [] : [{ members, max }]
    const limit = { maxRelists: max }
    if (!decisions.chance('nested', 0.3))
      return { group: groupInformers(informersOf(drivers), limit), slotGroups: slotGroupsOf(drivers) }
    mark('a group held a group')
    const [some, others] = [drivers.slice(0, 2), drivers.slice(2)]
    const isOuter = max !== undefined && decisions.chance('outer limit', 0.5)
    const inner = groupInformers(informersOf(some), isOuter ? { maxRelists: 1 } : limit)
    const group = groupInformers([inner, ...informersOf(others)], isOuter ? limit : {})
    if (!isOuter) return { group, slotGroups: slotGroupsOf(some) }
    const slotGroups = [...slotGroupsOf(drivers), { members: some, max: 1 }]
    return { group, slotGroups: slotGroups.map((slots) => ({ ...slots, isNested: true })) }
  }

  /** Waits for all members, perhaps with a short timeout. */
  waitUntilSynced(): void {
    if (this.#isStopping) return
    const { violate, decisions, mark } = this.#scenario
    const timeoutMs = decisions.chance('limit', 0.3) ? 1 + decisions.below('timeout', 5_000) : 600_000
    const limits = this.#callers.sign('synced of the group', { timeoutMs })
    const isAllSynced = (): boolean => this.drivers.every(({ informer }) => informer.status.isSynced)
    this.#pending.wait(this.#group.synced(limits), {
      what: 'synced of the group',
      limits,
      isDue: () => isAllSynced() && this.drivers.every(({ isStopping }) => !isStopping),
      mayFail: (code) => {
        if (code === 'STOPPED') return this.drivers.some(({ isStopping }) => isStopping)
        if (!this.drivers.some(({ source }) => source.refusedWith === code)) return false
        mark('a group was refused')
        return true
      },
      ended: () => {
        for (const driver of this.drivers)
          if (!driver.informer.status.isSynced) violate('groups', `synced before ${this.#names.get(driver)} was`)
      },
    })
  }

  #checkHealth(): void {
    const { violate } = this.#scenario
    const health = this.#group.health()
    const all = this.drivers.map(({ informer }) => informer.health())
    const [isLive, isReady] = [all.every((each) => each.isLive), all.every((each) => each.isReady)]
    if (health.isLive !== isLive || health.isReady !== isReady)
      violate(
        'groups',
        `the group is live ${health.isLive} and ready ${health.isReady}, its members ${isLive} and ${isReady}`,
      )
  }

  #markStop(driver: InformerDriver): void {
    for (const slots of this.#slots) slots.left(driver)
  }

  /** Members that were stopped alone may take longer. */
  #ended(): void {
    if (this.drivers.every(({ isStopped }) => isStopped)) this.#isStopped = true
    else this.#scenario.clock.in(1, () => this.#ended())
  }
}
