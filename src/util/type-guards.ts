/** The members of any value, also inherited ones. A value without members, such as undefined, has none. */
export function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  return Object(value)
}

export function isThenable(value: unknown): value is PromiseLike<unknown> {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return false
  return 'then' in value && typeof value.then === 'function'
}

/** Throws if the result of a callback is a promise, whose rejection is then ignored. */
export function assertSynchronous<R>(result: R | PromiseLike<R>, what: string): asserts result is R {
  if (!isThenable(result)) return
  Promise.resolve(result).catch(() => {})
  throw new TypeError(`the ${what} is asynchronous; only synchronous ones can be used here`)
}
