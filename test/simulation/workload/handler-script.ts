import { type Change, type ChangeBatch, type Handlers, SourceError, type SubscribeOptions } from '../../../src/index.js'
import type { FaultKind } from '../backend/fault-kinds.js'
import type { Item } from '../backend/history.js'
import { HandlerCallChecker } from '../checkers/handler-call-checker.js'
import type { InformerSystem } from '../system/informer-system.js'
import { nameOf, type Scenario } from '../system/scenario.js'
import type { IndexesOf } from './declared-indexes.js'
import type { Follower } from './follower.js'
import { hashOf, mix } from './random-decisions.js'

type Strikes = (kind: FaultKind) => boolean

/**
 * Handlers as users write them: slow ones, ones that throw, hang, and call back into the informer that calls them.
 */
export class HandlerScript<F extends Follower> {
  readonly #driver: InformerSystem<Scenario, F>
  readonly #scenario: Scenario
  readonly #follower: F
  readonly #concurrency: number
  readonly #runs: HandlerCallChecker
  #stuck = 0
  readonly #busy = new Set<string>()

  constructor(driver: InformerSystem<Scenario, F>, follower: F, options: SubscribeOptions<Item, IndexesOf>) {
    this.#driver = driver
    this.#scenario = driver.scenario
    this.#follower = follower
    this.#concurrency = options.concurrency ?? 1
    this.#runs = new HandlerCallChecker(driver.scenario, {
      name: follower.name,
      limitMs: options.timeoutMs,
      mayEnd: () => follower.isClosed || follower.mayOverflow || driver.isStopping,
      isSilenced: () => follower.isSilenced,
    })
    follower.runs = this.#runs
  }

  subscribe(options: SubscribeOptions<Item, IndexesOf>): void {
    const handle = (change: Change<Item>, { signal }: Parameters<NonNullable<Handlers<Item>['add']>>[1]): unknown =>
      this.#handle(change, signal)
    this.#follower.subscription = this.#driver.informer.subscribe(
      { add: handle, update: handle, delete: handle },
      options,
    )
  }

  #handle(change: Change<Item>, signal: AbortSignal): unknown {
    const { violate } = this.#scenario
    const follower = this.#follower
    if (this.#busy.has(change.key)) violate('I4', `${follower.name} is called for ${nameOf(change.key)} twice at once`)
    if (this.#busy.size >= this.#concurrency)
      violate('I12', `${follower.name} has more concurrent calls than its concurrency`)
    follower.queue?.delivered(change)
    follower.receive(change)
    this.#driver.probeStore()
    // The behaviour of a handler depends only on the change that it receives.
    const again = change.origin === 'resync' ? 1_000_000 * (follower.resyncs?.received ?? 0) : 0
    const occasion = mix(
      hashOf(follower.name) +
        this.#driver.life * 1_000 +
        again +
        2 * change.object.n +
        (change.type === 'delete' ? 1 : 0),
    )
    const strikes = (kind: FaultKind): boolean => this.#scenario.settings.mix.strikes(kind, occasion)
    this.#callBack(strikes)
    if (strikes('handler-throws')) {
      follower.settled(change.key)
      throw this.#driver.planted(follower)
    }
    const work = this.#work(strikes)
    if (this.#follower.isStuck) this.#driver.stuckAt(change.key)
    if (work === undefined) {
      follower.settled(change.key)
      return strikes('handler-rejects') ? Promise.reject(this.#driver.planted(follower)) : undefined
    }
    this.#busy.add(change.key)
    follower.queue?.begins(change.key)
    follower.running?.set(change.key, this.#scenario.clock.elapsed)
    const end = this.#driver.work.begins(follower, change.key, this.#scenario.clock.elapsed)
    const run = this.#runs.begin(change.key, signal, (error) => {
      end()
      this.#ended(change.key)
      this.#driver.mustReport(error, follower)
    })
    return work.then(() => {
      // The result of a call that timed out is ignored.
      if (!this.#runs.end(run)) throw new Error('the result of this call is ignored')
      end()
      this.#ended(change.key)
      if (strikes('handler-rejects')) throw this.#driver.planted(follower)
    })
  }

  #ended(key: string): void {
    const follower = this.#follower
    this.#busy.delete(key)
    follower.queue?.done(key)
    follower.running?.delete(key)
    follower.settled(key)
  }

  /** The duration of the call; undefined if it returns at once. */
  #work(strikes: Strikes): Promise<void> | undefined {
    const { clock, decisions } = this.#scenario
    if (strikes('handler-hangs-for-ever')) {
      this.#follower.neverSettles = this.#runs.limitMs === undefined
      this.#follower.isStuck ||= this.#follower.neverSettles
      return new Promise(() => {})
    }
    if (strikes('handler-stuck')) {
      this.#stuck++
      this.#follower.isStuck = true
      return this.#driver.untilHealed(300 + decisions.below('stuck', 30_000)).then(() => {
        this.#follower.isStuck = --this.#stuck > 0
      })
    }
    return strikes('handler-slow') ? clock.sleep(decisions.below('slow', 400)) : undefined
  }

  #callBack(strikes: Strikes): void {
    const { decisions, mark, note } = this.#scenario
    const driver = this.#driver
    if (driver.isStopping) return
    if (strikes('handler-subscribes')) {
      mark('a subscription began inside a handler')
      driver.follow()
    }
    if (strikes('handler-closes-itself')) {
      mark('a subscription closed itself inside a handler')
      driver.close(this.#follower)
    }
    if (strikes('handler-closes-another')) driver.close(decisions.pick('another', driver.followers))
    if (strikes('handler-closes-any')) {
      mark('a consumer was closed inside a callback')
      driver.closeAny()
    }
    if (strikes('handler-adds-an-index')) {
      mark('an index was added inside a handler')
      driver.addIndex()
    }
    if (strikes('handler-relists')) driver.relist()
    if (strikes('handler-stops')) {
      note('a handler stops the informer')
      mark('an informer was stopped inside a handler')
      driver.stop()
    }
  }
}

/** Reads `changes()` batch after batch, at its own pace; `check` is called after each. */
export function follow<F extends Follower>(
  driver: InformerSystem<Scenario, F>,
  follower: F,
  options: SubscribeOptions<Item, IndexesOf>,
  check: (batch: ChangeBatch<Item>) => void,
): void {
  const { clock, decisions, mark, settings, violate } = driver.scenario
  const stream = driver.informer.changes(options)
  follower.subscription = stream
  const paceMs = decisions.pick('reader pace', [0, 0, 300, 3_000])
  const go = async (): Promise<void> => {
    // Whether it was closed before the batch was requested.
    let isOver = follower.isSilenced
    for await (const batch of stream) {
      // A batch that was taken before the close is still passed on.
      if (isOver) violate('I15', `${follower.name} was closed, and its reader received another batch`)
      follower.isHolding = true
      follower.queue?.took(batch)
      follower.queue?.begins()
      if (paceMs > 0 && !decisions.isQuiet) await clock.sleep(decisions.below('pace', paceMs))
      if ((driver.isStopping && !driver.isDraining) || follower.isSilenced) return
      // The batch was taken before the overflow. When the next one is read, it counts as handled.
      if (follower.isClosed && !(follower.hasOverflowed && settings.mix.strikes('reads-after-overflow'))) return
      for (const change of batch.changes) follower.receive(change)
      check(batch)
      if (settings.mix.strikes('handler-stuck')) await driver.untilHealed(300 + decisions.below('stuck', 30_000))
      if (settings.mix.strikes('handler-closes-itself')) {
        follower.isClosed = true
        return
      }
      if (settings.mix.strikes('handler-closes-any')) {
        mark('a consumer was closed inside a callback')
        driver.closeAny()
      }
      follower.queue?.done()
      follower.isHolding = false
      for (const { key } of batch.changes) follower.settled?.(key)
      isOver = follower.isSilenced
    }
    follower.hasEnded = options.signal?.aborted !== true
  }
  const left = () => (follower.isClosed = true)
  go().then(left, (error: unknown) => {
    left()
    const isOverflow = options.onOverflow === 'fail' && error instanceof SourceError && error.code === 'HANDLER'
    if (!isOverflow) violate('crash', `${follower.name} ended with ${error}`)
  })
}
