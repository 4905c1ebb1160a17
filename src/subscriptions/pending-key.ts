import type { Backoff } from '../reflector/backoff.js'
import type { RunReason } from './controller-types.js'
import type { InFlightBatch } from './in-flight-batches.js'

/** A key that is not reconciled: it is ready, running, or waits for a retry. */
export interface PendingKey {
  retry: Backoff
  attempt: number
  failedAt: number
  /** The reason for the next run; undefined while there is none but the end of a delay of `requeueAfter`. */
  reason: RunReason | undefined
  /** The batch with the earliest change of the key that is not reconciled; undefined if there is no such change. */
  since: InFlightBatch | undefined
  /** The batch with the first change during the current run. */
  duringRun: InFlightBatch | undefined
  readonly waitingSince: number
}

/** The reasons, the one that counts first. */
const ORDER: readonly RunReason[] = ['changed', 'enqueued', 'gained', 'initial', 'retry', 'requeued', 'resync']

/** Adds a reason for the next run of a key. Of several reasons the first in the order counts. */
export function addReason(item: PendingKey, reason: RunReason): void {
  if (item.reason === undefined || ORDER.indexOf(reason) < ORDER.indexOf(item.reason)) item.reason = reason
}
