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
  const [a, b, c, newer] = [object('a'), object('b'), object('c'), object('b', '10')]

  test.each([
    ['returns the mirrored objects', [a], [a], [a], undefined],
    ['selects fewer objects', [a, b, c], [a, b, c], [a], 'listFn leaves out 2 of the 3 objects'],
    ['selects others', [a], [a], [b, c], 'listFn leaves out 1 of the 1 objects and returns 2 others'],
    ['has listed before an object came', [a, newer], [a, newer], [a], undefined],
    ['lists after an object has gone, as the mirror will see', [a, b], [a], [a], undefined],
    ['lists after an object has come, as the mirror will see', [a], [a, b], [a, b], undefined],
  ])('[D8] that %s is described by the difference alone', async (_what, before, later, listed, said) => {
    expect(await compareList(mirrorOf(before, later), () => listOf(...listed))).toBe(said)
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
