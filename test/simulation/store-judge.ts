import type { Entry } from '../../src/source.js'
import type { Item, State } from './history.js'
import { type Invariant, nameOf, type Stage } from './stage.js'

/** What can be read of a store. */
interface Readable {
  readonly size: number
  entries(): Iterable<Entry<Item>>
}

/** A store is what the source had, but for objects that do not decode and those that are not wanted. */
export function judgeStore(
  { settings, violate }: Stage,
  state: State,
  store: Readable,
  invariant: Invariant,
  what: string,
  omits?: string,
): void {
  const held = new Map<string, number>()
  for (const { key, object } of store.entries()) held.set(key, object.n)
  if (held.size !== store.size) violate('I8', `${what} has ${held.size} entries and says ${store.size}`)
  for (const key of settings.keys) {
    const stored = state.get(key)
    const n = held.get(key)
    held.delete(key)
    if (stored?.isInvalid) continue
    const wanted = stored?.item.tenant === omits ? undefined : stored?.item.n
    if (n === wanted) continue
    violate(invariant, `${what} has ${nameOf(key)} = n${n ?? '–'}, the source n${wanted ?? '–'}`)
    return
  }
  if (held.size > 0) violate(invariant, `${what} has keys that nobody ever wrote`)
}
