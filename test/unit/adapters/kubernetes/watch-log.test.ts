import { expect, test } from 'vitest'
import { type LogSegment, WatchLog } from '../../../../adapters/kubernetes/watch/watch-log.js'

const KILOBYTE = 1024

/** A log of this number of segments of half a megabyte, each read to its end, and all of them. */
function logOf(count: number): { readonly log: WatchLog; readonly portions: readonly LogSegment[] } {
  const log = new WatchLog('1')
  const portions = [log.last]
  for (let at = 0; at < count; at++) {
    log.append([{ bytes: Buffer.alloc(512 * KILOBYTE), isWhole: true }], String(at + 2))
    portions.push(log.last)
  }
  return { log, portions }
}

test('a log of a watch retains up to a megabyte that all have read, for followers that join', () => {
  const { log } = logOf(10)
  log.release(Number.POSITIVE_INFINITY)
  expect(['7', '9'].map((version) => log.segmentBefore(version)?.end)).toEqual([undefined, '9'])
  expect(log.segmentBefore('9')?.next).toBeDefined()
})

test('a log of a watch is not joined by a follower that would receive events from before its list', () => {
  const log = new WatchLog('1')
  log.append([], '2', 10)
  log.append([], '4', 20)
  const placesOf = (version: string): unknown[] =>
    [9, 10, 11, 21].map((since) => log.segmentBefore(version, since)?.end)
  expect(placesOf('1')).toEqual(['1', '1', undefined, undefined])
  expect(placesOf('3')).toEqual(['2', '2', '2', undefined])
  expect(placesOf('5')).toEqual(['4', '4', '4', '4'])
})

test('a log of a watch unlinks released segments from later ones', () => {
  const { log, portions } = logOf(10)
  log.release(Number.POSITIVE_INFINITY)
  expect(portions.map(({ next }) => next !== undefined)).toEqual([
    ...Array.from({ length: 8 }, () => false),
    true,
    true,
    false,
  ])
})
