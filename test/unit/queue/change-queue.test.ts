import { expect, test } from 'vitest'
import type { Change } from '../../../src/queue/change.js'
import { ChangeQueue, NO_POSITION } from '../../../src/queue/change-queue.js'
import { finish } from '../../../src/util/steps.js'

const CHANGES = 3_000
const PER_STEP = 100

const changes = Array.from({ length: CHANGES }, (_, n): Change<number> => {
  return { type: 'add', key: `k${n}`, object: n, previous: undefined, version: undefined, origin: 'watch' }
})

test.each([
  ['that is merged in steps', 'latest'],
  ['after an overflow', 'every'],
] as const)('the changes of a large batch %s are listed in steps, before they are taken', (_, delivery) => {
  const queue = new ChangeQueue<number>({ delivery, capacity: 10 }, PER_STEP)
  expect(queue.push(changes, NO_POSITION)).toBe(false)
  // One step to merge each part of the changes, and one to list it.
  expect(Array.from(queue.merge()).length).toBeGreaterThanOrEqual((2 * CHANGES) / PER_STEP)
  expect([queue.take()?.changes, queue.take()]).toEqual([changes, undefined])
})

test('a batch that is pushed after the changes were listed is taken with them', () => {
  const queue = new ChangeQueue<number>({ capacity: 10 }, PER_STEP)
  queue.push(changes, NO_POSITION)
  finish(queue.merge())
  queue.push([{ ...changes[1], type: 'update', object: -1, previous: 1 } as Change<number>], NO_POSITION)
  finish(queue.merge())
  expect(queue.take()?.changes.map(({ object }) => object)).toEqual([0, -1, ...Array(CHANGES).keys().drop(2)])
})
