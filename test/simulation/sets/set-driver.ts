import type { SourceError } from '../../../src/contract/errors.js'
import type { Version } from '../../../src/contract/version.js'
import type { Informer } from '../../../src/informer/informer.js'
import { groupInformers } from '../../../src/informer/informer-group.js'
import type { SourceSet } from '../../../src/informer/source-set.js'
import type { Change } from '../../../src/queue/change.js'
import type { ChangeBatch, SubscribeOptions } from '../../../src/subscriptions/subscription-types.js'
import type { Item, State } from '../backend/history.js'
import { checkPins } from '../checkers/pin-checker.js'
import { QueueChecker } from '../checkers/queue-checker.js'
import { SnapshotChecker } from '../checkers/snapshot-checker.js'
import { drawDrain, slownessOf } from '../checkers/stop-checker.js'
import { RelistSlotChecker } from '../groups/relist-slot-checker.js'
import { InformerSystem } from '../system/informer-system.js'
import { nameOf, type Scenario } from '../system/scenario.js'
import type { Participants } from '../system/system-under-test.js'
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
  /** Of all slots. */
  readonly removals: number
}

/** One life of an informer over a set of sources, with all who use it. */
export class SetDriver extends InformerSystem<Scenario, SetFollower> implements Participants {
  readonly slots: SetMembers
  readonly informer: Informer<Item, IndexesOf>
  readonly waiters: SetWaiters
  /** Where its sources may not all list again at a time. */
  readonly turns: RelistSlotChecker | undefined
  protected readonly readers = 0.5
  readonly #errors: SetErrorChecker
  readonly #store: SetStoreChecker
  readonly #batches: SetBatchChecker
  readonly #judgesQueues: boolean
  /** Not in every schedule: being watched must make no difference. */
  readonly #witness: UnmergedSetFollower | undefined
  readonly #snapshots: Taken[] = []
  /** A source may come or go inside a handler. */
  readonly #meddle: () => void
  readonly #set: SourceSet<Item>
  #bystander: Bystander | undefined
  #isFilled = false
  #drainMs: number | undefined
  #stoppedAt: string | undefined
  #isStopping = false
  #isStopped = false

  constructor(stage: Scenario, slots: SetMembers, set: SourceSet<Item>, life: number, meddle: () => void) {
    super(stage, life)
    this.slots = slots
    this.#set = set
    this.#meddle = meddle
    this.informer = this.newInformer(set)
    const { maxRelists } = stage.settings
    if (maxRelists !== undefined) groupInformers([this.informer], { maxRelists })
    this.turns = maxRelists === undefined ? undefined : new RelistSlotChecker(stage, slots.all, maxRelists)
    this.#batches = new SetBatchChecker(stage, slots)
    this.#witness = stage.draws.chance('witness', 0.6)
      ? new UnmergedSetFollower(stage, slots, this.informer)
      : undefined
    this.#judgesQueues = stage.draws.chance('queues', 0.85) && !stage.settings.clears
    this.waiters = new SetWaiters(this)
    this.#errors = new SetErrorChecker(this)
    this.#store = new SetStoreChecker(stage, slots, this.informer)
    for (const slot of slots.members) this.read(slot)
    this.informer.on('error', (error) => this.#errors.reported(error))
    this.informer.on('status', (status, previous) => {
      for (const slot of slots.members) {
        const { name, judge } = slot
        const [is, was] = [status.sources?.[name]?.state, previous.sources?.[name]?.state]
        if (is === was || is === undefined) continue
        if (was === 'idle' && this.#isFilled) this.#join()
        stage.note('is', is, name)
        if (was?.endsWith('listing')) judge?.listed()
        this.turns?.moved(slot)
      }
      if (!this.#isStopping) this.#meddle()
    })
  }

  get state(): string {
    const states = this.slots.all.map(({ name, isIn }) => `${name} ${isIn ? this.stateOf(name) : 'out'}`)
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
    return this.slots.members.some(({ isIncomplete }) => isIncomplete)
  }

  get truth(): { readonly state: State; readonly version: undefined } {
    return { state: this.slots.state, version: undefined }
  }

  /** What the informer does with one source. */
  stateOf = (name: string): string | undefined => this.informer.status.sources?.[name]?.state

  /** From now on it is this informer that reads a slot's source. */
  read(slot: SetMember): void {
    slot.readBy(this)
  }

  relist(): void {
    if (!this.isStopping) this.waiters.relist()
  }

  beginSnapshot(): void {
    const { informer } = this
    this.#snapshots.push({
      held: new SnapshotChecker(this.stage, informer),
      versions: informer.versions,
      removals: this.#removals,
    })
  }

  endSnapshot(): void {
    const snapshot = this.#snapshots.shift()
    if (snapshot === undefined) return
    const { held, versions, removals } = snapshot
    if (removals < this.#removals) this.stage.mark('a snapshot outlived a source')
    // Another backend may have come since, which knows nothing of those versions.
    else this.#store.judge(held.view, versions, 'I8', 'a snapshot')
    held.dispose()
  }

  stop(): void {
    if (this.isStopping) return
    const { stage, life, informer } = this
    this.#isStopping = true
    for (const { judge } of this.slots) judge?.stopped()
    this.#errors.forget()
    this.#bystander?.stop()
    this.#bystander = undefined
    this.#drainMs = drawDrain(stage, life)
    this.#stoppedAt = this.#position
    const [since, draining] = [stage.clock.elapsed - stage.clock.skipped, this.followers.filter((f) => !f.isClosed)]
    const [drainMs, slowMs] = [this.#drainMs, slownessOf(stage)]
    if (drainMs === undefined && stage.draws.chance('stop by signal', 0.5)) this.abort.abort()
    informer.stop({ drainMs }).then(
      () => {
        stage.note('stop() has settled')
        const tookMs = stage.clock.elapsed - stage.clock.skipped - since
        if (tookMs > (drainMs ?? 0) + 1_000 + slowMs) stage.violate('I15', `stop() took ${tookMs} ms`)
        if (drainMs !== undefined && tookMs < drainMs - slowMs && stage.clock.skipped === 0 && this.#isFilled)
          this.#drained(draining)
        // What is due at the same moment may come after it.
        stage.clock.in(1, () => this.#silenced())
      },
      (error: unknown) => stage.violate('crash', `stop() failed: ${error}`),
    )
  }

  // What is judged.

  look(): void {
    if (this.#isStopped) return
    const { overlap } = this.slots
    // Where keys collide a source is read again when another one gives a key up.
    if (overlap) for (const slot of this.slots.members) slot.muttered()
    for (const slot of this.slots) slot.look()
    if (!this.#isStopping) this.turns?.look()
    this.#bystander?.look()
    this.waiters.pending.look()
    this.#lookAtAsking()
    this.health.look(this.slots.members.some(({ access }) => access?.isCleared))
    this.lookWhetherFilled()
    if (this.#isFilled && !this.#isStopping && !this.informer.status.isSynced)
      this.stage.violate('sets', 'all sources have been listed, and it is not synced')
    this.lookAtStore()
    this.#lookAtQueues()
    this.#witness?.look()
    if (!this.#isStopping) this.lookAtResyncs()
    if (!this.#isStopping) this.lookAtRuns()
    this.lookAtDrains()
    this.callers.look()
    if (this.#isStopping && this.#position !== this.#stoppedAt)
      this.stage.violate('I15', `the store moved to ${this.#position} after stop()`)
    if (this.#isStopping) this.#checkSignals('goes on after stop()')
  }

  /** Once all sources that it has then have been listed, an informer shows what it has. */
  lookWhetherFilled(): void {
    // What is not filled when it stops is shown to nobody, though the source that was lacking is taken out.
    if (this.#isStopping) return
    const { versions } = this.informer
    this.#isFilled ||= this.slots.members.every(({ name }) => versions.has(name))
  }

  lookAtStore(): void {
    if (!this.#isStopping) this.#store.look()
  }

  get unfinished(): string | undefined {
    const { informer, slots } = this
    if (this.#isStopping) return 'the stop is'
    for (const { name, history } of slots.members)
      if (informer.versions.get(name) !== history.head.version) return `the version of ${name} is`
    const flaw = slots.flaw((key) => informer.get(key), 'the store has')
    if (flaw !== undefined) return `the store is (${flaw})`
    if (this.isIncomplete && this.isPatient) return 'what was left out is'
    const lost = slots.members.find(({ name }) => this.stateOf(name) !== 'live')
    if (lost !== undefined) return `${lost.name} is`
    const { hopeful } = this.waiters.pending
    if (hopeful !== undefined) return `${hopeful} is`
    const loud = this.followers.find((f) => !f.isQuiet) ?? this.reconcilers.find((r) => !r.isQuiet)
    return loud === undefined ? undefined : `${loud.name} is`
  }

  check(): void {
    const { stage, informer, slots } = this
    const flaw = slots.flaw((key) => informer.get(key), 'the store has')
    if (flaw !== undefined) stage.violate('I1', flaw)
    this.#store.look()
    checkIndexes(stage, informer)
    this.#checkInvalid()
    for (const follower of this.followers) if (follower.flaw !== undefined) stage.violate('I5', follower.flaw)
    if (!slots.overlap) for (const reconciler of this.reconcilers) reconciler.check()
    this.#errors.check()
    while (this.#snapshots.length > 0) this.endSnapshot()
    checkPins(stage, informer, 'I12')
  }

  /** After `stop` nothing is left. */
  checkStopped(): void {
    const { stage } = this
    checkPins(stage, this.informer, 'I15')
    for (const reconciler of this.reconcilers) reconciler.checkStopped()
    for (const { runs } of this.followers) runs?.checkStopped()
    if (this.clock.sleeping > 0) stage.violate('I15', `${this.clock.sleeping} timers are left after stop()`)
    this.#checkSignals('was not told to end by stop()')
    if (stage.listenersOf(this.abort.signal) > 0) stage.violate('I15', "a listener is left on the caller's signal")
    const { any } = this.waiters.pending
    if (any !== undefined) stage.violate('waits', `${any} has not ended with stop()`)
    this.callers.checkStopped()
  }

  override heal(): void {
    super.heal()
    if (this.stage.settings.isBreach && this.stage.settings.auditMs === false) this.#repair()
  }

  skipped(): void {
    for (const { judge } of this.slots) judge?.skipped()
  }

  /** An error for a handler to throw; it must be reported once. */
  planted(follower?: SetFollower): Error {
    return this.#errors.plant(follower?.isClosed === true)
  }

  mustReport(error: SourceError, follower?: SetFollower): void {
    this.#errors.plant(follower?.isClosed === true, error)
  }

  protected waitForSync(): void {
    this.waiters.synced()
  }

  protected newFollower(name: string, isIn: IsIn): SetFollower {
    const stayOf = (slot: SetMember, change: Change<Item>): number | undefined => this.#witness?.stayOf(slot, change)
    return new SetFollower(this.stage, this.slots, { name, isIn, stayOf }, () => this.#told())
  }

  protected override subscribed(
    follower: SetFollower,
    options: SubscribeOptions<Item, IndexesOf>,
    concurrency?: number,
  ): void {
    const { stage, informer, slots } = this
    const commits = commitsOfSet(stage, slots)
    if (this.#judgesQueues) follower.queue = new QueueChecker(stage, informer, commits, options, concurrency ?? 1)
  }

  protected judgeBatch(follower: SetFollower, batch: ChangeBatch<Item>): void {
    this.#batches.judge(follower, batch)
  }

  /** Somebody who is told that there is another source makes another informer of the set. */
  #join(): void {
    const { stage } = this
    if (this.#isStopping || this.#bystander !== undefined || !stage.draws.chance('joins', 0.3)) return
    this.#bystander = new Bystander(stage, this.#set)
  }

  /** Reads everything again, as soon as it can be asked for. */
  #repair(): void {
    if (!this.#isStopping && !this.waiters.relist()) this.stage.clock.in(1, () => this.#repair())
  }

  get #removals(): number {
    return this.slots.all.reduce((sum, { removals }) => sum + removals, 0)
  }

  get #position(): string {
    return [...this.informer.versions].join(' ')
  }

  /** Whoever follows hears nothing before each source has been listed, and may lead on from what it hears. */
  #told(): void {
    this.lookWhetherFilled()
    if (!this.#isFilled) this.stage.violate('I8', 'somebody is told before the first list of each source is in')
    if (!this.#isStopping) this.#meddle()
  }

  #lookAtQueues(): void {
    for (const { queue, isClosed, subscription } of this.followers) {
      if (queue === undefined) continue
      if (this.#isStopping || (isClosed && !queue.isOverflowed)) queue.end()
      else if (subscription !== undefined) queue.look(subscription)
    }
  }

  #checkInvalid(): void {
    const { stage, informer, slots } = this
    if (slots.overlap) return
    for (const slot of slots) {
      if (slot.settings.isBreach) continue
      for (const key of slot.settings.keys)
        if (informer.invalid.has(key) !== (slot.objects.get(key)?.isInvalid === true))
          stage.violate('I1', `the informer is wrong about whether ${nameOf(key)} of ${slot.name} decodes`)
    }
  }

  #checkSignals(what: string): void {
    for (const { source } of this.slots) {
      if (source.requests.size > 0) this.stage.violate('I15', `a request for the head of ${source.name} ${what}`)
      for (const { kind, signal } of source.streams)
        if (!signal.aborted) this.stage.violate('I15', `a ${kind} of ${source.name} ${what}`)
    }
  }

  /** No source is told that somebody waits for a version if nobody does. */
  #lookAtAsking(): void {
    const { settings, violate } = this.stage
    if (settings.auditMs !== false || this.waiters.pending.asks !== 'no') return
    for (const { source } of this.slots)
      for (const stream of source.streams)
        if (stream.kind === 'watch' && !stream.signal.aborted && stream.hasWaiters() === true)
          violate('waits', `nobody waits for a version, and ${source.name} is told that somebody does`)
  }

  #drained(followers: readonly SetFollower[]): void {
    const store = new Map(this.informer.entries())
    for (const follower of followers) if (!follower.isClosed || follower.hasEnded) follower.checkDrained(store)
    for (const reconciler of this.reconcilers) reconciler.checkDrained(store)
  }

  #silenced(): void {
    this.#isStopped = true
    for (const { source } of this.slots) source.warnings.silence()
    this.silence()
    while (this.#snapshots.length > 0) this.endSnapshot()
  }
}
