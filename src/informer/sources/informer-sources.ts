import { SourceError, thrownFor, toSourceError } from '../../contract/errors.js'
import type { ListerWatcher } from '../../contract/source.js'
import type { Version } from '../../contract/version.js'
import type { Settle } from '../../util/deadline.js'
import type { InformerContext } from '../informer-context.js'
import { AUDIT_PERIOD_MS } from './audit.js'
import { isAudited, notAuditable, type SourceOptions } from './source-options.js'
import { type SourceHooks, SourceRunner } from './source-runner.js'
import { DynamicSourceSet } from './source-set.js'
import type { ViewInputs } from './view-inputs.js'

/** The deletion of the objects of a removed source is retried after this time, in milliseconds. */
const DROP_RETRY_MS = 1_000

export class InformerSources<S, T> {
  readonly #set: DynamicSourceSet<S> | undefined
  /** By the names of the set; a single source by its own name. */
  readonly runners: Map<string, SourceRunner<S, T>> = new Map()
  readonly only: SourceRunner<S, T> | undefined
  /** The ended runners of removed sources whose objects are still in the store. A new source of that name waits. */
  readonly #removing = new Map<string, SourceRunner<S, T>>()
  readonly #options: SourceOptions
  readonly #context: InformerContext<T>
  readonly #hooks: SourceHooks<S, T>
  readonly view: ViewInputs | undefined
  /** The only root, whose versions are those of the informer; undefined if there may be several. */
  readonly #root: SourceRunner<unknown, unknown> | undefined
  isStarted = false
  #unfollow: () => void = () => {}

  constructor(
    source: ListerWatcher<S> | DynamicSourceSet<S>,
    options: SourceOptions,
    context: InformerContext<T>,
    hooks: SourceHooks<S, T>,
    view?: ViewInputs,
  ) {
    this.#options = options
    this.view = view
    this.#context = context
    this.#hooks = hooks
    context.sources = this
    if (source instanceof DynamicSourceSet) {
      this.#set = source
      for (const [name, each] of source.sources) this.runners.set(name, this.#runnerFor(name, each))
      this.#unfollow = source.follow({
        added: (name, each) => this.#whenFree(() => this.#add(name, each)),
        removed: (name) => this.#whenFree(() => this.#remove(name)),
      })
    } else {
      this.only = this.#runnerFor(source.name, source)
      this.runners.set(source.name, this.only)
    }
    const [root] = this.roots.values()
    this.#root = this.isOfSet ? undefined : root
  }

  get isSet(): boolean {
    return this.#set !== undefined
  }

  /** Whether several sources, or those of several inputs, are mirrored: then versions need the name of one. */
  get isOfSet(): boolean {
    return this.view?.isOfSet ?? this.isSet
  }

  /** The sources whose versions waits are for: of a view, those of its inputs. */
  get roots(): ReadonlyMap<string, SourceRunner<unknown, unknown>> {
    return this.view?.roots ?? (this.runners as ReadonlyMap<string, SourceRunner<unknown, unknown>>)
  }

  /** The names of the informer and of the inputs of a view that were not started; of the informer alone if it is one. */
  get unstarted(): readonly string[] {
    return this.isStarted ? (this.view?.unstarted ?? []) : [this.title]
  }

  get removing(): readonly string[] {
    return [...this.#removing.keys()]
  }

  get name(): string {
    const names = Array.from(this.runners.values(), ({ source }) => source.name)
    return this.isSet ? `the sources ${names.join(', ')}` : (names[0] ?? '')
  }

  get title(): string {
    return this.#context.titleOf(this.name)
  }

  get versions(): ReadonlyMap<string, Version> {
    if (this.view !== undefined) return this.view.rootVersions
    const versions = new Map<string, Version>()
    for (const { name, version } of this.runners.values()) if (version !== undefined) versions.set(name, version)
    return versions
  }

  /** Whether the first list of each source is in the store, and the objects of none were deleted since. */
  get areListed(): boolean {
    return Array.from(this.runners.values()).every(({ history }) => history.isListed && !history.isCleared)
  }

  /** Whether readers see objects of each source, which may be saved content that its source has not confirmed. */
  get areFilled(): boolean {
    return this.areListed || this.only?.isStale === true
  }

  /** Without `name` it is the only root. Throws a TypeError that names `call`. */
  find(call: string, name: string | undefined): SourceRunner<unknown, unknown> {
    if (name === undefined && this.#root !== undefined) return this.#root
    const { roots } = this
    const names = [...roots.keys()].join(', ')
    if (name === undefined)
      throw new TypeError(`${call}: over several sources the option "source" must say which of ${names}`)
    const runner = roots.get(name)
    if (runner === undefined) throw new TypeError(`${call}: there is no source "${name}"; there are ${names}`)
    return runner
  }

  hasReached(call: string, name?: string): (at: Version, mark: Version) => boolean {
    const { source } = this.find(call, name)
    if (source.hasReached === undefined) {
      throw new TypeError(`${call}: the source "${source.name}" cannot compare versions (it has no hasReached)`)
    }
    return (at, mark) => source.hasReached?.(at, mark) === true
  }

  stoppedError(call: string): SourceError {
    return new SourceError(`${call}: the informer of ${this.title} was stopped`, { code: 'STOPPED', source: this.name })
  }

  /** Settles a wait for the first list of each source, or of each input of a view. Returns a function that ends it. */
  enterSynced(settle: Settle<void>): () => void {
    const { synced, stopped } = this.#context
    if (stopped.aborted) settle.reject(this.stoppedError('synced'))
    const leave = synced.enter(settle)
    for (const { reflector } of this.runners.values())
      if (reflector.state.name === 'failed') settle.reject(thrownFor(reflector.lastError))
    const leaveInputs = synced.isOpen ? undefined : this.view?.followInputs(settle)
    return () => {
      leave()
      leaveInputs?.()
    }
  }

  start(): void {
    this.isStarted = true
    for (const [name, runner] of [...this.runners]) if (!this.#removing.has(name)) runner.start()
  }

  end(reason: unknown): Promise<unknown> {
    this.#unfollow()
    this.view?.end()
    const all = [...this.runners.values(), ...this.#removing.values()]
    return Promise.all(all.map((runner) => runner.end(reason)))
  }

  async saved(): Promise<void> {
    await this.only?.warmStart?.end()
  }

  #runnerFor(name: string, source: ListerWatcher<S>): SourceRunner<S, T> {
    const { indexer } = this.#context
    const part = this.isSet ? indexer.partition(name) : indexer.whole
    const { audit, cache, fingerprint } = this.#options
    const { periodMs = AUDIT_PERIOD_MS } = audit === false ? {} : (audit ?? {})
    const auditMs = isAudited(source, audit) && periodMs
    const own = { name, part, auditMs, cache, fingerprint, view: this.view, isOfSet: this.isSet }
    return new SourceRunner<S, T>(source, own, this.#context, this.#hooks)
  }

  /** A callback that the store calls may change the set. The change takes effect after that step of the store. */
  #whenFree(act: () => unknown): void {
    this.#context.indexer.writer.reentrancy.defer(() => {
      if (!this.#context.stopped.aborted) act()
    })
  }

  #add(name: string, source: ListerWatcher<S>): void {
    const runner = this.#runnerFor(name, source)
    this.runners.set(name, runner)
    if (this.#options.audit && source.hasReached === undefined)
      this.#context.events.report(new SourceError(notAuditable(source), { code: 'PROTOCOL', source: source.name }))
    if (this.isStarted && !this.#removing.has(name)) runner.start()
  }

  #remove(name: string): void {
    const runner = this.runners.get(name)
    if (runner === undefined) return
    // A runner that waits for the removal of another one has no objects.
    const hasObjects = !this.#removing.has(name)
    if (hasObjects) this.#removing.set(name, runner)
    void runner.end(new SourceError(`the source "${name}" was removed`, { code: 'STOPPED', source: name }))
    if (this.runners.get(name) === runner) this.runners.delete(name)
    this.#hooks.sourceRemoved()
    if (hasObjects) this.#drop(name, runner)
  }

  /** Deletes the objects of a removed source, after the writes in progress. Then a new source of that name starts. */
  #drop(name: string, removed: SourceRunner<S, T>): void {
    const dropped = (): void => {
      this.#removing.delete(name)
      this.#hooks.sourceRemoved()
      if (this.isStarted) this.runners.get(name)?.start()
    }
    const failed = (thrown: unknown): void => {
      const { clock, stopped, events } = this.#context
      if (stopped.aborted) return
      // The store was not changed.
      events.report(toSourceError(thrown, { phase: 'apply', source: removed.source.name }))
      const again = (): void => this.#whenFree(() => this.#drop(name, removed))
      clock.sleep(DROP_RETRY_MS, stopped).then(again, () => {}) // Stopped.
    }
    try {
      const dropping = removed.part.drop()
      if (dropping === undefined) dropped()
      else dropping.then(() => this.#whenFree(dropped), failed)
    } catch (thrown) {
      failed(thrown)
    }
  }
}
