import { ABORTED, messageOf, SourceError } from '../contract/errors.js'
import type { SavedMirror, SavedRecord } from '../contract/mirror-cache.js'
import { LIST_STALL_MS, type ListerWatcher } from '../contract/source.js'
import { assertVersion, type Version } from '../contract/version.js'
import type { Attempt } from './attempt.js'
import type { RestoreTransaction, WarmStart } from './reflector-hooks.js'
import type { UntimedInput } from './reflector-state.js'
import type { SinkCalls } from './sink-calls.js'
import { close } from './source-checks.js'

type Opened = UntimedInput<'restorable' | 'unrestorable' | 'listed'>

/** The saved content that a reflector resumes from, until the source has confirmed it or a list replaces it. */
export class Restoration {
  readonly #warmStart: WarmStart | undefined
  readonly #calls: SinkCalls
  readonly #source: Pick<ListerWatcher<unknown>, 'hasReached'>
  /** Aborts when the content is not read any more. */
  readonly #reading = new AbortController()
  saved: SavedMirror | undefined
  #isShown = false
  closing: Promise<void> = Promise.resolve()
  /** Resolves when the store is filled with the content that readers see already. Undefined if it is. A list waits. */
  filling: Promise<void> | undefined
  /** Resolves when the store does not read the content any more. */
  #reads: Promise<void> | undefined
  readonly #stopped = Promise.withResolvers<void>()

  constructor(warmStart: WarmStart | undefined, calls: SinkCalls, source: Pick<ListerWatcher<unknown>, 'hasReached'>) {
    this.#source = source
    this.#warmStart = warmStart
    this.#calls = calls
  }

  /** Whether the source has not confirmed the content yet. */
  get isPending(): boolean {
    return this.saved !== undefined
  }

  /** If readers see the content before it is confirmed, it is written to the store, and `accepted` is called. */
  async open(attempt: Attempt, accepted: (version: Version) => void): Promise<Opened> {
    const silent = new SourceError(`no answer for ${LIST_STALL_MS / 1_000} s`, { code: 'UNAVAILABLE' })
    void attempt.watchdog(LIST_STALL_MS, () => silent)
    try {
      const opening = this.#warmStart?.open(this.#reading.signal, () => attempt.recordActivity())
      if (opening === undefined) return { type: 'unrestorable', reason: 'there is no cache' }
      const saved = await attempt.race(opening).catch((error: unknown) => {
        this.#reading.abort(ABORTED)
        // It may be opened although it is no longer wanted.
        opening.then((unwanted) => this.#release(unwanted)).catch(() => {})
        throw error
      })
      if (saved === undefined) return { type: 'unrestorable', reason: 'there is no saved content' }
      this.saved = saved
      attempt.throwIfAborted()
      assertVersion(saved.version, 'the saved version')
      this.#assertReadable(saved.version)
    } catch (thrown) {
      return this.#unusable(thrown, attempt)
    }
    if (this.#warmStart?.servesStale !== true) return { type: 'restorable' }
    return (await this.fill(attempt, accepted)) ?? { type: 'listed' }
  }

  /** Writes the content to the store, unless that was done. Returns why that is not possible. */
  async fill(
    attempt: Attempt,
    accepted: (version: Version) => void,
  ): Promise<UntimedInput<'unrestorable'> | undefined> {
    const [saved, warmStart] = [this.saved, this.#warmStart]
    if (saved === undefined || warmStart === undefined || this.#isShown) return undefined
    let hasCommitBegun = false
    let transaction: RestoreTransaction | undefined
    let pages: AsyncIterator<readonly SavedRecord[]> | undefined
    const shown = (): void => {
      this.#isShown = true
      accepted(saved.version)
    }
    try {
      // The source is not silent while the cache is read.
      const content = await attempt.pauseWatchdog(Promise.resolve(saved.packed?.()))
      attempt.throwIfAborted()
      if (content !== undefined) {
        const served = warmStart.serve(saved, content)
        const filling = served.filled
          .catch(() => {})
          .then(() => {
            this.filling = undefined
          })
        this.filling = filling
        // After a stop the store is still filled, but snapshots do not keep the content open.
        this.#reads = Promise.race([served.released, this.#stopped.promise.then(() => filling)])
        await this.#calls.accepted(attempt, () => served.shown, shown)
        return undefined
      }
      transaction = warmStart.restore(saved)
      const { commit, abandon } = transaction
      const all = saved.pages?.()
      if (all === undefined) throw new Error('it has neither pages nor packed content')
      pages = all[Symbol.asyncIterator]()
      await this.#read(attempt, pages, transaction, saved.size)
      hasCommitBegun = true
      await this.#calls.accepted(attempt, commit, shown, abandon)
      return undefined
    } catch (thrown) {
      if (!hasCommitBegun) transaction?.abandon()
      return this.#unusable(thrown, attempt)
    } finally {
      if (pages !== undefined) this.closing = close(pages)
    }
  }

  async #read(
    attempt: Attempt,
    pages: AsyncIterator<readonly SavedRecord[]>,
    { page }: RestoreTransaction,
    size: number,
  ): Promise<void> {
    let count = 0
    for (;;) {
      // The source is not silent while the cache is read.
      const { done, value } = await attempt.pauseWatchdog(pages.next())
      attempt.throwIfAborted()
      if (done) break
      await this.#calls.inSlices(attempt, value, page)
      count += value.length
    }
    if (count !== size) throw new Error(`it has ${count} records instead of ${size}`)
  }

  /** Another adapter of the same name may have saved the version. A watch could never read it. */
  #assertReadable(version: Version): void {
    try {
      this.#source.hasReached?.(version, version)
    } catch (error) {
      // The watch reports another epoch.
      if (error instanceof SourceError && error.code === 'PROTOCOL') throw error
    }
  }

  /** A batch that is older than the content does not confirm it. */
  assertReached(version: Version): void {
    const saved = this.saved?.version
    if (saved === undefined || this.#source.hasReached?.(version, saved) === true) return
    throw new SourceError('the watch is behind the saved content', { code: 'VERSION_EXPIRED' })
  }

  /** The source has confirmed the content, or a list replaces it. */
  end(): void {
    const saved = this.saved
    this.saved = undefined
    if (this.#reads === undefined) this.#reading.abort(ABORTED)
    if (saved !== undefined) this.#release(saved)
  }

  /** The reflector stops. Content that the store reads in place is closed, too. */
  stop(): void {
    this.#stopped.resolve()
    this.end()
  }

  #release(saved: SavedMirror | undefined): void {
    const closing = async (): Promise<void> => {
      await this.#reads
      this.#reading.abort(ABORTED)
      await saved?.close()
    }
    this.closing = Promise.all([this.closing, closing().catch(() => {})]).then(() => {})
  }

  /** An abort of the attempt is thrown. Any other error means that the content cannot be used. */
  #unusable(thrown: unknown, { signal }: Attempt): UntimedInput<'unrestorable'> {
    if (thrown === ABORTED && signal.aborted) throw thrown
    this.end()
    const reason = `the saved content cannot be used: ${messageOf(thrown)}`
    this.#warmStart?.warn(`${reason}; the source is listed instead`)
    return { type: 'unrestorable', reason }
  }
}
