import { SourceError } from '../../../src/contract/errors.js'
import type { ChangeBatch, SubscribeOptions } from '../../../src/subscriptions/subscription-types.js'
import type { Item } from '../backend/history.js'
import type { Following, InformerSystem } from '../system/informer-system.js'
import type { Scenario } from '../system/scenario.js'
import type { IndexesOf } from './declared-indexes.js'

/** Follows by `changes()`, batch after batch, at its own pace; `judge` is asked after each. */
export function follow<F extends Following>(
  drive: InformerSystem<Scenario, F>,
  follower: F,
  options: SubscribeOptions<Item, IndexesOf>,
  judge: (batch: ChangeBatch<Item>) => void,
): void {
  const { clock, draws, settings, violate } = drive.stage
  const stream = drive.informer.changes(options)
  follower.subscription = stream
  const paceMs = draws.pick('reader pace', [0, 0, 300, 3_000])
  const go = async (): Promise<void> => {
    for await (const batch of stream) {
      if (options.signal?.aborted) violate('I15', `${follower.name} gave up, and was told more`)
      follower.isHolding = true
      follower.queue?.took(batch)
      follower.queue?.begins()
      if (paceMs > 0 && !draws.isQuiet) await clock.sleep(draws.below('pace', paceMs))
      if (follower.isClosed || (drive.isStopping && !drive.isDraining) || follower.isSilenced) return
      for (const change of batch.changes) follower.tell(change)
      judge(batch)
      if (settings.mix.strikes('handler-stuck')) await drive.untilHealed(300 + draws.below('stuck', 30_000))
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
