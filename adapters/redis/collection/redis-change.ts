import type { Version } from '../../../src/contract/version.js'

/**
 * A change of one key: its object is replaced, or deleted.
 *
 * @example
 * ```ts
 * import type { RedisChange } from 'listwatch/redis'
 *
 * function renamed(from: string, to: string, limit: Limit): readonly RedisChange<Limit>[] {
 *   return [{ delete: from }, { put: to, object: { ...limit, tenant: to } }] // Mirrors receive both in one batch.
 * }
 * ```
 */
export type RedisChange<T> = { readonly put: string; readonly object: T } | { readonly delete: string }

/**
 * The options of `apply`.
 *
 * @example
 * ```ts
 * import { Redis } from 'ioredis'
 *
 * const writer = redisWriter<Limit>({ client: new Redis(url), collection: 'limits' })
 * const limit = limits.get('acme') ?? { tenant: 'acme', rps: 0, burst: 10 }
 * const changes = [{ put: 'acme', object: { ...limit, rps: limit.rps + 1 } }]
 * await writer.apply(changes, { ifVersion: limits.version }) // CONFLICT if another writer was faster.
 * ```
 */
export interface ApplyOptions {
  /**
   * Writes only if the collection is at this version. If it is not, `apply` rejects with `CONFLICT`. By default the
   * version is not checked.
   */
  readonly ifVersion?: Version | undefined
}
