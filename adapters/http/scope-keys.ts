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

function* keysWith<T>(view: StoreView<T, object>, [name, value]: [string, unknown]): Generator<string> {
  const index = (view.by as Record<string, { entries(value: unknown): Iterable<[string, T]> }>)[name]
  for (const [key] of index?.entries(value) ?? []) yield key
}
