import { SourceError } from '../../../src/contract/errors.js'
import type { ChangeBatch, SubscribeOptions } from '../../../src/subscriptions/subscription-types.js'
import type { Item } from '../backend/history.js'
import type { InformerFollower, InformerSystem } from '../system/informer-system.js'
import type { Scenario } from '../system/scenario.js'
import type { IndexesOf } from './declared-indexes.js'

/** Reads `changes()` batch after batch, at its own pace; `check` is called after each. */
export function follow<F extends InformerFollower>(
  driver: InformerSystem<Scenario, F>,
  follower: F,
  options: SubscribeOptions<Item, IndexesOf>,
  check: (batch: ChangeBatch<Item>) => void,
): void {
  const { clock, decisions, settings, violate } = driver.scenario
  const stream = driver.informer.changes(options)
  follower.subscription = stream
  const paceMs = decisions.pick('reader pace', [0, 0, 300, 3_000])
  const go = async (): Promise<void> => {
    for await (const batch of stream) {
      if (options.signal?.aborted) violate('I15', `${follower.name} aborted, and received more`)
      follower.isHolding = true
      follower.queue?.took(batch)
      follower.queue?.begins()
      if (paceMs > 0 && !decisions.isQuiet) await clock.sleep(decisions.below('pace', paceMs))
      if (follower.isClosed || (driver.isStopping && !driver.isDraining) || follower.isSilenced) return
      for (const change of batch.changes) follower.receive(change)
      check(batch)
      if (settings.mix.strikes('handler-stuck')) await driver.untilHealed(300 + decisions.below('stuck', 30_000))
      if (settings.mix.strikes('handler-closes-itself')) {
        follower.isClosed = true
        return
      }
      follower.queue?.done()
      follower.isHolding = false
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
