import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { systemClock } from '../../src/contract/clock.js'

/** Returns the bytes that this process uses after garbage collection; undefined if the collector cannot be called. */
export async function usedHeapBytes(): Promise<number | undefined> {
  const collect = garbageCollector()
  if (collect === undefined) return undefined
  // The first collection may release objects that keep others, which only the second one finds.
  for (let runs = 0; runs < 2; runs++) {
    collect()
    await systemClock.sleep(0)
  }
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

/** Collects garbage until a condition holds, a few times at most. */
export async function collectGarbageUntil(isSo: () => boolean): Promise<void> {
  const collect = garbageCollector()
  for (let runs = 0; runs < 5 && !isSo(); runs++) {
    collect?.()
    await systemClock.sleep(10) // Finalizers run after the collection.
  }
}

function garbageCollector(): (() => unknown) | undefined {
  setFlagsFromString('--expose-gc')
  const gc: unknown = runInNewContext('globalThis.gc')
  return typeof gc === 'function' ? () => gc() : undefined
}
