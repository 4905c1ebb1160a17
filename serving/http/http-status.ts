import { SourceError } from '../../src/contract/errors.js'

/**
 * Returns the HTTP status of a response to a request whose read from an informer has failed.
 *
 * @returns 400 for `INVALID_MARK`, 409 for `EPOCH_CHANGED`, 504 for `TIMEOUT`, 503 for any other `SourceError`, and 500
 * for any other error.
 *
 * @example
 * ```ts
 * import { httpStatus } from 'listwatch/http'
 *
 * async function orderAt(id: string, mark: string): Promise<Response> {
 *   try {
 *     await orders.waitFor(mark, { timeoutMs: 1_000 })
 *     return Response.json(orders.get(id) ?? null)
 *   } catch (error) {
 *     return new Response(String(error), { status: httpStatus(error) })
 *   }
 * }
 * ```
 */
export function httpStatus(error: unknown): number {
  if (!(error instanceof SourceError)) return 500
  if (error.code === 'INVALID_MARK') return 400
  if (error.code === 'EPOCH_CHANGED') return 409
  return error.code === 'TIMEOUT' ? 504 : 503
}
