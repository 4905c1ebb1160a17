import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const gc: unknown = runInNewContext('gc')

/** Bytes that are in use once everything that can be collected has been. */
export async function usedHeap(): Promise<number> {
  if (typeof gc !== 'function') throw new Error('this Node does not expose its garbage collector')
  for (let round = 0; round < 3; round++) {
    // What a collection finalises may free more.
    await new Promise((resolve) => setImmediate(resolve))
    gc()
  }
  return process.memoryUsage().heapUsed
}

/** By how much y grows with each x, by least squares. */
export function slope(points: readonly (readonly [x: number, y: number])[]): number {
  const n = points.length
  const mean = (of: (point: readonly [number, number]) => number): number =>
    points.reduce((sum, point) => sum + of(point), 0) / n
  const [x, y] = [mean(([x]) => x), mean(([, y]) => y)]
  const [above, below] = points.reduce<readonly [number, number]>(
    ([above, below], [px, py]) => [above + (px - x) * (py - y), below + (px - x) ** 2],
    [0, 0],
  )
  return below === 0 ? 0 : above / below
}
