import type { Entry, ListEvent, WatchEvent } from './source.js'

const TYPES: ReadonlySet<string> = new Set<ListEvent<unknown>['type']>(['put', 'delete', 'invalid'])

/**
 * The outcome of a batch: the last event of each key. A replace is merged with the events after it. Applying the
 * outcome twice has the same result as applying it once. Events of an unknown type stay as they are.
 */
export function outcomeOf<T>(events: readonly WatchEvent<T>[]): readonly WatchEvent<T>[] {
  if (events.length < 2) return events
  const last = new Map<string, ListEvent<T>>()
  const others: WatchEvent<T>[] = []
  let whole: Map<string, Entry<T>> | undefined
  for (const event of events) {
    if (event.type === 'replace') {
      whole = new Map(event.entries.map((entry) => [entry.key, entry]))
      // An invalid object counts as listed.
      for (const [key, { type }] of last) if (type !== 'invalid' || whole.has(key)) last.delete(key)
    } else if (event.key === undefined || !TYPES.has(event.type)) others.push(event)
    else {
      last.delete(event.key)
      whole?.delete(event.key)
      if (event.type === 'put' && whole !== undefined) whole.set(event.key, event)
      else last.set(event.key, event)
    }
  }
  const rest = [...others, ...last.values()]
  return whole === undefined ? rest : [{ type: 'replace', entries: [...whole.values()] }, ...rest]
}
