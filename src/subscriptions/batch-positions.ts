import type { Version } from '../contract/version.js'
import type { ChangeBatch } from './subscription-types.js'

/** The position of a feed after a batch. */
export interface BatchEnd {
  readonly position: Version | undefined
  readonly isSynced: boolean
}

/** The position of the store after each dequeued batch. With several sources a batch has no version. */
export class BatchPositions<T> {
  #positions: WeakMap<ChangeBatch<T>, Version> | undefined

  set(batch: ChangeBatch<T>, position: Version | undefined): ChangeBatch<T> {
    if (position !== undefined && batch.version === undefined) {
      this.#positions ??= new WeakMap()
      this.#positions.set(batch, position)
    }
    return batch
  }

  endOf(batch: ChangeBatch<T>): BatchEnd {
    return { position: batch.version ?? this.#positions?.get(batch), isSynced: batch.isSynced }
  }
}
