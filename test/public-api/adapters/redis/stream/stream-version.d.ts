import type { Version } from '../../../src/contract/version.js';
/** The place before all entries. */
export declare const BEGIN = "0-0";
/** A place in a stream that others write, and by what the history before it can be recognised. */
export interface StreamPlace {
    /** Everything up to this id was read. */
    readonly id: string;
    /** How many entries were ever added up to there; undefined where it is not known. */
    readonly added: number | undefined;
    /** Of the entry with this id; undefined where there is none, or where it is not known. */
    readonly digest: string | undefined;
    /** Id of the very first entry; undefined where it is not known. */
    readonly origin: string | undefined;
}
/** A place of which no more is known than its id. */
export declare function placeAt(id: string): StreamPlace;
/** `redisx1.<id>.<added>.<digest>.<origin>`; `-` for what is not known. */
export declare function formatPlace({ id, added, digest, origin }: StreamPlace): Version;
export declare function parsePlace(version: Version): StreamPlace;
/** Below 0 where `a` is before `b`, 0 where they are the same, above 0 where it comes after. */
export declare function compareIds(a: string, b: string): number;
/**
 * Whether a mirror at `at` includes `mark`: a version, or the id that XADD gave. A stream has no epoch: what is
 * known of both must agree, else they are of two histories, `EPOCH_CHANGED`.
 */
export declare function includesMark(at: Version, mark: Version): boolean;
