/**
 * A change of one key: its new object, undefined if it was deleted, or the error of an invalid object.
 *
 * @example
 * ```ts
 * import type { StreamChange } from 'listwatch/redis'
 *
 * function changeOf(key: string, json: string | undefined): StreamChange<Limit> {
 *   try {
 *     return { key, object: json === undefined ? undefined : JSON.parse(json) } // `undefined`: it was deleted.
 *   } catch (error) {
 *     return { key, error } // The object is invalid.
 *   }
 * }
 * ```
 */
export type StreamChange<T> = {
    readonly key: string;
    readonly object: T | undefined;
} | {
    readonly key: string;
    readonly error: unknown;
};
/**
 * Returns the changes of an entry: one, several, or `undefined` for none. If it throws, the key is unknown: the mirror
 * reports an invalid object without a key, and lists again, at most once per 5 minutes.
 *
 * @example
 * ```ts
 * import type { StreamDecode } from 'listwatch/redis'
 *
 * const decode: StreamDecode<Limit> = (fields) => {
 *   const [tenant, rps] = [fields.get('tenant'), fields.get('rps')]
 *   if (tenant === undefined) return undefined // The entry has no change.
 *   return { key: tenant, object: rps === undefined ? undefined : { tenant, rps: Number(rps), burst: 10 } }
 * }
 * ```
 */
export type StreamDecode<T> = (fields: ReadonlyMap<string, string>, id: string) => StreamChange<T> | readonly StreamChange<T>[] | undefined;
