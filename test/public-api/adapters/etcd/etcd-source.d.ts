import type { ListContext, ListerWatcher, SourceContext, VersionPage } from '../../src/contract/source.js';
import type { Version } from '../../src/contract/version.js';
import { type EtcdSourceOptions } from './etcd-options.js';
/** A range of keys of etcd, as a source. Marks are etcd's own revisions: `header.revision` of what a write answers. */
export interface EtcdSource<T> extends ListerWatcher<T> {
    readonly heartbeatMs: number;
    versions(context: ListContext): AsyncIterable<VersionPage>;
    head(context: SourceContext): Promise<Version>;
    hasReached(at: Version, mark: Version): boolean;
}
/** Mirrors a range of keys of etcd 3.4 or later. Opens nothing by itself. */
export declare function etcdSource<T = unknown>(options: EtcdSourceOptions<T>): EtcdSource<T>;
