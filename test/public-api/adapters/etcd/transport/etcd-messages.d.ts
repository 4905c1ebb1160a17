/** The header of each response of etcd. */
export interface Header {
    /** In hexadecimal, as in etcd's tools. */
    readonly clusterId: string;
    readonly revision: number;
    readonly term: number;
}
export interface KeyValue {
    readonly key: Buffer;
    readonly value: Buffer;
    readonly createRevision: number;
    readonly modRevision: number;
}
export interface RangeRequest {
    readonly key: Buffer;
    /** The end of the range, exclusive. Default: only `key`. */
    readonly end?: Buffer;
    readonly limit?: number;
    readonly revision?: number;
    readonly isKeysOnly?: boolean;
    readonly minModRevision?: number;
    /** Sort by revision, newest first, instead of by key. */
    readonly isNewestFirst?: boolean;
}
export interface RangeResponse {
    readonly header: Header;
    readonly kvs: readonly KeyValue[];
    readonly hasMore: boolean;
    /** The number of all keys of the range at that revision, regardless of limit and filter. */
    readonly count: number;
}
/** A comparison of a stored value with a text, byte by byte. It fails if the key does not exist. */
export interface ValueComparison {
    readonly key: Buffer;
    readonly is: 'greater' | 'less';
    readonly value: Buffer;
}
/** Whether a key does not exist. */
export interface AbsenceComparison {
    readonly key: Buffer;
    readonly is: 'absent';
}
export type Comparison = ValueComparison | AbsenceComparison;
export type TxnOperation = {
    readonly type: 'range';
    readonly range: RangeRequest;
} | {
    readonly type: 'put';
    readonly key: Buffer;
    readonly value: Buffer;
} | {
    readonly type: 'delete';
    readonly key: Buffer;
} | {
    readonly type: 'txn';
    readonly txn: TxnRequest;
};
/**
 * One atomic step: `success` if all comparisons hold, else `failure`. The operations see the effects of those before
 * them.
 */
export interface TxnRequest {
    readonly compare: readonly Comparison[];
    readonly success: readonly TxnOperation[];
    readonly failure: readonly TxnOperation[];
}
export interface TxnResponse {
    readonly header: Header;
    readonly hasSucceeded: boolean;
    /** The responses of the range operations, in order. */
    readonly ranges: readonly Omit<RangeResponse, 'header'>[];
}
export interface WatchRequest {
    readonly key: Buffer;
    readonly end: Buffer;
    /** 0: from now on. */
    readonly startRevision: number;
    readonly hasFragments: boolean;
}
export interface EtcdEvent {
    readonly isDelete: boolean;
    readonly kv: KeyValue;
}
export interface WatchResponse {
    readonly header: Header;
    readonly isCreated: boolean;
    readonly isCanceled: boolean;
    readonly compactRevision: number;
    readonly cancelReason: string;
    /** Whether the next message continues the same revisions. */
    readonly isFragment: boolean;
    readonly events: readonly EtcdEvent[];
}
/** The status of a member. */
export interface ServerStatus {
    /** `3.6.16` */
    readonly version: string;
    /** The raft index of the member. Within one history it never decreases. */
    readonly raftIndex: number;
}
export declare function encodeRange(request: RangeRequest): Buffer;
export declare function decodeRange(bytes: Buffer): RangeResponse;
export declare const COMPARE_RESULTS: {
    readonly absent: 0;
    readonly greater: 1;
    readonly less: 2;
};
export declare const COMPARE_CREATE_REVISION = 1;
export declare const COMPARE_VALUE = 3;
export declare function encodeTxn({ compare, success, failure }: TxnRequest): Buffer;
export declare function decodeTxn(bytes: Buffer): TxnResponse;
export declare function encodeWatch({ key, end, startRevision, hasFragments }: WatchRequest): Buffer;
export declare function encodeProgressRequest(): Buffer;
export declare function decodeWatch(bytes: Buffer): WatchResponse;
export declare function encodeAuthenticate(name: string, password: string): Buffer;
export declare function decodeToken(bytes: Buffer): string;
export declare function decodeStatus(bytes: Buffer): ServerStatus;
