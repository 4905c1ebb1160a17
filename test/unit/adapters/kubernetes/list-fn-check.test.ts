import { describe, expect, test } from 'vitest'
import { compareList, type MirrorView } from '../../../../adapters/kubernetes/client-node/list-fn-check.js'

interface Listed {
  readonly metadata: { readonly name: string; readonly namespace: string; readonly resourceVersion: string }
}

const object = (name: string, resourceVersion = '5'): Listed => ({
  metadata: { name, namespace: 'default', resourceVersion },
})

/** A mirror of these objects, which may have other objects when it reaches the version of the list. */
function mirrorOf(objects: readonly Listed[], later: readonly Listed[] = objects): MirrorView {
  let current = objects
  return {
    get size() {
      return current.length
    },
    list: () => current,
    has: (key) => current.some(({ metadata }) => `default/${metadata.name}` === key),
    reached: async () => {
      current = later
    },
  }
}

const listOf = (...items: readonly Listed[]) => Promise.resolve({ metadata: { resourceVersion: '9' }, items })

describe('a listFn', () => {
  test('that returns the mirrored objects causes no warning', async () => {
    expect(await compareList(mirrorOf([object('a')]), () => listOf(object('a')))).toBeUndefined()
  })

  test('[D8] that selects fewer objects is described with their number', async () => {
    const mirrored = mirrorOf([object('a'), object('b'), object('c')])
    expect(await compareList(mirrored, () => listOf(object('a')))).toBe('listFn leaves out 2 of the 3 objects')
  })

  test('that selects others is described with their number', async () => {
    expect(await compareList(mirrorOf([object('a')]), () => listOf(object('b'), object('c')))).toBe(
      'listFn leaves out 1 of the 1 objects and returns 2 others',
    )
  })

  test('does not leave out what came after its list', async () => {
    expect(await compareList(mirrorOf([object('a'), object('b', '10')]), () => listOf(object('a')))).toBeUndefined()
  })

  test.each([
    ['is gone', [object('a'), object('b')], [object('a')], [object('a')]],
    ['has come', [object('a')], [object('a'), object('b')], [object('a'), object('b')]],
  ])('is compared with a mirror that has got as far: what %s meanwhile', async (_what, before, later, listed) => {
    expect(await compareList(mirrorOf(before, later), () => listOf(...listed))).toBeUndefined()
  })

  test.each([
    ['returns nothing', () => Promise.resolve(undefined)],
    ['returns no version', () => Promise.resolve({ items: [] })],
  ])('that %s says nothing', async (_what, listFn) => {
    expect(await compareList(mirrorOf([object('a')]), listFn)).toBeUndefined()
  })

  test.each([
    ['rejects', () => Promise.reject(new Error('mine'))],
    [
      'throws',
      () => {
        throw new Error('mine')
      },
    ],
  ])('that %s rejects with its error', async (_what, listFn) => {
    await expect(compareList(mirrorOf([object('a')]), listFn)).rejects.toThrow('mine')
  })

  test('is not called if there are many objects', async () => {
    let calls = 0
    const many = Array.from({ length: 1_001 }, (_, at) => object(`o${at}`))
    await compareList(mirrorOf(many), () => {
      calls++
      return listOf()
    })
    expect(calls).toBe(0)
  })
})
