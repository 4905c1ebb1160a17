/** Something that is due at a time. Of several with the same time the lowest `tie` is first. */
export interface DueItem {
  readonly at: number
  readonly tie: number
}

/** Adds an item to a binary heap, whose first item is the next one. */
export function pushDue<D extends DueItem>(heap: D[], due: D): void {
  let at = heap.push(due) - 1
  while (at > 0) {
    const parent = (at - 1) >> 1
    const above = heap[parent]
    if (above === undefined || !isBefore(due, above)) break
    heap[at] = above
    at = parent
  }
  heap[at] = due
}

/** Removes the first item of a heap. */
export function popDue<D extends DueItem>(heap: D[]): void {
  const last = heap.pop()
  if (last === undefined || heap.length === 0) return
  let at = 0
  for (;;) {
    let child = 2 * at + 1
    let least = heap[child]
    const right = heap[child + 1]
    if (least !== undefined && right !== undefined && isBefore(right, least)) {
      least = right
      child++
    }
    if (least === undefined || !isBefore(least, last)) break
    heap[at] = least
    at = child
  }
  heap[at] = last
}

function isBefore(a: DueItem, b: DueItem): boolean {
  return a.at < b.at || (a.at === b.at && a.tie < b.tie)
}
