/**
 * A position in one source's history. Opaque to the core, which only ever asks the source whether one includes another:
 * printable ASCII, 1 byte to 64 KiB. A *mark*, which a writer hands to a reader, is a version of at most 1 KiB, so
 * that it fits an HTTP header or an SSE id.
 */
export type Version = string;
export declare const MAX_VERSION_BYTES: number;
/** Refuses a version that breaks the contract, as `PROTOCOL`: nothing may be resumed from it. */
export declare function assertVersion(version: unknown, of: string): asserts version is Version;
/** The same for a version to wait for, which may come from outside: a header, a cookie. */
export declare function assertMark(mark: Version): void;
