import type { RangeRequest, RangeResponse, ServerStatus, WatchRequest, WatchResponse } from './etcd-messages.js';
/** A call that is under way. */
export interface Call<V> {
    readonly response: Promise<V>;
    /** Nobody waits for it any more: it is not wanted, or there was no answer in time. */
    cancel(reason: 'unwanted' | 'lost'): void;
}
/** Messages of one open watch, as they come. */
export interface WatchStream {
    listen(to: WatchListener): void;
    /** Asks the server how far it has told. */
    requestProgress(): void;
    /** No more messages, until `resume`: the server is held up, not our memory. */
    pause(): void;
    resume(): void;
    /** The stream is not wanted, or its peer is silent. */
    cancel(reason: 'unwanted' | 'lost'): void;
}
export interface WatchListener {
    message(response: WatchResponse): void;
    /** Once: with an error, or without one where the server ended it in order. */
    ended(error: unknown): void;
}
/** A way to one member of the cluster, for one list or one watch. */
export interface Connection {
    /** For messages. */
    readonly endpoint: string;
    range(request: RangeRequest): Call<RangeResponse>;
    status(): Call<ServerStatus>;
    watch(request: WatchRequest, requireLeader: boolean): Promise<WatchStream>;
    /** How many bytes have arrived, also those of a message that is not complete; undefined if that is not known. */
    received(): number | undefined;
    /** `isLost`: it is of no use; the next one goes to another endpoint, where there is one. */
    close(isLost: boolean): void;
}
/** How a source reaches etcd: by the user's own client, or by itself. */
export interface Transport {
    /** How many connections may be tried one after the other before it counts as a failure. */
    readonly endpoints: number;
    /** How large an answer may be, in bytes, where the client has a limit. */
    readonly maxAnswerBytes: number;
    /** Whether large messages must always come in fragments. They cost the server much more CPU if its events are small. */
    readonly hasFragments: boolean;
    connect(): Promise<Connection>;
}
