import { createInformer } from '../../../src/informer/create-informer.js'
import { groupInformers } from '../../../src/informer/informer-group.js'
import type { Informer } from '../../../src/informer/informer-types.js'
import type { SourceSet } from '../../../src/informer/sources/source-set.js'
import type { Change } from '../../../src/queue/change.js'
import type { ChangeBatch } from '../../../src/subscriptions/subscription-types.js'
import type { Item, State } from '../backend/history.js'
import type { SimulatedSource } from '../backend/simulated-source.js'
import { type Commits, isOfOneCommit } from '../checkers/handler-commits.js'
import { checkPins, pinsOf } from '../checkers/pin-checker.js'
import { SnapshotChecker } from '../checkers/snapshot-checker.js'
import { drawDrain, StopChecker } from '../checkers/stop-checker.js'
import { RelistSlotChecker } from '../groups/relist-slot-checker.js'
import { InformerSystem } from '../system/informer-system.js'
import { nameOf, type Scenario } from '../system/scenario.js'
import type { SleepCounter } from '../system/sim-clock.js'
import type { SystemUnderTest } from '../system/source-world.js'
import { checkIndexes, type IndexesOf } from '../workload/declared-indexes.js'
import type { IsIn } from '../workload/follower.js'
import { SetErrorChecker } from './set-error-checker.js'
import { SetFollower } from './set-follower.js'
import { BEFORE_ALL, type Position, type SetMember } from './set-member.js'
import type { SetMembers } from './set-members.js'
import { SetStoreChecker } from './set-store-checker.js'
import { SetWaiters } from './set-waiters.js'
import { UnmergedSetFollower } from './unmerged-set-follower.js'

/** One run of an informer over a set of sources, with all its users. */
export class SetDriver extends InformerSystem<Scenario, SetFollower> implements SystemUnderTest {
  readonly members: SetMembers
  readonly informer: Informer<Item, IndexesOf>
  readonly waiters: SetWaiters
  /** Set if its sources may not all relist at a time. */
  readonly relistSlots: RelistSlotChecker | undefined
  protected readonly readers = 0.5
  protected readonly errors: SetErrorChecker
  readonly #store: SetStoreChecker
  /** The states of each source that each reader of batches has had. */
  readonly #positions = new Map<SetFollower, Map<SetMember, Position>>()
  protected readonly checksQueues: boolean
  protected readonly commits: Commits
  /** Not in every schedule, because this follower must not change the result. */
  readonly #unmerged: UnmergedSetFollower | undefined
  readonly #changeSet: () => void
  readonly #set: SourceSet<Item>
  #bystander: Bystander | undefined
  #isFilled = false

  constructor(scenario: Scenario, members: SetMembers, set: SourceSet<Item>, life: number, changeSet: () => void) {
    super(scenario, life)
    this.members = members
    this.#set = set
    this.#changeSet = changeSet
    this.informer = this.newInformer(set)
    const { maxRelists } = scenario.settings
    if (maxRelists !== undefined) groupInformers([this.informer], { maxRelists })
    this.relistSlots = maxRelists === undefined ? undefined : new RelistSlotChecker(scenario, members.all, maxRelists)
    this.#unmerged = scenario.decisions.chance('witness', 0.6)
      ? new UnmergedSetFollower(scenario, members, this.informer)
      : undefined
    this.checksQueues = scenario.decisions.chance('queues', 0.85) && !scenario.settings.clears
    this.commits = commitsOfSet(scenario, members)
    this.waiters = new SetWaiters(this)
    this.errors = new SetErrorChecker(this)
    this.#store = new SetStoreChecker(scenario, members, this.informer)
    for (const member of members.current) this.read(member)
    this.informer.on('error', (error) => {
      if (this.related?.expects(error) !== true) this.errors.reported(error)
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
      if (!this.isStopping) this.#changeSet()
    })
  }

  get state(): string {
    const states = this.members.all.map(({ name, isIn }) => `${name} ${isIn ? this.stateOf(name) : 'out'}`)
    return `${states.join(', ')}, store of ${this.informer.size}`
  }

  get isClearing(): boolean {
    return this.members.current.some(({ access }) => access?.isClearing)
  }

  override get hasContent(): boolean {
    return this.#isFilled
  }

  get isIncomplete(): boolean {
    return this.members.current.some(({ isIncomplete }) => isIncomplete)
  }

  protected get sources(): readonly SimulatedSource[] {
    return this.members.all.map(({ source }) => source)
  }

  get truth(): { readonly state: State; readonly version: undefined } {
    return { state: this.members.state, version: undefined }
  }

  stateOf = (name: string): string | undefined => this.informer.status.sources?.[name]?.state

  read(member: SetMember): void {
    member.readBy(this)
  }

  beginSnapshot(): void {
    const { informer } = this
    // The objects of a removed source may belong to no version.
    if (this.removing.length > 0) return
    const { versions } = informer
    const removals = this.#removals
    this.snapshots.begin(new SnapshotChecker(this.scenario, informer), (view) => {
      if (removals < this.#removals) this.scenario.mark('a snapshot outlived a source')
      // A new backend does not know the versions of the old one.
      else this.#store.checkAt(view, versions, 'I8', 'a snapshot')
    })
  }

  stop(): void {
    if (this.isStopping) return
    const { scenario, life, informer } = this
    for (const { reflectorChecker } of this.members) reflectorChecker?.stopped()
    this.errors.forget()
    this.#bystander?.stop()
    this.#bystander = undefined
    const drainMs = drawDrain(scenario, life)
    const isBySignal = drainMs === undefined && scenario.decisions.chance('stop by signal', 0.5)
    this.stopBy(informer, new StopChecker(this, drainMs, false), isBySignal)
  }

  checkStep(): void {
    if (this.isStopped) return
    this.#check()
    this.closeInWrite()
  }

  #check(): void {
    const { overlap } = this.members
    // With shared keys, a source is listed again when another one deletes a key.
    if (overlap) for (const { reflectorChecker } of this.members.current) reflectorChecker?.released()
    for (const member of this.members) member.checkStep()
    if (!this.isStopping) this.relistSlots?.checkStep()
    this.#bystander?.checkStep()
    this.waiters.pending.checkStep()
    this.#checkHasWaiters()
    this.health.checkStep(this.members.current.some(({ access }) => access?.isCleared))
    this.noteFilled()
    if (this.#isFilled && !this.isStopping && !this.isWriting && !this.informer.status.isSynced)
      this.scenario.violate('sets', 'all sources have been listed, and it is not synced')
    this.probeStore()
    if (this.isRouting) return
    this.checkQueues()
    this.#unmerged?.checkStep()
    if (!this.isStopping) this.checkResyncs()
    if (!this.isStopping) this.checkRuns()
    this.checkDrains()
    this.callers.abortDue()
    this.stopping?.checkStep()
  }

  /** The informer shows its objects once all its sources have been listed. */
  noteFilled(): void {
    // An informer that stops before that shows nothing, even if the missing source is removed.
    if (this.isStopping) return
    const { versions } = this.informer
    this.#isFilled ||= this.members.current.every(({ name, access }) => versions.has(name) && !access?.isClearing)
  }

  probeStore(): void {
    if (!this.isStopping && this.removing.length === 0) this.#store.checkStep()
  }

  get unfinished(): string | undefined {
    const { informer, members } = this
    if (this.isStopping) return 'the stop is'
    for (const { name, history } of members.current)
      if (informer.versions.get(name) !== history.head.version) return `the version of ${name} is`
    const flaw = members.flaw((key) => informer.get(key), 'the store has')
    if (flaw !== undefined) return `the store is (${flaw})`
    if (this.isIncomplete && this.isPatient) return 'what was left out is'
    if (this.isRouting) return 'the routing of the last commit is'
    const lost = members.current.find(({ name }) => this.stateOf(name) !== 'live')
    if (lost !== undefined) return `${lost.name} is`
    const { unfinishedUser } = this
    if (unfinishedUser !== undefined) return `${unfinishedUser} is`
    return pinsOf(informer) > this.snapshots.count ? 'a replay is' : undefined
  }

  check(): void {
    const { scenario, informer, members } = this
    const flaw = members.flaw((key) => informer.get(key), 'the store has')
    if (flaw !== undefined) scenario.violate('I1', flaw)
    this.#store.checkStep()
    checkIndexes(scenario, informer)
    this.#checkInvalid()
    for (const follower of this.followers) follower.check()
    if (!members.overlap) for (const reconciler of this.reconcilers) reconciler.check()
    this.errors.check()
    this.snapshots.endAll()
    checkPins(scenario, informer, 'I12')
  }

  override heal(): void {
    super.heal()
    if (this.scenario.settings.isBreach && this.scenario.settings.auditMs === false) this.#repair()
  }

  skipped(): void {
    for (const { reflectorChecker } of this.members) reflectorChecker?.skipped()
  }

  protected newFollower(name: string, isIn: IsIn): SetFollower {
    const incarnationOf = (member: SetMember, change: Change<Item>): number | undefined =>
      this.#unmerged?.incarnationOf(member, change)
    return new SetFollower(this.scenario, this.members, { name, isIn, incarnationOf }, () => this.#delivered())
  }

  /**
   * Batches of a set are complete: after each batch, the reader has of every source a state of that source, never
   * earlier than before.
   */
  protected checkBatch(follower: SetFollower, { changes, source, version }: ChangeBatch<Item>): void {
    const { scenario, members } = this
    if (changes.length === 0 || members.overlap) return
    const positions = this.#positions.get(follower) ?? new Map<SetMember, Position>()
    this.#positions.set(follower, positions)
    const of = members.named(source)
    if (version !== undefined) scenario.violate('sets', `a batch of several sources has the version ${version}`)
    if (source === undefined && changes.some(({ origin }) => origin === 'watch'))
      scenario.mark('a batch was merged of several sources')
    for (const { key } of changes)
      if (of !== undefined && !of.has(key))
        scenario.violate('sets', `a batch of ${source} contains another source's key`)
    for (const member of members) {
      if (member.settings.isBreach) continue
      const held = (key: string): number | undefined => follower.known.get(key)?.n
      const found = member.find(
        held,
        (stored) => (follower.wants(member, stored) ? stored?.item.n : undefined),
        positions.get(member) ?? BEFORE_ALL,
      )
      if (found !== undefined) positions.set(member, found)
      else
        scenario.violate(
          'I8',
          `${follower.name} took a batch, and its objects of ${member.name} are not a state of that source`,
        )
    }
  }

  /** A status listener creates another informer of the set when a source joins. */
  #join(): void {
    const { scenario } = this
    if (this.isStopping || this.#bystander !== undefined || !scenario.decisions.chance('joins', 0.3)) return
    this.#bystander = new Bystander(scenario, this.#set)
  }

  /** Relists everything as soon as that is possible. */
  #repair(): void {
    if (!this.isStopping && !this.waiters.relist()) this.scenario.clock.in(1, () => this.#repair())
  }

  get #removals(): number {
    return this.members.all.reduce((sum, { removals }) => sum + removals, 0)
  }

  get position(): string {
    return [...this.informer.versions].join(' ')
  }

  /**
   * A follower receives nothing before each source has been listed, and may change the set when it receives something.
   */
  #delivered(): void {
    this.noteFilled()
    if (!this.#isFilled)
      this.scenario.violate('I8', 'a follower received a change before the first list of each source')
    if (!this.isStopping) this.#changeSet()
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

  /** `hasWaiters` of a source is not true without a wait for a version. */
  #checkHasWaiters(): void {
    const { settings, violate } = this.scenario
    if (settings.auditMs !== false || this.waiters.pending.notifiesSource !== 'no') return
    for (const { source } of this.members)
      for (const stream of source.streams)
        if (stream.kind === 'watch' && !stream.signal.aborted && stream.hasWaiters() === true)
          violate('waits', `no caller waits for a version, and hasWaiters() of ${source.name} is true`)
  }

  protected override silence(): void {
    super.silence()
    this.snapshots.endAll()
  }
}

/**
 * Over several sources a batch has no version, and may consist of any number of commits. An idle follower without
 * pending changes has handled everything.
 */
function commitsOfSet({ settings }: Scenario, members: SetMembers): Commits {
  const commits: Commits = {
    sourceOf: ({ key, object }) => members.ownerOf(key, object.n)?.name,
    endsOf: (_version, changes) => {
      const isEnd = (change: Change<Item>, next: Change<Item> | undefined): boolean =>
        next === undefined || !isOfOneCommit(change, next, commits)
      return changes.flatMap((change, at) => (isEnd(change, changes[at + 1]) ? [at + 1] : []))
    },
    // There are no versions.
    isBefore: () => false,
    isLate: ({ backlog }) => backlog.keys > 0,
    // With slow code, a follower may be about to look for more changes.
    isLevel: ({ backlog }, isBusy) => settings.driftMs === 0 && !isBusy && backlog.keys === 0,
  }
  return commits
}

/** Another informer of the same set, never started: it has the sources that the set has. */
class Bystander {
  readonly #scenario: Scenario
  readonly #set: SourceSet<Item>
  readonly #clock: SleepCounter
  readonly #informer: Informer<Item, object>

  constructor(scenario: Scenario, set: SourceSet<Item>) {
    scenario.note('another informer of the set')
    this.#scenario = scenario
    this.#set = set
    this.#clock = scenario.clock.facade()
    this.#informer = createInformer<Item, object>({ source: set, clock: this.#clock, audit: false })
  }

  checkStep(): void {
    const names = [...this.#set.sources.keys()].sort().join()
    const known = Object.keys(this.#informer.status.sources ?? {})
      .sort()
      .join()
    if (known !== names) this.#scenario.violate('sets', `an informer of the set knows ${known}, and it has ${names}`)
  }

  stop(): void {
    const { violate } = this.#scenario
    this.checkStep()
    this.#informer.stop().then(
      () => {
        if (this.#clock.sleeping > 0) violate('I15', 'an informer that was never started leaves a timer')
      },
      (error: unknown) => violate('crash', `stop() of an informer that was never started failed: ${error}`),
    )
  }
}
