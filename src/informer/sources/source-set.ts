import type { ListerWatcher } from '../../contract/source.js'
import { assertSource } from '../../reflector/source-checks.js'
import { RunToCompletion } from '../../util/run-to-completion.js'

/**
 * Several sources in one store: namespaces, shards, clusters. Each has its own watch and version. Keys should be
 * disjoint: if two sources provide the same key, the first one owns it, and the conflict is reported. Sources can be
 * added and removed while informers run.
 *
 * @example
 * ```ts
 * import type { ListerWatcher, SourceSet } from 'listwatch'
 *
 * // Makes the sources of a running informer those of a new configuration.
 * function configure<S>(set: SourceSet<S>, wanted: ReadonlyMap<string, ListerWatcher<S>>): void {
 *   for (const name of [...set.sources.keys()]) if (!wanted.has(name)) set.remove(name)
 *   for (const [name, source] of wanted) if (!set.sources.has(name)) set.add(name, source)
 * }
 * ```
 */
export interface SourceSet<S> {
  /** The current sources, by name. */
  readonly sources: ReadonlyMap<string, ListerWatcher<S>>
  /**
   * Adds a source. Running informers of the set start to mirror it.
   *
   * @throws TypeError if the set has a source of that name, if the name is empty, or if the source is invalid.
   */
  add(name: string, source: ListerWatcher<S>): void
  /**
   * Removes a source. Its objects are deleted from the store, and waits for its versions reject with `STOPPED`.
   *
   * @throws TypeError if the set has no source of that name.
   */
  remove(name: string): void
}

export interface SourceSetListener<S> {
  added(name: string, source: ListerWatcher<S>): void
  removed(name: string): void
}

/**
 * Creates a set of sources for `createInformer`.
 *
 * @returns The set, for the option `source` of `createInformer`.
 * @throws TypeError if a name is empty, or if a source lacks `name`, `list` or `watch`.
 *
 * @example
 * ```ts
 * const regions = sourceSet({ eu: sourceOf('eu'), us: sourceOf('us') })
 * const informer = createInformer({ source: regions }).start()
 * regions.add('ap', sourceOf('ap'))
 * regions.remove('us') // Deletes its objects from the store.
 * ```
 */
export function sourceSet<S>(sources: Readonly<Record<string, ListerWatcher<S>>>): SourceSet<S> {
  if (typeof sources !== 'object' || sources === null) throw new TypeError('sourceSet: the sources must be an object')
  const set = new DynamicSourceSet<S>()
  for (const [name, source] of Object.entries(sources)) set.add(name, source)
  return set
}

/** @internal */
export function isDynamic<S>(source: SourceSet<S> | ListerWatcher<S>): source is DynamicSourceSet<S> {
  return source instanceof DynamicSourceSet
}

export class DynamicSourceSet<S> implements SourceSet<S> {
  readonly #sources = new Map<string, ListerWatcher<S>>()
  readonly #listeners = new Set<SourceSetListener<S>>()
  readonly #notifications = new RunToCompletion()

  get sources(): ReadonlyMap<string, ListerWatcher<S>> {
    return this.#sources
  }

  add(name: string, source: ListerWatcher<S>): void {
    if (typeof name !== 'string' || name === '')
      throw new TypeError('sourceSet: the name must be a string that is not empty')
    if (this.#sources.has(name)) throw new TypeError(`sourceSet: there is a source "${name}" already`)
    assertSource(source, `sourceSet "${name}"`)
    this.#sources.set(name, source)
    this.#notify((listener) => listener.added(name, source))
  }

  remove(name: string): void {
    if (!this.#sources.delete(name)) throw new TypeError(`sourceSet: there is no source "${name}"`)
    this.#notify((listener) => listener.removed(name))
  }

  /** @internal Notifies the listener of later changes. Returns a function that removes it. */
  follow(listener: SourceSetListener<S>): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  #notify(notify: (listener: SourceSetListener<S>) => void): void {
    const notifications = Array.from(this.#listeners, (listener) => () => {
      if (this.#listeners.has(listener)) notify(listener)
    })
    this.#notifications.defer(...notifications)
  }
}
