import type { Clock } from '../../src/contract/clock.js'
import type { SourceError } from '../../src/contract/errors.js'
import type { Leases } from '../../src/contract/leases.js'
import type { Random } from '../../src/contract/random.js'
import type { Logger } from '../../src/contract/status.js'
import type { Version } from '../../src/contract/version.js'
import type { ReplicaStatus } from '../../src/subscriptions/controller/controller-types.js'
import type { Wait } from '../../src/util/deadline.js'

/**
 * The options of `serveRelay`.
 *
 * @example
 * ```ts
 * import { natsLeases, natsRelayStore } from 'listwatch/nats'
 * import { serveRelay } from 'listwatch/relay'
 *
 * const leases = natsLeases({ client: connection, group: 'relay-orders', mode: 'leader' }) // One relay writes, others wait.
 * const relay = serveRelay(orders, natsRelayStore({ client: connection, relay: 'orders' }), { leases, logger: console })
 * ```
 */
export interface ServeRelayOptions {
  /**
   * The leases of the relays of one store, best with `mode: 'leader'`. One relay writes, and the others wait to replace
   * it. Without leases, a relay that begins replaces the one before it at once; if both run, each reports `CONFLICT`
   * every 30 s.
   */
  readonly leases?: Leases
  /** Allows objects of a source of secrets, such as `Secret`s of Kubernetes. Default: false. */
  readonly secrets?: boolean
  /** Receives errors of the relay. Default: no log. */
  readonly logger?: Logger
  /** The clock of all delays. Default: `systemClock`. */
  readonly clock?: Clock
  /** The random numbers of all delays. Default: `systemRandom`. */
  readonly random?: Random
}

/**
 * The state of a relay:
 *
 * - `waiting`: the mirror has no content yet.
 * - `standby`: another relay writes, or the leases fail; `reason` says which.
 * - `comparing`: it reads the store, and writes what differs.
 * - `live`: the store follows the mirror.
 * - `backing-off`: an attempt failed; `lastError` says why.
 * - `stopped`: ended permanently.
 *
 * @example
 * ```ts
 * import type { RelayState } from 'listwatch/relay'
 *
 * const READY: ReadonlySet<RelayState> = new Set(['standby', 'live'])
 * function isReady({ status }: { readonly status: { readonly state: RelayState } }): boolean {
 *   return READY.has(status.state)
 * }
 * ```
 */
export type RelayState = 'waiting' | 'standby' | 'comparing' | 'live' | 'backing-off' | 'stopped'

/**
 * The status of a relay.
 *
 * @example
 * ```ts
 * import type { RelayStatus } from 'listwatch/relay'
 *
 * function describe({ state, reason, version, batches, lastError }: RelayStatus): string {
 *   const failure = lastError === undefined ? '' : `; the last failure: ${lastError.message}`
 *   return `${state} (${reason}) at ${version} after ${batches} batches${failure}`
 * }
 * ```
 */
export interface RelayStatus {
  /** The state of the relay. */
  readonly state: RelayState
  /** The cause of the state, in words. */
  readonly reason: string
  /** The version of the upstream source that the store has, as this relay knows it. */
  readonly version: Version | undefined
  /** The changes that wait to be written. They are merged by key; `oldestMs` is how long the oldest one has waited. */
  readonly backlog: { readonly keys: number; readonly oldestMs: number }
  /** The number of batches that this relay has written. */
  readonly batches: number
  /** The number of changes in these batches. */
  readonly changes: number
  /** The last failure; it stays after the recovery. */
  readonly lastError: SourceError | undefined
  /** Its place among the relays of the store; undefined without `leases`. */
  readonly replica: ReplicaStatus | undefined
}

/**
 * A relay, as `serveRelay` returns it: it writes each change of an informer to a store, until it is stopped.
 *
 * @example
 * ```ts
 * import { memoryRelayStore } from 'listwatch/memory'
 * import { serveRelay } from 'listwatch/relay'
 *
 * const relay = serveRelay(orders, memoryRelayStore()).on('error', ({ message }) => console.warn(message))
 * await relay.synced({ timeoutMs: 30_000 })
 * console.log(`${relay.status.backlog.keys} changes wait to be written`)
 * await relay.stop({ drainMs: 5_000 }) // Before the informer.
 * ```
 */
export interface RelayServing extends AsyncDisposable {
  /** The status now. */
  readonly status: RelayStatus
  /**
   * Calls the listener for each failure. Without listener and logger, it is a process warning, at most once a minute.
   */
  on(event: 'error', listener: (error: SourceError) => void): this
  /** Removes a listener. */
  off(event: 'error', listener: (error: SourceError) => void): this
  /**
   * Resolves when this relay has written the content of the mirror. While another relay writes, it waits.
   *
   * @throws SourceError `TIMEOUT` after `timeoutMs`, `STOPPED` if the relay is stopped before.
   */
  synced(wait?: Wait): Promise<void>
  /**
   * Ends the relay, and closes the connections of the store. With `drainMs` it first writes the changes that wait, at
   * most for this time in milliseconds. Stop the relay before its informer.
   */
  stop(options?: { readonly drainMs?: number | undefined }): Promise<void>
}
