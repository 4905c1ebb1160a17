import type { History, Item, State } from '../backend/history.js'
import { type Invariant, nameOf, type SourceScenario } from '../system/scenario.js'
import type { IsIn } from '../workload/follower.js'
import type { Settings } from '../workload/settings.js'

type Readable = { readonly size: number; entries(): Iterable<[string, Item]> }

/** The difference between a store and the state of the source, except for undecodable and omitted objects. */
export function storeViolation(
  { settings }: Pick<SourceScenario, 'settings'>,
  state: State,
  store: Readable,
  what: string,
  omits: string | undefined,
): string | undefined {
  const held = new Map<string, number>()
  for (const [key, object] of store.entries()) {
    held.set(key, object.n)
    if (settings.hasSchema && object.isChecked !== true)
      return `${what} has at ${nameOf(key)} the object of the source, not that of the schema`
  }
  if (held.size !== store.size) return `${what} has ${held.size} entries and its size is ${store.size}`
  for (const key of settings.keys) {
    const stored = state.get(key)
    const n = held.get(key)
    held.delete(key)
    if (stored?.isInvalid) continue
    const wanted = stored?.item.tenant === omits ? undefined : stored?.item.n
    if (n !== wanted) return `${what} has ${nameOf(key)} = n${n ?? '–'}, the source n${wanted ?? '–'}`
  }
  return held.size > 0 ? `${what} has keys that were never written` : undefined
}

/** A store equals a state of the source. */
export function checkStore(
  scenario: SourceScenario,
  state: State,
  store: Readable,
  invariant: Invariant,
  what: string,
  omits?: string,
): void {
  const flaw = storeViolation(scenario, state, store, what, omits)
  if (flaw !== undefined) scenario.violate(invariant, flaw)
}

/** The difference between some objects and sources at rest: each key has the state of one of its sources. */
export function flawAtRest(
  sources: readonly { readonly settings: Settings; readonly history: History }[],
  held: (key: string) => Item | undefined,
  what: string,
  isIn: IsIn = () => true,
  keys: Iterable<string> = sources.flatMap(({ settings }) => settings.keys),
): string | undefined {
  for (const key of keys) {
    const all = sources.map(({ history, settings }) => ({ stored: history.head.state.get(key), settings }))
    if (all.some(({ stored }) => stored?.isInvalid)) continue
    const n = held(key)?.n
    const right = all.flatMap(({ stored, settings }) =>
      stored === undefined || stored.item.tenant === settings.omits ? [] : [stored.item],
    )
    // Of several sources of a key, one counts; a follower that wants only the object of another one has none.
    const mayBeAnothers = right.length > 1 && right.some((item) => !isIn(item, key))
    const isRight =
      n === undefined
        ? mayBeAnothers || right.every((item) => !isIn(item, key))
        : right.some((item) => item.n === n && isIn(item, key))
    if (!isRight) return `${what} ${nameOf(key)} = n${n}, and the sources have n${right.map((item) => item.n)}`
  }
  return undefined
}
