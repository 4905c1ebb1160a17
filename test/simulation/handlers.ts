import type { Change } from '../../src/delta.js'
import type { SubscribeOptions } from '../../src/feed.js'
import type { Follower } from './follower.js'
import type { Item } from './history.js'
import type { IndexesOf } from './indexes.js'
import type { InformerDrive } from './informer-drive.js'
import { nameOf, type Stage } from './stage.js'

/**
 * Handlers as users write them: slow ones, ones that throw, hang, and call back into the informer that calls them.
 */
export class HandlerScript {
  readonly #drive: InformerDrive
  readonly #stage: Stage
  readonly #follower: Follower
  readonly #concurrency: number
  readonly #busy = new Set<string>()

  constructor(drive: InformerDrive, follower: Follower, options: SubscribeOptions<Item, IndexesOf>) {
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
    if (this.#busy.size >= this.#concurrency) violate('I12', `${follower.name} is called more often at once than it said`)
    follower.tell(change)
    this.#drive.lookAtStore()
    this.#callBack()
    const { mix } = this.#stage.settings
    if (mix.strikes('handler-throws')) throw this.#drive.planted(follower)
    const work = this.#work()
    if (work === undefined) return mix.strikes('handler-rejects') ? Promise.reject(this.#drive.planted(follower)) : undefined
    this.#busy.add(change.key)
    return work.then(() => {
      this.#busy.delete(change.key)
      if (mix.strikes('handler-rejects')) throw this.#drive.planted(follower)
    })
  }

  /** How long it takes; undefined: no time. */
  #work(): Promise<void> | undefined {
    const { clock, draws, settings } = this.#stage
    const { mix } = settings
    if (mix.strikes('handler-hangs-for-ever')) {
      this.#follower.isStuckForEver = true
      this.#follower.isStuck = true
      return new Promise(() => {})
    }
    if (mix.strikes('handler-stuck')) {
      this.#follower.isStuck = true
      return this.#drive.untilHealed(300 + draws.below('stuck', 30_000)).then(() => {
        this.#follower.isStuck = false
      })
    }
    return mix.strikes('handler-slow') ? clock.sleep(draws.below('slow', 400)) : undefined
  }

  #callBack(): void {
    const { draws, settings, mark, note } = this.#stage
    const { mix } = settings
    const drive = this.#drive
    if (drive.isStopping) return
    if (mix.strikes('handler-subscribes')) {
      mark('a subscription began inside a handler')
      drive.follow()
    }
    if (mix.strikes('handler-closes-itself')) {
      mark('a subscription closed itself inside a handler')
      drive.close(this.#follower)
    }
    if (mix.strikes('handler-closes-another')) drive.close(draws.pick('another', drive.followers))
    if (mix.strikes('handler-adds-an-index')) {
      mark('an index was added inside a handler')
      drive.addIndex()
    }
    if (mix.strikes('handler-relists')) drive.relist()
    if (mix.strikes('handler-stops')) {
      note('a handler stops the informer')
      mark('an informer was stopped inside a handler')
      drive.stop()
    }
  }
}
