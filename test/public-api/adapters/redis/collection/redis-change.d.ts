import type { Version } from '../../../src/contract/version.js';
/** The object under a key is now this, or there is none any more. */
export type RedisChange<T> = {
    readonly put: string;
    readonly object: T;
} | {
    readonly delete: string;
};
export interface ApplyOptions {
    /** Only if the collection is at this version; else `CONFLICT`. */
    readonly ifVersion?: Version | undefined;
}
