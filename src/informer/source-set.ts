import type { ListerWatcher } from '../contract/source.js'
import { assertSource } from '../reflector/reflector.js'
import { RunToCompletion } from '../util/run-to-completion.js'

/**
 * Several sources, one store: namespaces, shards, clusters. Each has its own watch, version and part of the store; their
 * keys are expected to be disjoint, and a key that two of them give stays with the first, and is reported. Sources may come and go
 * while an informer runs: what a source gave goes with it.
 */
export interface SourceSet<S> {
  readonly sources: ReadonlyMap<string, ListerWatcher<S>>
  /** A TypeError where there is one of that name. */
  add(name: string, source: ListerWatcher<S>): void
  /** Its objects are deleted from the store. A TypeError where there is none of that name. */
  remove(name: string): void
}

/** Who wants to know what comes and goes. */
export interface SourceSetListener<S> {
  added(name: string, source: ListerWatcher<S>): void
  removed(name: string): void
}

export function sourceSet<S>(sources: Readonly<Record<string, ListerWatcher<S>>>): SourceSet<S> {
  if (typeof sources !== 'object' || sources === null) throw new TypeError('sourceSet: the sources must be an object')
  const set = new DynamicSourceSet<S>()
  for (const [name, source] of Object.entries(sources)) set.add(name, source)
  return set
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

  /** @internal Tells of what comes and goes from now on, until the result is called. */
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
