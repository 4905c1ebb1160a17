import type { Change } from '../../src/delta.js'
import type { Informer } from '../../src/informer.js'
import type { SubscribeOptions, Subscription } from '../../src/scope.js'
import { hashOf, mix } from './draws.js'
import type { FaultKind } from './faults.js'
import type { Item } from './history.js'
import type { IndexesOf } from './indexes.js'
import type { QueueJudge } from './queue-judge.js'
import type { Resyncs } from './resyncs.js'
import { nameOf, type Scene } from './stage.js'

/** Whether a fault strikes on this occasion. */
type Strikes = (kind: FaultKind) => boolean

/** Who is told by a handler. */
export interface Told {
  readonly name: string
  readonly resyncs: Resyncs | undefined
  subscription: Subscription | undefined
  /** The keys whose handler runs, and since when. */
  readonly running?: Map<string, number>
  /** Who judges its queue, where somebody does. */
  readonly queue?: QueueJudge | undefined
  isStuck: boolean
  isStuckForEver: boolean
  tell(change: Change<Item>): void
}

/** Where handlers are called, and what they may call back. */
export interface HandlerHost<F extends Told> {
  readonly stage: Scene
  readonly life: number
  readonly informer: Informer<Item, IndexesOf>
  readonly followers: readonly F[]
  readonly isStopping: boolean
  lookAtStore(): void
  untilHealed(ms: number): Promise<void>
  planted(follower: F): Error
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
  readonly #stage: Scene
  readonly #follower: F
  readonly #concurrency: number
  /** How many of its handlers are stuck, for a time. */
  #stuck = 0
  readonly #busy = new Set<string>()

  constructor(drive: HandlerHost<F>, follower: F, options: SubscribeOptions<Item, IndexesOf>) {
    this.#drive = drive
    this.#stage = drive.stage
    this.#follower = follower
    this.#concurrency = options.concurrency ?? 1
  }

  subscribe(options: SubscribeOptions<Item, IndexesOf>): void {
    const tell = (change: Change<Item>): unknown => this.#tell(change)
    this.#follower.subscription = this.#drive.informer.subscribe({ add: tell, update: tell, delete: tell }, options)
  }

  #tell(change: Change<Item>): unknown {
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
    follower.queue?.begins()
    follower.running?.set(change.key, this.#stage.clock.elapsed)
    return work.then(() => {
      this.#busy.delete(change.key)
      follower.queue?.done()
      follower.running?.delete(change.key)
      if (strikes('handler-rejects')) throw this.#drive.planted(follower)
    })
  }

  /** How long it takes; undefined: no time. */
  #work(strikes: Strikes): Promise<void> | undefined {
    const { clock, draws } = this.#stage
    if (strikes('handler-hangs-for-ever')) {
      this.#follower.isStuckForEver = true
      this.#follower.isStuck = true
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
