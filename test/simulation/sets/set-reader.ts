import { SourceError } from '../../../src/errors.js'
import type { ChangeBatch, SubscribeOptions } from '../../../src/scope.js'
import type { Item } from '../history.js'
import type { IndexesOf } from '../indexes.js'
import type { SetDrive } from './set-drive.js'
import type { SetFollower } from './set-follower.js'
import { BEGINNING, type Position, type Slot } from './slot.js'

/**
 * Follows by `changes()`, batch after batch, at its own pace; judges that batches are whole: after each the reader has of
 * every source what that had at one moment, and never an earlier one than before.
 */
export function readSet(drive: SetDrive, follower: SetFollower, options: SubscribeOptions<Item, IndexesOf>): void {
  const { clock, draws, settings, violate } = drive.stage
  const stream = drive.informer.changes(options)
  const positions = new Map<Slot, Position>()
  follower.subscription = stream
  const paceMs = draws.pick('reader pace', [0, 0, 300, 3_000])
  const go = async (): Promise<void> => {
    for await (const batch of stream) {
      if (paceMs > 0 && !draws.isQuiet) await clock.sleep(draws.below('pace', paceMs))
      if (follower.isClosed || (drive.isStopping && !drive.isDraining) || follower.isSilenced) return
      for (const change of batch.changes) follower.tell(change)
      if (batch.changes.length > 0) judge(drive, follower, batch, positions)
      if (settings.mix.strikes('handler-stuck')) await drive.untilHealed(300 + draws.below('stuck', 30_000))
      if (settings.mix.strikes('handler-closes-itself')) {
        follower.isClosed = true
        return
      }
    }
    follower.hasEnded = true
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

function judge(
  { stage, slots }: SetDrive,
  follower: SetFollower,
  { changes, source, version }: ChangeBatch<Item>,
  positions: Map<Slot, Position>,
): void {
  if (slots.overlap) return
  const of = slots.named(source)
  if (version !== undefined) stage.violate('sets', `a batch of several sources says ${version}`)
  if (source === undefined && changes.some(({ origin }) => origin === 'watch'))
    stage.mark('a batch was merged of several sources')
  for (const { key } of changes)
    if (of !== undefined && !of.has(key)) stage.violate('sets', `a batch of ${source} tells of another source's key`)
  for (const slot of slots) {
    if (slot.settings.isBreach) continue
    const held = (key: string): number | undefined => follower.known.get(key)?.n
    const found = slot.find(
      held,
      (stored) => (follower.wants(slot, stored) ? stored?.item.n : undefined),
      positions.get(slot) ?? BEGINNING,
    )
    if (found !== undefined) positions.set(slot, found)
    else stage.violate('I8', `${follower.name} took a batch, and ${slot.name} never had what it has of it now`)
  }
}
