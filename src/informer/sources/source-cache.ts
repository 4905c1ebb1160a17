import type { Clock } from '../../contract/clock.js'
import { ABORTED, messageOf, SourceError, toSourceError } from '../../contract/errors.js'
import type { MirrorCache, MirrorCacheContext, PackedContent, SavedMirror } from '../../contract/mirror-cache.js'
import type { ListerWatcher } from '../../contract/source.js'
import type { Version } from '../../contract/version.js'
import type { Reflector } from '../../reflector/reflector.js'
import type { RestoreTransaction, ServedContent, WarmStart } from '../../reflector/reflector-hooks.js'
import { PackedSnapshot } from '../../store/packed/packed-snapshot.js'
import type { CommitOrigin } from '../../store/write/commit.js'
import type { Partition } from '../../store/write/partition.js'
import { VersionWaiters } from '../../subscriptions/version-waiters.js'
import { settleWithin } from '../../util/deadline.js'
import type { InformerContext } from '../informer-context.js'
import type { InformerEvents } from '../informer-events.js'
import { type HeadContext, requestHead } from './head-request.js'
import type { ReadOnlyCache } from './source-options.js'
import type { SourceProof } from './source-proof.js'

/** `stop` waits at most this time for the last save, in milliseconds. */
const LAST_SAVE_MS = 10_000

export interface CachedMirror<T> {
  readonly source: ListerWatcher<unknown>
  readonly title: string
  readonly part: Partition<T>
  readonly fingerprint: string
  /** The version of the store, if the source has confirmed it and its history has not ended. */
  readonly reached: Version | undefined
  readonly isLive: boolean
  readonly proofs: Pick<SourceProof, 'current'>
  readonly reflector: Pick<Reflector<unknown>, 'isRepairDue' | 'resumeState' | 'relist'>
}

export class SourceCache<T> implements WarmStart {
  readonly servesStale: boolean
  /** Whether the content lacks changes that were made before the start, as far as is known. */
  isBehind = false
  /** Whether the content was stale when the listeners of the status were called last. */
  wasStale = false
  readonly #waiters: VersionWaiters
  readonly #cache: MirrorCache | ReadOnlyCache
  readonly #mirror: CachedMirror<T>
  readonly #clock: Clock
  readonly #events: InformerEvents
  #saves = new AbortController()
  #restoring: SavedMirror | undefined
  restored: SavedMirror | undefined
  /** The version and the time of the last save; no version if none has begun. */
  #saved: { readonly version: Version | undefined; readonly at: number } | undefined
  /** The number of changes since then; infinite if the last save failed. */
  #changes = 0
  /** `history`: that of the last save has ended. A later process could resume it if versions do not name theirs. */
  #unsaved: 'content' | 'history' | undefined
  #saving: Promise<void> | undefined
  /** Whether the saved content is being removed, which the end of a history does not end. */
  #isDiscarding = false
  #timer: { readonly at: number; readonly cancel: AbortController } | undefined
  /** The code of the last failure, until a save succeeds. */
  #failure: string | undefined
  #hasEnded = false

  constructor(
    cache: MirrorCache | ReadOnlyCache,
    mirror: CachedMirror<T>,
    { clock, events }: Pick<InformerContext<T>, 'clock' | 'events'>,
  ) {
    this.servesStale = cache.serveStale
    this.#waiters = new VersionWaiters((at, mark) => mirror.source.hasReached?.(at, mark) === true)
    this.#cache = cache
    this.#mirror = mirror
    this.#clock = clock
    this.#events = events
  }

  async open(signal: AbortSignal, alive: () => void): Promise<SavedMirror | undefined> {
    return await this.#cache.open({ ...this.#context(signal), alive })
  }

  serve(saved: SavedMirror, content: PackedContent): ServedContent {
    const damaged = (error: unknown): void => {
      this.warn(`a saved object cannot be used: ${messageOf(error)}; the source is listed`)
      this.#mirror.reflector.relist('a saved object cannot be used')
    }
    const snapshot = new PackedSnapshot(content)
    if (snapshot.count !== saved.size) throw new Error(`it has ${snapshot.count} records instead of ${saved.size}`)
    this.#restoring = saved
    let served: ServedContent | undefined
    try {
      served = this.#mirror.part.serve(snapshot, saved.version, damaged, { keep: saved.keepsPacked === true })
    } finally {
      if (served === undefined) this.#restoring = undefined
    }
    // Otherwise the commit of the first list would count as that of the saved content.
    served.shown.catch(() => {
      this.#restoring = undefined
    })
    return served
  }

  restore(saved: SavedMirror): RestoreTransaction {
    const { page, commit, abandon } = this.#mirror.part.restore(saved.version)
    this.#restoring = saved
    return {
      page,
      commit,
      abandon: () => {
        this.#restoring = undefined
        abandon()
      },
    }
  }

  warn(message: string): void {
    this.#events.warning(`${this.#mirror.title}: ${this.#cache.name}: ${message}`)
  }

  /** Returns the saved content if this was the commit of it. */
  committed(changes: number, origin: CommitOrigin): SavedMirror | undefined {
    const restored = this.#restoring
    if (restored !== undefined) {
      this.#restoring = undefined
      this.restored = restored
      // A save is due as if this process had made the last one.
      this.#saved = { version: restored.version, at: Math.min(restored.savedAt, this.#clock.now()) }
      return restored
    }
    // The first list has no changes.
    this.#changes += origin === 'initial' ? this.#mirror.part.size : changes
    // The list may have repaired an object, which a later process would not list again.
    if (origin === 'relist' && changes > 0) this.#changes = Infinity
    // A list may also have changed the resume state, and keys that are not stored.
    if (changes > 0 || origin !== 'watch') this.#unsaved ??= 'content'
    this.schedule()
    return undefined
  }

  /** Whether content stays stale until the changes made before the start are in. A source's own snapshot is new. */
  get mustCatchUp(): boolean {
    const { source } = this.#mirror
    const canReport = source.head !== undefined && source.hasReached !== undefined
    return !this.servesStale && this.#savedTo !== undefined && canReport
  }

  /** Never settles after the signal aborts. Rejects if the head cannot be read, or is of another history. */
  async catchUp(context: HeadContext, onFailure: (error: SourceError) => void, onHead: () => void): Promise<void> {
    const head = await requestHead(this.#mirror.source, context, onFailure)
    await new Promise<void>((resolve, reject) => {
      if (head === undefined) return
      this.#waiters.enter(head, context.shown(), { resolve, reject })
      onHead()
    })
    this.isBehind = false
  }

  reached(version: Version | undefined): void {
    this.#waiters.check(version)
  }

  get #savedTo(): MirrorCache | undefined {
    return 'save' in this.#cache ? this.#cache : undefined
  }

  schedule(): void {
    const cache = this.#savedTo
    if (cache === undefined || this.#saving !== undefined || this.#hasEnded || !this.#mirror.isLive) return
    const at = this.#nextSaveAt(cache)
    if (at === undefined || (this.#timer !== undefined && this.#timer.at <= at)) return
    this.#timer?.cancel.abort(ABORTED)
    const cancel = new AbortController()
    this.#timer = { at, cancel }
    const due = (): void => {
      this.#timer = undefined
      if (this.#saving === undefined && !this.#hasEnded) void this.#begin(this.#save())
    }
    this.#clock.sleep(Math.max(0, at - this.#clock.now()), cancel.signal).then(due, () => {})
  }

  #nextSaveAt({ saveEveryMs, saveAfterShare, maxAgeMs }: MirrorCache): number | undefined {
    if (!this.#hasMoved) return undefined
    if (this.#saved === undefined || this.#unsaved === 'history') return -Infinity
    const isEnough = this.#changes > 0 && this.#changes >= saveAfterShare * this.#mirror.part.size
    return this.#saved.at + (isEnough ? saveEveryMs : Math.max(saveEveryMs, maxAgeMs))
  }

  get #hasMoved(): boolean {
    const { reached, reflector } = this.#mirror
    const hasChanged = this.#unsaved !== undefined || reached !== this.#saved?.version
    // A later process would resume from the version of a mirror that a list has to complete, and never list.
    return reached !== undefined && !reflector.isRepairDue && hasChanged
  }

  /** Saves the mirror a last time, if its version has moved. Resolves after 10 s at the latest. */
  async end(): Promise<void> {
    this.#hasEnded = true
    if (this.#savedTo === undefined) return
    this.#timer?.cancel.abort(ABORTED)
    const last = async (): Promise<void> => {
      await this.#saving
      if (!this.#saves.signal.aborted) await this.#begin(this.#save())
    }
    let isOver = false
    const ended = last().then(() => {
      isOver = true
    })
    await settleWithin(LAST_SAVE_MS, ended, this.#clock)
    if (!isOver)
      this.warn(`the last save did not end within ${LAST_SAVE_MS / 1_000} s; the next start uses the content before it`)
    this.#saves.abort(ABORTED)
  }

  /** The history ended. Ends a save of it that is in progress. The next history is saved as soon as it is live. */
  historyEnded(): void {
    this.#unsaved = 'history'
    if (!this.#isDiscarding) this.#endSave()
  }

  /** Ends a save that is in progress, and removes the saved content: readers may not see its objects any more. */
  discard(): void {
    const cache = this.#savedTo
    if (cache === undefined) return
    const saving = this.#saving
    this.#endSave()
    const { signal } = this.#saves
    this.#isDiscarding = true
    const discarded = async (): Promise<void> => {
      try {
        await saving
        this.#isDiscarding = true // An earlier removal may have ended.
        await cache.discard?.(this.#context(signal))
        this.#saved = undefined
      } catch (thrown) {
        this.#report(thrown, signal)
      } finally {
        this.#isDiscarding = false
      }
    }
    void this.#begin(discarded())
  }

  #endSave(): void {
    this.#saves.abort(ABORTED)
    this.#saves = new AbortController()
  }

  #begin(work: Promise<void>): Promise<void> {
    const saving = work.finally(() => {
      if (this.#saving !== saving) return
      this.#saving = undefined
      this.schedule()
    })
    this.#saving = saving
    return saving
  }

  async #save(): Promise<void> {
    const { part } = this.#mirror
    const cache = this.#savedTo
    if (cache === undefined || !this.#hasMoved) return
    const last = this.#saved
    const began = this.#clock.now()
    let { signal } = this.#saves
    try {
      await part.prepareIndexes()
      // A write may begin before `idle` has resolved.
      while (part.isBusy) await part.idle()
      const { reached: version, proofs, reflector } = this.#mirror
      const { current: proof } = proofs
      // A write that was ended by `stop` has left keys that are filtered out in the middle of it.
      if (version === undefined || !this.#hasMoved || part.isAbandoned) return
      signal = this.#saves.signal
      const pinned = part.pin()
      this.#changes = 0
      this.#unsaved = undefined
      this.#saved = { version, at: this.#clock.now() }
      try {
        const { size } = pinned
        const { resumeState } = reflector
        const records = () => pinned.records()
        const mirror = { version, proof, resumeState, size, records, pack: pinned.pack.bind(pinned) }
        await cache.save(mirror, this.#context(signal))
        this.#failure = undefined
      } finally {
        pinned.close()
      }
    } catch (thrown) {
      // If no save has begun, the next attempt must not follow at once.
      if (this.#saved === last) this.#saved = { version: last?.version, at: began }
      this.#changes = Infinity
      // Without an abort by the end of a history, it is tried again after `saveEveryMs`.
      if (!signal.aborted || this.#unsaved === undefined) this.#unsaved = 'content'
      this.#report(thrown, signal)
    }
  }

  #report(thrown: unknown, signal: AbortSignal): void {
    if (signal.aborted) return
    const { source, title } = this.#mirror
    const { code, message } = toSourceError(thrown, { phase: 'apply', source: source.name })
    if (this.#failure === code) return
    this.#failure = code
    const then = this.#hasEnded ? 'the next start uses the content before it' : 'it is tried again later'
    const text = `${title} could not be saved to ${this.#cache.name}: ${message}; ${then}`
    this.#events.report(new SourceError(text, { code, phase: 'apply', source: source.name, cause: thrown }))
  }

  #context(signal: AbortSignal): MirrorCacheContext {
    return {
      signal,
      clock: this.#clock,
      fingerprint: this.#mirror.fingerprint,
      isSensitive: this.#mirror.source.isSensitive === true,
      warn: (message) => this.warn(message),
    }
  }
}
