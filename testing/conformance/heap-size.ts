import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { systemClock } from '../../src/contract/clock.js'

/** How many bytes this process holds and cannot let go of; undefined where its collector cannot be told to look. */
export async function usedHeapBytes(): Promise<number | undefined> {
  const collect = garbageCollector()
  if (collect === undefined) return undefined
  // What is let go of at the first look may hold something that only the second one finds.
  for (let looks = 0; looks < 2; looks++) {
    collect()
    await systemClock.sleep(0)
  }
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

function garbageCollector(): (() => unknown) | undefined {
  setFlagsFromString('--expose-gc')
  const gc: unknown = runInNewContext('globalThis.gc')
  return typeof gc === 'function' ? () => gc() : undefined
}
