import { expect, test } from 'vitest'
import { derive } from '../../../src/index.js'
import { begin, saved } from '../../support/packed-content.js'
import { contentOf } from '../../support/views.js'

test.each([false, true])(
  '[X1][X6] a view of a saved mirror follows its objects, also when these are read in place: %s',
  async (keepsPacked) => {
    const life = await saved()
    life.cache.keepsPacked = keepsPacked
    const { informer, clock } = begin({ ...life, hasHandler: false })
    let calls = 0
    const view = derive({
      from: informer,
      reads: [informer],
      each: ({ n }, key) => {
        calls++
        return key === 'k3' ? undefined : { n, next: informer.get(`k${n + 1}`)?.n }
      },
    })
    view.start()
    const settle = async (): Promise<number> => {
      calls = 0
      await clock.advance(1_000)
      const expected = new Map<string, object>()
      for (const [key, { n }] of contentOf(informer)) expected.set(key, { n, next: informer.get(`k${n + 1}`)?.n })
      expected.delete('k3')
      expect(contentOf(view)).toEqual(expected)
      return calls
    }
    expect(await settle()).toBe(200)
    life.source.put('k5', { n: 7 })
    expect(await settle(), 'k4 and k5').toBe(2)
    life.source.put('k8', { n: 8.5 })
    expect(await settle(), 'k5, k7 and k8').toBe(3)
    life.source.put('k5', { n: 5 })
    life.source.delete('k9')
    life.source.put('k200', { n: 200 })
    expect(await settle(), 'k4, k5, k199 and k200').toBe(4)
    life.source.put('k9', { n: 9 })
    expect(await settle(), 'k9').toBe(1)
    life.source.put('k8', { n: 8 })
    life.source.delete('k4')
    expect(await settle(), 'k7 and k8').toBe(2)
    const changed: string[] = []
    const note = ({ key }: { readonly key: string }): void => void changed.push(key)
    view.subscribe({ update: note, delete: note })
    const relisted = view.relist()
    expect(await settle()).toBe(informer.size)
    await relisted
    expect(changed).toEqual([])
    await Promise.all([view.stop(), clock.advance(1_000)])
  },
)
