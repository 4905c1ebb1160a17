import type { Informer } from '../../src/informer/informer-types.js'
import type { Change } from '../../src/queue/change.js'
import { jsonText } from '../args/fields.js'
import type { Row } from '../sources/source-types.js'
import { writeAll } from './write-all.js'

/** Prints one line for each change, and `{"type":"synced"}` after the changes of the first list. */
export async function printChanges(rows: Informer<Row, object>, signal: AbortSignal): Promise<void> {
  let isSynced = false
  for await (const batch of rows.changes({ signal })) {
    const synced = { type: 'synced', size: rows.size, version: batch.version }
    const isFirst = batch.isSynced && !isSynced
    await writeAll(linesOf(batch.changes, isFirst ? [synced] : []), signal)
    isSynced ||= batch.isSynced
  }
}

/** One line at a time: the lines of a large transaction may be too long for one string. */
function* linesOf(changes: readonly Change<Row>[], more: readonly object[]): Generator<string> {
  for (const { type, key, object, previous, origin } of changes)
    yield `${jsonText({ type, key, object, previous, origin })}\n`
  for (const each of more) yield `${jsonText(each)}\n`
}
