import type { ListContext, ListerWatcher, SourceContext, VersionPage } from '../../src/contract/source.js';
import type { Version } from '../../src/contract/version.js';
import { type KubernetesSourceOptions } from './kubernetes-options.js';
import { type KubernetesNamespaces } from './namespace-set.js';
import type { KubernetesObject } from './types/kubernetes-object.js';
/** A kind of objects of a Kubernetes API server, as a source. Marks are the `metadata.resourceVersion` of what was written. */
export interface KubernetesSource<T> extends ListerWatcher<T> {
    readonly heartbeatMs: number;
    versions(context: ListContext): AsyncIterable<VersionPage>;
    head(context: SourceContext): Promise<Version>;
    hasReached(at: Version, mark: Version): boolean;
}
/**
 * Mirrors objects of one kind, built-in or custom. Opens nothing by itself. `T` is what you say that they are, and nothing checks
 * it: of a type of @kubernetes/client-node say `Wire<V1Pod>`, which has dates and names as the API server says them.
 */
export declare function kubernetesSource<T = KubernetesObject>(options: KubernetesSourceOptions & {
    readonly namespaces?: undefined;
}): KubernetesSource<T>;
/** The same of several namespaces: one source for each, in one store. */
export declare function kubernetesSource<T = KubernetesObject>(options: KubernetesSourceOptions & {
    readonly namespaces: readonly string[];
    readonly namespace?: undefined;
}): KubernetesNamespaces<T>;
/** Whichever it is: of these namespaces, or, where they are undefined, of all. */
export declare function kubernetesSource<T = KubernetesObject>(options: KubernetesSourceOptions & {
    readonly namespaces?: readonly string[] | undefined;
    readonly namespace?: undefined;
}): KubernetesSource<T> | KubernetesNamespaces<T>;
