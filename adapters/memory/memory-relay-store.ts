import { SourceError } from '../../src/contract/errors.js'
import {
  RelayConflictError,
  type RelayStore,
  type StoredText,
  type TextChange,
} from '../../src/contract/relay-store.js'
import type { SourceContext } from '../../src/contract/source.js'
import type { Version } from '../../src/contract/version.js'
import { checkOptions, isCount, isName, isOneOf } from '../../src/util/validate-options.js'
import { type MemorySource, memorySource } from './memory-source.js'

/**
 * What happens to a write. `lost request`: it is never performed. `lost reply`: it is performed. `late request`: it is
 * performed when `deliver` is called. In each case the call rejects with `UNAVAILABLE`.
 *
 * @example
 * ```ts
 * import { memoryRelayStore } from 'listwatch/memory'
 *
 * const store = memoryRelayStore()
 * store.disturb('late request') // The next write rejects with UNAVAILABLE,
 * store.deliver() // and is performed after all.
 * ```
 */
export type RelayFault = 'lost request' | 'lost reply' | 'late request'

/**
 * A relay store in memory with scripted faults, for tests. Relays and followers in one process share it.
 *
 * @example
 * ```ts
 * import { memoryRelayStore } from 'listwatch/memory'
 * import { serveRelay } from 'listwatch/relay'
 *
 * const store = memoryRelayStore()
 * await serveRelay(orders, store).synced()
 * console.log(`${store.texts.size} texts`)
 * store.fork(3) // A failover that loses the last three writes.
 * ```
 */
export interface MemoryRelayStore extends RelayStore {
  /** The collection, with scripted faults of its own: `disconnect`, `stall`, `compact`. */
  readonly collection: MemorySource<string>
  /** The texts in the store. */
  readonly texts: ReadonlyMap<string, string>
  /** Disturbs the next `times` writes (default 1). */
  disturb(fault: RelayFault, times?: number): void
  /** Performs late requests, in their order. */
  deliver(): void
  /** While false, every read and write fails with `UNAVAILABLE`. */
  setAvailable(isAvailable: boolean): void
  /** Loses the last `writes` writes (default 1), and starts a new epoch: a failover of an asynchronous replica. */
  fork(writes?: number): void
  /** Removes everything, and starts a new epoch. */
  flush(): void
}

/**
 * Options of `memoryRelayStore`.
 *
 * @example
 * ```ts
 * import { memoryRelayStore } from 'listwatch/memory'
 *
 * const store = memoryRelayStore({ name: 'orders', maxChanges: 10, maxBytes: 4_096 }) // Default: 1 000, and 16 MiB.
 * ```
 */
export interface MemoryRelayStoreOptions {
  /** The name in logs and errors. Default "memory relay". */
  readonly name?: string
  /** How many changes one write may have. Default 1 000. */
  readonly maxChanges?: number
  /** How many bytes the keys and texts of one write may have. Default 16 MiB. */
  readonly maxBytes?: number
}

/**
 * Returns a relay store in memory.
 * @returns The store, for `serveRelay`, `relaySource` and `relayCache`.
 * @throws OptionError that names a wrong option.
 *
 * @example
 * ```ts
 * import { memoryRelayStore } from 'listwatch/memory'
 *
 * const store = memoryRelayStore()
 * store.disturb('lost reply')
 * ```
 */
export function memoryRelayStore(options: MemoryRelayStoreOptions = {}): MemoryRelayStore {
  checkOptions('memoryRelayStore', options, { name: isName, maxChanges: isCount, maxBytes: isCount })
  return new Memory(options)
}

/** The number of states that `fork` can return to. */
const MAX_STATES = 100

class Memory implements MemoryRelayStore {
  readonly name: string
  readonly maxChanges: number
  readonly maxBytes: number
  readonly collection: MemorySource<string>
  #texts: ReadonlyMap<string, string> = new Map()
  /** The texts before each of the last writes. */
  #states: ReadonlyMap<string, string>[] = []
  #position: Version
  #faults: RelayFault[] = []
  #late: (() => void)[] = []
  #isAvailable = true

  constructor({ name = 'memory relay', maxChanges = 1_000, maxBytes = 16 * 1024 * 1024 }: MemoryRelayStoreOptions) {
    this.name = name
    this.maxChanges = maxChanges
    this.maxBytes = maxBytes
    this.collection = memorySource({ name })
    this.#position = this.collection.restore([])
  }

  get texts(): ReadonlyMap<string, string> {
    return this.#texts
  }

  async read(key: string, { signal }: SourceContext): Promise<StoredText> {
    signal.throwIfAborted()
    this.#assertAvailable()
    return { text: this.#texts.get(key), position: this.#position }
  }

  async write(changes: readonly TextChange[], after: Version, { signal }: SourceContext): Promise<Version> {
    signal.throwIfAborted()
    this.#assertAvailable()
    const fault = this.#faults.shift()
    if (fault === 'late request') this.#late.push(() => this.#write(changes, after))
    const position = fault === undefined || fault === 'lost reply' ? this.#write(changes, after) : undefined
    if (fault !== undefined || position === undefined) throw unavailable('the response was lost')
    return position
  }

  async close(): Promise<void> {}

  disturb(fault: RelayFault, times = 1): void {
    checkOptions(
      'disturb',
      { fault, times },
      { fault: isOneOf('lost request', 'lost reply', 'late request'), times: isCount },
    )
    for (let nth = 0; nth < times; nth++) this.#faults.push(fault)
  }

  deliver(): void {
    const late = this.#late
    this.#late = []
    for (const perform of late) {
      try {
        perform()
      } catch {} // The conflict has no caller any more.
    }
  }

  setAvailable(isAvailable: boolean): void {
    this.#isAvailable = isAvailable
  }

  fork(writes = 1): void {
    checkOptions('fork', { writes }, { writes: isCount })
    const [state] = this.#states.splice(Math.max(0, this.#states.length - writes))
    this.#restore(state ?? this.#texts)
  }

  flush(): void {
    this.#states = []
    this.#restore(new Map())
  }

  #restore(texts: ReadonlyMap<string, string>): void {
    this.#texts = texts
    this.#position = this.collection.restore(texts)
  }

  #write(changes: readonly TextChange[], after: Version): Version {
    if (after !== this.#position) throw new RelayConflictError(`${this.name} is at ${this.#position}`)
    const texts = new Map(this.#texts)
    this.#states = [...this.#states.slice(1 - MAX_STATES), this.#texts]
    this.#position = this.collection.transaction((tx) => {
      for (const { key, text } of changes) {
        if (text === undefined) {
          texts.delete(key)
          tx.delete(key)
        } else {
          texts.set(key, text)
          tx.put(key, text)
        }
      }
    })
    this.#texts = texts
    return this.#position
  }

  #assertAvailable(): void {
    if (!this.#isAvailable) throw unavailable(`${this.name} does not respond`)
  }
}

function unavailable(message: string): SourceError {
  return new SourceError(message, { code: 'UNAVAILABLE' })
}
