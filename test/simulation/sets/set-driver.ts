import type { SourceError } from '../../../src/contract/errors.js'
import type { Version } from '../../../src/contract/version.js'
import { groupInformers } from '../../../src/informer/informer-group.js'
import type { Informer } from '../../../src/informer/informer-types.js'
import type { SourceSet } from '../../../src/informer/source-set.js'
import type { Change } from '../../../src/queue/change.js'
import type { ChangeBatch, SubscribeOptions } from '../../../src/subscriptions/subscription-types.js'
import type { Item, State } from '../backend/history.js'
import type { MayBeLost } from '../checkers/error-checker.js'
import { checkPins, pinsOf } from '../checkers/pin-checker.js'
import { QueueChecker } from '../checkers/queue-checker.js'
import { SnapshotChecker } from '../checkers/snapshot-checker.js'
import { drawDrain, slownessOf } from '../checkers/stop-checker.js'
import { RelistSlotChecker } from '../groups/relist-slot-checker.js'
import { InformerSystem } from '../system/informer-system.js'
import { nameOf, type Scenario } from '../system/scenario.js'
import type { SystemUnderTest } from '../system/system-under-test.js'
import { checkIndexes, type IndexesOf } from '../workload/declared-indexes.js'
import type { IsIn } from '../workload/follower.js'
import { Bystander } from './bystander.js'
import { SetBatchChecker } from './set-batch-checker.js'
import { commitsOfSet } from './set-commits.js'
import { SetErrorChecker } from './set-error-checker.js'
import { SetFollower } from './set-follower.js'
import type { SetMember } from './set-member.js'
import type { SetMembers } from './set-members.js'
import { SetStoreChecker } from './set-store-checker.js'
import { SetWaiters } from './set-waiters.js'
import { UnmergedSetFollower } from './unmerged-set-follower.js'

interface Taken {
  readonly held: SnapshotChecker
  readonly versions: ReadonlyMap<string, Version>
  /** The removals of all members. */
  readonly removals: number
}

/** One run of an informer over a set of sources, with all its users. */
export class SetDriver extends InformerSystem<Scenario, SetFollower> implements SystemUnderTest {
  readonly members: SetMembers
  readonly informer: Informer<Item, IndexesOf>
  readonly waiters: SetWaiters
  /** Set if its sources may not all relist at a time. */
  readonly relistSlots: RelistSlotChecker | undefined
  protected readonly readers = 0.5
  readonly #errors: SetErrorChecker
  readonly #store: SetStoreChecker
  readonly #batches: SetBatchChecker
  readonly #checksQueues: boolean
  /** Not in every schedule, because this follower must not change the result. */
  readonly #unmerged: UnmergedSetFollower | undefined
  readonly #snapshots: Taken[] = []
  /** Adds or removes a source inside a handler. */
  readonly #changeSet: () => void
  readonly #set: SourceSet<Item>
  #bystander: Bystander | undefined
  #isFilled = false
  #drainMs: number | undefined
  #stoppedAt: string | undefined
  #isStopping = false
  #isStopped = false

  constructor(scenario: Scenario, members: SetMembers, set: SourceSet<Item>, life: number, changeSet: () => void) {
    super(scenario, life)
    this.members = members
    this.#set = set
    this.#changeSet = changeSet
    this.informer = this.newInformer(set)
    const { maxRelists } = scenario.settings
    if (maxRelists !== undefined) groupInformers([this.informer], { maxRelists })
    this.relistSlots = maxRelists === undefined ? undefined : new RelistSlotChecker(scenario, members.all, maxRelists)
    this.#batches = new SetBatchChecker(scenario, members)
    this.#unmerged = scenario.decisions.chance('witness', 0.6)
      ? new UnmergedSetFollower(scenario, members, this.informer)
      : undefined
    this.#checksQueues = scenario.decisions.chance('queues', 0.85) && !scenario.settings.clears
    this.waiters = new SetWaiters(this)
    this.#errors = new SetErrorChecker(this)
    this.#store = new SetStoreChecker(scenario, members, this.informer)
    for (const member of members.current) this.read(member)
    this.informer.on('error', (error) => {
      if (this.related?.expects(error) !== true) this.#errors.reported(error)
    })
    this.informer.on('status', (status, previous) => {
      for (const member of members.current) {
        const { name, reflectorChecker } = member
        const [is, was] = [status.sources?.[name]?.state, previous.sources?.[name]?.state]
        if (is === was || is === undefined) continue
        if (was === 'idle' && this.#isFilled) this.#join()
        scenario.note('is', is, name)
        if (was?.endsWith('listing')) reflectorChecker?.listed()
        this.relistSlots?.moved(member)
      }
      if (!this.#isStopping) this.#changeSet()
    })
  }

  get state(): string {
    const states = this.members.all.map(({ name, isIn }) => `${name} ${isIn ? this.stateOf(name) : 'out'}`)
    return `${states.join(', ')}, store of ${this.informer.size}`
  }

  get isStopping(): boolean {
    return this.#isStopping
  }

  get isStopped(): boolean {
    return this.#isStopped
  }

  get isDraining(): boolean {
    return this.#isStopping && this.#drainMs !== undefined
  }

  get isIncomplete(): boolean {
    return this.members.current.some(({ isIncomplete }) => isIncomplete)
  }

  get truth(): { readonly state: State; readonly version: undefined } {
    return { state: this.members.state, version: undefined }
  }

  /** The state of one source of the informer. */
  stateOf = (name: string): string | undefined => this.informer.status.sources?.[name]?.state

  /** Makes this informer the reader of a member's source. */
  read(member: SetMember): void {
    member.readBy(this)
  }

  relist(): void {
    if (!this.isStopping) this.waiters.relist()
  }

  beginSnapshot(): void {
    const { informer } = this
    // The objects of a removed source may belong to no version.
    if (this.removing.length > 0) return
    this.#snapshots.push({
      held: new SnapshotChecker(this.scenario, informer),
      versions: informer.versions,
      removals: this.#removals,
    })
  }

  endSnapshot(): void {
    const snapshot = this.#snapshots.shift()
    if (snapshot === undefined) return
    const { held, versions, removals } = snapshot
    if (removals < this.#removals) this.scenario.mark('a snapshot outlived a source')
    // A new backend does not know the versions of the old one.
    else this.#store.checkAt(held.view, versions, 'I8', 'a snapshot')
    held.dispose()
  }

  stop(): void {
    if (this.isStopping) return
    const { scenario, life, informer } = this
    this.#isStopping = true
    for (const { reflectorChecker } of this.members) reflectorChecker?.stopped()
    this.#errors.forget()
    this.#bystander?.stop()
    this.#bystander = undefined
    this.#drainMs = drawDrain(scenario, life)
    this.#stoppedAt = this.members.current.some(({ access }) => access?.isClearing) ? undefined : this.#position
    const [since, draining] = [
      scenario.clock.elapsed - scenario.clock.skipped,
      this.followers.filter((f) => !f.isClosed),
    ]
    const [drainMs, slowMs] = [this.#drainMs, slownessOf(scenario)]
    if (drainMs === undefined && scenario.decisions.chance('stop by signal', 0.5)) this.abort.abort()
    informer.stop({ drainMs }).then(
      () => {
        scenario.note('stop() has settled')
        const tookMs = scenario.clock.elapsed - scenario.clock.skipped - since
        if (tookMs > (drainMs ?? 0) + 1_000 + slowMs) scenario.violate('I15', `stop() took ${tookMs} ms`)
        if (drainMs !== undefined && tookMs < drainMs - slowMs && scenario.clock.skipped === 0 && this.#isFilled)
          this.#drained(draining)
        // Callbacks that are due at the same time may be called after it.
        scenario.clock.in(1, () => this.#silenced())
      },
      (error: unknown) => scenario.violate('crash', `stop() failed: ${error}`),
    )
  }

  checkStep(): void {
    if (this.#isStopped) return
    this.#check()
    this.closeInWrite()
  }

  #check(): void {
    const { overlap } = this.members
    // With shared keys, a source is listed again when another one deletes a key.
    if (overlap) for (const { reflectorChecker } of this.members.current) reflectorChecker?.released()
    for (const member of this.members) member.checkStep()
    if (!this.#isStopping) this.relistSlots?.checkStep()
    this.#bystander?.checkStep()
    this.waiters.pending.checkStep()
    this.#checkHasWaiters()
    this.health.checkStep(this.members.current.some(({ access }) => access?.isCleared))
    this.noteFilled()
    if (this.#isFilled && !this.#isStopping && !this.isWriting && !this.informer.status.isSynced)
      this.scenario.violate('sets', 'all sources have been listed, and it is not synced')
    this.probeStore()
    if (this.isRouting) return
    this.#checkQueues()
    this.#unmerged?.checkStep()
    if (!this.#isStopping) this.checkResyncs()
    if (!this.#isStopping) this.checkRuns()
    this.checkDrains()
    this.callers.abortDue()
    if (this.#isStopping && this.#stoppedAt !== undefined && this.#position !== this.#stoppedAt)
      this.scenario.violate('I15', `the store moved to ${this.#position} after stop()`)
    if (this.#isStopping) this.#checkSignals('continues after stop()')
  }

  /** The informer shows its objects once all its sources have been listed. */
  noteFilled(): void {
    // An informer that stops before that shows nothing, even if the missing source is removed.
    if (this.#isStopping) return
    const { versions } = this.informer
    this.#isFilled ||= this.members.current.every(({ name, access }) => versions.has(name) && !access?.isClearing)
  }

  probeStore(): void {
    if (!this.#isStopping && this.removing.length === 0) this.#store.checkStep()
  }

  get unfinished(): string | undefined {
    const { informer, members } = this
    if (this.#isStopping) return 'the stop is'
    for (const { name, history } of members.current)
      if (informer.versions.get(name) !== history.head.version) return `the version of ${name} is`
    const flaw = members.flaw((key) => informer.get(key), 'the store has')
    if (flaw !== undefined) return `the store is (${flaw})`
    if (this.isIncomplete && this.isPatient) return 'what was left out is'
    if (this.isRouting) return 'the routing of the last commit is'
    const lost = members.current.find(({ name }) => this.stateOf(name) !== 'live')
    if (lost !== undefined) return `${lost.name} is`
    const { unfinished } = this.waiters.pending
    if (unfinished !== undefined) return `${unfinished} is`
    const loud = this.followers.find((f) => !f.isQuiet) ?? this.reconcilers.find((r) => !r.isQuiet)
    if (this.related?.isQuiet === false) return `${this.related.name} is`
    if (loud !== undefined) return `${loud.name} is`
    return pinsOf(informer) > this.#snapshots.length ? 'a replay is' : undefined
  }

  check(): void {
    const { scenario, informer, members } = this
    const flaw = members.flaw((key) => informer.get(key), 'the store has')
    if (flaw !== undefined) scenario.violate('I1', flaw)
    this.#store.checkStep()
    checkIndexes(scenario, informer)
    this.#checkInvalid()
    for (const follower of this.followers) if (follower.flaw !== undefined) scenario.violate('I5', follower.flaw)
    if (!members.overlap) for (const reconciler of this.reconcilers) reconciler.check()
    this.#errors.check()
    while (this.#snapshots.length > 0) this.endSnapshot()
    checkPins(scenario, informer, 'I12')
  }

  /** After `stop` nothing is left. */
  checkStopped(): void {
    const { scenario } = this
    checkPins(scenario, this.informer, 'I15')
    for (const reconciler of this.reconcilers) reconciler.checkStopped()
    for (const { runs } of this.followers) runs?.checkStopped()
    // The slices of a commit that is being routed continue after the grace period, for example after a suspension.
    const { sleeping, yields } = this.clock
    const timers = sleeping - (this.isRouting ? yields : 0)
    if (timers > 0) scenario.violate('I15', `${timers} timers are left after stop()`)
    this.#checkSignals('was not aborted by stop()')
    if (scenario.listenersOf(this.abort.signal) > 0)
      scenario.violate('I15', "a listener is left on the caller's signal")
    const { any } = this.waiters.pending
    if (any !== undefined) scenario.violate('waits', `${any} has not ended with stop()`)
    this.callers.checkStopped()
  }

  override heal(): void {
    super.heal()
    if (this.scenario.settings.isBreach && this.scenario.settings.auditMs === false) this.#repair()
  }

  skipped(): void {
    for (const { reflectorChecker } of this.members) reflectorChecker?.skipped()
  }

  /** An error for a handler to throw; it must be reported once. */
  planted(follower?: SetFollower, mayBeLost?: MayBeLost): Error {
    return this.#errors.plant(follower?.isClosed === true, undefined, mayBeLost)
  }

  mustReport(error: SourceError, follower?: SetFollower): void {
    this.#errors.plant(follower?.isClosed === true, error)
  }

  protected waitForSync(): void {
    this.waiters.synced()
  }

  protected newFollower(name: string, isIn: IsIn): SetFollower {
    const incarnationOf = (member: SetMember, change: Change<Item>): number | undefined =>
      this.#unmerged?.incarnationOf(member, change)
    return new SetFollower(this.scenario, this.members, { name, isIn, incarnationOf }, () => this.#delivered())
  }

  protected override subscribed(
    follower: SetFollower,
    options: SubscribeOptions<Item, IndexesOf>,
    concurrency?: number,
  ): void {
    const { scenario, informer, members } = this
    const commits = commitsOfSet(scenario, members)
    if (this.#checksQueues) follower.queue = new QueueChecker(scenario, informer, commits, options, concurrency)
  }

  protected checkBatch(follower: SetFollower, batch: ChangeBatch<Item>): void {
    this.#batches.check(follower, batch)
  }

  /** A status listener creates another informer of the set when a source joins. */
  #join(): void {
    const { scenario } = this
    if (this.#isStopping || this.#bystander !== undefined || !scenario.decisions.chance('joins', 0.3)) return
    this.#bystander = new Bystander(scenario, this.#set)
  }

  /** Relists everything as soon as that is possible. */
  #repair(): void {
    if (!this.#isStopping && !this.waiters.relist()) this.scenario.clock.in(1, () => this.#repair())
  }

  get #removals(): number {
    return this.members.all.reduce((sum, { removals }) => sum + removals, 0)
  }

  get #position(): string {
    return [...this.informer.versions].join(' ')
  }

  /**
   * A follower receives nothing before each source has been listed, and may change the set when it receives something.
   */
  #delivered(): void {
    this.noteFilled()
    if (!this.#isFilled)
      this.scenario.violate('I8', 'a follower received a change before the first list of each source')
    if (!this.#isStopping) this.#changeSet()
  }

  #checkQueues(): void {
    for (const { queue, isClosed, subscription } of this.followers) {
      if (queue === undefined) continue
      if (this.#isStopping || (isClosed && !queue.isOverflowed)) queue.end()
      else if (subscription !== undefined) queue.checkStep(subscription)
    }
  }

  #checkInvalid(): void {
    const { scenario, informer, members } = this
    if (members.overlap) return
    for (const member of members) {
      if (member.settings.isBreach || this.removing.includes(member.name)) continue
      for (const key of member.settings.keys)
        if (informer.invalid.has(key) !== (member.objects.get(key)?.isInvalid === true))
          scenario.violate('I1', `the informer is wrong about whether ${nameOf(key)} of ${member.name} decodes`)
    }
  }

  #checkSignals(what: string): void {
    for (const { source } of this.members) {
      if (source.requests.size > 0) this.scenario.violate('I15', `a request for the head of ${source.name} ${what}`)
      for (const { kind, signal } of source.streams)
        if (!signal.aborted) this.scenario.violate('I15', `a ${kind} of ${source.name} ${what}`)
    }
  }

  /** `hasWaiters` of a source is not true without a wait for a version. */
  #checkHasWaiters(): void {
    const { settings, violate } = this.scenario
    if (settings.auditMs !== false || this.waiters.pending.notifiesSource !== 'no') return
    for (const { source } of this.members)
      for (const stream of source.streams)
        if (stream.kind === 'watch' && !stream.signal.aborted && stream.hasWaiters() === true)
          violate('waits', `no caller waits for a version, and hasWaiters() of ${source.name} is true`)
  }

  #drained(followers: readonly SetFollower[]): void {
    const store = new Map(this.informer.entries())
    for (const follower of followers) if (!follower.isClosed || follower.hasEnded) follower.checkDrained(store)
    for (const reconciler of this.reconcilers) reconciler.checkDrained(store)
  }

  #silenced(): void {
    this.#isStopped = true
    for (const { source } of this.members) source.warnings.silence()
    this.silence()
    while (this.#snapshots.length > 0) this.endSnapshot()
  }
}
