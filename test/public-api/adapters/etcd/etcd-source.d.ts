import type { ListContext, ListerWatcher, SourceContext, VersionPage } from '../../src/contract/source.js';
import type { Version } from '../../src/contract/version.js';
import { type EtcdSourceOptions } from './etcd-options.js';
/**
 * A range of etcd keys, as a source. A mark is the `header.revision` of the response to a write.
 *
 * @example
 * ```ts
 * const source = etcdSource<Limit>({ client: etcd, prefix: '/limits/' })
 * const limits = createInformer({ source })
 * await limits.start().synced()
 * const { header } = await etcd.put('/limits/acme').value('{"rps":5,"burst":10}')
 * await limits.waitFor(header.revision) // The mark of the write.
 * ```
 */
export interface EtcdSource<T> extends ListerWatcher<T> {
    /** The longest silence of a healthy watch, in milliseconds: twice `progressMs`. */
    readonly heartbeatMs: number;
    /**
     * Reads all keys with their revisions, for audits.
     * @throws SourceError UNAVAILABLE when a page does not arrive; PROTOCOL or UNAUTHORIZED when etcd rejects the
     * request.
     */
    versions(context: ListContext): AsyncIterable<VersionPage>;
    /**
     * Reads the current revision with a quorum read.
     * @throws SourceError UNAVAILABLE when no endpoint responds; UNAUTHORIZED when the user may not read the range.
     */
    head(context: SourceContext): Promise<Version>;
    /**
     * Whether a mirror at `at` includes `mark`.
     * @throws SourceError EPOCH_CHANGED when they are of different clusters; PROTOCOL when one is not a version of etcd.
     */
    hasReached(at: Version, mark: Version): boolean;
}
/**
 * Creates a source for a range of keys of etcd 3.4 or later. It opens no connection before the first list, watch or
 * head.
 * @returns The source, for the option `source` of `createInformer`.
 * @throws OptionError when an option is missing or not allowed.
 *
 * @example
 * ```ts
 * const source = etcdSource<Limit>({ endpoints: ['http://127.0.0.1:2379'], prefix: '/limits/' })
 * const limits = createInformer({ source })
 * ```
 */
export declare function etcdSource<T = unknown>(options: EtcdSourceOptions<T>): EtcdSource<T>;
