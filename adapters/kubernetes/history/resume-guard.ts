import { type Clock, wallNowOf } from '../../../src/contract/clock.js'
import { SourceError } from '../../../src/contract/errors.js'
import type { WatchBatch } from '../../../src/contract/source.js'
import type { Version } from '../../../src/contract/version.js'
import { apiStatusIn } from '../http/api-error.js'
import { compareVersions, isResourceVersion, versionBefore } from './resource-version.js'

/**
 * A server that was unreachable for this number of milliseconds may have been restored, and its new history may have
 * passed the mirror's version.
 */
export const MAX_OUTAGE_MS = 30_000
/** All mirrors reconnect within this number of milliseconds after an outage: no backoff is longer than half of it. */
const AUDIT_WINDOW_MS = 60_000

/** After this number of failed watches from one version in a row, the mirror lists. */
const MAX_FAILURES = 3

/**
 * The resource returned `NOT_FOUND`. If it exists again, its history is new: a watch from a version before the first
 * list after that must list.
 */
export interface ResourceRemoval {
  listedFrom: Version | undefined
}

/** Decides whether a watch may resume from a version, or has to verify the server's history or list first. */
export class ResumeGuard {
  readonly deletes: DeletePositions = new DeletePositions()
  /**
   * Undefined before the first disconnect. After it: versions at which a list or a watch completed normally. Resuming
   * from one of them skips the history check. Any other version is verified first, because etcd may have been restored
   * during the disconnect.
   */
  #verifiedVersions: Set<Version> | undefined
  #unreachableSince: number | undefined
  /** How far the wall clock was ahead at the last contact. The other clock stands still while the machine sleeps. */
  #wallAheadMs: number | undefined
  /** After a long outage, each watch that is resumed before this time requests an audit. */
  #auditUntil = -Infinity
  /** The version from which the last watch failed. */
  #stuckAt: Version | undefined
  #failures = 0
  /** The last removal of the resource. Read it before a list, for `recordList`. */
  removal: ResourceRemoval | undefined

  /** Returns whether a watch may resume from `after` without a history check. A second watch from there needs one. */
  takeVerified(after: Version): boolean {
    return this.#verifiedVersions === undefined || this.#verifiedVersions.delete(after)
  }

  assertNotRemoved(version: Version): void {
    if (this.removal !== undefined && !isListed(this.removal, version))
      throw new SourceError('the resource was deleted and recreated', { code: 'VERSION_EXPIRED' })
  }

  isAuditDue(now: number): boolean {
    return now < this.#auditUntil
  }

  /** `removal`: the last one when the list began. A list before a removal does not show the new resource. */
  recordList(version: Version, removal: ResourceRemoval | undefined): void {
    this.#verifiedVersions?.add(version)
    if (removal !== undefined && removal === this.removal && !isListed(removal, version)) removal.listedFrom = version
  }

  recordWatchEnd(version: Version, end: 'in time' | 'early'): void {
    this.#stuckAt = undefined
    if (end === 'early') this.#verifiedVersions = new Set()
    else this.#verifiedVersions?.add(version)
  }

  /**
   * Returns `VERSION_EXPIRED` if this is the last of several failures of watches from one version; otherwise the error
   * itself. A server without a watch cache fails indefinitely (500), instead of reporting an expired version, if etcd was
   * compacted within the requested history.
   */
  classify(error: unknown, after: Version): unknown {
    if (apiStatusIn(error)?.code !== 500) return error
    this.#failures = after === this.#stuckAt ? this.#failures + 1 : 1
    this.#stuckAt = after
    if (this.#failures < MAX_FAILURES) return error
    this.#stuckAt = undefined
    const message = `no watch can resume from ${after}: ${MAX_FAILURES} in a row have failed`
    return new SourceError(message, { code: 'VERSION_EXPIRED', cause: error })
  }

  /** A request has succeeded. Other mirrors may have been disconnected for as long, and reconnect later. */
  recordContact(clock: Clock): void {
    const now = clock.now()
    const wallAheadMs = wallNowOf(clock) - now
    const sleptMs = wallAheadMs - (this.#wallAheadMs ?? wallAheadMs)
    const unreachableMs = now - (this.#unreachableSince ?? now)
    if (Math.max(unreachableMs, sleptMs) >= MAX_OUTAGE_MS) this.#auditUntil = now + AUDIT_WINDOW_MS
    this.#unreachableSince = undefined
    this.#wallAheadMs = wallAheadMs
  }

  /** With `clock`, an outage begins now, or at `silentSince` if it was noticed late. */
  recordError(error: unknown, clock?: Clock, silentSince?: number): void {
    if (!(error instanceof SourceError)) return
    if (error.code === 'UNAVAILABLE') {
      this.#verifiedVersions = new Set()
      // A server that answers 429 is reachable.
      if (apiStatusIn(error)?.code !== 429) this.#unreachableSince ??= silentSince ?? clock?.now()
    }
    if (error.code === 'NOT_FOUND') {
      this.#verifiedVersions = new Set()
      this.removal = { listedFrom: undefined }
    }
  }
}

function isListed({ listedFrom }: ResourceRemoval, version: Version): boolean {
  return listedFrom !== undefined && compareVersions(version, listedFrom) >= 0
}

/** The last batch may not have been applied. Then the mirror is at the position before. */
const MAX_POSITIONS = 2

/**
 * The positions of mirrors at which more deletes may follow under the same version. Objects that expire together, such
 * as Events, are deleted in one revision of etcd, and a watch may break off between two of them.
 */
class DeletePositions {
  readonly #positions = new WeakMap<object, readonly Version[]>()

  of(mirror: object): readonly Version[] {
    return this.#positions.get(mirror) ?? []
  }

  restore(mirror: object, positions: readonly unknown[]): void {
    this.#positions.set(mirror, positions.filter(isResourceVersion).slice(-MAX_POSITIONS))
  }

  /** Returns the version from which the mirror has to read, so that it misses no delete of the version `after`. */
  readFrom(mirror: object, after: Version): Version {
    return this.of(mirror).includes(after) ? versionBefore(after) : after
  }

  /** A batch of the mirror follows. If its last event is a delete, the mirror is at such a position. */
  record(mirror: object, { events, version }: WatchBatch<unknown>): void {
    const last = events.at(-1)
    if (last?.type === 'delete' && last.version === version && this.of(mirror).at(-1) !== version)
      this.#positions.set(mirror, [...this.of(mirror), version].slice(-MAX_POSITIONS))
  }
}
