import type { Entry } from '../contract/source.js'
import type { DeclaredIndex } from '../store/indexes/index-builder.js'
import type { StoreIndex } from '../store/indexes/store-index.js'
import type { Partition } from '../store/write/partition.js'
import type { InformerContext } from './informer-context.js'
import type { Observation } from './observation/observation.js'
import type { InformerSources } from './sources/informer-sources.js'
import type { SourceRunner } from './sources/source-runner.js'

export { commonVersion } from './sources/view-inputs.js'

export type RelayedMirror = Pick<
  SourceRunner<unknown, unknown>,
  'source' | 'fingerprint' | 'resumeState' | 'restored' | 'hasFiltered' | 'onAccessLost'
>

/** The parts of an informer that other entry points of this package use beside its public methods. */
export interface Internals {
  readonly signal: CommitSignal
  /** The mirror of its source; undefined if it has several sources. */
  readonly mirror: RelayedMirror | undefined
  readonly objects: PackableMirror
  /** Returns a snapshot, also after `stop`. */
  snapshot(): WalkedSnapshot
  readonly input: ViewInput
  /** The informer itself, also of an index. */
  readonly informer: object
}

export interface ViewInput {
  readonly name: string
  readonly context: InformerContext<unknown>
  readonly sources: InformerSources<unknown, unknown>
  readonly observation: Observation<unknown, unknown>
}

const internals = new WeakMap<object, Internals>()

/** The owner is an informer, or one of its indexes. Indexes that are not objects have none. */
export function rememberInternals(owner: unknown, its: Internals): void {
  if (typeof owner === 'function' || (typeof owner === 'object' && owner !== null)) internals.set(owner, its)
}

/** Returns undefined for an informer that `createInformer` has not created. */
export function internalsOf(owner: object): Internals | undefined {
  return internals.get(owner)
}

/** A snapshot whose objects are read one by one, so that a reader of a million can pause. */
export interface WalkedSnapshot extends Disposable {
  readonly size: number
  readonly by: unknown
  readonly declared: readonly (Pick<DeclaredIndex<unknown>, 'name' | 'flawIn'> & {
    readonly index: Pick<StoreIndex<unknown>, 'valueCount' | 'prepare'>
  })[]
  walk(): Generator<Entry<unknown>, void>
}

export type PinnedMirror = Pick<ReturnType<Partition<unknown>['pinObjects']>, 'size' | 'pack' | 'close'>

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

/** Notifies bindings of user interfaces in the turn in which readers see the commit, before any other code reads. */
export class CommitSignal {
  readonly #listeners = new Set<() => void>()
  /** The number of commits that changed what readers see. */
  commits = 0

  get listenerCount(): number {
    return this.#listeners.size
  }

  /** Adds a listener, which must not throw. Returns a function that removes it. */
  readonly listen = (listener: () => void): (() => void) => {
    // A listener that is added twice is called until both are removed.
    const call = (): void => listener()
    this.#listeners.add(call)
    return () => void this.#listeners.delete(call)
  }

  notify(): void {
    this.commits++
    for (const listener of [...this.#listeners]) listener()
  }
}
