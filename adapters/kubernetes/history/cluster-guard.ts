import { isEpochChange, SourceError } from '../../../src/contract/errors.js'
import type { Version } from '../../../src/contract/version.js'
import { compareVersions } from './resource-version.js'
import { VersionOrigins } from './version-origins.js'

/** A watch that ends where its source turns out to lead elsewhere. */
export interface WatchLease {
  readonly signal: AbortSignal
  /** It goes on there. Throws `EPOCH_CHANGED` where what it begins with is from elsewhere. */
  continueOn(clusterId: string | undefined): void
  /** Everything up to this version is told. */
  advanceTo(version: Version): void
  /** Ends it with an error. */
  revoke(reason: SourceError): void
  /** With an error that says so, the mirror trusts no version any more. */
  release(error?: unknown): void
}

interface LeaseState {
  at: Version
  /** Where that is from; undefined where nobody knows. */
  clusterId: string | undefined
  /** With `changed`, the mirror is told to list there. */
  revoke(reason: SourceError, changed?: { readonly clusterId: string | undefined }): void
}

/** What nobody knows once there have been several: none of them. */
const UNKNOWN = ''

/**
 * Which cluster a mirror is of, and how far its history was. A version says nothing of that, and a kubeConfig may come to lead to another one
 * once its credentials are refused: then nothing from there may be compared with what is known before all was listed there. Several mirrors may
 * be of one source: each is told for itself, the ones that stay at once, the others when they come back with a version from elsewhere.
 */
export class ClusterGuard {
  /** What the mirror shows comes from there. */
  #clusterId: string | undefined
  /** The mirror was told that it has to list there, and trusts no version meanwhile. */
  #pendingClusterId: string | undefined
  /** Another cluster was listed than before. */
  #hasChanged = false
  readonly #leases = new Set<LeaseState>()
  readonly #origins = new VersionOrigins()

  /** A list comes from there, for who shows everything up to `floor`. Throws `EPOCH_CHANGED` where that is another cluster, and the mirror was not told. */
  beginList(clusterId: string | undefined, floor: Version | undefined, signal: AbortSignal): void {
    if (this.#pendingClusterId === undefined || clusterId !== this.#pendingClusterId)
      this.#assertCurrent(clusterId, signal)
    if (floor === undefined) return
    const from = this.#takeOrigin(floor)
    if (from !== undefined && from !== clusterId) throw new ClusterChangedError(clusterId)
    this.#recordOrigin(floor, from)
  }

  /** A whole list came from there, for the same. */
  completeList(clusterId: string | undefined, floor: Version | undefined, version: Version | undefined): void {
    if (!this.#isCurrent(clusterId)) {
      this.#revokeAll(new ClusterChangedError(clusterId))
      this.#hasChanged = true
    }
    this.#clusterId = clusterId
    this.#pendingClusterId = undefined
    if (version === undefined) return
    // A list that is behind what is floor is refused.
    if (floor !== undefined && compareVersions(version, floor) >= 0) this.#takeOrigin(floor)
    this.#recordOrigin(version, clusterId)
  }

  /** A version came from there. Throws `EPOCH_CHANGED` where it is none of the mirror's, which then goes there, too. */
  assertCluster(clusterId: string | undefined): void {
    if (this.#pendingClusterId === undefined && this.#isCurrent(clusterId)) return
    const error = new ClusterChangedError(clusterId)
    if (!this.#isCurrent(clusterId)) this.#revokeAll(error)
    throw error
  }

  /**
   * Before something is read that is as new as that which a majority of etcd has when it is asked for. What it gives is told at which version
   * that was, and throws `EPOCH_CHANGED` where a watch was ahead of it; these end so, too.
   */
  beginRead(): (version: Version) => void {
    const before = Array.from(this.#leases, (state) => ({ state, at: state.at }))
    return (version) => {
      const ahead = before.filter(({ at }) => compareVersions(version, at) < 0)
      const [first] = ahead
      if (first === undefined) return
      const error = historyRewound(first.at, version)
      for (const { state } of ahead) state.revoke(error)
      throw error
    }
  }

  /** For a watch from `after`, until its signal aborts or home turns out to be elsewhere, or another. */
  lease(signal: AbortSignal, after: Version): WatchLease {
    const until = new AbortController()
    const abort = (): void => until.abort(signal.reason)
    const state: LeaseState = {
      at: after,
      clusterId: this.#takeOrigin(after),
      revoke: (reason, changed) => {
        if (!until.signal.aborted && changed !== undefined) this.#pendingClusterId = changed.clusterId
        until.abort(reason)
      },
    }
    if (signal.aborted) abort()
    else signal.addEventListener('abort', abort, { once: true })
    this.#leases.add(state)
    return {
      signal: until.signal,
      continueOn: (clusterId) => {
        // A shared watch goes on for others when who opened it has left.
        if (this.#leases.has(state)) {
          this.#assertCurrent(clusterId, until.signal)
          this.#clusterId = clusterId
        }
        state.clusterId ??= clusterId
        if (state.clusterId !== clusterId) throw new ClusterChangedError(clusterId)
      },
      advanceTo: (version) => {
        state.at = version
      },
      revoke: (reason) => state.revoke(reason),
      release: (error) => {
        signal.removeEventListener('abort', abort)
        this.#leases.delete(state)
        if (!isEpochChange(error)) this.#recordOrigin(state.at, state.clusterId)
        // Another source may have found out, whose watch it shared.
        else if (error instanceof ClusterChangedError && !signal.aborted && !this.#isCurrent(error.clusterId))
          this.#pendingClusterId = error.clusterId
      },
    }
  }

  /** Where it is not here, all are told: those who stay now, the others when they come back. */
  #assertCurrent(clusterId: string | undefined, signal: AbortSignal): void {
    if (this.#isCurrent(clusterId)) return
    // Whoever listens no more is told nothing.
    if (!signal.aborted) this.#pendingClusterId = clusterId
    const error = new ClusterChangedError(clusterId)
    this.#revokeAll(error)
    throw error
  }

  #revokeAll(error: ClusterChangedError): void {
    for (const { revoke: leave } of [...this.#leases]) leave(error, error)
  }

  #isCurrent(clusterId: string | undefined): boolean {
    return this.#clusterId === undefined || clusterId === this.#clusterId
  }

  /** Where a version is from that somebody goes on from. */
  #takeOrigin(version: Version): string | undefined {
    return this.#origins.take(version, this.#clusterId) ?? (this.#hasChanged ? UNKNOWN : this.#clusterId)
  }

  #recordOrigin(version: Version, clusterId: string | undefined): void {
    if (clusterId !== undefined && clusterId !== UNKNOWN) this.#origins.record(version, clusterId)
  }
}

/** The mirror was of another cluster than this one. */
class ClusterChangedError extends SourceError {
  readonly clusterId: string | undefined

  constructor(clusterId: string | undefined) {
    super('the kubeConfig leads to another server than before', { code: 'EPOCH_CHANGED' })
    this.clusterId = clusterId
  }
}

/** A history never goes back by itself. */
export function historyRewound(from: Version, to: Version): SourceError {
  return new SourceError(`the history went back from ${from} to ${to}: etcd was restored`, { code: 'EPOCH_CHANGED' })
}
