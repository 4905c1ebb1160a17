import type { Version } from '../../../src/contract/version.js'

/** A change of one key: its object is replaced, or deleted. */
export type RedisChange<T> = { readonly put: string; readonly object: T } | { readonly delete: string }

/** The options of `apply`. */
export interface ApplyOptions {
  /**
   * Writes only if the collection is at this version. If it is not, `apply` rejects with `CONFLICT`. By default the
   * version is not checked.
   */
  readonly ifVersion?: Version | undefined
}
