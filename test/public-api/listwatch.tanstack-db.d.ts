import type { Informer, Scope, Version, VersionWait } from 'listwatch'
export interface CollectionSync<T extends object> {
  readonly begin: () => void; readonly commit: () => unknown; readonly markError: (error?: unknown) => void
  readonly markReady: () => void
  readonly write: (change: { readonly type: 'insert' | 'update' | 'delete'; readonly key: string;
      readonly value: T }) => void
}
export interface InformerCollectionConfig<T extends object> {
  readonly getKey: (object: T) => string; readonly id: string
  readonly sync: { readonly rowUpdateMode: 'full'; readonly sync: (collection: CollectionSync<T>) => () => void }
  readonly utils: { readonly waitFor: (version: Version, wait?: VersionWait) => Promise<void> }
}
export interface InformerCollectionOptions<T extends object, I extends object = {}> {} // docs/reference/options.md
export declare function informerCollectionOptions<T extends object,
    I extends object = {}>(options: InformerCollectionOptions<T, I>): InformerCollectionConfig<T>
