import type { EtcdEvent, WatchResponse } from './messages.js'

/** A batch is handed on when it has so many events, at the next whole revision. */
const BATCH_EVENTS = 1_000

/** Puts pieces of messages together: a revision may be cut in two, and is told whole. */
export class Fragments {
  #pieces: EtcdEvent[] | undefined

  get isWaiting(): boolean {
    return this.#pieces !== undefined
  }

  /** All events of a message; undefined where more of them are to come. */
  whole({ events, isFragment }: WatchResponse): readonly EtcdEvent[] | undefined {
    if (this.#pieces === undefined && !isFragment) return events
    this.#pieces ??= []
    for (const event of events) this.#pieces.push(event)
    if (isFragment) return undefined
    const all = this.#pieces
    this.#pieces = undefined
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
