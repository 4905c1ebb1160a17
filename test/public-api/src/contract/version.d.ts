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
export type Version = string;
export declare const MAX_VERSION_BYTES: number;
/** Throws a SourceError with code `PROTOCOL` if the value is not a valid version. */
export declare function assertVersion(version: unknown, of: string): asserts version is Version;
/**
 * Throws a SourceError with code `PROTOCOL` if a version to wait for is invalid. It may come from a header or a cookie.
 */
export declare function assertMark(mark: Version): void;
