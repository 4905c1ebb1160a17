import type { TimeSlice } from './time-slice.js'

/** A part of this size is sorted at once. */
const PART = 4_096

/** Sorts texts as `Array.prototype.sort` does, in slices. Returns a new array. */
export async function sortInSlices(texts: readonly string[], slice: TimeSlice, signal: AbortSignal): Promise<string[]> {
  let parts: string[][] = []
  for (let from = 0; from < texts.length; from += PART) {
    parts.push(texts.slice(from, from + PART).sort())
    await slice.end(signal)
  }
  while (parts.length > 1) {
    const merged: string[][] = []
    for (let at = 0; at < parts.length; at += 2)
      merged.push(await merge(parts[at] ?? [], parts[at + 1] ?? [], slice, signal))
    parts = merged
  }
  return parts[0] ?? []
}

async function merge(
  left: readonly string[],
  right: readonly string[],
  slice: TimeSlice,
  signal: AbortSignal,
): Promise<string[]> {
  const merged: string[] = []
  let [atLeft, atRight] = [0, 0]
  while (atLeft < left.length || atRight < right.length) {
    const [one, other] = [left[atLeft], right[atRight]]
    if (one !== undefined && (other === undefined || one <= other)) {
      merged.push(one)
      atLeft++
    } else if (other !== undefined) {
      merged.push(other)
      atRight++
    }
    if (merged.length % PART === 0) await slice.end(signal)
  }
  return merged
}
