import { expect, test } from 'vitest'
import { WatchInbox } from '../../../../adapters/etcd/watch/watch-inbox.js'
import { systemClock } from '../../../../src/contract/clock.js'

test('an inbox that is closed after its signal was aborted cancels its stream', async () => {
  const cancels: string[] = []
  const stream = {
    listen: () => {},
    requestProgress: () => {},
    pause: () => {},
    resume: () => {},
    cancel: (reason: string) => void cancels.push(reason),
  }
  const stop = new AbortController()
  const inbox = new WatchInbox(stream, systemClock, stop.signal)
  const next = inbox.next(60_000)
  stop.abort()
  await expect(next).rejects.toMatchObject({ code: 'STOPPED' })
  inbox.close(false)
  expect(cancels).toEqual(['unwanted'])
})
