import { readFileSync } from 'node:fs'

/** The main thread's own time on a processor, in milliseconds: what others do on the machine does not count. Elsewhere than on Linux the clock's. */
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
