import type { Clock } from '../contract/clock.js'
import { ABORTED, messageOf, SourceError } from '../contract/errors.js'
import type { Random } from '../contract/random.js'
import { LIST_STALL_MS, type ListEvent, type ListerWatcher, PAGE_SIZE, type VersionPage } from '../contract/source.js'
import { assertVersion, type Version } from '../contract/version.js'
import { Attempt } from '../reflector/attempt.js'
import { close, type Reflector } from '../reflector/reflector.js'
import type { Partition } from '../store/partition.js'
import type { WriteRecord } from '../store/store-writer.js'
import type { Wait } from '../util/deadline.js'
import type { InformerEvents } from './informer-events.js'

/** How often a store is compared with its source where nothing else is said, in milliseconds. */
export const AUDIT_PERIOD_MS: number = 5 * 60_000
/** The next audit waits at least so many times as long as the last one has read. */
const REST_FACTOR = 100
/**
 * Where the source doubts, the audit comes within this time: drawn, so that not all mirrors of a server read it at once;
 * and twice as late each time that it could not be done.
 */
const DOUBT_MS = 10_000
/** A proof that failed is tried again after this time, in milliseconds, and after ten times as long as the last one has read. */
const PROOF_REST_MS = 1_000
const PROOF_REST_FACTOR = 10
/** A difference that stays through this many comparisons, while the store does not change, is no change on its way. */
const PROOF_ROUNDS = 3
/** The event loop gets a turn after this long of comparing. */
const SLICE_MS = 8

export interface AuditHost<S, T> {
  readonly source: ListerWatcher<S>
  readonly part: Partition<T>
  readonly reflector: Pick<Reflector<S>, 'proven' | 'relist'>
  readonly events: Pick<InformerEvents, 'report' | 'warning'>
  readonly clock: Clock
  readonly random: Random
  /** Whether the store can be compared: after the first list, while the watch is open. */
  isLive(): boolean
  waitFor(version: Version, wait: Wait): Promise<void>
}

type Item<S> = ListEvent<S> | { readonly type: 'version'; readonly key: string; readonly version: Version }

/**
 * Compares a store with its source, again and again: what the source lost, or this library, is found within a period,
 * reported, and repaired by one relist. Keys and versions are compared where the source can list them (`versions`), else
 * contents; and only of what nobody wrote meanwhile, at a version that the store includes.
 */
export class Audit<S, T> {
  readonly #host: AuditHost<S, T>
  readonly #periodMs: number
  /** How long the last one has read, in milliseconds. */
  #readMs = 0
  /** Whether the source has said so since the last audit that could be done began. */
  #isDoubted = false
  /** How often in a row a doubt could not be settled. */
  #failures = 0
  #wake: (() => void) | undefined
  /** Whether the watch cannot tell its position, so that only a comparison proves it. */
  #isProofWanted = false
  #wakeWait: (() => void) | undefined
  /** Until the source has closed what was read last. */
  #closing = Promise.resolve()

  /** With an infinite period the store is compared only when `prove` is called, and a difference is left alone. */
  constructor(host: AuditHost<S, T>, periodMs: number) {
    this.#host = host
    this.#periodMs = periodMs
  }

  /** Until `signal` aborts, and the source has closed what was read last. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, random } = this.#host
    while (!signal.aborted) {
      const drawnMs = this.#periodMs * (0.5 + random.next() / 2)
      await this.#rest(Math.max(drawnMs, REST_FACTOR * this.#readMs), signal)
      if (this.#isDoubted) await clock.sleep(this.#doubtMs * (0.1 + 0.9 * random.next()), signal).catch(() => {})
      if (signal.aborted) break
      if (this.#host.isLive()) await this.#once(signal)
      else this.#isProofWanted = false // The watch that is opened next calls `prove` if its position is waited for.
    }
    await this.#closing
  }

  /** The source is not sure of itself: the next audit comes soon, and others until one could be done. */
  request(): void {
    this.#isDoubted = true
    this.#wake?.()
  }

  /** A wait is pending for a version that the watch cannot report: compares now, and if nothing differs, the version is proven. */
  prove(): void {
    this.#isProofWanted = true
    this.#wake?.()
    this.#wakeWait?.()
  }

  get #doubtMs(): number {
    return Math.min(DOUBT_MS * 2 ** this.#failures, Math.max(DOUBT_MS, this.#periodMs))
  }

  /** Until then, or until there is doubt, or a proof is wanted. */
  async #rest(ms: number, signal: AbortSignal): Promise<void> {
    if (this.#isDoubted || this.#isProofWanted) return
    const waking = new AbortController()
    const wake = (): void => waking.abort(ABORTED)
    this.#wake = wake
    signal.addEventListener('abort', wake, { once: true })
    if (ms < Infinity) await this.#host.clock.sleep(ms, waking.signal).catch(() => {})
    else await new Promise((resolve) => waking.signal.addEventListener('abort', resolve, { once: true }))
    signal.removeEventListener('abort', wake)
    this.#wake = undefined
  }

  async #once(signal: AbortSignal): Promise<void> {
    const wasDoubted = this.#isDoubted
    this.#isDoubted = false
    const { source, clock, events, reflector } = this.#host
    const isRepairing = this.#periodMs < Infinity
    const attempt = new Attempt(clock)
    const end = (): void => attempt.abort(ABORTED)
    signal.addEventListener('abort', end, { once: true })
    try {
      const drift = await this.#compare(attempt)
      this.#failures = 0
      const [first] = drift
      if (first === undefined || !isRepairing) return
      const others = drift.length === 1 ? '' : ` and ${drift.length - 1} more`
      const message = `the audit of ${source.name} found a difference at the key "${first}"${others}; the source is read again`
      events.report(new SourceError(message, { code: 'PROTOCOL', phase: 'apply', key: first }))
      reflector.relist('the audit found a difference')
    } catch (error) {
      if (signal.aborted || !isRepairing) return
      this.#isDoubted ||= wasDoubted
      this.#failures++
      const message = `the audit of ${source.name} could not be done: ${messageOf(error)}; it is tried again later`
      const code = error instanceof SourceError ? error.code : 'UNAVAILABLE'
      events.report(new SourceError(message, { code, phase: 'list', cause: error }))
    } finally {
      this.#isProofWanted = false
      end()
      signal.removeEventListener('abort', end)
    }
  }

  /** The keys at which store and source differ. */
  async #compare(attempt: Attempt): Promise<readonly string[]> {
    const { clock, part, reflector } = this.#host
    const until = clock.now() + Math.min(this.#periodMs, AUDIT_PERIOD_MS)
    for (let round = 1; ; round++) {
      const written = part.recordWrites()
      try {
        const snapshot = await this.#snapshot(attempt)
        const isReached = await attempt.pauseWatchdog(
          this.#reaches(snapshot.version, until - clock.now(), attempt.signal),
        )
        const drift = await attempt.pauseWatchdog(this.#drift(attempt, written, snapshot))
        if (isReached) return drift
        // Nothing was written since before the source was read: what is the same now was the same all the time.
        const isStill = written.keys.size === 0 && !written.isReplaced
        if (isStill && drift.length === 0 && snapshot.listed !== undefined) {
          reflector.proven(snapshot.version)
          return drift
        }
        if (isStill && drift.length > 0 && round >= PROOF_ROUNDS) return drift
      } finally {
        written.stop()
      }
      await attempt.pauseWatchdog(
        clock.sleep(Math.max(PROOF_REST_MS, PROOF_REST_FACTOR * this.#readMs), attempt.signal),
      )
    }
  }

  /** Whether the store includes the version; false as soon as the watch cannot tell. Rejects with `TIMEOUT`. */
  async #reaches(version: Version, timeoutMs: number, signal: AbortSignal): Promise<boolean> {
    const { source, part, waitFor } = this.#host
    const waking = new AbortController()
    const wake = (): void => waking.abort(ABORTED)
    if (timeoutMs > 0 && this.#isProofWanted)
      return part.version !== undefined && source.hasReached?.(part.version, version) === true
    this.#wakeWait = wake
    signal.addEventListener('abort', wake, { once: true })
    try {
      await waitFor(version, { signal: waking.signal, timeoutMs: Math.max(1, timeoutMs) })
      return true
    } catch (error) {
      if (waking.signal.aborted && !signal.aborted) return false
      throw error
    } finally {
      this.#wakeWait = undefined
      signal.removeEventListener('abort', wake)
    }
  }

  /** What the source has now, beside what the store has. */
  async #snapshot(attempt: Attempt): Promise<Snapshot<S>> {
    const { source, part } = this.#host
    const before = part.version
    const listed = new Set<string>()
    /** What differed when it came. The store may have been behind, or ahead. */
    const doubtful = new Map<string, Item<S>>()
    /** Whether everything was told by its key; else nobody knows what is missing. */
    let isWhole = true
    const version = await this.#read(attempt, (item) => {
      const key = keyOf(item)
      if (key === undefined) {
        isWhole = false
        return
      }
      doubtful.delete(key)
      if (item.type === 'delete') listed.delete(key)
      else listed.add(key)
      if (this.#differs(item)) doubtful.set(key, item)
    })
    if (before !== undefined && source.hasReached?.(version, before) !== true)
      throw new SourceError('the source shows less than the store has', { code: 'STALE_LIST' })
    return { version, doubtful, listed: isWhole ? listed : undefined }
  }

  /**
   * The keys at which store and source differ; none if a whole collection came in between: what it passed over is unknown. What is
   * written between two slices is in the record, like everything before; what was found until a whole collection came stays found.
   */
  async #drift(attempt: Attempt, written: WriteRecord, { doubtful, listed }: Snapshot<S>): Promise<readonly string[]> {
    const drift: string[] = []
    for (const [key, item] of doubtful) {
      if (written.isReplaced) return drift
      if (!written.keys.has(key) && this.#differs(item)) drift.push(key)
      await attempt.yieldIfDue(SLICE_MS)
    }
    attempt.throwIfAborted()
    if (listed === undefined) return drift
    for (const key of this.#host.part.keys()) {
      if (written.isReplaced) return drift
      if (!written.keys.has(key) && !listed.has(key)) drift.push(key)
      await attempt.yieldIfDue(SLICE_MS)
    }
    attempt.throwIfAborted()
    return drift
  }

  #differs(item: Item<S>): boolean {
    const { part } = this.#host
    const { key } = item
    if (key === undefined || item.type === 'delete' || part.isOwnedByOther(key)) return false
    if (item.type === 'invalid') return !part.isInvalid(key)
    if (item.type === 'put') return !part.isUpToDate(item)
    const passedOver = part.unstored(key)
    if (passedOver !== undefined) return passedOver.version !== undefined && passedOver.version !== item.version
    const current = part.entryOf(key)
    return current === undefined || (current.version !== undefined && current.version !== item.version)
  }

  /** Everything that the source has, one by one, and the version at which it had that. */
  async #read(attempt: Attempt, take: (item: Item<S>) => void): Promise<Version> {
    const { source, clock, random } = this.#host
    const silent = `no page for ${LIST_STALL_MS / 1_000} s`
    void attempt.watchdog(LIST_STALL_MS, () => new SourceError(silent, { code: 'UNAVAILABLE' }))
    const warn = (message: string): void => this.#host.events.warning(`${source.name}: ${message}`)
    const alive = (): void => attempt.recordActivity()
    const context = { signal: attempt.signal, clock, random, warn, pageSize: PAGE_SIZE, alive }
    let [readMs, since] = [0, clock.now()]
    const spend = (): void => {
      const now = clock.now()
      // No page takes longer: the rest is time in which the machine slept.
      readMs += Math.min(now - since, LIST_STALL_MS)
      since = now
    }
    const pages = (source.versions?.(context) ?? source.list(context))[Symbol.asyncIterator]()
    let version: Version | undefined
    try {
      for (;;) {
        const page = await attempt.race<IteratorResult<Page<S>, unknown>>(pages.next())
        attempt.throwIfAborted()
        if (page.done) break
        attempt.recordActivity()
        spend()
        version = page.value.version ?? version
        for (const item of itemsOf(page.value)) {
          take(item)
          await attempt.yieldIfDue(SLICE_MS)
        }
      }
    } finally {
      spend()
      this.#readMs = readMs
      this.#closing = close(pages)
    }
    assertVersion(version, 'the version of what the audit read')
    return version
  }
}

interface Snapshot<S> {
  readonly version: Version
  /** What differed from the store when it came. */
  readonly doubtful: ReadonlyMap<string, Item<S>>
  /** All keys; undefined if some came without one. */
  readonly listed: ReadonlySet<string> | undefined
}

type Page<S> = VersionPage | { readonly events: readonly ListEvent<S>[]; readonly version?: Version }

/** Undefined for what has none, and for what nobody understands. */
function keyOf(item: Item<unknown> | null | undefined): string | undefined {
  switch (item?.type) {
    case 'put':
    case 'delete':
    case 'invalid':
    case 'version':
      return typeof item.key === 'string' ? item.key : undefined
    default:
      return undefined
  }
}

function itemsOf<S>(page: Page<S>): readonly Item<S>[] {
  if ('events' in page) return page.events
  return page.keys.map(({ key, version }) => ({ type: 'version', key, version }))
}
