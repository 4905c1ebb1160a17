import type { Version } from '../contract/version.js'
import type { Change } from '../queue/change.js'
import type { StorePosition } from '../queue/change-queue.js'
import type { ChangeBatch } from './subscription-types.js'

/** A batch as a consumer receives it. It keeps the position of the store, which users do not see. */
export class DeliveredBatch<T> implements ChangeBatch<T> {
  readonly changes: readonly Change<T>[]
  readonly version: Version | undefined
  readonly source: string | undefined
  readonly isSynced: boolean
  readonly #position: StorePosition | undefined

  /** Without `position` it is a batch of the initial replay, and not the last one. */
  constructor(
    changes: readonly Change<T>[],
    position: StorePosition | undefined,
    source: string | undefined,
    isOfSet: boolean,
  ) {
    this.changes = changes
    this.version = isOfSet ? undefined : position?.version
    this.source = isOfSet ? source : undefined
    this.isSynced = position !== undefined
    this.#position = position
  }

  get position(): StorePosition | undefined {
    return this.#position
  }
}

/** It differs after `EPOCH_CHANGED`. Undefined if the batch has no history. */
export function historyOf(batch: ChangeBatch<unknown>): number | undefined {
  return batch instanceof DeliveredBatch ? batch.position?.history : undefined
}
