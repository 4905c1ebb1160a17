import type { WatchEvent } from '../../source.js';
/** What a collection holds: values by key. */
export type Values = ReadonlyMap<string, string>;
/** What events add up to. */
export declare class Contents {
    #private;
    readonly values: Map<string, string>;
    readonly invalid: Set<string>;
    constructor(read: (object: unknown) => string, from?: Contents);
    copy(): Contents;
    apply(events: readonly WatchEvent<unknown>[]): void;
}
export declare function areEqual(a: Values, b: Values): boolean;
/** How `actual` differs from `expected`, in words. */
export declare function difference(actual: Values, expected: Values): string;
/** A key or a value as it can be printed. */
export declare function shown(text: string): string;
