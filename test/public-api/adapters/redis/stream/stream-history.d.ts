import type { RedisReply } from '../connection/client.js';
import { type StreamPlace } from './stream-version.js';
/** An entry as it came: names and values in turn. */
export interface StreamEntry {
    readonly id: string;
    readonly fields: readonly RedisReply[];
}
/** What the server says of a stream; one that is not there is one to which nothing was ever added. */
export interface StreamFacts {
    readonly added: number;
    readonly length: number;
    readonly first: string | undefined;
    /** Of the entry that was added last, whether it is still there or not. */
    readonly last: string;
    /** Of the last one that was deleted by its id; trimming does not count. */
    readonly deleted: string;
    /** The newest entry that is there. */
    readonly newest: StreamEntry | undefined;
}
export declare const NOTHING: StreamFacts;
/** Of XINFO STREAM. */
export declare function factsOf(reply: RedisReply | undefined): StreamFacts;
/** Where a stream ends. */
export declare function endOf(facts: StreamFacts): StreamPlace;
/** The very first entry, where none was ever removed. */
export declare function originOf({ added, length, first }: StreamFacts): string | undefined;
/** That this is the history in which `from` was read, as far as the server tells; `at` is the entry that it now has there. */
export declare function assertSame(from: StreamPlace, facts: StreamFacts, at: StreamEntry | undefined): void;
/** That no more is gone than was read: found out before the end is reached. */
export declare function assertReached(from: StreamPlace, { added, length }: StreamFacts): void;
/** That exactly as many entries were added as were read. */
export declare function assertCounted(from: StreamPlace, { added }: StreamFacts, read: number): void;
/** That the next entry is seen to be the next where numbers are not known; `mayMiss` where what was deleted since is no concern. */
export declare function assertWhole({ id }: StreamPlace, facts: StreamFacts, mayMiss: boolean): void;
export declare function digestOf({ id, fields }: StreamEntry): string;
export declare function streamEntriesOf(reply: RedisReply | undefined): StreamEntry[];
export declare function listOf(reply: RedisReply | undefined): readonly RedisReply[];
