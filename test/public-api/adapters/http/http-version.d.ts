import { type Version } from '../../src/contract/version.js';
/** The position of a feed, and the version of the upstream source at it; empty if the mirror has none at the time. */
export interface HttpVersion {
    readonly feed: string;
    readonly sequence: number;
    readonly upstream: string;
}
/** Compares versions of the upstream source. Its `ListerWatcher` has these methods. */
export interface UpstreamVersions {
    /** Returns whether `at` includes everything up to `mark`. */
    hasReached(at: Version, mark: Version): boolean;
    /** Returns whether `mark` certainly belongs to an epoch that began after that of `at`. */
    isLaterEpoch?(at: Version, mark: Version): boolean;
}
/** The code of a response to a version of another server, of another scope, or of a scope that was dropped. */
export declare const UNKNOWN_FEED = "UNKNOWN_FEED";
/** The upstream version of a mirror of several sources, which have a version each. */
export declare const SEVERAL_SOURCES = "*";
/** `h1.<feed>.<sequence>.<upstream>` */
export declare function formatVersion({ feed, sequence, upstream }: HttpVersion): Version;
/** Returns undefined if the text is not a version of a feed. */
export declare function parseVersion(version: Version): HttpVersion | undefined;
/** The part of a version that a server needs to resume a watch. Versions of an upstream can be too long for a URL. */
export declare function resumePoint({ feed, sequence }: HttpVersion): Version;
/**
 * Whether a follower at `at` has everything up to `mark`: a version of its feed, or with `compare` one of another feed or a mark of
 * the upstream source.
 */
export declare function hasReached(at: Version, mark: Version, compare: UpstreamVersions | undefined): boolean;
/** Whether `mark` belongs to a later epoch of the upstream source. */
export declare function isLaterEpoch(at: Version, mark: Version, compare: UpstreamVersions | undefined): boolean;
