/** What etcd says of itself in every answer. */
export interface Header {
    /** In hexadecimal, as etcd's own tools write it. */
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
    /** Without it, only `key`. */
    readonly end?: Buffer;
    readonly limit?: number;
    readonly revision?: number;
    readonly isKeysOnly?: boolean;
    readonly minModRevision?: number;
    /** By revision, newest first, instead of by key. */
    readonly isNewestFirst?: boolean;
}
export interface RangeResponse {
    readonly header: Header;
    readonly kvs: readonly KeyValue[];
    readonly hasMore: boolean;
    /** Of all keys of the range at that revision, whatever the limit and the filter. */
    readonly count: number;
}
export interface WatchRequest {
    readonly key: Buffer;
    readonly end: Buffer;
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
    /** More of the same revisions follows. */
    readonly isFragment: boolean;
    readonly events: readonly EtcdEvent[];
}
/** What a member says of itself. */
export interface ServerStatus {
    /** `3.6.16` */
    readonly version: string;
    /** How much the cluster has agreed on, as far as it knows: in one history it never goes back. */
    readonly raftIndex: number;
}
export declare function encodeRange(request: RangeRequest): Buffer;
export declare function decodeRange(bytes: Buffer): RangeResponse;
export declare function encodeWatch({ key, end, startRevision, hasFragments }: WatchRequest): Buffer;
export declare function encodeProgressRequest(): Buffer;
export declare function decodeWatch(bytes: Buffer): WatchResponse;
export declare function encodeAuthenticate(name: string, password: string): Buffer;
export declare function decodeToken(bytes: Buffer): string;
export declare function decodeStatus(bytes: Buffer): ServerStatus;
