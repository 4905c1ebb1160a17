import { expect, test } from 'vitest'
import type { Change } from '../../../src/queue/change.js'
import { ChangeQueue, NO_POSITION, type StorePosition } from '../../../src/queue/change-queue.js'
import { finish, type Steps } from '../../../src/util/steps.js'

const CHANGES = 3_000
const PER_STEP = 100
const STEPS = CHANGES / PER_STEP

const changes: readonly Change<number>[] = Array.from({ length: CHANGES }, (_, n) => ({
  type: 'add',
  key: `k${n}`,
  object: n,
  previous: undefined,
  version: undefined,
  origin: 'watch',
}))

const at = (version: string): StorePosition => ({ ...NO_POSITION, version })

function queueOf(delivery: 'every' | 'latest'): ChangeQueue<number> {
  return new ChangeQueue<number>({ delivery, capacity: 10 }, PER_STEP)
}

function countOf(steps: Steps): number {
  let count = 0
  while (steps.next().done !== true) count++
  return count
}

// One step to merge each part of the changes, and one to list it.
test.each([
  {
    title: 'that is merged in steps',
    stepsOf: () => {
      const queue = queueOf('latest')
      queue.push(changes, at('1'))
      return { queue, count: countOf(queue.merge()) }
    },
  },
  {
    title: 'after an overflow',
    stepsOf: () => {
      const queue = queueOf('every')
      expect(queue.push(changes, at('1'))).toBe(false)
      return { queue, count: countOf(queue.merge()) }
    },
  },
])('the changes of a large batch $title are listed in steps, before they are taken', ({ stepsOf }) => {
  const { queue, count } = stepsOf()
  expect(count).toBeGreaterThanOrEqual(2 * STEPS)
  expect(queue.take()?.changes).toEqual(changes)
  expect(queue.take()).toBeUndefined()
})

test('a batch that is pushed after the changes were listed is taken with them', () => {
  const queue = queueOf('every')
  queue.push(changes, at('1'))
  finish(queue.merge())
  queue.push([{ type: 'update', key: 'k1', object: -1, previous: 1, version: undefined, origin: 'watch' }], at('2'))
  finish(queue.merge())
  const batch = queue.take()
  expect([batch?.changes.length, batch?.position.version, batch?.changes[1]?.object]).toEqual([CHANGES, '2', -1])
})

test('changes of which most are a delete and an add are listed in steps too', () => {
  const queue = queueOf('every')
  const deletes = changes.map(({ key, object }, n): Change<number> => {
    const common = { key, object, previous: object, version: undefined, origin: 'watch' } as const
    return n === 0 ? { ...common, type: 'update' } : { ...common, type: 'delete', finalState: 'known' }
  })
  queue.push(deletes, at('1'))
  queue.push(changes.slice(1), at('2'))
  expect(countOf(queue.merge())).toBeGreaterThanOrEqual(3 * STEPS - 1)
  expect(queue.take()?.changes).toHaveLength(2 * CHANGES - 1)
})
