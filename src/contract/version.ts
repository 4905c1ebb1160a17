import { SourceError } from './errors.js'

/**
 * A position in the history of one source: 1 byte to 64 KiB of printable ASCII. Only the source can compare versions. A
 * *mark* is the version of a write, passed from a writer to a reader. It has at most 1 KiB, to fit into an HTTP header.
 *
 * @example
 * ```ts
 * import type { Version } from 'listwatch'
 *
 * app.get('/orders/:id', async (request, response) => {
 *   const version: Version | undefined = request.get('x-orders-mark') // The mark of the last write of this client.
 *   if (version !== undefined) await orders.waitFor(version, { timeoutMs: 5_000 })
 *   response.json(orders.get(request.params.id))
 * })
 * ```
 */
export type Version = string

export const MAX_VERSION_BYTES: number = 64 * 1024

const printableAscii = /^[\x20-\x7e]+$/

/** Throws a SourceError with code `PROTOCOL` if the value is not a valid version. */
export function assertVersion(version: unknown, of: string): asserts version is Version {
  const flaw = flawOf(version)
  if (flaw !== undefined) throw new SourceError(`${of} ${flaw}`, { code: 'PROTOCOL' })
}

/**
 * Throws a SourceError with code `PROTOCOL` if a version to wait for is invalid. It may come from a header or a cookie.
 */
export function assertMark(mark: Version): void {
  assertVersion(mark, 'the version to wait for')
}

function flawOf(version: unknown): string | undefined {
  if (typeof version !== 'string')
    return `is ${version === undefined ? 'missing' : `a ${typeof version}`}, not a string`
  if (version === '') return 'is empty'
  if (version.length > MAX_VERSION_BYTES) return `has ${version.length} bytes; ${MAX_VERSION_BYTES} are allowed`
  if (!printableAscii.test(version)) return 'is not printable ASCII'
  return undefined
}
