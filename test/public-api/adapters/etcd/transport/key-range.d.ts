/** A range of keys, from `start` on and before `end`; an `end` of one zero byte means: all there are. */
export interface KeyRange {
    readonly start: Buffer;
    readonly end: Buffer;
    /** Whether it is all that begins with `start`. */
    readonly isPrefix: boolean;
}
/** What a user may give as a key. */
export type KeyBytes = string | Uint8Array;
/** All keys that begin so. */
export declare function prefixRange(prefix: KeyBytes): KeyRange;
/** From one key on, up to but without another; without that one, all that come after. */
export declare function keyRange(from: KeyBytes, to: KeyBytes | undefined): KeyRange;
export declare function isInRange(key: Buffer, { start, end, isPrefix }: KeyRange): boolean;
/** Whether no key can lie in it. */
export declare function isNothing({ start, end }: KeyRange): boolean;
/** The key that comes next after this one. */
export declare function keyAfter(key: Buffer): Buffer;
