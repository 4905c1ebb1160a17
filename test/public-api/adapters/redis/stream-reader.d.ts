import type { RedisReply } from './client.js';
import { type Session } from './session.js';
import { type StreamPlace } from './stream-version.js';
/** An entry as it came: names and values in turn. */
export interface StreamEntry {
    readonly id: string;
    readonly fields: readonly RedisReply[];
}
export interface StreamReaderOptions {
    readonly key: string;
    /** Most entries that one read asks for. */
    readonly most: number;
    /** Whether entries that are gone from the middle of what a snapshot lacks are no concern. */
    readonly isLenient: boolean;
}
/**
 * Reads a stream that others write from a place on, and holds each step against what the server counts: that entries were
 * trimmed or deleted before they were read shows in their number alone. Rejects with `VERSION_EXPIRED` where some are
 * missed, with `EPOCH_CHANGED` where this is not the history that was read before.
 */
export declare class StreamReader {
    #private;
    constructor(session: Session, place: StreamPlace, options: StreamReaderOptions);
    /** All entries up to there were given. */
    get place(): StreamPlace;
    /** The next entries; none, where there are none now. */
    next(): Promise<{
        readonly entries: readonly StreamEntry[];
        readonly isAll: boolean;
    }>;
    /** Settles when there may be something new, or after so many milliseconds. */
    wait(ms: number, deadlineMs: number): Promise<void>;
    /** From the oldest entry that is there. Rejects where older ones are gone, unless that is no concern. */
    rewind(): Promise<void>;
}
/** The end of the stream, as marks have it. */
export declare function endOf(session: Session, key: string): Promise<string>;
