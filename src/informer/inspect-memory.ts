import type { StoreIndex } from '../store/indexes/store-index.js'
import type { Store } from '../store/store.js'
import type { MemoryPicture } from './inspect-types.js'

/** The number of objects that are measured. */
const SAMPLES = 100
/** The number of values that are visited in one object. */
const MAX_VALUES = 10_000
/** The key, the entry and its place in the table, in bytes. */
const ENTRY_BYTES = 150
/** The place of an object in an index, and a value of an index by equality. */
const INDEXED_BYTES = 40
const VALUE_BYTES = 170
/** V8 has a text of JSON of at most this length once. */
const SHARED_TEXT = 10

/**
 * Estimates the memory of a store from a sample of its objects. `packed` of them are not in it, but in packed content.
 */
export function memoryOf(
  store: Pick<Store<unknown>, 'size' | 'ordinalStart' | 'ordinalLimit' | 'entryAt'>,
  indexes: readonly Pick<StoreIndex<unknown>, 'valueCount'>[],
  packed: number,
): MemoryPicture {
  const { size, ordinalStart, ordinalLimit } = store
  const step = Math.max(1, Math.floor((ordinalLimit - ordinalStart) / SAMPLES))
  const sample = new Sample()
  let [sampled, total] = [0, 0]
  for (let ordinal = ordinalStart; ordinal < ordinalLimit && sampled < SAMPLES; ordinal += step) {
    const entry = store.entryAt(ordinal)
    if (entry === undefined) continue
    total += sample.bytesOf(entry.object)
    sampled++
  }
  const bytesPerObject = sampled === 0 ? 0 : Math.round(total / sampled)
  let bytes = (size - packed) * (bytesPerObject + ENTRY_BYTES + INDEXED_BYTES * indexes.length)
  for (const { valueCount = 0 } of indexes) bytes += VALUE_BYTES * valueCount
  return { bytes, bytesPerObject, sampled }
}

/** Sampled objects. Each object and each shared text inside of them counts once. */
class Sample {
  readonly #seen = new Set<unknown>()

  /** Estimates the memory of a value with everything that it refers to, as V8 stores it. */
  bytesOf(root: unknown): number {
    const pending: unknown[] = [root]
    let bytes = 0
    for (let visited = 0; pending.length > 0 && visited < MAX_VALUES; visited++) {
      const value = pending.pop()
      if (typeof value === 'bigint') bytes += 24
      else if (typeof value === 'number') bytes += Number.isInteger(value) ? 0 : 16
      else if (typeof value === 'string') {
        if (value.length > SHARED_TEXT || this.#isNew(value)) bytes += textBytes(value)
      } else if (typeof value === 'object' && value !== null && this.#isNew(value)) {
        const parts = partsOf(value)
        bytes += parts.bytes
        for (const part of parts.values) pending.push(part)
      }
    }
    return bytes
  }

  #isNew(value: unknown): boolean {
    if (this.#seen.has(value)) return false
    this.#seen.add(value)
    return true
  }
}

function textBytes(text: string): number {
  const isWide = /[\u0100-\uffff]/.test(text.slice(0, 1_000))
  return 16 + text.length * (isWide ? 2 : 1)
}

function partsOf(value: object): { readonly bytes: number; readonly values: readonly unknown[] } {
  try {
    if (ArrayBuffer.isView(value)) return { bytes: 100 + value.byteLength, values: [] }
    if (value instanceof Date) return { bytes: 88, values: [] }
    if (value instanceof Map) return { bytes: 130 + 40 * value.size, values: [...value.entries()].flat() }
    if (value instanceof Set) return { bytes: 130 + 30 * value.size, values: [...value] }
    if (Array.isArray(value)) return { bytes: 48 + 8 * value.length, values: value }
    const values: readonly unknown[] = Object.values(value)
    return { bytes: 24 + 8 * values.length, values }
  } catch {
    return { bytes: 0, values: [] } // A getter or a proxy of the user threw.
  }
}
