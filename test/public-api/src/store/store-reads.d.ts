import type { Entry } from '../contract/source.js';
import type { Ordinal } from './ordinals.js';
import type { Pin } from './pin.js';
/** The reads that a store and a pin of it have in common. */
export interface StoreReads<T> {
    readonly size: number;
    /** The least ordinal: 0, or that of the first entry of packed content. */
    readonly ordinalStart: number;
    /** One more than the greatest ordinal with an entry. */
    readonly ordinalLimit: number;
    ordinalOf(key: string): Ordinal | undefined;
    entryOf(key: string): Entry<T> | undefined;
    entryAt(ordinal: Ordinal): Entry<T> | undefined;
    keys(): string[];
    entries(): Entry<T>[];
    list(): readonly T[];
    /** Returns this state, readable while the store changes. */
    pin(): Pin<T>;
}
