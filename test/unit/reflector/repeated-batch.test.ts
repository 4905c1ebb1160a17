import { describe, expect, test } from 'vitest'
import type { WatchEvent } from '../../../src/contract/source.js'
import type { Change } from '../../../src/queue/change.js'
import { informerOf } from '../../support/informers.js'
import { ordered } from '../../support/running.js'
import { put } from '../../support/scripted-source.js'

const whole: WatchEvent<number> = { type: 'replace', entries: [{ key: 'a', object: 1 }] }

describe('a batch that is delivered again under the same version', () => {
  test.each<[string, WatchEvent<number>]>([
    ['deletes', { type: 'delete', key: 'a' }],
    ['cannot decode', { type: 'invalid', key: 'a', error: new Error('broken') }],
  ])('changes nothing if it %s a key after a replace that has it', async (_what, event) => {
    const source = ordered<number>([put('b', 0)], '1')
    const { clock, informer } = informerOf<number, object, typeof source>(source, { onInvalid: 'omit' })
    const delivered: string[] = []
    const record = ({ type, key, object }: Change<number>): void => void delivered.push(`${type} ${key} ${object}`)
    informer.subscribe({ add: record, update: record, delete: record })
    await informer.start().synced()
    await clock.advance(0)
    const events = [whole, event]
    source.watches[0]?.batch(events, '2')
    await clock.advance(0)
    const once = [...delivered]
    expect(Object.fromEntries(informer.entries())).toEqual({})
    source.watches[0]?.batch(events, '2')
    await clock.advance(0)
    expect(delivered).toEqual(once)
  })
})
