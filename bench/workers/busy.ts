import { readFileSync } from 'node:fs'

const neverSet = new Int32Array(new SharedArrayBuffer(4))

/**
 * The main thread's time on a processor, in milliseconds, so that other processes do not count. On systems other than
 * Linux: the time of the clock.
 */
export function busyMs(): number {
  // The kernel counts when a thread gives up its processor, and otherwise only at its ticks, every few milliseconds.
  Atomics.wait(neverSet, 0, 0, 0.1)
  try {
    return Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'latin1').split(' ')[0]) / 1e6
  } catch {
    return performance.now()
  }
}

/** Nanoseconds of `work`, for each of `count`. */
export async function nsEach(count: number, work: () => unknown): Promise<number> {
  const before = busyMs()
  await work()
  return ((busyMs() - before) * 1e6) / count
}
