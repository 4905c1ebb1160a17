import type { Version } from '../../src/version.js'

/** The object under a key is now this, or there is none any more. */
export type RedisChange<T> = { readonly put: string; readonly object: T } | { readonly delete: string }

export interface ApplyOptions {
  /** Only if the collection is at this version; else `CONFLICT`. */
  readonly ifVersion?: Version | undefined
}

/** Of which key it is. */
export function keyOf(change: RedisChange<unknown>): string {
  return isPut(change) ? change.put : change.delete
}

/** An undefined `put` is none. */
export function isPut<T>(change: RedisChange<T>): change is Extract<RedisChange<T>, { readonly put: string }> {
  return 'put' in change && change.put !== undefined
}
