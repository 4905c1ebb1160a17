import { expect, test } from 'vitest'
import { WatchInbox } from '../../adapters/etcd/watch/watch-inbox.js'
import { systemClock } from '../../src/contract/clock.js'

test('a mailbox that is closed after its signal was aborted cancels its stream', async () => {
  const cancels: string[] = []
  const stream = {
    listen: () => {},
    requestProgress: () => {},
    pause: () => {},
    resume: () => {},
    cancel: (reason: string) => void cancels.push(reason),
  }
  const stop = new AbortController()
  const mailbox = new WatchInbox(stream, systemClock, stop.signal)
  const next = mailbox.next(60_000)
  stop.abort()
  await expect(next).rejects.toMatchObject({ code: 'STOPPED' })
  mailbox.close(false)
  expect(cancels).toEqual(['unwanted'])
})
