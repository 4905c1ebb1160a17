import type { ListerWatcher } from '../contract/source.js';
/**
 * Several sources, one store: namespaces, shards, clusters. Each has its own watch, version and part of the store; their
 * keys are expected to be disjoint, and a key that two of them give stays with the first, and is reported. Sources may come and go
 * while an informer runs: what a source gave goes with it.
 */
export interface SourceSet<S> {
    readonly sources: ReadonlyMap<string, ListerWatcher<S>>;
    /** A TypeError where there is one of that name. */
    add(name: string, source: ListerWatcher<S>): void;
    /** Its objects are deleted from the store. A TypeError where there is none of that name. */
    remove(name: string): void;
}
/** Who wants to know what comes and goes. */
export interface SourceSetListener<S> {
    added(name: string, source: ListerWatcher<S>): void;
    removed(name: string): void;
}
export declare function sourceSet<S>(sources: Readonly<Record<string, ListerWatcher<S>>>): SourceSet<S>;
export declare class DynamicSourceSet<S> implements SourceSet<S> {
    #private;
    get sources(): ReadonlyMap<string, ListerWatcher<S>>;
    add(name: string, source: ListerWatcher<S>): void;
    remove(name: string): void;
}
