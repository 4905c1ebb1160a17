import { jsonText } from '../args/fields.js'
import { collectionNoun } from '../args/source-kinds.js'
import { changesOf, type Mirror, type MirrorBatch, nameAmong } from './mirrors.js'
import { writeAll } from './write-all.js'

/**
 * Prints one line for each change, and `{"type":"synced"}` after the changes of the first lists. Of several mirrors each
 * line names one, and later changes have the number of their commit.
 */
export async function printChanges(mirrors: readonly Mirror[], signal: AbortSignal): Promise<void> {
  let isSynced = false
  let commit = 0
  for await (const batch of changesOf(mirrors, signal)) {
    const size = mirrors.reduce((sum, { rows }) => sum + rows.size, 0)
    const synced = { type: 'synced', size, version: batch.version }
    const isFirst = batch.isSynced && !isSynced
    if (isSynced && mirrors.length > 1 && batch.parts.some(([, changes]) => changes.length > 0)) commit++
    await writeAll(linesOf(mirrors, batch, commit === 0 ? undefined : commit, isFirst ? [synced] : []), signal)
    isSynced ||= batch.isSynced
  }
}

/** One line at a time: the lines of a large transaction may be too long for one string. */
function* linesOf(
  mirrors: readonly Mirror[],
  { parts }: MirrorBatch<Mirror>,
  commit: number | undefined,
  more: readonly object[],
): Generator<string> {
  for (const [mirror, changes] of parts) {
    const name = nameAmong(mirrors, mirror)
    const named = name === undefined ? {} : { [collectionNoun(mirror.open.kind)]: name }
    for (const { type, key, object, previous, origin } of changes)
      yield `${jsonText({ type, ...named, key, object, previous, origin, commit })}\n`
  }
  for (const each of more) yield `${jsonText(each)}\n`
}
