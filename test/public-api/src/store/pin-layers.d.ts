import type { Entry } from '../contract/source.js';
import type { Layer, Ordinal } from './ordinals.js';
/**
 * What the store has overwritten since the oldest pin of the layer was created, until the next layer was. Pins that
 * have no write between them share a layer. A pin reads its own layer, then the newer ones, then the store.
 */
export declare class PinLayer<T> implements Layer {
    #private;
    /** Greater than those of all older layers. */
    readonly id: number;
    /** One more than the greatest ordinal at its creation. Later ordinals are not kept. */
    readonly limit: number;
    older: PinLayer<T> | undefined;
    newer: PinLayer<T> | undefined;
    pins: number;
    isWritten: boolean;
    constructor(id: number, limit: number, older: PinLayer<T> | undefined);
    /**
     * Returns the entry that was overwritten at `ordinal`, null if there was none, undefined if the layer kept nothing.
     */
    at(ordinal: Ordinal): Entry<T> | null | undefined;
    ordinalOf(key: string): Ordinal | undefined;
    keep(ordinal: Ordinal, entry: Entry<T> | null): void;
    /** Keeps the ordinal of a deleted key, if the layer has an entry of that key there. */
    keepKey(key: string, ordinal: Ordinal): void;
    /** Adds what a newer layer has kept. */
    absorb(newer: PinLayer<T>): void;
    /** The number of ordinals and keys that are kept. */
    get held(): number;
}
/**
 * The layers of all open pins. Each write is recorded in the newest layer only, so its cost does not grow with the
 * pins.
 */
export declare class PinLayers<T> {
    #private;
    /** The number of open pins. */
    get size(): number;
    get newest(): PinLayer<T> | undefined;
    /** Returns the layer of a new pin. */
    open(limit: number): PinLayer<T>;
    /** Returns the layer of another pin of the same state. */
    share(layer: PinLayer<T>): PinLayer<T>;
    /** Closes one pin. Returns whether its layer is closed, too: then an older layer has what is still needed. */
    close(layer: PinLayer<T>): boolean;
    /**
     * Called before a write of an entry that the store itself does not contain. Returns the newest layer, if there is
     * one.
     */
    written(): PinLayer<T> | undefined;
    /** Called before a write at `ordinal`. */
    keep(ordinal: Ordinal, entry: Entry<T> | undefined): void;
    /** Whether nothing was written at `ordinal` since the pins of `layer` were created. */
    isUnchanged(layer: PinLayer<T>, ordinal: Ordinal): boolean;
}
