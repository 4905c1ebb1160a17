import type { ListerWatcher } from '../../src/contract/source.js';
import { DynamicSourceSet, type SourceSet } from '../../src/informer/source-set.js';
/** One source for each of several namespaces, over one store. They may come and go while an informer runs. */
export interface KubernetesNamespaces<T> extends SourceSet<T> {
    /** Its objects come into the store. A TypeError where it is there already, or can be none. */
    addNamespace(namespace: string): void;
    /** Its objects are deleted from the store. A TypeError where it is not there. */
    removeNamespace(namespace: string): void;
}
export declare class NamespaceSet<T> extends DynamicSourceSet<T> implements KubernetesNamespaces<T> {
    #private;
    constructor(namespaces: readonly string[], sourceOf: (namespace: string) => ListerWatcher<T>);
    addNamespace(namespace: string): void;
    removeNamespace(namespace: string): void;
}
