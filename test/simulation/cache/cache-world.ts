import type { Version } from '../../../src/contract/version.js'
import type { ScheduleOptions } from '../runner/schedule.js'
import { InformerDriver } from '../system/informer-driver.js'
import type { SourceScenario } from '../system/scenario.js'
import { OneSourceWorld } from '../system/single-source-world.js'
import type { Planned } from '../system/source-world.js'
import { actions, kindsOf } from '../workload/fault-plan.js'
import { settingsFor } from '../workload/settings.js'
import { SimulatedCache, SimulatedDisk } from './simulated-cache.js'

const kinds = kindsOf({ ...actions, restart: 0.5, compact: 1.5, restore: 0.5 })
const processKinds = kindsOf({ 'restart later': 1.2, crash: 1 })

/** A disk that hangs delays the stop of a process by this. */
const STOP_MS = 25_000

/** One schedule of processes, one after the other, over one source and one cache. */
export class CacheWorld extends OneSourceWorld<CachedDriver> {
  readonly kind = 'cache'
  readonly #disk: SimulatedDisk

  constructor(seed: number, options: ScheduleOptions = {}) {
    // A cache restores copies, as its format allows: of plain objects.
    super(seed, options, (decisions) => ({
      ...settingsFor(decisions, { keepsPromises: true }),
      copies: true,
      body: undefined,
    }))
    this.#disk = new SimulatedDisk(this)
    this.restart()
  }

  plan(): Planned[] {
    return [
      ...this.planned(this.decisions, kinds, (action) => this.workload.perform(action)),
      ...this.planned(this.decisions, processKinds, ({ kind, label }) => {
        const awayMs = this.decisions.pick(label, [0, 20, 400, 3_000]) * this.decisions.next(label)
        if (kind === 'crash') this.driver.crash(awayMs)
        else this.driver.stopFor(awayMs)
      }),
    ]
  }

  override get healsWithinMs(): number {
    return super.healsWithinMs + STOP_MS
  }

  override get stopsWithinMs(): number {
    return STOP_MS
  }

  protected newDriver(life: number): CachedDriver {
    return new CachedDriver(this, life, new SimulatedCache(this, this.#disk, life))
  }
}

/** `stop` waits at most this time for the last save, and the last save for the end of a large write. */
const LAST_SAVE_MS = 11_000

/** The longest time until the content is being removed after lost access, in milliseconds. */
const SLACK_MS = 50

export class CachedDriver extends InformerDriver {
  declare readonly cache: SimulatedCache
  #isAway = false
  #pending: Version | undefined
  /** The head of the source when the content was opened. */
  #openedAt: Version | undefined
  #wasStale = false
  #hasReplacedContent = false
  #hasWarned = false
  #hasGivenUp = false
  /** The suspended time before `stop` was called. */
  #skippedBeforeStop = 0
  /** Since when content is left in the cache after lost access, and is not being removed. */
  #leftSince: number | undefined

  constructor(scenario: SourceScenario, life: number, cache: SimulatedCache) {
    super(scenario, life, cache)
    cache.host = this
  }

  override get isStopped(): boolean {
    return super.isStopped && !this.#isAway
  }

  /** Whether the source sent a batch or a whole list. Before that nothing of the cache is certain. */
  get isConfirmed(): boolean {
    return this.reflectorChecker.hasHeard || this.source.hasListed
  }

  /** The version whose history is over, until the next list. */
  get forkedAt(): Version | undefined {
    return this.waiters.forkedAt
  }

  /** With saved content that the informer may resume from, and that was not in the store yet. */
  override get resumesFrom(): Version | undefined {
    return this.informer.version ?? (this.#wasStale ? undefined : this.#pending)
  }

  override get hasReplacedContent(): boolean {
    // In the step of the list other checks may run before the one that notices the list.
    return this.#hasReplacedContent || (this.#wasStale && this.#pending !== undefined && this.source.lists > 0)
  }

  override get stopDelayMs(): number {
    return LAST_SAVE_MS
  }

  crash(awayMs = 0): void {
    if (this.isStopping || this.cache.isDead) return
    this.scenario.note('is killed')
    this.cache.kill()
    this.stopFor(awayMs)
  }

  /** Stops. The next process starts this much later. */
  stopFor(awayMs: number): void {
    if (this.isStopping) return
    this.#isAway = true
    this.scenario.clock.in(awayMs, () => (this.#isAway = false))
    this.stop(this.informer, this.cache.isDead ? { ms: undefined } : undefined)
  }

  override stop(...by: Parameters<InformerDriver['stop']>): void {
    // The end of the schedule does not wait for the next process.
    if (this.isStopping) this.#isAway = false
    else this.#skippedBeforeStop = this.scenario.clock.skipped
    super.stop(...by)
  }

  /** Usable content was opened. The watch can resume from its version. */
  opened(version: Version): void {
    this.#pending = version
    this.#openedAt = this.scenario.history.head.version
    this.source.hasRestored = true
    this.reflectorChecker.restorable()
    const { history, mark } = this.scenario
    const { epoch, sequence } = history.at(version)
    if (epoch < history.head.epoch) mark('the history of saved content had ended')
    else if (sequence < history.compacted) mark('the history after saved content was gone')
    else if (version !== history.head.version) mark('objects changed while no process ran')
  }

  warned(): void {
    if (this.isStopping) {
      // A save that hangs is given up.
      if (!this.#hasGivenUp) this.scenario.mark('the last save of a process was given up')
      else this.scenario.violate('cache', 'a process has warned twice about its last save')
      this.#hasGivenUp = true
      return
    }
    if (this.#hasWarned) this.scenario.violate('cache', 'a process has warned twice about the saved content')
    this.#hasWarned = true
    this.damaged()
    // The warning contains an error that the store has thrown.
    this.forgetThrown()
  }

  /** The content is being read: the source is not silent meanwhile. */
  reading(): void {
    this.reflectorChecker.contentRead()
  }

  damaged(): void {
    this.#pending = undefined
    this.reflectorChecker.unrestorable()
  }

  override checkStep(): void {
    super.checkStep()
    if (super.isStopped) return
    this.#checkConfirmed()
    this.#checkDiscarded()
  }

  override checkStopped(): void {
    super.checkStopped()
    const { unclosed } = this.cache
    const { violate, clock } = this.scenario
    // After a suspension, the grace period of `stop` may end before the cache has closed its pages.
    if (unclosed > 0 && clock.skipped === this.#skippedBeforeStop) violate('cache', 'the saved content was not closed')
  }

  /** Before the source has confirmed it, saved content is visible only if `serveStale` is set, and answers no wait. */
  #checkConfirmed(): void {
    const { informer, isConfirmed, isStopping } = this
    const { violate, mark } = this.scenario
    const { state, isSynced } = informer.status
    const { version, size } = informer
    if (!isConfirmed) {
      if (isSynced) violate('cache', 'it is synced, and the source has confirmed nothing')
      if (!this.cache.serveStale && (version !== undefined || size > 0))
        violate('cache', `saved content of ${version} is visible, and the source has not confirmed it`)
    }
    if (state === 'stale') {
      this.#wasStale = true
      mark('saved content was shown before the source confirmed it')
      if (isSynced) violate('cache', 'the state is stale, and it is synced')
      if (informer.health().isReady) violate('cache', 'it is ready, and its objects are stale')
    } else if (version !== undefined && !isSynced && !isStopping)
      violate('cache', `it is at ${version}, the state is ${state}, and it is not synced`)
    if (this.#wasStale && isSynced) mark('stale content was confirmed or replaced')
    if (isSynced && this.#pending !== undefined) {
      if (this.source.lists === 0) {
        mark('a process resumed without a list')
        if (!this.cache.serveStale && this.#isBehindStart(version))
          violate('cache', `it is synced at ${version}, and the source was at ${this.#openedAt} after its start`)
      } else if (this.#wasStale) this.#hasReplacedContent = true
      this.#pending = undefined
    }
  }

  #isBehindStart(version: Version | undefined): boolean {
    const { history, settings } = this.scenario
    if (version === undefined || this.#openedAt === undefined || !settings.hasOrder) return false
    const [now, then] = [history.at(version), history.at(this.#openedAt)]
    return now.epoch === then.epoch && now.sequence < then.sequence
  }

  /** After access was lost the objects are not in the cache any more, unless that cannot be changed. */
  #checkDiscarded(): void {
    const { content, busy, hasDiscardFailed, isDead } = this.cache
    const { clock, violate } = this.scenario
    const isLeft = this.access.isCleared && content !== undefined && !hasDiscardFailed && !isDead
    if (!isLeft || busy > 0 || this.isWriting) this.#leftSince = undefined
    else {
      // A save that has not begun to write ends before the content is removed.
      this.#leftSince ??= clock.awake
      if (clock.awake - this.#leftSince > SLACK_MS)
        violate('access', `access was lost, and the cache has objects of ${content.header.version}`)
    }
  }
}
