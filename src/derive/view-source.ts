import { SourceError, toSourceError } from '../contract/errors.js'
import type { ListContext, ListerWatcher, ListPage, Sink, WatchBatch, WatchContext } from '../contract/source.js'
import type { Version } from '../contract/version.js'
import type { ViewInput } from '../informer/internals.js'
import type { SourceRunner } from '../informer/sources/source-runner.js'
import { haveSeveralRoots, rootsOf, type ViewInputs, type ViewWork } from '../informer/sources/view-inputs.js'
import { type Settle, settleWithin, withDeadline } from '../util/deadline.js'
import type { View } from './view.js'

/** The version of all lists and bookmarks. The view takes its versions from its inputs. */
const VERSION = '1'
/** A watch yields a bookmark this often, in milliseconds: the inputs show whether their sources are silent. */
const HEARTBEAT_MS = 3_600_000
/** A list that waits for the inputs is alive this often, in milliseconds. */
const ALIVE_MS = 10_000

/** The delay after a part of an audit is at least this multiple of its time. */
const REST_FACTOR = 100

interface InputInformer {
  readonly informer: object
  readonly input: ViewInput
}

/**
 * The source of the reflector of a view. A list waits for the inputs, and has no objects: the sink evaluates the view. A
 * watch has no changes: they follow from commits of the inputs. It fails when the view does.
 */
export class ViewSource<R> implements ListerWatcher<unknown>, ViewInputs {
  readonly name: string
  readonly heartbeatMs: number = HEARTBEAT_MS
  readonly isOfSet: boolean
  readonly sink: Sink<unknown>
  readonly #inputs: readonly InputInformer[]
  readonly #view: View<R>
  readonly #auditMs: number
  /** Rejects during the rest before an audit when the view fails. One for all rests would hold each of them. */
  #failure: PromiseWithResolvers<never> | undefined
  #unlisten: () => void = () => {}
  /** What `rootVersions` returned when the view failed. */
  #lastVersions: ReadonlyMap<string, Version> = new Map()

  /** `auditMs`: all results are evaluated again about once in this time, in milliseconds; with Infinity none are. */
  constructor(
    name: string,
    { inputs, view, auditMs }: { inputs: readonly InputInformer[]; view: View<R>; auditMs: number },
    version: () => Version | undefined,
  ) {
    this.name = name
    this.#inputs = inputs
    this.#view = view
    this.#auditMs = auditMs
    this.isOfSet = haveSeveralRoots(inputs)
    const evaluate = (): Promise<void> => view.evaluate()
    this.sink = {
      get version() {
        return version()
      },
      apply() {},
      replace() {
        view.begin()
        return { page() {}, commit: evaluate, abandon: () => view.abandon() }
      },
    }
  }

  async *list({ signal, clock, alive }: ListContext): AsyncIterable<ListPage<unknown>> {
    const contexts = this.#inputs.map(({ input }) => input.context)
    const areSynced = (): boolean => contexts.every(({ synced }) => synced.isOpen)
    const synced = withDeadline<void>('the inputs', { signal }, clock, (settle) => {
      const resolve = (): void => {
        if (areSynced()) settle.resolve()
      }
      const leave = contexts.map((context) => context.synced.enter({ resolve, reject: () => {} }))
      return () => {
        for (const each of leave) each()
      }
    })
    while (!areSynced()) {
      await settleWithin(ALIVE_MS, synced, clock)
      signal.throwIfAborted()
      alive?.()
    }
    await synced
    yield { events: [], version: VERSION }
  }

  async *watch({ signal, clock, random }: WatchContext): AsyncIterable<WatchBatch<unknown>> {
    for (let auditMs = this.#auditMs; ; ) {
      if (!this.#view.isCurrent) {
        const message = `${this.name} has to be evaluated again`
        throw new SourceError(message, { code: 'VERSION_EXPIRED', phase: 'derive' })
      }
      yield { events: [], version: VERSION }
      if (!this.#view.isCurrent) continue
      this.#failure = Promise.withResolvers()
      const restMs = Math.min(HEARTBEAT_MS, auditMs * (0.5 + random.next() / 2))
      await Promise.race([clock.sleep(restMs, signal), this.#failure.promise])
      if (auditMs === Infinity || !this.#view.isCurrent) continue
      const since = clock.now()
      const share = await this.#view.audit()
      auditMs = Math.max(this.#auditMs * share, REST_FACTOR * (clock.now() - since))
    }
  }

  fail(error: unknown): void {
    this.#lastVersions = versionsOf(this.roots)
    this.#failure?.reject(toSourceError(error, { phase: 'derive', source: this.name }))
  }

  get roots(): ReadonlyMap<string, SourceRunner<unknown, unknown>> {
    return rootsOf(this.#inputs)
  }

  get rootVersions(): ReadonlyMap<string, Version> {
    return this.isCurrent ? versionsOf(this.roots) : this.#lastVersions
  }

  get isCurrent(): boolean {
    return this.#view.isCurrent
  }

  get isListing(): boolean {
    return this.#view.isListing
  }

  get informers(): readonly object[] {
    return this.#inputs.map(({ informer }) => informer)
  }

  get names(): readonly string[] {
    return this.#inputs.map(({ input }) => input.name)
  }

  get work(): ViewWork {
    return this.#view.work
  }

  get unstarted(): readonly string[] {
    return [...new Set(this.#inputs.flatMap(({ input }) => input.sources.unstarted))]
  }

  get flaw(): string | undefined {
    for (const { input } of this.#inputs) {
      const { isReady, reason } = input.observation.health({})
      if (!isReady) return `the informer "${input.name}" is not ready: ${reason}`
    }
    return this.isCurrent ? undefined : 'the view does not show what its inputs show'
  }

  followInputs(settle: Settle<void>): () => void {
    const { reject } = settle
    const leave = this.#inputs
      .filter(({ input }) => !input.context.synced.isOpen)
      .map(({ input }) => input.sources.enterSynced({ resolve: () => {}, reject }))
    return () => {
      for (const each of leave) each()
    }
  }

  onStatus(listener: () => void): void {
    const all = this.#inputs.map(({ input }) => input.context.events)
    for (const each of all) each.on('status', listener)
    this.#unlisten = () => {
      for (const each of all) each.off('status', listener)
    }
  }

  end(): void {
    this.#unlisten()
    this.#lastVersions = this.rootVersions
    this.#view.end()
  }
}

function versionsOf(roots: ReadonlyMap<string, SourceRunner<unknown, unknown>>): ReadonlyMap<string, Version> {
  const versions = new Map<string, Version>()
  for (const [name, { version }] of roots) if (version !== undefined) versions.set(name, version)
  return versions
}
