import { SourceError } from './errors.js';
import type { Entry } from './source.js';
/** How objects become what the store holds. */
export interface IntakeOptions<T> {
    /** The source's object as the store's; `undefined`: not mirrored. What it throws makes the object invalid. */
    readonly prepare?: ((object: unknown, key: string) => T | undefined) | undefined;
    readonly equals: (a: T, b: T) => boolean;
    /** Whether plain objects and arrays are deep-frozen. */
    readonly freeze: boolean;
    /** Told of the first time that `equals` throws. */
    readonly report: (error: SourceError) => void;
}
/** The store has this already. */
export declare const SAME: unique symbol;
/** `prepare` left it out. */
export declare const OMITTED: unique symbol;
/**
 * Decides what an object that arrives means, beside what the store holds of its key:
 * nothing (`SAME`), an entry to write, that it is not wanted (`OMITTED`), or that it is invalid (a SourceError).
 * An entry with the current object means that only its version moved on.
 */
export declare class Intake<T> {
    #private;
    constructor(options: IntakeOptions<T>);
    take(arrived: Entry<unknown>, current: Entry<T> | undefined, ignoreVersions: boolean): Entry<T> | SourceError | typeof SAME | typeof OMITTED;
    /** The last state that a delete brought with it, where it is usable. */
    lastState(key: string, object: unknown): T | undefined;
}
/** Whether two entries of one key are two objects; where one of them has no uid nobody can tell, and they count as one. */
export declare function isOtherIdentity(a: Entry<unknown>, b: Entry<unknown>): boolean;
/** What `informer.invalid` says of an object. */
export declare function invalid(key: string | undefined, error: unknown): SourceError;
