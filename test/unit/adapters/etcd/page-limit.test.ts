import { expect, test } from 'vitest'
import { type LearnedLimits, PageLimit } from '../../../../adapters/etcd/page-limit.js'
import type { KeyValue } from '../../../../adapters/etcd/transport/etcd-messages.js'

const entry = (size: number): KeyValue => ({
  key: Buffer.from('k'),
  value: Buffer.alloc(size),
  createRevision: 1,
  modRevision: 1,
})
const unlimited = { acceptedKeys: Infinity, timelyKeys: Infinity, mostTimelyKeys: Infinity, hasStreams: true }
const small = Array.from({ length: 100 }, () => entry(10))

test('quick pages of small entries do not lift the limit after a failed page, also in the next list', () => {
  const learned: LearnedLimits = { ...unlimited }
  const first = new PageLimit(10_000, 4 * 1024 * 1024, learned)
  first.arrived(small, 10)
  first.failed(1_000, 15_000)
  const second = new PageLimit(10_000, 4 * 1024 * 1024, learned)
  for (let pages = 0; pages < 5; pages++) second.arrived(small, 10)
  expect(second.keys).toBe(250)
  second.completed()
  second.arrived(small, 10)
  expect(second.keys).toBe(1_000)
})

test.each([
  [true, 0, false],
  [false, 3_000, false],
  [false, 1_000, true],
])('[E14] a stream that failed (for good: %s) after %s ms is requested again: %s', (isFinal, ms, hasStreams) => {
  const learned: LearnedLimits = { ...unlimited }
  new PageLimit(10_000, 4 * 1024 * 1024, learned).streamFailed(isFinal, ms)
  expect(new PageLimit(10_000, 4 * 1024 * 1024, learned).hasStreams).toBe(hasStreams)
})
