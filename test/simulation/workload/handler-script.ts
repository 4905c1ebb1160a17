import type { SourceError } from '../../../src/contract/errors.js'
import type { Informer } from '../../../src/informer/informer.js'
import type { Change } from '../../../src/queue/change.js'
import type { HandlerContext } from '../../../src/subscriptions/handler-subscription.js'
import type { SubscribeOptions, Subscription } from '../../../src/subscriptions/subscription-types.js'
import type { FaultKind } from '../backend/fault-kinds.js'
import type { Item } from '../backend/history.js'
import { HandlerCallChecker } from '../checkers/handler-call-checker.js'
import type { QueueChecker } from '../checkers/queue-checker.js'
import type { ResyncChecker } from '../checkers/resync-checker.js'
import { nameOf, type Scenario } from '../system/scenario.js'
import type { IndexesOf } from './declared-indexes.js'
import type { OpenCalls } from './open-calls.js'
import { hashOf, mix } from './random-decisions.js'

/** Whether a fault strikes on this occasion. */
type Strikes = (kind: FaultKind) => boolean

/** Who is told by a handler. */
export interface Told {
  readonly name: string
  readonly resyncs: ResyncChecker | undefined
  subscription: Subscription | undefined
  /** The keys whose handler runs, and since when. */
  readonly running?: Map<string, number>
  /** Who judges its queue, where somebody does. */
  readonly queue?: QueueChecker | undefined
  /** Its handlers that have not settled; undefined where none is called. */
  runs: HandlerCallChecker | undefined
  readonly isClosed: boolean
  readonly mayOverflow: boolean
  isStuck: boolean
  isStuckForEver: boolean
  tell(change: Change<Item>): void
}

/** Where handlers are called, and what they may call back. */
export interface HandlerHost<F extends Told> {
  readonly stage: Scenario
  readonly life: number
  readonly informer: Informer<Item, IndexesOf>
  readonly followers: readonly F[]
  readonly isStopping: boolean
  readonly work: OpenCalls
  lookAtStore(): void
  untilHealed(ms: number): Promise<void>
  planted(follower: F): Error
  /** The same of an error of the library. */
  mustReport(error: SourceError, follower?: F): void
  /** A handler is stuck at a key. */
  stuckAt(key: string): void
  follow(): void
  close(follower: F | undefined): void
  addIndex(): void
  relist(): void
  stop(): void
}

/**
 * Handlers as users write them: slow ones, ones that throw, hang, and call back into the informer that calls them.
 */
export class HandlerScript<F extends Told> {
  readonly #drive: HandlerHost<F>
  readonly #stage: Scenario
  readonly #follower: F
  readonly #concurrency: number
  readonly #runs: HandlerCallChecker
  /** How many of its handlers are stuck, for a time. */
  #stuck = 0
  readonly #busy = new Set<string>()

  constructor(drive: HandlerHost<F>, follower: F, options: SubscribeOptions<Item, IndexesOf>) {
    this.#drive = drive
    this.#stage = drive.stage
    this.#follower = follower
    this.#concurrency = options.concurrency ?? 1
    this.#runs = new HandlerCallChecker(drive.stage, {
      name: follower.name,
      limitMs: options.timeoutMs,
      mayEnd: () => follower.isClosed || follower.mayOverflow || drive.isStopping,
    })
    follower.runs = this.#runs
  }

  subscribe(options: SubscribeOptions<Item, IndexesOf>): void {
    const tell = (change: Change<Item>, { signal }: HandlerContext): unknown => this.#tell(change, signal)
    this.#follower.subscription = this.#drive.informer.subscribe({ add: tell, update: tell, delete: tell }, options)
  }

  #tell(change: Change<Item>, signal: AbortSignal): unknown {
    const { violate } = this.#stage
    const follower = this.#follower
    if (this.#busy.has(change.key)) violate('I4', `${follower.name} is called for ${nameOf(change.key)} twice at once`)
    if (this.#busy.size >= this.#concurrency)
      violate('I12', `${follower.name} is called more often at once than it said`)
    follower.queue?.told(change)
    follower.tell(change)
    this.#drive.lookAtStore()
    // So that what a handler does depends on what it is told, and on nothing else.
    const again = change.origin === 'resync' ? 1_000_000 * (follower.resyncs?.told ?? 0) : 0
    const occasion = mix(
      hashOf(follower.name) +
        this.#drive.life * 1_000 +
        again +
        2 * change.object.n +
        (change.type === 'delete' ? 1 : 0),
    )
    const strikes = (kind: FaultKind): boolean => this.#stage.settings.mix.strikes(kind, occasion)
    this.#callBack(strikes)
    if (strikes('handler-throws')) throw this.#drive.planted(follower)
    const work = this.#work(strikes)
    if (this.#follower.isStuck) this.#drive.stuckAt(change.key)
    if (work === undefined)
      return strikes('handler-rejects') ? Promise.reject(this.#drive.planted(follower)) : undefined
    this.#busy.add(change.key)
    follower.queue?.begins(change.key)
    follower.running?.set(change.key, this.#stage.clock.elapsed)
    const end = this.#drive.work.begins(follower, change.key, this.#stage.clock.elapsed)
    const run = this.#runs.begin(change.key, signal, (error) => {
      end()
      this.#ended(change.key)
      this.#drive.mustReport(error, follower)
    })
    return work.then(() => {
      // What its follower waits for no longer may end as it likes.
      if (!this.#runs.end(run)) throw new Error('nobody need hear of it')
      end()
      this.#ended(change.key)
      if (strikes('handler-rejects')) throw this.#drive.planted(follower)
    })
  }

  #ended(key: string): void {
    const follower = this.#follower
    this.#busy.delete(key)
    follower.queue?.done(key)
    follower.running?.delete(key)
  }

  /** How long it takes; undefined: no time. */
  #work(strikes: Strikes): Promise<void> | undefined {
    const { clock, draws } = this.#stage
    if (strikes('handler-hangs-for-ever')) {
      this.#follower.isStuckForEver = this.#runs.limitMs === undefined
      this.#follower.isStuck ||= this.#follower.isStuckForEver
      return new Promise(() => {})
    }
    if (strikes('handler-stuck')) {
      this.#stuck++
      this.#follower.isStuck = true
      return this.#drive.untilHealed(300 + draws.below('stuck', 30_000)).then(() => {
        this.#follower.isStuck = --this.#stuck > 0
      })
    }
    return strikes('handler-slow') ? clock.sleep(draws.below('slow', 400)) : undefined
  }

  #callBack(strikes: Strikes): void {
    const { draws, mark, note } = this.#stage
    const drive = this.#drive
    if (drive.isStopping) return
    if (strikes('handler-subscribes')) {
      mark('a subscription began inside a handler')
      drive.follow()
    }
    if (strikes('handler-closes-itself')) {
      mark('a subscription closed itself inside a handler')
      drive.close(this.#follower)
    }
    if (strikes('handler-closes-another')) drive.close(draws.pick('another', drive.followers))
    if (strikes('handler-adds-an-index')) {
      mark('an index was added inside a handler')
      drive.addIndex()
    }
    if (strikes('handler-relists')) drive.relist()
    if (strikes('handler-stops')) {
      note('a handler stops the informer')
      mark('an informer was stopped inside a handler')
      drive.stop()
    }
  }
}
