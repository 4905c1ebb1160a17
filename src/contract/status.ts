import type { SourceError } from './errors.js'
import type { Version } from './version.js'

/**
 * The receiver of log messages; `console` fits. A method that throws causes a process warning.
 *
 * @example
 * ```ts
 * import type { Logger } from 'listwatch'
 *
 * const logger: Logger = {
 *   debug: () => {},
 *   info: (message, fields) => console.info(JSON.stringify({ level: 'info', message, ...fields })),
 *   warn: (message, fields) => console.warn(JSON.stringify({ level: 'warn', message, ...fields })),
 *   error: (message, fields) => console.error(JSON.stringify({ level: 'error', message, ...fields })),
 * }
 * const informer = createInformer({ source, logger })
 * ```
 */
export interface Logger {
  /** Receives details, such as dropped duplicates. */
  debug(message: string, fields?: object): void
  /** Receives changes of state. */
  info(message: string, fields?: object): void
  /** Receives errors and warnings of sources. */
  warn(message: string, fields?: object): void
  /** Not used yet: errors are retried, so they are logged by `warn`. */
  error(message: string, fields?: object): void
}

/**
 * The state of a mirror:
 *
 * - `idle`: not started.
 * - `restoring`: opens the content of its cache.
 * - `stale`: readers see saved content that the source has not confirmed yet (`serveStale` of the cache), or that lacks
 *   changes made before the start. `reason`, `lastError`, `attempt` and `retryInMs` say what the mirror does meanwhile.
 * - `listing`: reads the first list.
 * - `relisting`: reads a later list; the store stays readable.
 * - `connecting`: the watch was opened and has yielded nothing yet.
 * - `live`: the watch has yielded a batch.
 * - `backing-off`: waits before the next attempt.
 * - `failed`: the source rejects the request; retried with growing delays, at most 30 s.
 * - `stopped`: ended permanently.
 *
 * @example
 * ```ts
 * orders.on('status', ({ state, reason, retryInMs }) => {
 *   if (state === 'backing-off' || state === 'failed') console.warn(`${state}: ${reason}, next in ${retryInMs} ms`)
 * })
 * ```
 */
export type MirrorState =
  | 'idle'
  | 'restoring'
  | 'stale'
  | 'listing'
  | 'connecting'
  | 'live'
  | 'backing-off'
  | 'relisting'
  | 'failed'
  | 'stopped'

/**
 * When the store was last proven equal to its source. Invalid objects, and objects that `transform` omits, do not
 * count.
 *
 * @example
 * ```ts
 * import { systemClock } from 'listwatch/adapter'
 *
 * const { proof } = orders.status
 * if (proof === undefined) console.warn('the first list is not complete')
 * else if (systemClock.now() - proof.at > 900_000) console.warn(`proven last by the ${proof.by} at ${proof.version}`)
 * ```
 */
export interface Proof {
  /** The version of the source at which both were equal. */
  readonly version: Version
  /**
   * When the read that proves it began, in milliseconds since the Unix epoch, by the clock of the informer. `Date.now()`
   * differs from it after the machine has slept. A key that was written during an audit is not compared by it: the next
   * proof includes it.
   */
  readonly at: number
  /** `list`: the store was filled from a list. `audit`: an audit found no difference. */
  readonly by: 'list' | 'audit'
  /**
   * The number of keys that differed in the last completed audit; 0 if none did. The relist after it does not reset it.
   */
  readonly foundDrift: number
}

/**
 * The status of an informer, or of one source of a set. For a set: of the source in the worst state.
 *
 * @example
 * ```ts
 * const { state, silentMs, lagMs, relists } = orders.status
 * console.log(`${state}: silent for ${silentMs} ms, ${lagMs ?? 'unknown'} ms behind, ${relists} relists`)
 * orders.on('status', (now, previous) => console.log(`${previous.state} → ${now.state}: ${now.reason}`))
 * ```
 */
export interface Status {
  /** The state of the mirror. */
  readonly state: MirrorState
  /** Whether the first list is in the store, or saved content with all changes that were made before the start. */
  readonly isSynced: boolean
  /** The version of the store. Undefined before the first list, and for a source set. */
  readonly version: Version | undefined
  /** The cause of the state, in words. */
  readonly reason: string
  /** The last failure; it stays after the recovery. */
  readonly lastError: SourceError | undefined
  /** When the source last responded, in milliseconds since the Unix epoch. */
  readonly lastContactAt: number | undefined
  /** Milliseconds since the source last responded; before the first response, since the start. */
  readonly silentMs: number
  /**
   * Milliseconds from the commit of the newest batch at the source to its arrival. Undefined if the source has no
   * times.
   */
  readonly lagMs: number | undefined
  /** Attempts since the source last responded; 0 while it responds. */
  readonly attempt: number
  /** Milliseconds until the next attempt; undefined if no attempt is scheduled. */
  readonly retryInMs: number | undefined
  /**
   * The last proof that the store is equal to the source. Its age grows if events are lost silently. Undefined before
   * the first list. For a set: the oldest proof of a source, and the sum of `foundDrift`; undefined if a source has no
   * proof.
   */
  readonly proof: Proof | undefined
  /** When the content was saved that readers see, in milliseconds since the Unix epoch. Only in the state `stale`. */
  readonly savedAt?: number | undefined
  /** The number of lists after the first one. */
  readonly relists: number
  /** The number of watches that were opened again after a break. */
  readonly reconnects: number
  /** The status of each source of a set, or below a view, by name. */
  readonly sources?: Readonly<Record<string, Status>>
}
