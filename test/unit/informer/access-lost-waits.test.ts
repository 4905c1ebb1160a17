import { expect, onTestFinished, test } from 'vitest'
import { SourceError } from '../../../src/contract/errors.js'
import { assertCleanStop, mirrorOf, outcomeOf } from '../../support/informers.js'

const REVOKED = new SourceError('permission denied', { code: 'UNAUTHORIZED' })

test.each(['subscribe', 'reconcile'] as const)(
  '[C26] %s: a wait for a version that is being handled when onAccessLost clears resolves with the next list, if that brings no change',
  async (by) => {
    const { clock, informer, source } = mirrorOf([['a', 1]], { onAccessLost: 'clear' })
    onTestFinished(() => assertCleanStop(informer, clock))
    const handled = Promise.withResolvers<void>()
    const handle = (): Promise<void> => handled.promise
    const follower =
      by === 'subscribe'
        ? informer.subscribe({ update: handle }, { key: 'a' })
        : informer.reconcile((_key, { object }) => (object === 2 ? handle() : Promise.resolve()), { key: 'a' })
    await informer.start().synced()
    await follower.synced()
    source.put('a', 2)
    await clock.advance(0)
    const mark = await source.head()
    const waited = follower.waitFor(mark)
    source.delete('a')
    source.fail(REVOKED, 1)
    source.disconnect()
    await clock.advance(250)
    handled.resolve()
    await clock.advance(0)
    expect([informer.version, await outcomeOf(waited, clock)]).toEqual([undefined, 'pending'])
    await clock.advance(30_000)
    expect([informer.version, await outcomeOf(waited, clock)]).toEqual([await source.head(), 'resolved'])
  },
)
