import type { ListContext, ListerWatcher, SourceContext, VersionPage } from '../../src/contract/source.js';
import type { Version } from '../../src/contract/version.js';
import { type NatsKvOptions } from './nats-options.js';
/** A JetStream key-value bucket, as a source. A mark is the revision of a write, as a string. */
export interface NatsKvSource<T> extends ListerWatcher<T> {
    /** The longest silence of a healthy watch, in milliseconds. */
    readonly heartbeatMs: number;
    /**
     * Reads all keys with their revisions, for audits.
     * @throws SourceError UNAVAILABLE when JetStream does not respond; NOT_FOUND when the bucket does not exist.
     */
    versions(context: ListContext): AsyncIterable<VersionPage>;
    /**
     * Reads the last sequence of the bucket from the leader of its stream.
     * @throws SourceError UNAVAILABLE when JetStream does not respond; NOT_FOUND when the bucket does not exist.
     */
    head(context: SourceContext): Promise<Version>;
    /**
     * Whether a mirror at `at` includes `mark`.
     * @throws SourceError EPOCH_CHANGED when they are of different streams; PROTOCOL when one is not a bucket's version.
     */
    hasReached(at: Version, mark: Version): boolean;
}
/**
 * Returns a source for a key-value bucket of NATS JetStream. It uses the connection of the program, and never closes
 * it.
 * @throws OptionError when an option is missing or not allowed.
 *
 * @example
 * ```ts
 * const source = natsKvSource<Limit>({ connection, bucket: 'limits' })
 * const limits = createInformer({ source })
 * ```
 */
export declare function natsKvSource<T = unknown>(options: NatsKvOptions<T>): NatsKvSource<T>;
/** How a bucket is read. */
export interface BucketForm {
    /** The key of what follows the prefix of a subject. */
    decodeKey(name: string): string;
    /** Whether every list and batch must be a state that the bucket had, however long that takes. */
    readonly isExact: boolean;
}
/** The same as `natsKvSource` with checked options, for a bucket of another form. */
export declare function bucketSource<T>(options: NatsKvOptions<T>, form: BucketForm): NatsKvSource<T>;
