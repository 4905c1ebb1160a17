import type { WatchBatch, WatchContext } from '../../source.js';
import type { Version } from '../../version.js';
import { type Contents, type Values } from './contents.js';
/** Where a watch can go on from: a version, and what the collection held at it. */
export interface Position {
    readonly version: Version;
    readonly contents: Contents;
}
export interface WatchingOptions {
    readonly context: Omit<WatchContext, 'signal' | 'onNudge' | 'after'>;
    readonly from: Position;
    readonly patienceMs: number;
    watch(context: WatchContext): AsyncIterable<WatchBatch<unknown>>;
}
/** A watch that is read batch by batch, and what its batches add up to. */
export declare class Watching implements Position {
    #private;
    readonly contents: Contents;
    readonly batches: WatchBatch<unknown>[];
    /** Where it was, after each batch. The first is where it began. */
    readonly trail: Position[];
    readonly nudges: (() => void)[];
    constructor({ context, from, patienceMs, watch }: WatchingOptions);
    /** Where it is. */
    get version(): Version;
    get values(): Values;
    /** The next batch. Rejects with the watch's own error, or when none comes. */
    next(what?: string, ms?: number): Promise<WatchBatch<unknown>>;
    /** Reads on until it is so. */
    until(what: string, isSo: () => boolean): Promise<void>;
    /** Reads on until the collection holds this. */
    reaches(values: Values): Promise<void>;
    nudge(): void;
    /** Leaves the loop as `break` does. The signal stays as it is. */
    leave(): Promise<void>;
    abort(): void;
    /** Aborts it and reads it to its end, which has to come in time. */
    stop(): Promise<void>;
}
