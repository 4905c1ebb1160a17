import type { ChangeBatch, Informer, Lifecycle, Version } from '../../../src/index.js'
import { SLOW_MS } from '../../../src/subscriptions/delivery/slow-handler-monitor.js'
import type { Commit, Item, State } from '../backend/history.js'
import { SimulatedSource } from '../backend/simulated-source.js'
import type { SimulatedCache } from '../cache/simulated-cache.js'
import { AccessLostChecker } from '../checkers/access-lost-checker.js'
import { AuditResultChecker } from '../checkers/audit-result-checker.js'
import { EntryChecker } from '../checkers/entry-checker.js'
import { ErrorChecker } from '../checkers/error-checker.js'
import { HandledVersionChecker } from '../checkers/handled-version-checker.js'
import { type Commits, commitsOf } from '../checkers/handler-commits.js'
import { checkPins, pinsOf } from '../checkers/pin-checker.js'
import { ReflectorChecker } from '../checkers/reflector-checker.js'
import { checkView, entriesOf, SnapshotChecker } from '../checkers/snapshot-checker.js'
import { drawDrain, StopChecker } from '../checkers/stop-checker.js'
import { checkStore, storeViolation } from '../checkers/store-checker.js'
import { UnmergedFollower } from '../checkers/unmerged-follower.js'
import { VersionOrderChecker } from '../checkers/version-order-checker.js'
import { checkIndexes, type IndexesOf } from '../workload/declared-indexes.js'
import type { IsIn } from '../workload/follower.js'
import { SourceFollower } from '../workload/source-follower.js'
import { Waiters } from '../workload/waiters.js'
import { InformerSystem } from './informer-system.js'
import { nameOf, type SourceScenario } from './scenario.js'
import type { SystemUnderTest } from './source-world.js'

/** The largest number of clock reads in one check; each read takes time if the clock drifts. */
const CLOCK_READS = 300

/** What users do in the middle of a large write, or of a search for a replay. */
const INTERRUPTS = [
  ...(['read', 'subscribe', 'subscribe', 'subscribe', 'reconcile'] as const),
  ...(['begin snapshot', 'relist', 'drain', 'drain', 'stop'] as const),
]

/** One run of an informer over one source, with all its users. */
export class InformerDriver extends InformerSystem<SourceScenario, SourceFollower> implements SystemUnderTest {
  readonly reflectorChecker: ReflectorChecker
  readonly cache: SimulatedCache | undefined
  readonly source: SimulatedSource
  readonly informer: Informer<Item, IndexesOf>
  readonly waiters: Waiters
  readonly auditResults: AuditResultChecker
  readonly access: AccessLostChecker
  /** Not in every schedule, because this follower must not change the result. */
  override readonly unmerged: UnmergedFollower | undefined
  /** Whether it may be stopped in the middle of a large write. A group has to know of each stop of a member. */
  mayStopInWrite = true
  protected readonly readers = 0.35
  protected readonly errors: ErrorChecker
  protected readonly checksQueues: boolean
  readonly #progress: VersionOrderChecker
  readonly #entryChecker: EntryChecker
  #version: Version | undefined
  #checkedAt: Version | undefined
  #list: readonly Item[] | undefined
  #versions = 0
  #interrupts = 0
  #invalid: string[] = []

  constructor(scenario: SourceScenario, life: number, cache?: SimulatedCache) {
    super(scenario, life)
    this.cache = cache
    const { settings, decisions } = scenario
    this.#progress = new VersionOrderChecker(scenario, 'the store')
    this.#entryChecker = new EntryChecker(scenario, () => this.informer)
    // A reflector that waits for a relist slot may be late.
    const isExact = settings.driftMs === 0 && settings.maxRelists === undefined
    this.reflectorChecker = new ReflectorChecker(
      scenario,
      isExact,
      () => this.resumesFrom,
      () => this.informer.status.state,
      () => this.source.isAudited,
    )
    if (cache !== undefined) this.reflectorChecker.restoring()
    this.source = new SimulatedSource(scenario, this.reflectorChecker, undefined, cache?.selection)
    this.informer = this.newInformer(this.source, cache)
    this.access = new AccessLostChecker(scenario, {
      isWriting: () => this.isWriting,
      version: () => this.informer.version,
      isListed: () => this.informer.status.isSynced || this.informer.version !== undefined,
      size: () => this.informer.size,
      refusedWith: () => this.source.refusedWith,
    })
    this.waiters = new Waiters(this)
    this.auditResults = new AuditResultChecker(scenario, this.informer, this.source.versions !== undefined)
    if (settings.isBreach) this.source.auditWatch = this.auditResults
    this.unmerged = decisions.chance('witness', 0.5) ? new UnmergedFollower(scenario, this.informer) : undefined
    // The merge of deletes after a loss of access is not modelled.
    this.checksQueues = !settings.isBreach && decisions.chance('queues', 0.85) && !settings.clears
    this.errors = new ErrorChecker(this)
    this.informer.on('error', (error) => {
      if (this.related?.expects(error) !== true) this.errors.reported(error)
    })
    this.informer.on('status', (status, previous) => {
      scenario.note('is', status.state)
      // A list has replaced what an earlier process saved.
      const isReplaced = previous.state === 'stale' && (status.state === 'connecting' || status.state === 'backing-off')
      if (isReplaced) this.reflectorChecker.listed()
      if (previous.state === 'listing' || previous.state === 'relisting') {
        if (status.state === 'connecting' || (status.state !== 'stopped' && status.lastError === previous.lastError)) {
          this.reflectorChecker.listed()
          if (this.source.lastList !== undefined) this.auditResults.listed(this.source.lastList)
        }
        this.#listed(previous.state)
      }
      if (status.state === 'relisting') this.#relisting()
    })
  }

  get state(): string {
    const { status, version, size } = this.informer
    return `${status.state}, store of ${size} at ${version ?? '–'}`
  }

  get position(): string {
    return this.informer.version ?? 'nothing'
  }

  get isClearing(): boolean {
    return this.access.isClearing
  }

  protected get sources(): readonly SimulatedSource[] {
    return [this.source]
  }

  protected get commits(): Commits {
    return commitsOf(this.scenario.history, this.informer)
  }

  get truth(): Commit {
    return this.scenario.history.head
  }

  get isIncomplete(): boolean {
    return this.reflectorChecker.isIncomplete
  }

  get reflectorState(): string {
    return this.informer.status.state
  }

  get hasListed(): boolean {
    return this.informer.status.isSynced
  }

  get lists(): number {
    return this.reflectorChecker.lists
  }

  get resumesFrom(): Version | undefined {
    return this.informer.version
  }

  get hasReplacedContent(): boolean {
    return false
  }

  /** The version that answers waits. */
  get reached(): Version | undefined {
    return this.cache !== undefined && !this.informer.status.isSynced ? undefined : this.informer.version
  }

  get isBusy(): boolean {
    return this.isRouting
  }

  beginSnapshot(): void {
    const { informer, scenario } = this
    const { history, mark, settings } = scenario
    const { version, status } = informer
    this.snapshots.begin(new SnapshotChecker(scenario, informer), (view) => {
      if (informer.status.relists > status.relists) mark('a snapshot outlived a relist')
      if (!settings.isBreach && version !== undefined)
        checkStore(scenario, history.at(version).state, view, 'I8', 'a snapshot', settings.omits)
    })
  }

  /** `by` stops it: the informer itself, or its group. */
  stop(by: Pick<Lifecycle, 'stop'> = this.informer, drain?: { readonly ms: number | undefined }): void {
    if (this.isStopping) return
    const { scenario } = this
    this.#markStop()
    this.reflectorChecker.stopped()
    this.errors.forget()
    const drainMs = drain === undefined ? drawDrain(scenario, this.life) : drain.ms
    const hasWork = this.followers.some(
      ({ isClosed, draining, subscription }) =>
        !isClosed && draining === undefined && (subscription?.backlog.keys ?? 0) > 0,
    )
    this.stopBy(by, new StopChecker(this, drainMs, hasWork), scenario.decisions.chance('stop by signal', 0.5))
  }

  checkStep(): void {
    if (super.isStopped) return
    this.#check()
    this.#interrupt()
    this.closeInWrite()
  }

  #check(): void {
    this.reflectorChecker.checkStep()
    this.stopping?.checkStep()
    this.waiters.pending.checkStep()
    this.#checkHasWaiters()
    this.health.checkStep(this.access.isCleared)
    this.probeStore()
    this.callers.abortDue()
    if (this.isRouting) return
    this.checkQueues()
    if (!this.isStopping) {
      this.#checkSlowHandlers()
      this.checkResyncs()
      this.checkRuns()
      this.auditResults.checkStep()
    }
    this.checkDrains()
    if (this.scenario.settings.isBreach) return
    for (const follower of this.followers) follower.checkStep()
    for (const reconciler of this.reconcilers) reconciler.checkVersion()
  }

  /** Users call the informer in the middle of a large write or replay, too: actions at random times rarely meet one. */
  #interrupt(): void {
    const { scenario } = this
    const { decisions } = scenario
    if (
      !(this.isWriting || this.isRouting) ||
      this.isStopping ||
      decisions.isQuiet ||
      !decisions.chance('interrupts', 0.3)
    )
      return
    if (!decisions.take(`interrupt#${this.life}.${this.#interrupts++}`)) return
    const interrupt = decisions.pick('interrupt', INTERRUPTS)
    switch (interrupt) {
      case 'read':
        checkIndexes(scenario, this.informer)
        checkView(scenario, this.informer, entriesOf(this.informer), 'the store')
        break
      case 'drain':
        this.drainFollower(decisions.pick('drain follower in a write', this.followers))
        break
      case 'stop':
        if (this.mayStopInWrite && decisions.chance('stop in a write', 0.3)) this.stop()
        break
      default:
        this.use(interrupt, '')
    }
  }

  probeStore(): void {
    const { informer, scenario } = this
    const { version } = informer
    const { settings, violate, history } = scenario
    this.access.checkStep()
    if (version !== this.#version) {
      this.#progress.at(version)
      this.#version = version
      scenario.note('the store is at', version ?? 'nothing')
      if (++this.#versions % 8 === 0) checkIndexes(scenario, informer)
      if (this.#versions % 16 === 4) {
        checkView(scenario, informer, entriesOf(informer), 'the store')
        this.snapshots.check()
      }
    }
    if (version === undefined) {
      this.#entryChecker.forget()
      if (informer.size > 0 || [...informer.keys()].length > 0) violate('I8', 'a part of the first list can be read')
      if (informer.invalid.size > 0 && !settings.isBreach) violate('I8', 'a key is invalid before the first list is in')
      return
    }
    // The array stays the same until something changes.
    const list = informer.list()
    if (settings.isBreach || (list === this.#list && version === this.#checkedAt)) return
    this.#list = list
    this.#checkedAt = version
    checkStore(scenario, history.at(version).state, informer, 'I7', 'the store', settings.omits)
    this.#entryChecker.checkStep(version)
  }

  get unfinished(): string | undefined {
    const { version } = this.informer
    const { head } = this.scenario.history
    if (version !== head.version) return 'the version is'
    const { isBreach, omits } = this.scenario.settings
    // Only an audit finds events that the source lost or sent incorrectly.
    if (isBreach && storeViolation(this.scenario, head.state, this.informer, 'the store', omits) !== undefined)
      return 'the store is'
    // Not in every schedule, because it takes long.
    if (this.reflectorChecker.isIncomplete && this.isPatient) return 'what was left out is'
    if (this.informer.status.state !== 'live') return 'the informer is'
    const { unfinishedUser } = this
    if (unfinishedUser !== undefined) return `${unfinishedUser} is`
    const pins = pinsOf(this.informer) - this.snapshots.count - (this.cache?.saves ?? 0)
    return pins > 0 ? 'a replay is' : undefined
  }

  check(): void {
    const { scenario } = this
    checkStore(scenario, scenario.history.head.state, this.informer, 'I1', 'the store', scenario.settings.omits)
    checkIndexes(scenario, this.informer)
    for (const { key, isInvalid } of scenario.history.head.state.values())
      if (!scenario.settings.isBreach && this.informer.invalid.has(key) !== isInvalid)
        scenario.violate(
          'I1',
          `${nameOf(key)} ${isInvalid ? 'does not decode' : 'decodes'}, and the informer reports the opposite`,
        )
    this.health.check(this.access.isCleared)
    for (const follower of this.followers) follower.check()
    for (const reconciler of this.reconcilers) reconciler.check()
    this.errors.check()
    this.snapshots.endAll()
    checkPins(scenario, this.informer, 'I12', this.cache?.saves ?? 0)
  }

  override heal(): void {
    super.heal()
    const { isBreach, auditMs } = this.scenario.settings
    if (isBreach && auditMs === false) this.relist()
  }

  override stuckAt(key: string): void {
    this.scenario.workload.writeRepeatedly(key)
  }

  override goneAt(key: string): void {
    this.scenario.workload.comeAndGo(key)
  }

  skipped(): void {
    for (const { running } of this.followers)
      for (const key of running.keys()) running.set(key, this.scenario.clock.elapsed)
    this.reflectorChecker.skipped()
    this.auditResults.skipped()
  }

  protected forgetThrown(): void {
    this.errors.forgetThrown()
  }

  protected override defectAt(item: Item): Error | undefined {
    return this.errors.defectAt(item)
  }

  override versionCheckerOf(name: string): HandledVersionChecker {
    return new HandledVersionChecker(this.scenario, name)
  }

  protected newFollower(name: string, isIn: IsIn): SourceFollower {
    return new SourceFollower(this.scenario, name, isIn)
  }

  /**
   * A reader that has taken a batch has the state of the source at the batch's version (I8). A reader without a scope
   * receives the last change of each key (I3), compared with the unmerged follower if there is one.
   */
  protected checkBatch(follower: SourceFollower, { version, changes }: ChangeBatch<Item>, isScoped: boolean): void {
    const { history, settings, violate, mark } = this.scenario
    if (settings.isBreach) return
    if (version === undefined) {
      if (changes.at(-1)?.origin === 'access-lost' && follower.known.size > 0)
        violate('I8', `${follower.name} received the loss of access, and has ${follower.known.size} objects`)
      return
    }
    const { state } = history.at(version)
    const wanted = (then: State, key: string): number | undefined => {
      const stored = then.get(key)
      return follower.wants(stored) ? stored?.item.n : undefined
    }
    for (const key of settings.keys) {
      if (state.get(key)?.isInvalid) continue
      const [n, right] = [follower.known.get(key)?.n, wanted(state, key)]
      if (n === right) continue
      violate('I8', `${follower.name} took a batch at ${version}: ${nameOf(key)} is n${n}, the source had n${right}`)
      return
    }
    const last = new Map(changes.map((change) => [change.key, change]))
    if (last.size < changes.length) mark('a batch contained two changes of a key')
    if (isScoped || changes.length === 0) return
    for (const { key, version: delivered, origin } of last.values()) {
      if (delivered === undefined || origin === 'initial') continue
      const at = history.indexOf(delivered)
      if (this.unmerged?.isLast(key, version, at) === false)
        violate(
          'I3',
          `${follower.name} received ${nameOf(key)} at ${delivered}, and the last change up to ${version} was another`,
        )
    }
  }

  /** `hasWaiters` returns true exactly if a caller waits for a version. */
  #checkHasWaiters(): void {
    const { settings, violate } = this.scenario
    const { informer } = this
    const { notifiesSource } = this.waiters.pending
    for (const stream of this.source.streams) {
      if (stream.kind !== 'watch' || stream.signal.aborted) continue
      const isNotified = stream.hasWaiters() === true
      if (notifiesSource === 'surely' && !isNotified)
        violate('waits', 'a caller waits for a version, and hasWaiters() is false')
      // Each read of the status takes time if the clock drifts.
      const { state, isSynced } = this.cache === undefined ? { state: 'live', isSynced: true } : informer.status
      const isResuming = !isSynced || state === 'connecting'
      if (notifiesSource === 'no' && isNotified && settings.auditMs === false && !isResuming)
        violate('waits', 'no caller waits for a version, and hasWaiters() is true')
    }
  }

  /** A handler that does not settle is reported. */
  #checkSlowHandlers(): void {
    const { clock, settings, violate } = this.scenario
    for (const { name, running, isClosed } of this.followers)
      for (const since of isClosed ? [] : running.values())
        if (clock.reached - since > 2 * SLOW_MS + CLOCK_READS * settings.driftMs)
          violate(
            'I14',
            `a handler of ${name} has not settled for ${clock.elapsed - since} ms, and no error was reported`,
          )
  }

  protected override silence(): void {
    super.silence()
    this.snapshots.endAll()
  }

  #listed(previous: string): void {
    const { invalid } = this.informer
    if (this.#invalid.splice(0).some((key) => !invalid.has(key) && this.informer.has(key)))
      this.scenario.mark('an invalid object became valid by a list')
    if (previous === 'listing' && this.informer.size === 0 && this.informer.version !== undefined)
      this.scenario.mark('a first list found nothing')
  }

  #relisting(): void {
    this.#invalid = [...this.informer.invalid.keys()]
    if (this.followers.some((f) => !f.isClosed && (f.subscription?.backlog.keys ?? 0) >= 2))
      this.scenario.mark('a relist while a queue was full')
  }

  #markStop(): void {
    const { scenario } = this
    const { state } = this.informer.status
    if (state === 'listing' || state === 'relisting') scenario.mark('an informer was stopped in the middle of a list')
    if (state.endsWith('listing') && this.clock.yields > 0)
      scenario.mark('an informer was stopped in the middle of a slice')
    if (state === 'backing-off') scenario.mark('an informer was stopped during a backoff')
    if (this.followers.some((f) => f.isStuck)) scenario.mark('an informer was stopped while a handler was stuck')
  }
}
