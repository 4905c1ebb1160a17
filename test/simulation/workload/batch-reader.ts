import { SourceError } from '../../../src/contract/errors.js'
import type { ChangeBatch, SubscribeOptions } from '../../../src/subscriptions/subscription-types.js'
import type { Item } from '../backend/history.js'
import type { InformerSystem } from '../system/informer-system.js'
import type { Scenario } from '../system/scenario.js'
import type { IndexesOf } from './declared-indexes.js'
import type { Follower } from './follower.js'

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
  const left = (): void => {
    follower.isClosed = true
  }
  go().then(left, (error: unknown) => {
    left()
    const isOverflow = options.onOverflow === 'fail' && error instanceof SourceError && error.code === 'HANDLER'
    if (!isOverflow) violate('crash', `${follower.name} ended with ${error}`)
  })
}
