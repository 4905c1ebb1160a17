import type { Scalar } from '../indexes/scalar.js'

/**
 * The slots of a packed hash table with open addressing: at most half of them have a number, the others are 0. A slot
 * has one more than the number of an element, whose hash leads to that slot or to one before it.
 */
export function newSlots(count: number): Int32Array<ArrayBuffer> {
  let length = 2
  while (length < count * 2) length *= 2
  return new Int32Array(length)
}

export function fillSlot(slots: Int32Array, hash: number, element: number): void {
  const mask = slots.length - 1
  let slot = hash & mask
  while (slots[slot] !== 0) slot = (slot + 1) & mask
  slots[slot] = element + 1
}

/** Returns the first element with this hash for which `isFound` returns true. */
export function findSlot(slots: Int32Array, hash: number, isFound: (element: number) => boolean): number | undefined {
  const mask = slots.length - 1
  for (let slot = hash & mask, left = slots.length; left > 0; slot = (slot + 1) & mask, left--) {
    const taken = slots[slot] ?? 0
    if (taken === 0) return undefined
    if (isFound(taken - 1)) return taken - 1
  }
  return undefined
}

/** Hashes the code units of a string (MurmurHash3, one block for each code unit). */
export function hashText(text: string, seed: number): number {
  let hash = seed
  for (let i = 0; i < text.length; i++) hash = mixed(hash, text.charCodeAt(i))
  return ended(hash, text.length)
}

const float = new Float64Array(1)
const halves = new Uint32Array(float.buffer)

function hashNumber(value: number, seed: number): number {
  float[0] = value + 0 // -0 is 0.
  if (Number.isNaN(value)) halves.fill(-1)
  return ended(mixed(mixed(seed, halves[0] ?? 0), halves[1] ?? 0), 8)
}

/** Equal scalars have equal hashes: a number and a bigint of the same value, and Dates of the same time. */
export function hashScalar(value: Scalar, seed: number): number {
  switch (typeof value) {
    case 'string':
      return hashText(value, seed)
    case 'number':
      return hashNumber(value, seed)
    case 'bigint': {
      const number = Number(value)
      const isExact = Number.isFinite(number) && BigInt(number) === value
      return isExact ? hashNumber(number, seed) : hashText(String(value), seed + 1)
    }
    case 'boolean':
      return hashNumber(value ? 1 : 0, seed + 2)
    default:
      return hashNumber(value.getTime(), seed + 3)
  }
}

function mixed(hash: number, block: number): number {
  let k = Math.imul(block, 0xcc9e2d51)
  k = Math.imul((k << 15) | (k >>> 17), 0x1b873593)
  const h = hash ^ k
  return (Math.imul((h << 13) | (h >>> 19), 5) + 0xe6546b64) | 0
}

function ended(hash: number, length: number): number {
  let h = hash ^ length
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b)
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35)
  return h ^ (h >>> 16)
}
