import type { EtcdEvent, WatchResponse } from '../transport/etcd-messages.js'

/** A batch ends at the first whole revision after this many events. */
const BATCH_EVENTS = 1_000

/** Joins the fragments of a message. The last revision of a fragment may continue in the next one. */
export class Fragments {
  #rest: EtcdEvent[] = []
  /** Whether more fragments of the same message follow. */
  isWaiting = false

  complete({ events, isFragment }: WatchResponse): readonly EtcdEvent[] {
    this.isWaiting = isFragment
    if (this.#rest.length === 0 && !isFragment) return events
    const all = this.#rest
    for (const event of events) all.push(event)
    const last = isFragment ? all.at(-1)?.kv.modRevision : undefined
    let end = all.length
    while (last !== undefined && all[end - 1]?.kv.modRevision === last) end--
    this.#rest = all.splice(end)
    return all
  }
}

/** Splits events between revisions, into parts that are small enough to apply without blocking the event loop. */
export function* wholeRevisions(events: readonly EtcdEvent[]): Generator<readonly EtcdEvent[]> {
  let begin = 0
  for (let end = BATCH_EVENTS; end < events.length; end++) {
    if (events[end]?.kv.modRevision === events[end - 1]?.kv.modRevision) continue
    yield events.slice(begin, end)
    begin = end
    end += BATCH_EVENTS - 1
  }
  if (begin < events.length) yield begin === 0 ? events : events.slice(begin)
}
