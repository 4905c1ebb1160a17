import type { Version } from '../contract/version.js'
import type { ChangeBatch } from './subscription-types.js'

/** The position of a feed after a batch. */
export interface BatchEnd {
  readonly position: Version | undefined
  readonly isSynced: boolean
}

const positions = new WeakMap<object, Version>()

/** Remembers the position of the store after a batch that has no version. Returns the batch. */
export function withPosition<B extends object>(batch: B, position: Version | undefined): B {
  if (position !== undefined) positions.set(batch, position)
  return batch
}

export function endOf(batch: ChangeBatch<unknown>): BatchEnd {
  return { position: batch.version ?? positions.get(batch), isSynced: batch.isSynced }
}
