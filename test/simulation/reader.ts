import { SourceError } from '../../src/errors.js'
import type { ChangeBatch, SubscribeOptions } from '../../src/scope.js'
import type { Follower } from './follower.js'
import type { Item, State } from './history.js'
import type { IndexesOf } from './indexes.js'
import type { InformerDrive } from './informer-drive.js'
import { nameOf } from './stage.js'

/** Follows by `changes()`, batch after batch, at its own pace; judges that batches are whole. */
export function read(drive: InformerDrive, follower: Follower, options: SubscribeOptions<Item, IndexesOf>): void {
  const { clock, draws, settings, violate } = drive.stage
  const stream = drive.informer.changes(options)
  follower.subscription = stream
  const isScoped = options.key !== undefined || options.where !== undefined || options.filter !== undefined
  const paceMs = draws.pick('reader pace', [0, 0, 300, 3_000])
  const go = async (): Promise<void> => {
    for await (const batch of stream) {
      if (paceMs > 0 && !draws.isQuiet) await clock.sleep(draws.below('pace', paceMs))
      if (follower.isClosed || (drive.isStopping && !drive.isDraining) || follower.isSilenced) return
      for (const change of batch.changes) follower.tell(change)
      if (!settings.isBreach) judge(drive, follower, batch, isScoped)
      if (settings.mix.strikes('handler-stuck')) await drive.untilHealed(300 + draws.below('stuck', 30_000))
      if (settings.mix.strikes('handler-closes-itself')) return
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

/** Who has taken a batch knows a state that the source had: that of the batch's version. */
function judge(drive: InformerDrive, follower: Follower, batch: ChangeBatch<Item>, isScoped: boolean): void {
  const { history, settings, violate, mark } = drive.stage
  const { version, changes } = batch
  if (version === undefined) return
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
  if (last.size < changes.length) mark('a batch told two changes of a key')
  if (isScoped || changes.length === 0) return
  for (const { key, version: told, origin } of last.values()) {
    if (told === undefined || origin === 'initial') continue
    const at = history.indexOf(told)
    const right = drive.witness?.last(key, version) ?? at
    if (at !== right)
      violate(
        'I3',
        `${follower.name} was told of ${nameOf(key)} at ${told}, and the last change up to ${version} was another`,
      )
  }
}
