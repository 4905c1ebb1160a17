import { isEpochChange, type SourceError } from '../../../src/contract/errors.js'
import type { Version } from '../../../src/contract/version.js'
import { ClusterChangedError, historyRewound } from './history-errors.js'
import { compareVersions } from './resource-version.js'
import { VersionOrigins } from './version-origins.js'

/** Held by a watch while it is open. It is revoked if the KubeConfig turns out to point to another cluster. */
export interface WatchLease {
  /** Aborts when the watch is no longer wanted, or when the lease is revoked. */
  readonly signal: AbortSignal
  /** The watch continues on this cluster. Throws `EPOCH_CHANGED` if its first version is from another one. */
  continueOn(clusterId: string | undefined): void
  /** Everything up to this version has been delivered. */
  advanceTo(version: Version): void
  revoke(reason: SourceError): void
  /** The watch has ended, with this error. After `EPOCH_CHANGED` the mirror trusts none of its versions. */
  release(error?: unknown): void
}

interface LeaseState {
  at: Version
  /** The cluster that issued the first version; undefined if unknown. */
  clusterId: string | undefined
  /** With `changed`, the mirror has to list on that cluster. */
  revoke(reason: SourceError, changed?: { readonly clusterId: string | undefined }): void
}

/** The origin of a version whose cluster is unknown after a cluster change. It equals no real cluster. */
const UNKNOWN = ''

/**
 * Detects that the KubeConfig now points to another cluster. This can happen once its credentials are refused. A
 * resourceVersion does not identify its cluster, so versions must not be compared across clusters: the first list from
 * the new cluster throws `EPOCH_CHANGED`. Several mirrors may share a source. Those with an open watch are notified at
 * once, the others when they resume with a version of the old cluster.
 */
export class ClusterGuard {
  /** The cluster whose objects the mirrors show. */
  #clusterId: string | undefined
  /** The cluster that a mirror has to list next. Until it has, no version is trusted. */
  #pendingClusterId: string | undefined
  #hasChanged = false
  readonly #leases = new Set<LeaseState>()
  readonly #origins = new VersionOrigins()

  /** For a mirror at `floor`. Throws `EPOCH_CHANGED` for another cluster, unless the mirror was notified of it. */
  beginList(clusterId: string | undefined, floor: Version | undefined, signal: AbortSignal): void {
    if (this.#pendingClusterId === undefined || clusterId !== this.#pendingClusterId)
      this.#assertCurrent(clusterId, signal)
    if (floor === undefined) return
    const origin = this.#takeOrigin(floor)
    if (origin !== undefined && origin !== clusterId) throw new ClusterChangedError(clusterId)
    this.#recordOrigin(floor, origin)
  }

  completeList(clusterId: string | undefined, floor: Version | undefined, version: Version | undefined): void {
    if (!this.#isCurrent(clusterId)) {
      this.#revokeAll(new ClusterChangedError(clusterId))
      this.#hasChanged = true
    }
    this.#clusterId = clusterId
    this.#pendingClusterId = undefined
    if (version === undefined) return
    // The core rejects a list that ends before the floor.
    if (floor !== undefined && compareVersions(version, floor) >= 0) this.#takeOrigin(floor)
    this.#recordOrigin(version, clusterId)
  }

  /** Throws `EPOCH_CHANGED` if this is not the mirrors' cluster. Open watches then end with the same error. */
  assertCluster(clusterId: string | undefined): void {
    if (this.#pendingClusterId === undefined && this.#isCurrent(clusterId)) return
    const error = new ClusterChangedError(clusterId)
    if (!this.#isCurrent(clusterId)) this.#revokeAll(error)
    throw error
  }

  /**
   * Call it before a read that a majority of etcd confirms, and call the result with the version of the answer. The
   * result throws `EPOCH_CHANGED` if an open watch was ahead of that version when the read began. Such watches end with
   * the same error.
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

  /** A mirror resumes from a version that an earlier process has read from this cluster. */
  restore(version: Version, clusterId: string | undefined): void {
    this.#recordOrigin(version, clusterId)
  }

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
        // A shared watch continues for its other followers after this lease was released.
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
        // Another source that shares the watch may have detected the change.
        else if (error instanceof ClusterChangedError && !signal.aborted && !this.#isCurrent(error.clusterId))
          this.#pendingClusterId = error.clusterId
      },
    }
  }

  #assertCurrent(clusterId: string | undefined, signal: AbortSignal): void {
    if (this.#isCurrent(clusterId)) return
    // A mirror that has stopped does not receive the error.
    if (!signal.aborted) this.#pendingClusterId = clusterId
    const error = new ClusterChangedError(clusterId)
    this.#revokeAll(error)
    throw error
  }

  #revokeAll(error: ClusterChangedError): void {
    for (const state of [...this.#leases]) state.revoke(error, error)
  }

  #isCurrent(clusterId: string | undefined): boolean {
    return this.#clusterId === undefined || clusterId === this.#clusterId
  }

  #takeOrigin(version: Version): string | undefined {
    return this.#origins.take(version, this.#clusterId) ?? (this.#hasChanged ? UNKNOWN : this.#clusterId)
  }

  #recordOrigin(version: Version, clusterId: string | undefined): void {
    if (clusterId !== undefined && clusterId !== UNKNOWN) this.#origins.record(version, clusterId)
  }
}
