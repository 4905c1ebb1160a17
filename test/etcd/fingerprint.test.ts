import fc from 'fast-check'
import { expect, test } from 'vitest'
import { digestOf, HistoryFingerprint } from '../../adapters/etcd/history/fingerprint.js'
import type { EtcdEvent, KeyValue } from '../../adapters/etcd/transport/etcd-messages.js'

/** Transactions of puts and deletes of a few keys, as batches of events that etcd could send. */
const batches = fc.array(
  fc.array(fc.array(fc.tuple(fc.nat(12), fc.boolean()), { minLength: 1, maxLength: 6 }), { maxLength: 60 }),
  { maxLength: 12 },
)

test('a fingerprint has the number of keys and the newest entry, or knows that it has to be read', () => {
  fc.assert(
    fc.property(batches, (all) => {
      const entries = new Map<number, KeyValue>()
      const newest = new HistoryFingerprint(0)
      let revision = 1
      for (const transactions of all) {
        const events: EtcdEvent[] = []
        for (const changes of transactions) {
          revision++
          for (const [key, isDelete] of new Map(changes)) {
            const known = entries.get(key)
            if (isDelete && known === undefined) continue
            const kv = {
              key: Buffer.from(`k${key}`),
              value: Buffer.from(isDelete ? '' : String(revision)),
              createRevision: isDelete ? 0 : (known?.createRevision ?? revision),
              modRevision: revision,
            }
            if (isDelete) entries.delete(key)
            else entries.set(key, kv)
            events.push({ isDelete, kv })
          }
        }
        newest.apply(events)
        const { count, newest: at, digest } = newest.fingerprint()
        expect(count).toBe(entries.size)
        const last = Math.max(0, ...[...entries.values()].map(({ modRevision }) => modRevision))
        if (newest.isUnknown) expect([at, digest]).toEqual([0, '?'])
        else expect(at).toBe(last)
        const digests = [...entries.values()].filter(({ modRevision }) => modRevision === last).map(digestOf)
        if (at > 0) expect(digests).toContain(digest)
        else if (count === 0) expect(digest).toBe('-')
      }
    }),
    { numRuns: 300 },
  )
})

test('a fingerprint has the newest entry after a large batch that ends with deletes', () => {
  const event = (name: string, modRevision: number, isDelete = false): EtcdEvent => ({
    isDelete,
    kv: { key: Buffer.from(name), value: Buffer.from(''), createRevision: isDelete ? 0 : modRevision, modRevision },
  })
  const newest = new HistoryFingerprint(0)
  newest.apply([event('before', 2)])
  const few = Array.from({ length: 17 }, (_, at) => [event('passing', 4 + 2 * at), event('passing', 5 + 2 * at, true)])
  newest.apply([event('stays', 3), ...few.flat()])
  expect(newest.fingerprint()).toMatchObject({ count: 2, newest: 3 })
})
