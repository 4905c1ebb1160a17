import { SourceError } from './errors.js'
import type { ListerWatcher, SourceContext } from './source.js'
import type { Version } from './version.js'

/**
 * A collection of texts in an engine: a relay writes it, and its followers read it. `serveRelay` and `relaySource` of
 * `listwatch/relay` decide what the texts are. An engine needs these four members only.
 *
 * @example
 * ```ts
 * import type { ListerWatcher, RelayStore, StoredText, TextChange } from 'listwatch/adapter'
 *
 * declare const engine: {
 *   collection(name: string): ListerWatcher<string>
 *   get(name: string, key: string, signal: AbortSignal): Promise<StoredText>
 *   compareAndApply(name: string, after: string, changes: readonly TextChange[], signal: AbortSignal): Promise<string>
 * }
 * const store: RelayStore = {
 *   name: 'my engine:orders',
 *   collection: engine.collection('orders'),
 *   ...{ maxChanges: 1_000, maxBytes: 1_048_576 },
 *   read: (key, { signal }) => engine.get('orders', key, signal),
 *   write: (changes, after, { signal }) => engine.compareAndApply('orders', after, changes, signal),
 *   close: async () => {},
 * }
 * ```
 */
export interface RelayStore {
  /** For logs and errors: "redis:relay:orders". */
  readonly name: string
  /**
   * The collection as a source: its objects are the texts. Each call of `write` is delivered as a whole, in one batch.
   * Its versions are the positions of `read` and `write`. It needs `hasReached`, which throws `EPOCH_CHANGED` if the
   * engine lost writes, or if the collection was deleted.
   */
  readonly collection: ListerWatcher<string>
  /** How many changes one call of `write` may have, at least 1. */
  readonly maxChanges: number
  /** How many bytes the keys and texts of one call of `write` may have, as UTF-8. */
  readonly maxBytes: number
  /**
   * Reads one text, and the position of the collection at that moment. The read is linearizable: it includes every
   * write that has resolved. A collection that does not exist has a position too.
   *
   * @throws SourceError UNAVAILABLE if the engine does not respond.
   */
  read(key: string, context: SourceContext): Promise<StoredText>
  /**
   * Applies all changes atomically if the collection is still at the position `after`, and returns the position then.
   * So a relay that another one has replaced cannot write. Each key occurs once.
   *
   * @throws RelayConflictError if the collection is at another position. Nothing was written.
   * @throws SourceError UNAVAILABLE if nothing was written, or if the response was lost: then the changes may have been
   * written, or will be.
   */
  write(changes: readonly TextChange[], after: Version, context: SourceContext): Promise<Version>
  /** Closes what `read` and `write` opened. Pending calls may reject. */
  close(): Promise<void>
}

/**
 * The result of `read`.
 *
 * @example
 * ```ts
 * import { systemClock as clock, systemRandom as random } from 'listwatch/adapter'
 * import { memoryRelayStore } from 'listwatch/memory'
 *
 * const store = memoryRelayStore()
 * const { text, position } = await store.read('greeting', { signal, clock, random })
 * if (text === undefined) await store.write([{ key: 'greeting', text: 'hello' }], position, { signal, clock, random })
 * ```
 */
export interface StoredText {
  /** The text of the key; undefined if there is none. */
  readonly text: string | undefined
  /** The position of the collection. */
  readonly position: Version
}

/**
 * A change of one key. Keys and texts are strings without lone surrogates.
 *
 * @example
 * ```ts
 * import type { TextChange } from 'listwatch/adapter'
 *
 * function applyTo(texts: Map<string, string>, changes: readonly TextChange[]): void {
 *   for (const { key, text } of changes) {
 *     if (text === undefined) texts.delete(key)
 *     else texts.set(key, text)
 *   }
 * }
 * ```
 */
export interface TextChange {
  /** The key: any characters, at least 1. */
  readonly key: string
  /** The new text; undefined deletes the key. */
  readonly text: string | undefined
}

/**
 * The collection is at another position: another relay has written, or the engine has lost writes.
 *
 * @example
 * ```ts
 * import { RelayConflictError } from 'listwatch/adapter'
 *
 * function assertPosition(current: string, expected: string): void {
 *   if (current !== expected) throw new RelayConflictError(`the collection is at ${current} and not at ${expected}`)
 * }
 * ```
 */
export class RelayConflictError extends SourceError {
  /** `RelayConflictError`. */
  override readonly name: string = 'RelayConflictError'

  constructor(message: string, options: { readonly cause?: unknown } = {}) {
    super(message, { code: 'CONFLICT', cause: options.cause })
  }
}
