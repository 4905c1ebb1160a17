import type { Leases, ListContext, SourceContext, VersionPage } from 'listwatch/adapter'
import type { ListerWatcher, ReconcileContext, SourceError, SourceSet, Version } from 'listwatch'
import type { RequestOptions } from 'node:https'
export { LeaseOptions } from 'listwatch/etcd'
export declare class ApplyConflictError extends SourceError {
  constructor(message: string, options: { readonly conflicts: readonly FieldConflict[]; readonly cause?: unknown })
  readonly conflicts: readonly FieldConflict[]; readonly name: string
}
export interface ClientNodeInformer<T> {
  get(name: string, namespace?: string): T | undefined
  latestResourceVersion(): string
  list(namespace?: string): readonly T[]
  off(verb: 'add' | 'update' | 'delete' | 'change', callback: (object: T) => void): void
  off(verb: 'error', callback: (error: Error) => void): void
  off(verb: 'error' | 'connect', callback: (error: never) => void): void
  on(verb: 'add' | 'update' | 'delete' | 'change', callback: (object: T) => void): void
  on(verb: 'error', callback: (error: Error) => void): void
  on(verb: 'error' | 'connect', callback: (error: never) => void): void
  start(): Promise<void>
  stop(): Promise<void>
}
export interface EventRecorder {
  readonly dropped: number
  event(regarding: KubernetesReference, event: KubernetesEvent): void
  flush(): Promise<void>
}
export interface EventRecorderOptions {} // docs/reference/options.md
export interface FieldConflict { readonly field: string; readonly manager: string }
export interface FinalizerOptions<T> {} // docs/reference/options.md
export interface KubeConfigLike {
  applyToHTTPSOptions(options: RequestOptions): Promise<void>
  getCurrentCluster(): { readonly server: string; readonly proxyUrl?: string | undefined } | null
  getCurrentContext(): string
}
export type KubeConfigProvider = KubeConfigLike | (() => KubeConfigLike | Promise<KubeConfigLike>)
export interface KubernetesApplyOptions {} // docs/reference/options.md
export interface KubernetesEvent {
  readonly action?: string; readonly note?: string; readonly reason: string; readonly related?: KubernetesReference
  readonly type?: 'Normal' | 'Warning'
}
export interface KubernetesLeasesOptions extends LeaseOptions {} // docs/reference/options.md
export interface KubernetesNamespaces<T> extends SourceSet<T> {
  addNamespace(namespace: string): void
  removeNamespace(namespace: string): void
}
export interface KubernetesObject {
  readonly apiVersion: string; readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly uid: string;
      readonly resourceVersion: string; readonly generation?: number; readonly creationTimestamp: string;
      readonly deletionTimestamp?: string; readonly labels?: Readonly<Record<string, string>>;
      readonly annotations?: Readonly<Record<string, string>>; readonly finalizers?: readonly string[];
      readonly ownerReferences?: readonly { readonly apiVersion: string; readonly kind: string; readonly name: string;
      readonly uid: string; readonly controller?: boolean; readonly blockOwnerDeletion?: boolean }[] }
}
export interface KubernetesReference {
  readonly apiVersion?: string | undefined; readonly kind?: string | undefined
  readonly metadata?: { readonly name?: string | undefined; readonly namespace?: string | undefined;
      readonly uid?: string | undefined; readonly resourceVersion?: string | undefined } | undefined
}
export interface KubernetesShard { readonly count: number; readonly index: number }
export interface KubernetesSource<T> extends ListerWatcher<T> {
  readonly heartbeatMs: number
  hasReached(at: Version, mark: Version): boolean
  head(context: SourceContext): Promise<Version>
  versions(context: ListContext): AsyncIterable<VersionPage>
}
export interface KubernetesSourceOptions {} // docs/reference/options.md
export interface KubernetesWriter {
  apply<T extends KubernetesReference>(object: T, options?: KubernetesApplyOptions): Promise<T & KubernetesWritten>
  applyStatus<T extends KubernetesReference & { readonly status?: unknown }>(object: T,
      status: NonNullable<T['status']>, options?: { readonly signal?: AbortSignal }): Promise<T>
  eventRecorder(options: EventRecorderOptions): EventRecorder
  finalizer<T extends KubernetesReference>(name: string, functions: FinalizerOptions<T>): (key: string,
      context: ReconcileContext<T>) => Promise<void>
}
export interface KubernetesWriterOptions {} // docs/reference/options.md
export interface KubernetesWritten {
  readonly metadata: { readonly name: string; readonly uid: string; readonly resourceVersion: string }
}
export type ObjectContext<T> = ReconcileContext<T> & { readonly object: T }
export interface Owned {
  readonly metadata?: { readonly namespace?: string | undefined; readonly ownerReferences?: readonly {
      readonly apiVersion: string; readonly kind: string; readonly name: string }[] }
}
export interface OwnedByOptions {} // docs/reference/options.md
export interface RenamedFields {
  _continue: 'continue'; _default: 'default'; _enum: 'enum'; _from: 'from'; _int: 'int'
  x_kubernetes_embedded_resource: 'x-kubernetes-embedded-resource'
  x_kubernetes_int_or_string: 'x-kubernetes-int-or-string'; x_kubernetes_list_map_keys: 'x-kubernetes-list-map-keys'
  x_kubernetes_list_type: 'x-kubernetes-list-type'; x_kubernetes_map_type: 'x-kubernetes-map-type'
  x_kubernetes_preserve_unknown_fields: 'x-kubernetes-preserve-unknown-fields'
  x_kubernetes_validations: 'x-kubernetes-validations'
}
export interface RenamedInSchemas { ref: '$ref'; schema: '$schema' }
export type Wire<T> = 0 extends 1 & T ? T : T extends Date ? string : T extends readonly unknown[] ? {
    [K in keyof T]: Wire<T[K]> } : T extends object ? { [K in keyof T as K extends keyof RenamedFields ?
    RenamedFields[K] : 'x_kubernetes_preserve_unknown_fields' extends keyof T ? K extends keyof RenamedInSchemas ?
    RenamedInSchemas[K] : K : K]: Wire<T[K]> } : T
export declare function kubernetesLeases(options: KubernetesLeasesOptions): Leases
export declare function kubernetesSource<T = KubernetesObject>(options: KubernetesSourceOptions & {
    readonly namespaces?: undefined }): KubernetesSource<T>
export declare function kubernetesSource<T = KubernetesObject>(options: KubernetesSourceOptions & {
    readonly namespaces: readonly string[]; readonly namespace?: undefined }): KubernetesNamespaces<T>
export declare function kubernetesSource<T = KubernetesObject>(options: KubernetesSourceOptions & {
    readonly namespaces?: readonly string[] | undefined; readonly namespace?: undefined }): KubernetesSource<T> |
    KubernetesNamespaces<T>
export declare function kubernetesWriter(options: KubernetesWriterOptions): KubernetesWriter
export declare function makeInformer<T extends object = KubernetesObject>(kubeConfig: KubeConfigLike, path: string,
    listFn: () => Promise<{ readonly items: readonly T[] }>, labelSelector?: string): ClientNodeInformer<T>
export declare function makeInformer<T extends object = KubernetesObject>(kubeConfig: KubeConfigLike, path: string,
    listFn: () => Promise<unknown>, labelSelector?: string): ClientNodeInformer<T>
export declare function ownedBy(kind: string, options?: OwnedByOptions): (object: Owned) => readonly string[]
