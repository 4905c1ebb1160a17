import { describe, expect, test } from 'vitest'
import { SourceError, type SourceErrorCode } from '../../src/contract/errors.js'
import { reflect, store } from '../support/reflectors.js'
import { numbered, put, type ScriptedSource, scripted } from '../support/scripted-source.js'

/** Lists at 4, and has shown 9 when its watch ends so. */
function ending(code: SourceErrorCode): ScriptedSource<number> {
  return scripted<number>({
    hasReached: numbered,
    onList: (list) => list.answer([put('a', 1)], '4'),
    onWatch: (watch, nth) => {
      if (nth !== 1) return
      watch.send({ events: [put('a', 2)], version: '9' })
      watch.fail(new SourceError('the watch is over', { code }))
    },
  })
}

describe('a source that is listed', () => {
  test('for the first time is told that nothing was shown', async () => {
    const source = ending('VERSION_EXPIRED')
    await reflect(source, store<number>().sink)
    expect(source.lists[0]?.context.floor).toBeUndefined()
  })

  test('again is told up to where everything was shown', async () => {
    const source = ending('VERSION_EXPIRED')
    const { clock } = await reflect(source, store<number>().sink)
    await clock.advance(1_600)
    expect(source.lists[1]?.context.floor).toBe('9')
  })

  test('because its history became another one is told of no version', async () => {
    const source = ending('EPOCH_CHANGED')
    const { clock } = await reflect(source, store<number>().sink)
    await clock.advance(1_600)
    expect([source.lists.length, source.lists[1]?.context.floor]).toEqual([2, undefined])
  })
})
