import { describe, expect, test } from 'vitest'
import {
  type Added,
  type Change,
  type Deleted,
  mergePending,
  type Pending,
  type Updated,
} from '../../../src/queue/change.js'

const base = { key: 'k', origin: 'watch' } as const

const add = (object: string, version = '1'): Added<string> => {
  return { ...base, type: 'add', object, previous: undefined, version }
}
const update = (object: string, previous: string, version = '2'): Updated<string> => {
  return { ...base, type: 'update', object, previous, version }
}
const gone = (
  previous: string,
  version: string | undefined = '3',
  extra: Partial<Deleted<string>> = {},
): Deleted<string> => {
  return { ...base, type: 'delete', object: previous, previous, version, finalState: 'known', ...extra }
}

describe('mergePending', () => {
  test.each<[string, Pending<string> | undefined, Change<string>, Pending<string> | undefined]>([
    ['add, add: an add of the newer object', add('a'), add('b', '2'), add('b', '2')],
    [
      'update, add: one update from the last delivered state',
      update('b', 'a', '2'),
      add('c', '3'),
      update('c', 'a', '3'),
    ],
    [
      'update, delete: a delete of the last delivered state, with the last state',
      update('b', 'a', '2'),
      gone('b', '3'),
      gone('a', '3', { object: 'b' }),
    ],
    ['delete, update: a delete, then an add', gone('a', '2'), update('b', 'a', '3'), [gone('a', '2'), add('b', '3')]],
    [
      'delete and add, add: the delete, and an add of the newer object',
      [gone('a', '2'), add('b', '3')],
      add('c', '4'),
      [gone('a', '2'), add('c', '4')],
    ],
    [
      'delete and add, delete: one delete of the last delivered state, with the last state',
      [gone('a', '2'), add('b', '3')],
      gone('b', '4'),
      gone('a', '4', { object: 'b' }),
    ],
    [
      'delete and add, a delete that was only inferred: the last state of what came back, not of what was there before',
      [gone('a', '2'), add('b', '3')],
      gone('b', '4', { finalState: 'unknown' }),
      gone('a', '4', { object: 'b', finalState: 'unknown' }),
    ],
    [
      'delete and add, a delete without a version: none, for the one before may be of another source',
      [gone('a', '2'), add('b', '3')],
      { ...gone('b'), version: undefined },
      { ...gone('a'), object: 'b', version: undefined },
    ],
  ])('%s', (_, pending, change, merged) => {
    expect(mergePending(pending, change)).toEqual(merged)
  })

  test('what is added keeps the origin of the first add', () => {
    expect(mergePending({ ...add('a'), origin: 'initial' }, update('b', 'a'))).toMatchObject({ origin: 'initial' })
  })

  test('nothing that went in is changed', () => {
    const pending = Object.freeze(update('b', 'a'))
    const change = Object.freeze(gone('b'))
    expect(() => mergePending(pending, change)).not.toThrow()
    const pair = Object.freeze([Object.freeze(gone('a')), Object.freeze(add('b'))] as const)
    expect(() => mergePending(pair, Object.freeze(update('c', 'b')))).not.toThrow()
  })
})

const told = { finalState: 'known' } as const
const inferred = { finalState: 'unknown' } as const

test.each<[string, Deleted<string>, Deleted<string>, object]>([
  [
    'of which the second knows, takes its final state',
    gone('a', '2', { ...inferred, object: 'stale' }),
    gone('a', '3', { ...told, object: 'final' }),
    gone('a', '3', { ...told, object: 'final' }),
  ],
  [
    'that both know, takes the later final state',
    gone('a', '2', { ...told, object: 'older' }),
    gone('a', '3', { ...told, object: 'newer' }),
    gone('a', '3', { ...told, object: 'newer' }),
  ],
  [
    'of which the second has no version, keeps that of the first',
    gone('a', '2', told),
    { ...gone('a'), version: undefined },
    gone('a', '2', told),
  ],
  [
    'has the last delivered object as previous',
    gone('told', '2', told),
    gone('never told', '3', told),
    { previous: 'told', version: '3' },
  ],
])('[law 5] merging two deletes %s', (_, first, second, merged) => {
  expect(mergePending(first, second)).toMatchObject(merged)
})
