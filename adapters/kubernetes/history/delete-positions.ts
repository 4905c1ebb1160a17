import type { WatchBatch } from '../../../src/contract/source.js'
import type { Version } from '../../../src/contract/version.js'
import { isResourceVersion, versionBefore } from './resource-version.js'

/** The last batch may not have been applied. Then the mirror is at the position before. */
const MAX_POSITIONS = 2

/**
 * The positions of mirrors at which more deletes may follow under the same version. Objects that expire together, such
 * as Events, are deleted in one revision of etcd, and a watch may break off between two of them.
 */
export class DeletePositions {
  readonly #positions = new WeakMap<object, readonly Version[]>()

  /** The last positions of the mirror. */
  of(mirror: object): readonly Version[] {
    return this.#positions.get(mirror) ?? []
  }

  /** The mirror was saved with these positions by an earlier process. */
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
