import type { StoreView } from '../../src/store/store-view.js'

/** The objects that a caller may read: those with these values in these indexes. */
export type Where = Readonly<Record<string, unknown>>

/** The keys of the objects that have all values of `where`. */
export function* keysIn<T>(view: StoreView<T, object>, where: Where): Generator<string> {
  const [first, ...rest] = Object.entries(where)
  if (first === undefined) return yield* view.keys()
  const others = rest.map((each) => new Set(keysWith(view, each)))
  for (const key of keysWith(view, first)) if (others.every((keys) => keys.has(key))) yield key
}

/** Returns the name of a scope. Two scopes with different values have different names. */
export function scopeName(where: Where): string {
  const selected = Object.entries(where).sort(([a], [b]) => (a < b ? -1 : 1))
  return JSON.stringify(selected.map(([index, value]) => [index, textOf(value)]))
}

function* keysWith<T>(view: StoreView<T, object>, [name, value]: [string, unknown]): Generator<string> {
  const index = (view.by as Record<string, { entries(value: unknown): Iterable<[string, T]> }>)[name]
  for (const [key] of index?.entries(value) ?? []) yield key
}

/** Distinguishes values of an index that have the same JSON, such as `1n` and `"1"`. */
function textOf(value: unknown): string {
  if (Array.isArray(value)) return JSON.stringify(value.map(textOf))
  if (value instanceof Date) return `date ${value.getTime()}`
  return `${typeof value} ${Object.is(value, -0) ? '-0' : String(value)}`
}
