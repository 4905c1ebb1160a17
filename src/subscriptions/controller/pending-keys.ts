import type { Clock } from '../../contract/clock.js'
import type { ReadyKey } from '../../queue/ready-keys.js'
import type { KeyRecords } from '../../queue/work-queue.js'
import { type Backoff, backoff, grown } from '../../reflector/backoff.js'
import type { InFlightBatch, InFlightBatches } from '../delivery/in-flight-batches.js'
import type { ReconcileContext, RetryOptions } from './controller-types.js'
import type { FailingKeys } from './failing-keys.js'

/** A key that is not reconciled: it is ready, running, or waits for a retry. */
export interface PendingKey extends ReadyKey {
  retry: Backoff
  attempt: number
  failedAt: number
  /** The reason for the next run; undefined while there is none but the end of a delay of `requeueAfter`. */
  reason: Reason | undefined
  /** The batch with the earliest change of the key that is not reconciled; undefined if there is no such change. */
  since: InFlightBatch | undefined
  duringRun: InFlightBatch | undefined
  readonly waitingSince: number
}

type Reason = ReconcileContext<unknown>['reason']

/** The reasons, the one that counts first. */
const ORDER: readonly Reason[] = ['changed', 'enqueued', 'watches', 'gained', 'initial', 'retry', 'requeued', 'resync']

export function addReason(item: PendingKey, reason: Reason): void {
  if (item.reason === undefined || ORDER.indexOf(reason) < ORDER.indexOf(item.reason)) item.reason = reason
}

export class PendingKeys<T> extends Map<string, PendingKey> implements KeyRecords {
  readonly #retry: Required<RetryOptions>
  readonly #clock: Clock
  readonly #inFlight: InFlightBatches<T>
  readonly #failing: FailingKeys

  constructor(retry: Required<RetryOptions>, clock: Clock, inFlight: InFlightBatches<T>, failing: FailingKeys) {
    super()
    this.#retry = retry
    this.#clock = clock
    this.#inFlight = inFlight
    this.#failing = failing
  }

  get oldestMs(): number {
    const now = this.#clock.now()
    let oldest = 0
    for (const { waitingSince } of this.values()) oldest = Math.max(oldest, now - waitingSince)
    return oldest
  }

  /** A key that is not pending becomes so. */
  of(key: string): PendingKey {
    const known = this.get(key)
    if (known !== undefined) return known
    const item: PendingKey = {
      key,
      list: undefined,
      previous: undefined,
      next: undefined,
      retry: backoff(this.#retry.minMs, this.#retry.maxMs),
      attempt: 1,
      failedAt: this.#failing.all.get(key)?.failedAt ?? -Infinity,
      reason: undefined,
      since: undefined,
      duringRun: undefined,
      waitingSince: this.#clock.now(),
    }
    this.set(key, item)
    return item
  }

  /** The changes before the run are reconciled. Those during the run, and other reasons since then, are not. */
  settle(key: string, { since, duringRun, reason }: PendingKey): void {
    this.delete(key)
    if (reason !== undefined) {
      const next = this.of(key)
      next.since = duringRun
      next.reason = reason
    }
    if (since !== undefined) this.#inFlight.ack(since)
  }

  retryLater(item: PendingKey, failedAt: number): void {
    if (item.since === undefined) item.since = item.duringRun
    else if (item.duringRun !== undefined) this.#inFlight.ack(item.duringRun)
    item.duringRun = undefined
    item.attempt++
    item.retry = grown(item.retry)
    item.failedAt = failedAt
    item.reason ??= 'retry'
  }

  /** All changes of the key count as reconciled. */
  drop(key: string): void {
    const item = this.get(key)
    this.delete(key)
    if (item?.since !== undefined) this.#inFlight.ack(item.since)
    if (item?.duringRun !== undefined) this.#inFlight.ack(item.duringRun)
  }
}
