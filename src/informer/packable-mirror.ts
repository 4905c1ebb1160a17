import type { PackedPart, SavedRecord } from '../contract/mirror-cache.js'
import type { Indexer } from '../store/indexer.js'

/** The objects of an informer at one version. */
export interface PinnedMirror {
  /** The number of objects. */
  readonly size: number
  /** Returns the objects and the index values in a packed form, in steps. */
  pack(encode: (record: SavedRecord) => string, seed: number, blockBytes: number): Iterable<PackedPart | undefined>
  close(): void
}

/** The objects of an informer, which can be packed. */
export interface PackableMirror {
  /** Whether a large write is in progress, or its changes are not queued in all subscriptions yet. */
  readonly isWriting: boolean
  /** Does the work before a pin that would take long in one step, in slices. */
  prepare(): Promise<void>
  /** Returns the objects of now, without the keys that have none. They do not change. No write may be in progress. */
  pin(): PinnedMirror
}

interface PackableInformer {
  readonly largeWrite: { readonly isWriting: boolean; readonly isRouting: boolean }
}

const mirrors = new WeakMap<object, PackableMirror>()

/** Remembers the store of an informer. */
export function rememberStore<T, I>(informer: PackableInformer, { whole }: Indexer<T, I>): void {
  mirrors.set(informer, {
    get isWriting() {
      const { isWriting, isRouting } = informer.largeWrite
      return isWriting || isRouting
    },
    prepare: () => whole.prepareIndexes(),
    pin: () => whole.pinObjects(),
  })
}

/** The objects of an informer; undefined if it is not one of `createInformer`. */
export function packableMirrorOf(informer: object): PackableMirror | undefined {
  return mirrors.get(informer)
}
