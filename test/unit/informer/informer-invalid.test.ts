import { describe, expect, test } from 'vitest'
import type { MemorySource } from '../../../adapters/memory/index.js'
import { Fold } from '../../support/fold.js'
import { informerOf, mirrorOf } from '../../support/informers.js'
import { running } from '../../support/running.js'
import { numbered, put, scripted } from '../../support/scripted-source.js'

describe('[C29][C30] an object that does not decode', () => {
  test('[I8] is not in invalid before the whole first list is stored', async () => {
    const source = scripted<number>()
    const { clock, informer } = informerOf(source)
    informer.start()
    source.lists[0]?.page([{ type: 'invalid', key: 'a', error: new Error('not a number') }])
    await clock.advance(0)
    expect([...informer.invalid.keys()]).toEqual([])
    source.lists[0]?.answer([put('b', 1)], '5')
    await clock.advance(0)
    expect([[...informer.keys()], [...informer.invalid.keys()], informer.status.isSynced]).toEqual([['b'], ['a'], true])
  })

  test('[B28] is in `invalid` with its reason, which is reported once, and the mirror continues', async () => {
    const { clock, source, informer, errors } = await running(mirrorOf<number, object>([['a', 1]]))
    for (const reason of ['bad', 'bad', 'worse']) source.corrupt('a', reason)
    const version = source.put('b', 2)
    await clock.advance(0)
    expect([informer.get('b'), informer.version]).toEqual([2, version])
    const message = (reason: string): string => `the object "a" of memory is invalid: ${reason}`
    const invalid = { code: 'DECODE', phase: 'decode', key: 'a', source: 'memory', message: message('worse') }
    expect([...informer.invalid]).toMatchObject([['a', invalid]])
    expect(errors).toMatchObject([{ ...invalid, message: message('bad') }, invalid])
  })

  describe.each(['keep-previous', 'omit'] as const)('with onInvalid: %s', (onInvalid) => {
    const isKept = onInvalid === 'keep-previous'

    async function corrupted() {
      const options = isKept ? {} : { onInvalid }
      const world = await running(mirrorOf<number, object>([['a', 1]], options))
      const fold = new Fold<number>()
      world.informer.subscribe(fold.handlers)
      await world.clock.advance(0)
      world.source.corrupt('a', 'bad')
      await world.clock.advance(0)
      const shown = () => [world.informer.get('a'), fold.objects.get('a'), world.informer.invalid.size]
      return { ...world, fold, shown }
    }

    test('its last good state stays, or is deleted with an unknown final state', async () => {
      const { fold, shown } = await corrupted()
      expect(shown()).toEqual(isKept ? [1, 1, 1] : [undefined, undefined, 1])
      expect(fold.told).toEqual(isKept ? ['add a'] : ['add a', 'delete a'])
      if (!isKept) expect(fold.changes.at(-1)).toMatchObject({ key: 'a', previous: 1, finalState: 'unknown' })
    })

    test.each<[string, (source: MemorySource<number>) => unknown, number | undefined]>([
      ['a later good state', (source) => source.put('a', 2), 2],
      ['a delete', (source) => source.delete('a'), undefined],
    ])('%s removes it from invalid, in a batch or in a relist', async (_what, write, object) => {
      for (const isRelist of [false, true]) {
        const { clock, source, informer, shown } = await corrupted()
        if (isRelist) source.disconnect()
        write(source)
        if (isRelist) source.compact()
        await clock.advance(5_000)
        expect([...shown(), informer.status.relists]).toEqual([object, object, 0, isRelist ? 1 : 0])
      }
    })

    test('in a relist its key counts as listed', async () => {
      const { clock, source, informer, shown } = await corrupted()
      source.disconnect()
      source.corrupt('a', 'bad')
      source.compact()
      await clock.advance(5_000)
      expect([...shown(), informer.status.relists]).toEqual(isKept ? [1, 1, 1, 1] : [undefined, undefined, 1, 1])
    })
  })

  test.each([
    { onInvalid: 'keep-previous', kept: { a: 5, b: 2, c: 3, d: 4 } },
    { onInvalid: 'omit', kept: { b: 2 } },
  ] as const)('[C30] after its last good state in the same relist: $onInvalid applies to that state', async (each) => {
    const invalid = (key: string) => ({ type: 'invalid', key, error: new Error('bad'), hasLastValid: true }) as const
    const answers = [
      [put('a', 1), put('b', 2), put('d', 4), put('e', 5), invalid('d')],
      [put('a', 5), invalid('a'), put('c', 3), invalid('c'), put('d', 4), invalid('d'), put('b', 2)],
    ]
    const source = scripted<number>({ onList: (list, nth) => list.answer(answers[nth - 1] ?? [], `${nth}`) })
    const { clock, informer } = await running(informerOf(source, { onInvalid: each.onInvalid }))
    void informer.relist()
    await clock.advance(5_000)
    expect([informer.version, Object.fromEntries(informer.entries())]).toEqual(['2', each.kept])
    expect([...informer.invalid.keys()].sort()).toEqual(['a', 'c', 'd'])
  })

  test('[C30] after its delete in the same relist: its last state is deleted, and it is in invalid', async () => {
    const invalid = { type: 'invalid', key: 'a', error: new Error('bad'), hasLastValid: true } as const
    const answers = [
      [put('a', 1), put('b', 2)],
      [{ type: 'delete', key: 'a' }, invalid, put('b', 2)],
    ] as const
    const source = scripted<number>({ onList: (list, nth) => list.answer(answers[nth - 1] ?? [], `${nth}`) })
    const { clock, informer } = await running(informerOf(source))
    void informer.relist()
    await clock.advance(5_000)
    expect([informer.version, Object.fromEntries(informer.entries())]).toEqual(['2', { b: 2 }])
    expect([...informer.invalid.keys()]).toEqual(['a'])
  })

  test('[C31] without a key it is reported, suppresses the deletions of its list, and causes a relist', async () => {
    const keyless = { type: 'invalid', error: new Error('garbage') } as const
    const source = scripted<number>({
      heartbeatMs: 3_600_000,
      hasReached: numbered,
      onList: (list, nth) =>
        list.answer(
          nth === 1 ? [put('a', 1), put('b', 1)] : nth === 2 ? [put('a', 2), keyless] : [put('a', 3)],
          `${nth}`,
        ),
    })
    const { clock, informer, errors } = await running(informerOf(source))
    const relisted = informer.relist()
    await clock.advance(2_000)
    await relisted
    expect([informer.get('a'), informer.get('b')]).toEqual([2, 1])
    expect(errors).toMatchObject([{ code: 'DECODE', key: undefined, message: expect.stringContaining('garbage') }])
    await clock.advance(300_000)
    expect([informer.get('a'), informer.has('b'), source.lists.length]).toEqual([3, false, 3])
  })

  test('[C31] without a key it suppresses no deletion that the same list names', async () => {
    const keyless = { type: 'invalid', error: new Error('garbage') } as const
    const last = [
      put('a', 2),
      keyless,
      put('b', 2),
      { type: 'delete', key: 'b' },
      { type: 'delete', key: 'd' },
    ] as const
    const source = scripted<number>({
      onList: (list, nth) => list.answer(nth === 1 ? [put('a', 1), put('b', 1), put('c', 1)] : last, `${nth}`),
    })
    const { clock, informer } = await running(informerOf(source))
    void informer.relist()
    await clock.advance(2_000)
    expect([informer.version, Object.fromEntries(informer.entries())]).toEqual(['2', { a: 2, c: 1 }])
  })
})
