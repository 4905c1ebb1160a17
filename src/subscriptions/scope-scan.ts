import type { Clock } from '../contract/clock.js'
import type { Entry } from '../contract/source.js'
import type { Ordinal } from '../store/ordinals.js'
import type { Pin, StoreReads } from '../store/pin.js'
import type { RunToCompletion } from '../util/run-to-completion.js'
import { performSlice, type Slices, type Steps } from '../util/steps.js'

/** The search for the objects in a scope, in the state of the store in which it began. */
export class ScopeScan<T> {
  /** The objects in scope that were found; none without `wantsObjects`. */
  readonly found: Entry<T>[] = []
  #objects: StoreReads<T>
  readonly #candidates: readonly Ordinal[] | undefined
  readonly #isInScope: (entry: Entry<T>) => boolean
  readonly #keys: Set<string>
  readonly #wantsObjects: boolean
  #pin: Pin<T> | undefined
  /** By ordinal, from the least one: 1 for a candidate. Undefined unless the store may change meanwhile. */
  #undecided: Uint8Array | undefined
  undecided: number
  hasEnded = false

  /** `isInScope` is called for each candidate. The keys that are in scope are added to `keys`. */
  constructor(
    objects: StoreReads<T>,
    candidates: readonly Ordinal[] | undefined,
    isInScope: (entry: Entry<T>) => boolean,
    { keys, wantsObjects }: { readonly keys: Set<string>; readonly wantsObjects: boolean },
  ) {
    this.#objects = objects
    this.#candidates = candidates
    this.#isInScope = isInScope
    this.#keys = keys
    this.#wantsObjects = wantsObjects
    this.undecided = candidates?.length ?? objects.size
  }

  /** From now on the store may change between the steps. */
  pin(): void {
    this.#pin = this.#objects.pin()
    this.#objects = this.#pin
    const { ordinalStart, ordinalLimit } = this.#pin
    this.#undecided = new Uint8Array(ordinalLimit - ordinalStart)
    if (this.#candidates === undefined) this.#undecided.fill(1)
    else for (const ordinal of this.#candidates) this.#undecided[ordinal - ordinalStart] = 1
  }

  *steps(): Steps {
    const candidates = this.#candidates
    const { ordinalStart, ordinalLimit } = this.#objects
    const end = candidates?.length ?? ordinalLimit
    for (let at = candidates === undefined ? ordinalStart : 0; at < end && !this.hasEnded; at++) {
      this.#decide(candidates?.[at] ?? at)
      yield
    }
    this.close()
  }

  /** Decides each candidate in slices, each after a turn of the event loop. */
  async inSlices(clock: Clock, slices: Slices, reentrancy: RunToCompletion): Promise<void> {
    const steps = this.steps()
    const perform = (): boolean => performSlice(steps, clock, slices)
    do await clock.sleep(0)
    while (!reentrancy.run(perform))
  }

  /** Decides about a key before its first change, so that it is known whether that change concerns the scope. */
  decide(key: string): void {
    const ordinal = this.hasEnded ? undefined : this.#objects.ordinalOf(key)
    if (ordinal !== undefined) this.#decide(ordinal)
  }

  close(): void {
    this.hasEnded = true
    this.undecided = 0
    this.#undecided = undefined
    this.#pin?.close()
  }

  #decide(ordinal: Ordinal): void {
    if (this.#undecided !== undefined) {
      const at = ordinal - this.#objects.ordinalStart
      if (this.#undecided[at] !== 1) return
      this.#undecided[at] = 0
    }
    const entry = this.#objects.entryAt(ordinal)
    if (entry === undefined) return
    this.undecided--
    // `isInScope` may end the search.
    if (!this.#isInScope(entry) || this.hasEnded) return
    if (this.#wantsObjects) this.found.push(entry)
    this.#keys.add(entry.key)
  }
}
