import { expect, test } from 'vitest'
import { WATCH_RESPONSE } from '../../../../adapters/etcd/transport/etcd-messages.js'
import type { WatchListener, WatchStream } from '../../../../adapters/etcd/transport/transport.js'
import { WatchInbox } from '../../../../adapters/etcd/watch/watch-inbox.js'
import { systemClock } from '../../../../src/contract/clock.js'

function opened() {
  const calls: string[] = []
  const listeners: WatchListener[] = []
  const [requestProgress, pause, resume] = ['progress', 'pause', 'resume'].map((name) => () => void calls.push(name))
  const [cancel, listen] = [(reason: string) => void calls.push(reason), (to: WatchListener) => void listeners.push(to)]
  const stop = new AbortController()
  const stream = { listen, requestProgress, pause, resume, cancel } as WatchStream
  return { calls, stop, inbox: new WatchInbox(stream, systemClock, stop.signal), listener: listeners[0] }
}

test('an inbox that is closed after its signal was aborted cancels its stream', async () => {
  const { calls, stop, inbox } = opened()
  const next = inbox.next(60_000)
  stop.abort()
  await expect(next).rejects.toMatchObject({ code: 'STOPPED' })
  inbox.close(false)
  expect(calls).toEqual(['unwanted'])
})

test('[E16] messages that wait are one with all their events, unless one repeats a revision or they are large or many', async () => {
  const { calls, inbox, listener } = opened()
  const send = (isFragment: boolean, revisions: readonly number[], size = 1): void => {
    const kv = { key: Buffer.from('k'), value: Buffer.alloc(size), createRevision: 1 }
    const events = revisions.map((modRevision) => ({ isDelete: false, kv: { ...kv, modRevision } }))
    listener?.message({ ...WATCH_RESPONSE.decode(Buffer.alloc(0)), isFragment, events })
  }
  for (const revisions of [[1, 2], [3], [4], [4], [5]]) send(false, revisions)
  send(false, [6], 1 << 20)
  for (const isFragment of [false, true, false]) send(isFragment, [isFragment ? 8 : 7])
  for (const expected of [[1, 2, 3, 4], [4, 5, 6], [7], [8], [7]])
    expect(await inbox.next(0)).toMatchObject({ events: expected.map((modRevision) => ({ kv: { modRevision } })) })
  expect(await inbox.next(0)).toBe('silence')
  for (let revision = 10; revision < 20_000; revision++) send(false, [revision])
  expect(calls).toEqual(['pause', 'resume', 'pause'])
})
