import { RelayConflictError, type RelayStore, type TextChange } from '../../src/contract/relay-store.js'
import type { Version } from '../../src/contract/version.js'
import { checkOptions, isCount, isName, isOneOf } from '../../src/util/validate-options.js'
import { unavailable } from '../common/source-errors.js'
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
  const { name = 'memory relay', maxChanges = 1_000, maxBytes = 16 * 1024 * 1024 } = options
  const collection = memorySource<string>({ name })
  let texts: ReadonlyMap<string, string> = new Map()
  /** The texts before each of the last writes. */
  let states: ReadonlyMap<string, string>[] = []
  let position = collection.restore([])
  const faults: RelayFault[] = []
  let late: (() => void)[] = []
  let isAvailable = true

  const restore = (restored: ReadonlyMap<string, string>): void => {
    texts = restored
    position = collection.restore(restored)
  }

  const perform = (changes: readonly TextChange[], after: Version): Version => {
    if (after !== position) throw new RelayConflictError(`${name} is at ${position}`)
    const next = new Map(texts)
    states = [...states.slice(1 - MAX_STATES), texts]
    position = collection.transaction((tx) => {
      for (const { key, text } of changes) {
        if (text === undefined) {
          next.delete(key)
          tx.delete(key)
        } else {
          next.set(key, text)
          tx.put(key, text)
        }
      }
    })
    texts = next
    return position
  }

  const assertAvailable = (): void => {
    if (!isAvailable) throw unavailable(`${name} does not respond`)
  }

  return {
    name,
    maxChanges,
    maxBytes,
    collection,
    get texts() {
      return texts
    },
    read: async (key, { signal }) => {
      signal.throwIfAborted()
      assertAvailable()
      return { text: texts.get(key), position }
    },
    write: async (changes, after, { signal }) => {
      signal.throwIfAborted()
      assertAvailable()
      const fault = faults.shift()
      if (fault === undefined) return perform(changes, after)
      if (fault === 'late request') late.push(() => perform(changes, after))
      if (fault === 'lost reply') perform(changes, after)
      throw unavailable('the response was lost')
    },
    close: async () => {},
    disturb: (fault, times = 1) => {
      const isFault = isOneOf('lost request', 'lost reply', 'late request')
      checkOptions('disturb', { fault, times }, { fault: isFault, times: isCount })
      for (let nth = 0; nth < times; nth++) faults.push(fault)
    },
    deliver: () => {
      const delivered = late
      late = []
      for (const each of delivered) {
        try {
          each()
        } catch {} // The conflict has no caller any more.
      }
    },
    setAvailable: (isNow) => {
      isAvailable = isNow
    },
    fork: (writes = 1) => {
      checkOptions('fork', { writes }, { writes: isCount })
      const [state] = states.splice(Math.max(0, states.length - writes))
      restore(state ?? texts)
    },
    flush: () => {
      states = []
      restore(new Map())
    },
  }
}

/** The number of states that `fork` can return to. */
const MAX_STATES = 100
