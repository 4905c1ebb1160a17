import { ABORTED, messageOf, SourceError } from '../../contract/errors.js'
import {
  LIST_STALL_MS,
  type ListEvent,
  type ListerWatcher,
  PAGE_SIZE,
  type VersionPage,
} from '../../contract/source.js'
import type { Version } from '../../contract/version.js'
import { Attempt } from '../../reflector/attempt.js'
import { readPages } from '../../reflector/read-pages.js'
import type { Reflector } from '../../reflector/reflector.js'
import type { Ordinal } from '../../store/ordinals.js'
import type { KeyMarks } from '../../store/write/key-marks.js'
import type { Partition } from '../../store/write/partition.js'
import type { WriteRecord } from '../../store/write/store-writer.js'
import type { Wait } from '../../util/deadline.js'
import type { InformerContext } from '../informer-context.js'
import type { Comparison, SourceProof } from './source-proof.js'

export const AUDIT_PERIOD_MS: number = 5 * 60_000
/** The delay before the next audit is at least this multiple of the CPU time of this thread during the last read. */
const CPU_REST_FACTOR = 100
/** And at least this multiple of the time that the read took, in which the server works. */
const READ_REST_FACTOR = 10
/**
 * A requested audit starts within this time, in milliseconds, which doubles with each audit that fails. The delay is
 * random, so that the mirrors of one server do not all read at once.
 */
const REQUEST_MS = 10_000
/** The delay before a failed proof is retried, in milliseconds; at least ten times the time of the last read. */
const PROOF_REST_MS = 1_000
const PROOF_REST_FACTOR = 10
/** A difference that persists for this time without writes is not a change that is still to arrive, in milliseconds. */
const LATE_MS = 30_000
const SLICE_OBJECTS = 16
const SLICE_KEYS = 256

export interface AuditedSource<S, T> {
  readonly source: ListerWatcher<S>
  readonly title: string
  readonly part: Partition<T>
  readonly reflector: Pick<Reflector<S>, 'proven' | 'relist'>
  readonly proofs: Pick<SourceProof, 'audited' | 'audits'>
  readonly isComparable: boolean
  waitFor(version: Version, wait: Wait): Promise<void>
}

type Item<S> = ListEvent<S> | { readonly type: 'version'; readonly key: string; readonly version: Version }

/**
 * Compares a store with its source periodically. A difference is reported, and repaired by one relist. If the source
 * has `versions`, keys and versions are compared, otherwise contents. After a request for contents those are compared.
 * Keys that were written during the comparison are ignored.
 */
export class Audit<S, T> {
  readonly #audited: AuditedSource<S, T>
  readonly #context: InformerContext<T>
  readonly #periodMs: number
  /** The time that the last comparison spent on reading, in milliseconds. */
  #readMs = 0
  /** The CPU time that this thread used meanwhile; without such a clock the whole time. */
  #cpuMs = 0
  /** Whether the source requested an audit after the last completed one started. */
  #isRequested = false
  #comparesContents = false
  #failures = 0
  #wake: (() => void) | undefined
  /** Whether the watch cannot report its position, so that only a comparison proves it. */
  #isProofWanted = false
  #wakeWait: (() => void) | undefined
  /** Whether a list ran that may have repaired a difference, when one was found or later. */
  #hasListRun = false
  /** Resolves when the source has closed the last read. */
  #closing = Promise.resolve()

  /** With an infinite period the store is compared only when `prove` is called, and a difference is not reported. */
  constructor(audited: AuditedSource<S, T>, context: InformerContext<T>, periodMs: number) {
    this.#audited = audited
    this.#context = context
    this.#periodMs = periodMs
  }

  /** Resolves after `signal` has aborted and the source has closed the last read. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, random } = this.#context
    while (!signal.aborted) {
      const drawnMs = this.#periodMs * (0.5 + random.next() / 2)
      const restMs = Math.max(CPU_REST_FACTOR * this.#cpuMs, READ_REST_FACTOR * this.#readMs)
      await this.#rest(Math.max(drawnMs, restMs), signal)
      const requestMs = Math.min(REQUEST_MS * 2 ** this.#failures, Math.max(REQUEST_MS, this.#periodMs))
      if (this.#isRequested) await clock.sleep(requestMs * (0.1 + 0.9 * random.next()), signal).catch(() => {})
      if (signal.aborted) break
      if (this.#audited.isComparable) await this.#once(signal)
      else this.#isProofWanted = false // The watch that is opened next calls `prove` if its position is waited for.
    }
    await this.#closing
  }

  /** Requests an audit soon. It is retried until one completes. */
  request(contents: boolean): void {
    this.#isRequested = true
    this.#comparesContents ||= contents
    this.#wake?.()
  }

  /** The watch cannot report a version that is waited for: if nothing differs now, it is proven. */
  prove(): void {
    this.#isProofWanted = true
    this.#wake?.()
    this.#wakeWait?.()
  }

  async #rest(ms: number, signal: AbortSignal): Promise<void> {
    if (this.#isRequested || this.#isProofWanted) return
    const waking = new AbortController()
    const wake = (): void => waking.abort(ABORTED)
    this.#wake = wake
    signal.addEventListener('abort', wake, { once: true })
    if (ms < Infinity) await this.#context.clock.sleep(ms, waking.signal).catch(() => {})
    else await new Promise((resolve) => waking.signal.addEventListener('abort', resolve, { once: true }))
    signal.removeEventListener('abort', wake)
    this.#wake = undefined
  }

  async #once(signal: AbortSignal): Promise<void> {
    const wasRequested = this.#isRequested
    this.#isRequested = false
    const { title, reflector, proofs } = this.#audited
    const { clock, events } = this.#context
    const isRepairing = this.#periodMs < Infinity
    const attempt = new Attempt(clock)
    const end = (): void => attempt.abort(ABORTED)
    signal.addEventListener('abort', end, { once: true })
    try {
      const { drift, ...comparison } = await this.#compare(attempt)
      this.#failures = 0
      const [first] = drift
      if (first !== undefined && (this.#hasListRun || this.#mayBeRepaired)) {
        this.#isRequested ||= isRepairing
        return
      }
      if (!this.#isRequested) this.#comparesContents = false
      // Without repairs a difference may be a change that is still to arrive.
      if (first === undefined || isRepairing) proofs.audited({ ...comparison, differences: drift.length })
      if (first === undefined || !isRepairing) return
      const others = drift.length === 1 ? '' : ` and ${drift.length - 1} more`
      const message = `the audit of ${title} found a difference at the key "${first}"${others}; the source is read again`
      events.report(new SourceError(message, { code: 'PROTOCOL', phase: 'apply', key: first }))
      reflector.relist('the audit found a difference')
    } catch (error) {
      if (signal.aborted || !isRepairing) return
      proofs.audits.failed++
      this.#isRequested ||= wasRequested
      this.#failures++
      const message = `the audit of ${title} could not be done: ${messageOf(error)}; it is tried again later`
      const code = error instanceof SourceError ? error.code : 'UNAVAILABLE'
      events.report(new SourceError(message, { code, phase: 'list', cause: error }))
    } finally {
      this.#isProofWanted = false
      end()
      signal.removeEventListener('abort', end)
    }
  }

  /** A list that runs may repair a difference, and the end of a write may release a key. */
  get #mayBeRepaired(): boolean {
    return this.#audited.part.isBusy || !this.#audited.isComparable
  }

  async #compare(attempt: Attempt): Promise<Result> {
    const { part, reflector } = this.#audited
    const { clock } = this.#context
    const mostMs = Math.min(this.#periodMs, AUDIT_PERIOD_MS)
    const until = clock.now() + mostMs
    // A shorter period leaves less time.
    const lateMs = Math.min(LATE_MS, mostMs / 10)
    /** Since when the store has differed at an unchanged version. */
    let late: { readonly since: number; readonly version: Version | undefined } | undefined
    for (let round = 1; ; round++) {
      const written = part.recordWrites()
      const at = clock.now()
      try {
        if (part.isFilling) await attempt.pauseWatchdog(part.idle())
        const snapshot = await this.#snapshot(attempt)
        const isReached = await attempt.pauseWatchdog(
          this.#reaches(snapshot.version, until - clock.now(), attempt.signal),
        )
        const drift = await attempt.pauseWatchdog(this.#drift(attempt, written, snapshot))
        const isComplete = snapshot.listed !== undefined && !written.isReplaced
        const result: Result = { drift, version: snapshot.version, at, isComplete }
        if (isReached) return result
        await attempt.pauseWatchdog(part.idle())
        // The store was not written since the read began, so an equal object was equal at the version of the read.
        const isStill = written.keys.size === 0 && !written.isReplaced
        if (isStill && drift.length === 0 && snapshot.listed !== undefined) {
          if (reflector.proven(snapshot.version)) return result
        }
        if (!isStill || drift.length === 0) late = undefined
        else if (late === undefined || late.version !== part.version) late = { since: at, version: part.version }
        else if (clock.now() >= late.since + lateMs) return result
      } finally {
        written.stop()
      }
      await attempt.pauseWatchdog(
        clock.sleep(
          Math.max(Math.min(PROOF_REST_MS * round, lateMs), PROOF_REST_MS, PROOF_REST_FACTOR * this.#readMs),
          attempt.signal,
        ),
      )
    }
  }

  /** Returns whether the store includes the version; false if a proof is requested first. Rejects with `TIMEOUT`. */
  async #reaches(version: Version, timeoutMs: number, signal: AbortSignal): Promise<boolean> {
    const { source, part } = this.#audited
    const waking = new AbortController()
    const wake = (): void => waking.abort(ABORTED)
    if (timeoutMs > 0 && this.#isProofWanted)
      return part.version !== undefined && source.hasReached?.(part.version, version) === true
    this.#wakeWait = wake
    signal.addEventListener('abort', wake, { once: true })
    try {
      await this.#audited.waitFor(version, { signal: waking.signal, timeoutMs: Math.max(1, timeoutMs) })
      return true
    } catch (error) {
      if (waking.signal.aborted && !signal.aborted) return false
      throw error
    } finally {
      this.#wakeWait = undefined
      signal.removeEventListener('abort', wake)
    }
  }

  async #snapshot(attempt: Attempt): Promise<Snapshot<S>> {
    const { source, part } = this.#audited
    const before = part.version
    const listed = part.noKeys()
    /** The items that differed when they arrived. The store may have been behind, or ahead. */
    const doubtful = new Map<string, Item<S>>()
    /** Whether every item had a key. Otherwise absent keys cannot be detected. */
    let isWhole = true
    /** The ordinal of the next key, if the source still has the order of the last list. */
    let next = 0
    const take = (item: Item<S>): void => {
      const key = keyOf(item)
      if (key === undefined) {
        isWhole = false
        return
      }
      if (doubtful.size > 0) doubtful.delete(key)
      const ordinal = part.ordinalOf(key, next)
      if (ordinal !== undefined) next = ordinal + 1
      if (item.type === 'delete') listed.delete(key, ordinal)
      else listed.add(key, ordinal)
      if (this.#differsAt(key, ordinal, item)) doubtful.set(key, item)
    }
    const takeVersion = (key: string, version: Version): void => {
      // Nearly all keys are equal, and come in the order of the store: for these nothing is allocated or looked up.
      if (doubtful.size === 0 && part.hasVersionAt(next, key, version)) listed.add(key, next++)
      else take({ type: 'version', key, version })
    }
    const version = await this.#read(attempt, (page, from, end) => {
      if ('events' in page) for (const event of page.events.slice(from, end)) take(event)
      else for (const each of page.keys.slice(from, end)) takeVersion(each.key, each.version)
    })
    if (before !== undefined && source.hasReached?.(version, before) !== true)
      throw new SourceError('the snapshot of the source is older than the store', { code: 'STALE_LIST' })
    return { version, doubtful, listed: isWhole ? listed : undefined }
  }

  /**
   * Excludes keys that were written since the read began. When a whole collection was written meanwhile, the comparison
   * ends with the keys found so far.
   */
  async #drift(attempt: Attempt, written: WriteRecord, { doubtful, listed }: Snapshot<S>): Promise<readonly string[]> {
    const { part } = this.#audited
    const drift: string[] = []
    this.#hasListRun = false
    for (const [key, item] of doubtful) {
      if (written.isReplaced) return drift
      if (!written.keys.has(key) && this.#differsAt(key, part.ordinalOf(key), item)) drift.push(key)
      this.#hasListRun ||= drift.length > 0 && this.#mayBeRepaired
      await attempt.yieldIfDue()
    }
    attempt.throwIfAborted()
    if (listed === undefined) return drift
    for (const key of part.keysOutside(listed)) {
      if (written.isReplaced) return drift
      if (!written.keys.has(key)) drift.push(key)
      this.#hasListRun ||= drift.length > 0 && this.#mayBeRepaired
      await attempt.yieldIfDue()
    }
    attempt.throwIfAborted()
    return drift
  }

  #differsAt(key: string, ordinal: Ordinal | undefined, item: Item<S>): boolean {
    const { part } = this.#audited
    if (item.type === 'delete' || part.isOwnedByOther(key, ordinal)) return false
    if (item.type === 'invalid') return !part.isInvalid(key)
    if (item.type === 'put') return !part.isUpToDate(item)
    const passedOver = part.unstored(key)
    if (passedOver !== undefined) return passedOver.version !== undefined && passedOver.version !== item.version
    const current = part.entryAt(ordinal)
    return current === undefined || (current.version !== undefined && current.version !== item.version)
  }

  async #read(attempt: Attempt, take: (page: Page<S>, from: number, end: number) => void): Promise<Version> {
    const { source, title } = this.#audited
    const { clock, random } = this.#context
    const warn = (message: string): void => this.#context.events.warning(`${title}: ${message}`)
    const alive = (): void => attempt.recordActivity()
    const context = { signal: attempt.signal, clock, random, warn, pageSize: PAGE_SIZE, alive }
    const versions = this.#comparesContents ? undefined : source.versions
    let [readMs, since] = [0, clock.now()]
    const cpuSince = clock.cpuMs?.()
    const spend = (): void => {
      const now = clock.now()
      // No page takes longer. The rest is time in which the machine slept.
      readMs += Math.min(now - since, LIST_STALL_MS)
      since = now
    }
    return readPages<Page<S>>(attempt, {
      call: versions === undefined ? 'list' : 'versions',
      open: () => versions?.call(source, context) ?? source.list(context),
      contact: () => {
        alive()
        spend()
      },
      take: async (page) => {
        const [size, slice] = 'events' in page ? [page.events.length, SLICE_OBJECTS] : [page.keys.length, SLICE_KEYS]
        for (let at = 0; at < size; at += slice) {
          take(page, at, at + slice)
          if (attempt.slice.isOver) await attempt.yieldIfDue()
          attempt.throwIfAborted()
        }
      },
      ended: (closing) => {
        spend()
        this.#readMs = readMs
        const cpuNow = clock.cpuMs?.()
        this.#cpuMs = cpuNow === undefined || cpuSince === undefined ? readMs : Math.min(cpuNow - cpuSince, readMs)
        this.#closing = closing
      },
    })
  }
}

interface Result extends Omit<Comparison, 'differences'> {
  readonly drift: readonly string[]
}

interface Snapshot<S> {
  readonly version: Version
  readonly doubtful: ReadonlyMap<string, Item<S>>
  /** All keys; undefined if an item had no key. */
  readonly listed: KeyMarks | undefined
}

type Page<S> = VersionPage | { readonly events: readonly ListEvent<S>[]; readonly version?: Version }

const TYPES: ReadonlySet<string> = new Set<Item<unknown>['type']>(['put', 'delete', 'invalid', 'version'])

/** Returns undefined for an item without a key, and for an unknown item. */
function keyOf(item: Item<unknown> | null | undefined): string | undefined {
  const isKnown = item != null && TYPES.has(item.type)
  return isKnown && typeof item.key === 'string' ? item.key : undefined
}
