import { describe, expect, test } from 'vitest'
import { Fold } from '../../support/fold.js'
import { informerOf, mirrorOf } from '../../support/informers.js'
import { numbered, put, scripted } from '../../support/scripted-source.js'

describe('[C29][C30] an object that does not decode', () => {
  test('[B28] an invalid object is in `invalid` with its reason, and the mirror continues', async () => {
    const { clock, source, informer, errors } = mirrorOf<number, object>([
      ['a', 1],
      ['b', 1],
    ])
    informer.start()
    await clock.advance(0)
    source.corrupt('a', new Error('not a number'))
    const version = source.put('b', 2)
    await clock.advance(0)
    expect([informer.get('b'), informer.version]).toEqual([2, version])
    expect([...informer.invalid]).toMatchObject([
      [
        'a',
        { code: 'DECODE', phase: 'decode', key: 'a', message: 'the object "a" of memory is invalid: not a number' },
      ],
    ])
    expect(errors).toMatchObject([{ code: 'DECODE', key: 'a', source: 'memory' }])
  })

  // I8
  test('is not in invalid before the whole first list is stored', async () => {
    const source = scripted<number>()
    const { clock, informer } = informerOf(source)
    informer.start()
    source.lists[0]?.page([{ type: 'invalid', key: 'a', error: new Error('not a number') }])
    await clock.advance(0)
    expect([...informer.invalid.keys()]).toEqual([])
    source.lists[0]?.answer([put('b', 1)], '5')
    await clock.advance(0)
    expect([...informer.invalid.keys()]).toEqual(['a'])
  })

  test('keep-previous, the default: its last good state stays, and no subscriber is notified', async () => {
    const { clock, source, informer } = mirrorOf<number, object>([['a', 1]])
    const fold = new Fold<number>()
    informer.subscribe(fold.handlers)
    informer.start()
    await clock.advance(0)
    source.corrupt('a', 'bad')
    await clock.advance(0)
    expect([informer.get('a'), fold.told]).toEqual([1, ['add a']])
  })

  test('omit: the object is removed, and a delete with an unknown final state is delivered', async () => {
    const { clock, source, informer } = mirrorOf<number, object>([['a', 1]], { onInvalid: 'omit' })
    const fold = new Fold<number>()
    informer.subscribe(fold.handlers)
    informer.start()
    await clock.advance(0)
    source.corrupt('a', 'bad')
    await clock.advance(0)
    expect([informer.has('a'), [...informer.invalid.keys()]]).toEqual([false, ['a']])
    expect(fold.changes.at(-1)).toMatchObject({ type: 'delete', key: 'a', previous: 1, finalState: 'unknown' })
  })

  test.each(['keep-previous', 'omit'] as const)('a later good state clears it (%s)', async (onInvalid) => {
    const { clock, source, informer } = mirrorOf<number, object>([['a', 1]], { onInvalid })
    const fold = new Fold<number>()
    informer.subscribe(fold.handlers)
    informer.start()
    await clock.advance(0)
    source.corrupt('a', 'bad')
    source.put('a', 2)
    await clock.advance(0)
    expect([informer.get('a'), informer.invalid.size, fold.objects.get('a')]).toEqual([2, 0, 2])
  })

  test('a delete removes it from invalid too', async () => {
    const { clock, source, informer } = mirrorOf<number, object>([['a', 1]])
    informer.start()
    await clock.advance(0)
    source.corrupt('a', 'bad')
    source.delete('a')
    await clock.advance(0)
    expect([informer.has('a'), informer.invalid.size]).toEqual([false, 0])
  })

  test('in the first list it is not stored, and is named in invalid', async () => {
    const { clock, source, informer } = mirrorOf<number, object>([
      ['a', 1],
      ['b', 2],
    ])
    source.corrupt('a', 'bad')
    informer.start()
    await clock.advance(0)
    expect([[...informer.keys()], [...informer.invalid.keys()], informer.status.isSynced]).toEqual([['b'], ['a'], true])
  })

  test('in a relist its key counts as listed: it is not deleted', async () => {
    const { clock, source, informer } = mirrorOf<number, object>([
      ['a', 1],
      ['b', 2],
    ])
    informer.start()
    await clock.advance(0)
    source.disconnect()
    source.corrupt('a', 'bad')
    source.delete('b')
    source.compact()
    await clock.advance(5_000)
    expect(informer.status.relists).toBe(1)
    expect([informer.get('a'), informer.has('b'), [...informer.invalid.keys()]]).toEqual([1, false, ['a']])
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
    const { clock, informer } = informerOf(source, { onInvalid: each.onInvalid })
    informer.start()
    await clock.advance(0)
    void informer.relist()
    await clock.advance(5_000)
    expect(informer.version).toBe('2')
    expect(Object.fromEntries(informer.entries())).toEqual(each.kept)
    expect([...informer.invalid.keys()].sort()).toEqual(['a', 'c', 'd'])
  })

  test('[C30] after its delete in the same relist: its last state is deleted, and it is in invalid', async () => {
    const invalid = { type: 'invalid', key: 'a', error: new Error('bad'), hasLastValid: true } as const
    const answers = [
      [put('a', 1), put('b', 2)],
      [{ type: 'delete', key: 'a' }, invalid, put('b', 2)],
    ] as const
    const source = scripted<number>({ onList: (list, nth) => list.answer(answers[nth - 1] ?? [], `${nth}`) })
    const { clock, informer } = informerOf(source)
    informer.start()
    await clock.advance(0)
    void informer.relist()
    await clock.advance(5_000)
    expect(informer.version).toBe('2')
    expect(Object.fromEntries(informer.entries())).toEqual({ b: 2 })
    expect([...informer.invalid.keys()]).toEqual(['a'])
  })

  test('a relist in which it is valid removes it from invalid', async () => {
    const { clock, source, informer } = mirrorOf<number, object>([['a', 1]])
    informer.start()
    await clock.advance(0)
    source.corrupt('a', 'bad')
    await clock.advance(0)
    source.disconnect()
    source.put('a', 5)
    source.compact()
    await clock.advance(5_000)
    expect([informer.get('a'), informer.invalid.size]).toEqual([5, 0])
  })

  test('a relist without it removes it from invalid', async () => {
    const { clock, source, informer } = mirrorOf<number, object>([['a', 1]])
    informer.start()
    await clock.advance(0)
    source.corrupt('a', 'bad')
    await clock.advance(0)
    source.disconnect()
    source.delete('a')
    source.compact()
    await clock.advance(5_000)
    expect([informer.has('a'), informer.invalid.size]).toEqual([false, 0])
  })

  test('the same reason is reported once, another reason again', async () => {
    const { clock, source, informer, errors } = mirrorOf<number, object>([['a', 1]])
    informer.start()
    await clock.advance(0)
    for (const reason of ['bad', 'bad', 'worse']) source.corrupt('a', reason)
    await clock.advance(0)
    expect(errors.map(({ message }) => message)).toEqual([
      'the object "a" of memory is invalid: bad',
      'the object "a" of memory is invalid: worse',
    ])
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
    const { clock, informer, errors } = informerOf(source)
    informer.start()
    await clock.advance(0)
    const relisted = informer.relist()
    await clock.advance(2_000)
    await relisted
    expect([informer.get('a'), informer.get('b')]).toEqual([2, 1])
    expect(errors).toMatchObject([{ code: 'DECODE', key: undefined, message: expect.stringContaining('garbage') }])
    await clock.advance(300_000)
    expect([informer.get('a'), informer.has('b'), source.lists.length]).toEqual([3, false, 3])
  })
})
