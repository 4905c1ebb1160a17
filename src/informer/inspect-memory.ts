import type { Store } from '../store/store.js'
import type { MemoryPicture } from './inspect-types.js'

/** The number of objects that are measured. */
const SAMPLES = 100
/** The number of values that are visited in one object. */
const MAX_VALUES = 10_000
/** The key, the entry and its place in the table, in bytes. */
const ENTRY_BYTES = 150
const INDEX_BYTES = 30

/**
 * Estimates the memory of a store from a sample of its objects. `packed` of them are not in it, but in packed content.
 */
export function memoryOf(
  store: Pick<Store<unknown>, 'size' | 'ordinalStart' | 'ordinalLimit' | 'entryAt'>,
  indexes: number,
  packed: number,
): MemoryPicture {
  const { size, ordinalStart, ordinalLimit } = store
  const step = Math.max(1, Math.floor((ordinalLimit - ordinalStart) / SAMPLES))
  let [sampled, total] = [0, 0]
  for (let ordinal = ordinalStart; ordinal < ordinalLimit && sampled < SAMPLES; ordinal += step) {
    const entry = store.entryAt(ordinal)
    if (entry === undefined) continue
    total += bytesOf(entry.object)
    sampled++
  }
  const bytesPerObject = sampled === 0 ? 0 : Math.round(total / sampled)
  return { bytes: (size - packed) * (bytesPerObject + ENTRY_BYTES + INDEX_BYTES * indexes), bytesPerObject, sampled }
}

/** Estimates the memory of a value with everything that it refers to, as V8 stores it. */
function bytesOf(root: unknown): number {
  const seen = new Set<object>()
  const pending: unknown[] = [root]
  let bytes = 0
  for (let visited = 0; pending.length > 0 && visited < MAX_VALUES; visited++) {
    const value = pending.pop()
    if (typeof value === 'string') bytes += textBytes(value)
    else if (typeof value === 'bigint') bytes += 24
    else if (typeof value === 'number') bytes += Number.isInteger(value) ? 0 : 12
    else if (typeof value === 'object' && value !== null && !seen.has(value)) {
      seen.add(value)
      const parts = partsOf(value)
      bytes += parts.bytes
      for (const part of parts.values) pending.push(part)
    }
  }
  return bytes
}

function textBytes(text: string): number {
  const isWide = /[\u0100-\uffff]/.test(text.slice(0, 1_000))
  return 16 + text.length * (isWide ? 2 : 1)
}

function partsOf(value: object): { readonly bytes: number; readonly values: readonly unknown[] } {
  try {
    if (ArrayBuffer.isView(value)) return { bytes: 100 + value.byteLength, values: [] }
    if (value instanceof Date) return { bytes: 40, values: [] }
    if (value instanceof Map) return { bytes: 60 + 40 * value.size, values: [...value.entries()].flat() }
    if (value instanceof Set) return { bytes: 60 + 30 * value.size, values: [...value] }
    const values: readonly unknown[] = Array.isArray(value) ? value : Object.values(value)
    return { bytes: 24 + 8 * values.length, values }
  } catch {
    return { bytes: 0, values: [] } // A getter or a proxy of the user threw.
  }
}
