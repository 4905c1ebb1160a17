import { describe, expect, test } from 'vitest'
import { SourceError, type SourceErrorCode } from '../../../src/contract/errors.js'
import { reflect, store } from '../../support/reflectors.js'
import { numbered, put, type ScriptedSource, scripted } from '../../support/scripted-source.js'

/** A source whose list has version 4. Its first watch yields version 9 and fails with `code`. */
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

describe('[B21][B22] the floor of a list', () => {
  test('the first list has no floor', async () => {
    const source = ending('VERSION_EXPIRED')
    await reflect(source, store<number>().sink)
    expect(source.lists[0]?.context.floor).toBeUndefined()
  })

  test('a later list has the version of the shown state as its floor', async () => {
    const source = ending('VERSION_EXPIRED')
    const { clock } = await reflect(source, store<number>().sink)
    await clock.advance(1_600)
    expect(source.lists[1]?.context.floor).toBe('9')
  })

  test('a list after EPOCH_CHANGED has no floor', async () => {
    const source = ending('EPOCH_CHANGED')
    const { clock } = await reflect(source, store<number>().sink)
    await clock.advance(1_600)
    expect([source.lists.length, source.lists[1]?.context.floor]).toEqual([2, undefined])
  })
})
