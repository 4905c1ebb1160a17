import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Change, changesOf, type Deleted, mergePending, type Pending } from '../../src/queue/change.js'
import { runs } from '../support/property.js'

/** What happens to one key: it becomes an object, or goes. */
const fates = fc.array(
  fc.record({ object: fc.option(fc.integer({ min: 0, max: 3 }), { nil: undefined }), isInferred: fc.boolean() }),
  { maxLength: 12 },
)
const told = fc.option(fc.integer({ min: 0, max: 3 }), { nil: undefined })

/** The changes of a store that held `from` tells these fates. */
function changesFor(from: number | undefined, all: readonly { object: number | undefined; isInferred: boolean }[]) {
  const changes: Change<number>[] = []
  let previous = from
  all.forEach(({ object, isInferred }, at) => {
    const base = { key: 'k', version: String(at), origin: 'watch' } as const
    if (object !== undefined && previous === undefined) changes.push({ ...base, type: 'add', object, previous })
    else if (object !== undefined && previous !== undefined) changes.push({ ...base, type: 'update', object, previous })
    else if (previous !== undefined) {
      const finalState = isInferred ? 'unknown' : 'known'
      changes.push({ ...base, type: 'delete', object: previous, previous, finalState })
    }
    previous = object
  })
  return { changes, end: previous }
}

function merge(changes: readonly Change<number>[]): Pending<number> | undefined {
  return changes.reduce<Pending<number> | undefined>(mergePending, undefined)
}

test('[law 4b][law 4c] pending changes of one key end in the same state and at the same version as the changes one by one, and are as few as can be', () => {
  fc.assert(
    fc.property(told, fates, (from, all) => {
      const { changes, end } = changesFor(from, all)
      const pending = merge(changes)
      const merged = pending === undefined ? [] : changesOf(pending)
      let holds = from
      for (const change of merged) {
        expect(change.previous).toBe(holds)
        expect(change.type).toBe(change.type === 'delete' ? 'delete' : holds === undefined ? 'add' : 'update')
        holds = change.type === 'delete' ? undefined : change.object
      }
      expect(holds).toBe(end)
      const [last, lastMerged] = [changes.at(-1), merged.at(-1)]
      if (merged.length > 0) expect(lastMerged?.version).toBe(last?.version)
      // A delete has the last state, and says whether the source has named it, also if the object came back meanwhile.
      if (last?.type === 'delete' && lastMerged?.type === 'delete')
        expect([lastMerged.object, lastMerged.finalState]).toEqual([last.object, last.finalState])
      // Nothing, one change, or a delete and then an add.
      const types = merged.map(({ type }) => type)
      const wasGone = changes.some(({ type }) => type === 'delete')
      if (from === undefined) expect(types).toEqual(end === undefined ? [] : ['add'])
      else if (end === undefined) expect(types).toEqual(['delete'])
      else expect(types).toEqual(changes.length === 0 ? [] : wasGone ? ['delete', 'add'] : ['update'])
    }),
    runs(2_000),
  )
})

test('[law 4b][law 4c] an object that is added keeps the origin of its first add', () => {
  const base = { key: 'k', version: '1', previous: undefined, object: 1 } as const
  const [initial, gone] = [{ ...base, type: 'add', origin: 'initial' }, deleted({})] as const
  const update = { ...base, type: 'update', previous: 1, origin: 'watch' } as const
  expect(mergePending(initial, update)).toMatchObject({ type: 'add', origin: 'initial' })
  expect(mergePending([gone, initial], update)).toMatchObject([gone, { type: 'add', origin: 'initial' }])
})

function deleted(more: Partial<Deleted<number>>): Deleted<number> {
  const base = { type: 'delete', key: 'k', version: '2', origin: 'watch' } as const
  return { ...base, object: 1, previous: 1, finalState: 'unknown', ...more }
}

test.each([
  ['known', '3', '3'],
  ['unknown', undefined, '2'],
] as const)(
  '[law 5] a second delete, whose final state is %s and whose version is %s, follows the last delivered object',
  (finalState, version, merged) => {
    const second = deleted({ object: 7, previous: 9, finalState, version })
    expect(mergePending(deleted({}), second)).toEqual({ ...second, previous: 1, version: merged })
  },
)
