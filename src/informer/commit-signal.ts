/**
 * Notifies of the commits of an informer, for bindings of user interfaces. A listener is called in the same turn in
 * which readers see the commit, before any other code can read the store.
 */
export class CommitSignal {
  readonly #listeners = new Set<() => void>()
  #commits = 0

  /** The number of commits that changed what readers see. */
  get commits(): number {
    return this.#commits
  }

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

  /** Called after each commit that readers see. */
  notify(): void {
    this.#commits++
    for (const listener of [...this.#listeners]) listener()
  }
}

/** By informer, and by index of an informer. */
const signals = new WeakMap<object, CommitSignal>()

/** Connects an informer, or one of its indexes, with its signal. Other values have no signal. */
export function connectSignal(owner: unknown, signal: CommitSignal): void {
  if (typeof owner === 'function' || (typeof owner === 'object' && owner !== null)) signals.set(owner, signal)
}

/** Returns the signal of an informer, or of the informer that has an index. */
export function commitSignalOf(owner: object): CommitSignal | undefined {
  return signals.get(owner)
}
