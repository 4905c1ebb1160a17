import type { Clock } from '../../src/clock.js';
import { SourceError } from '../../src/errors.js';
import type { RedisArgument, RedisReply, SingleClient } from './client.js';
export interface SessionOptions {
    readonly signal: AbortSignal;
    readonly clock: Clock;
    /** Whatever is not answered within this many milliseconds counts as lost, and the socket is destroyed. */
    readonly timeoutMs: number;
}
export type RedisCommand = readonly [name: string, ...args: RedisArgument[]];
/**
 * One connection of our own, with a deadline on everything: no driver notices a peer that is gone without a word.
 * Rejects with SourceErrors; after one that is not an answer of the server it is of no use any more.
 */
export declare class Session {
    #private;
    /** For messages: `host:port`. */
    readonly address: string;
    private constructor();
    /** Connects as `client` would, with its credentials; `where` names another host and port. */
    static open(client: SingleClient, options: SessionOptions, where?: object): Promise<Session>;
    /** Why it is of no use any more. */
    get ending(): SourceError | undefined;
    /** One command and its answer. Calls may overlap; answers come in the order of the calls. */
    command([name, ...args]: RedisCommand, timeoutMs?: number): Promise<RedisReply>;
    /**
     * The same, with strings for texts: much quicker. What has bytes that are no UTF-8, and what looks as if it had, is asked for
     * again, as bytes.
     */
    texts(command: RedisCommand, timeoutMs?: number): Promise<RedisReply>;
    /** These commands at one moment; they must only read. With `isText` as `texts` does. */
    transaction(commands: readonly RedisCommand[], isText?: boolean): Promise<readonly RedisReply[]>;
    /** Told of every message on the channels that this connection has subscribed to. */
    onMessage(listener: (message: RedisReply) => void): void;
    /** Told when it is of no use any more. */
    onEnd(listener: (error: SourceError) => void): void;
    close(): void;
    /** Ends whatever is under way with `error`, and cuts the connection. */
    destroy(error: SourceError): void;
}
/** The text of an answer. */
export declare function textOf(reply: RedisReply | undefined): string;
