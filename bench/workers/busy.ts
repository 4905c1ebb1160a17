import { readFileSync } from 'node:fs'

/** The main thread's time on a processor, in milliseconds, so that other processes do not count. On systems other than Linux: the time of the clock. */
export function busyMs(): number {
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
