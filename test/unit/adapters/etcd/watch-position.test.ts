import { expect, test } from 'vitest'
import { HistoryFingerprint } from '../../../../adapters/etcd/history/fingerprint.js'
import type { RangeRequest } from '../../../../adapters/etcd/transport/etcd-messages.js'
import { prefixRange } from '../../../../adapters/etcd/transport/key-range.js'
import { Session } from '../../../../adapters/etcd/transport/session.js'
import { WatchPosition } from '../../../../adapters/etcd/watch/watch-position.js'
import { systemClock } from '../../../../src/contract/clock.js'

test('a position reads the newest entry at its own revision, if the known one was deleted', async () => {
  const asked: RangeRequest[] = []
  const header = { clusterId: '7', revision: 20, term: 2 }
  const options = { signal: new AbortController().signal, clock: systemClock, timeoutMs: 1_000 }
  const transport = {
    endpoints: 1,
    hasFragments: true,
    maxAnswerBytes: 1_000_000,
    connect: async () => ({
      endpoint: 'none',
      range: (request: RangeRequest) => {
        asked.push(request)
        return { response: Promise.resolve({ header, count: 1, kvs: [], hasMore: false }), cancel: () => {} }
      },
      txn: () => ({ response: Promise.reject(new Error('none')), cancel: () => {} }),
      status: () => ({ response: Promise.reject(new Error('none')), cancel: () => {} }),
      watch: () => Promise.reject(new Error('none')),
      received: () => undefined,
      close: () => {},
    }),
  }
  const [visit] = await Session.open(transport, options, () => Promise.resolve())
  const entry = { key: Buffer.from('k'), value: Buffer.from(''), createRevision: 9, modRevision: 9 }
  const position = new WatchPosition(
    { clusterId: '7', term: 2, revision: 10, raftIndex: 0 },
    HistoryFingerprint.of(2, [entry]),
  )
  position.apply([{ isDelete: true, kv: { ...entry, createRevision: 0, modRevision: 11 } }])
  await position.version(visit, prefixRange('k'))
  expect(asked.map(({ revision }) => revision)).toEqual([11])
  visit.close()
})
