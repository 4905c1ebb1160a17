import type { EtcdEvent, WatchResponse } from '../transport/etcd-messages.js'

/** A batch is handed on when it has so many events, at the next whole revision. */
const BATCH_EVENTS = 1_000

/** Makes whole revisions of the fragments of a message: the last revision of a fragment may go on in the next one. */
export class Fragments {
  #rest: EtcdEvent[] = []
  #isOpen = false

  /** Whether more fragments of the same message follow. */
  get isWaiting(): boolean {
    return this.#isOpen
  }

  /** The events of all revisions that are complete now. */
  complete({ events, isFragment }: WatchResponse): readonly EtcdEvent[] {
    this.#isOpen = isFragment
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

/** Cuts events between two revisions, into parts that can be applied without holding up everything else. */
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
