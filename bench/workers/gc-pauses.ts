import { PerformanceObserver } from 'node:perf_hooks'

const pauses: { readonly startTime: number; readonly duration: number }[] = []
new PerformanceObserver((list) => pauses.push(...list.getEntries())).observe({ entryTypes: ['gc'] })

/**
 * The longest pause for garbage collection that began between two times of `performance.now()`, in milliseconds. A pause
 * is known a few milliseconds after it has ended.
 */
export function longestPause(from: number, to: number): number {
  const during = pauses.filter(({ startTime }) => startTime >= from && startTime < to)
  return Math.max(0, ...during.map(({ duration }) => duration))
}
