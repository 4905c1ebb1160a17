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
  /** Whether the store shows a large commit, whose changes are not queued in all subscriptions yet. */
  readonly isRouting: boolean
  /** Does the work before a pin that would take long in one step, in slices. */
  prepare(): Promise<void>
  /** Returns the objects of now, without the keys that have none. They do not change. No write may be in progress. */
  pin(): PinnedMirror
}

/** What an informer does in slices now. */
export interface LargeWrite {
  /** Whether a large write is in progress. */
  readonly isWriting: boolean
  /** Whether changes of a visible commit are not queued in a subscription yet. */
  readonly isRouting: boolean
  /** Whether objects of a replay are not queued in a subscription yet. */
  readonly isScanning: boolean
  /** The names of removed sources whose objects are still in the store. */
  readonly removing: readonly string[]
}

interface PackableInformer {
  readonly largeWrite: LargeWrite
}

const mirrors = new WeakMap<object, PackableMirror>()

/** Remembers the store of an informer. */
export function rememberStore<T, I>(informer: PackableInformer, { whole }: Indexer<T, I>): void {
  mirrors.set(informer, {
    get isWriting() {
      const { isWriting, isRouting } = informer.largeWrite
      return isWriting || isRouting
    },
    get isRouting() {
      return informer.largeWrite.isRouting
    },
    prepare: () => whole.prepareIndexes(),
    pin: () => whole.pinObjects(),
  })
}

/** The objects of an informer; undefined if it is not one of `createInformer`. */
export function packableMirrorOf(informer: object): PackableMirror | undefined {
  return mirrors.get(informer)
}
