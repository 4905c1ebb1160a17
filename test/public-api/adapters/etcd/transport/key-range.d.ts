/** The keys from `start` (inclusive) to `end` (exclusive). An `end` of one zero byte means: no end. */
export interface KeyRange {
    readonly start: Buffer;
    readonly end: Buffer;
    /** Whether the range is all keys with the prefix `start`. */
    readonly isPrefix: boolean;
}
/**
 * A key: a string is encoded as UTF-8.
 *
 * @example
 * ```ts
 * const prefix = Buffer.from('0a00', 'hex') // A string such as `/limits/` is encoded as UTF-8.
 * const source = etcdSource<Limit>({ client: etcd, prefix, keys: 'bytes' })
 * ```
 */
export type KeyBytes = string | Uint8Array;
/** All keys with this prefix. */
export declare function prefixRange(prefix: KeyBytes): KeyRange;
/** The keys from `from` (inclusive) to `to` (exclusive); without `to`, all keys from `from` on. */
export declare function keyRange(from: KeyBytes, to: KeyBytes | undefined): KeyRange;
/** Whether the key that is the bytes from `from` to `to` is in the range. */
export declare function isInRange(bytes: Buffer, { start, end, isPrefix }: KeyRange, from?: number, to?: number): boolean;
/** Whether the range cannot contain a key. */
export declare function isNothing({ start, end }: KeyRange): boolean;
/** The smallest key after this one. */
export declare function keyAfter(key: Buffer): Buffer;
