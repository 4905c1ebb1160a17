import { slope, usedHeap } from './heap.js'
import { forgetCollected } from './left.js'

/** One thing that was measured, and what is promised of it. */
export interface SoakFigure {
  readonly what: string
  readonly count: number
  readonly bytes: number
  readonly unit: 'each' | 'in all'
  readonly limit: number
  readonly holds: boolean
}

export interface Load {
  readonly what: string
  /** How many at least are pushed through while it is measured. */
  readonly count: number
  /** How many before: what compiles, and grows to its size, does so then. */
  readonly warmUp: number
  /** Below this, in bytes. */
  readonly limit: number
  step(): Promise<void>
  /** How many have been pushed through so far: as others counted them. */
  counted(): number
}

/** A line through this number of measurements evens out the error of each: a few bytes if V8 only interprets, else 20 kB. */
const POINTS = 25

/** By how much the heap grows with each, judged by a line through many looks at it. */
export async function growthOfEach(
  { what, count, warmUp, limit, step, counted }: Load,
  progress: (text: string) => void,
): Promise<SoakFigure> {
  const push = async (to: number): Promise<void> => {
    while (counted() < to) {
      const before = counted()
      await step()
      if (counted() === before) throw new Error(`${what}: nothing came of it`)
    }
  }
  progress(`${what}: warming up`)
  await push(counted() + warmUp)
  const from = counted()
  const points: [number, number][] = [[from, await look()]]
  for (let point = 1; point <= POINTS; point++) {
    await push(from + (count / POINTS) * point)
    points.push([counted(), await look()])
    progress(`${what}: ${Math.round((point / POINTS) * 100)} %`)
  }
  const bytes = slope(points)
  return { what, count: counted() - from, bytes, unit: 'each', limit, holds: bytes < limit }
}

/** By how much the heap is larger than before, at most. */
export async function growthInAll(
  { what, count, warmUp, limit, step, counted }: Load,
  begin: () => void,
  progress: (text: string) => void,
): Promise<SoakFigure> {
  while (counted() < warmUp) await step()
  const before = await look()
  const from = counted()
  begin()
  let bytes = -Infinity
  for (let point = 1; point <= 10; point++) {
    while (counted() < from + (count / 10) * point) await step()
    bytes = Math.max(bytes, (await look()) - before)
    progress(`${what}: ${point * 10} %`)
  }
  return { what, count: counted() - from, bytes, unit: 'in all', limit, holds: bytes < limit }
}

async function look(): Promise<number> {
  await usedHeap()
  forgetCollected()
  return usedHeap()
}
