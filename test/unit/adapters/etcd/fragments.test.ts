import { expect, test } from 'vitest'
import type { EtcdEvent } from '../../../../adapters/etcd/transport/etcd-messages.js'
import { wholeRevisions } from '../../../../adapters/etcd/watch/fragments.js'

const eventAt = (modRevision: number): EtcdEvent => ({
  isDelete: true,
  kv: { key: Buffer.from('k'), value: Buffer.from(''), createRevision: 0, modRevision },
})

test('a large message is split between two revisions, and never within one', () => {
  const before = Array.from({ length: 990 }, (_, at) => eventAt(1 + at))
  const transaction = Array.from({ length: 500 }, () => eventAt(991))
  const after = Array.from({ length: 700 }, (_, at) => eventAt(992 + at))
  const parts = [...wholeRevisions([...before, ...transaction, ...after])]
  expect(parts.map(({ length }) => length)).toEqual([1_490, 700])
  expect(parts.flat()).toEqual([...before, ...transaction, ...after])
})
