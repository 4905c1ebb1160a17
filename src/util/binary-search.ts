/** Returns the least i in [0, length) for which `holds`, or `length`. `holds` is false for a head of the range only. */
export function firstIndex(length: number, holds: (i: number) => boolean): number {
  let low = 0
  let high = length
  while (low < high) {
    const middle = (low + high) >> 1
    if (holds(middle)) high = middle
    else low = middle + 1
  }
  return low
}
