import type { Version } from '../../../src/contract/version.js'

/**
 * The outcome of an `apply` that failed:
 *
 * | code | |
 * |---|---|
 * | `CONFLICT` | nothing was written: the collection is not at the version `ifVersion`; `version` is its current version |
 * | `NOT_WRITTEN` | nothing was written: the server rejected the command, or could not be reached; `cause` is the reason |
 * | `OUTCOME_UNKNOWN` | the response was lost: the changes were written, or will be, or not |
 *
 * @example
 * ```ts
 * import type { RedisWriteCode } from 'listwatch/redis'
 *
 * // Whether the same changes may be written again without another look at the collection.
 * function isSafeToRepeat(code: RedisWriteCode): boolean {
 *   return code === 'NOT_WRITTEN' // Not OUTCOME_UNKNOWN: they may have been written, and others since.
 * }
 * ```
 */
export type RedisWriteCode = 'CONFLICT' | 'NOT_WRITTEN' | 'OUTCOME_UNKNOWN'

/**
 * The error with which `apply` of a `redisWriter` rejects.
 *
 * @example
 * ```ts
 * import { Redis } from 'ioredis'
 * import { RedisWriteError } from 'listwatch/redis'
 *
 * const writer = redisWriter<Order>({ client: new Redis(url), collection: 'orders' })
 * await writer.apply([{ delete: '42' }], { ifVersion: mark }).catch((error: unknown) => {
 *   if (!(error instanceof RedisWriteError) || error.code !== 'CONFLICT') throw error
 *   console.warn(`the collection is at ${error.version}`)
 * })
 * ```
 */
export class RedisWriteError extends Error {
  override readonly name = 'RedisWriteError'
  /** Whether the changes were written. */
  readonly code: RedisWriteCode
  /** The current version of the collection, if `code` is `CONFLICT`; undefined if the collection does not exist. */
  readonly version: Version | undefined

  constructor(
    code: RedisWriteCode,
    message: string,
    options: { readonly cause?: unknown; readonly version?: Version } = {},
  ) {
    super(message, options.cause === undefined ? {} : { cause: options.cause })
    this.code = code
    this.version = options.version
  }
}
