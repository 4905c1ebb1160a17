import fc from 'fast-check'
import { expect, test } from 'vitest'
import { EntryCodec } from '../../../../adapters/etcd/entry-codec.js'
import { RANGE_RESPONSE, WATCH_RESPONSE } from '../../../../adapters/etcd/transport/etcd-messages.js'
import { isInRange, keyRange, prefixRange } from '../../../../adapters/etcd/transport/key-range.js'
import { WireWriter } from '../../../../adapters/etcd/transport/protobuf.js'
import { isEntryInRange, lengthOf } from '../../../../adapters/etcd/transport/received-entry.js'

/** A small alphabet with bytes that are not UTF-8, so that keys have common beginnings. */
const bytes = fc
  .array(fc.constantFrom(0x61, 0x62, 0x22, 0xc3, 0xa4, 0xff), { maxLength: 6 })
  .map((all) => Uint8Array.from(all))
const pairs = fc.array(fc.tuple(bytes, bytes), { maxLength: 8 })

function entryOf([key, value]: readonly [key: Uint8Array, value: Uint8Array]): Buffer {
  return new WireWriter().bytes(1, key).number(2, 7).number(3, 300).bytes(5, value).finish()
}

test('the entries of a response have the keys, values and events of the same bytes alone', () => {
  const codec = new EntryCodec('string', 'string')
  fc.assert(
    fc.property(pairs, (all) => {
      const response = new WireWriter()
      for (const pair of all) response.message(2, entryOf(pair))
      const { kvs } = RANGE_RESPONSE.decode(response.finish())
      const expected = all.map(([key, value]) => ({
        key: Buffer.from(key),
        value: Buffer.from(value),
        createRevision: 7,
        modRevision: 300,
      }))
      expect(
        kvs.map(({ key, value, createRevision, modRevision }) => ({ key, value, createRevision, modRevision })),
      ).toEqual(expected)
      expect(kvs.map(lengthOf)).toEqual(expected.map(lengthOf))
      expect(kvs.map((kv) => codec.put(kv))).toEqual(expected.map((kv) => codec.put(kv)))
      expect(kvs.map((kv) => codec.delete(kv))).toEqual(expected.map((kv) => codec.delete(kv)))
    }),
  )
})

test('an entry is in a range if its key is', () => {
  fc.assert(
    fc.property(pairs, bytes, bytes, (all, from, to) => {
      const message = new WireWriter()
      for (const pair of all) message.message(11, new WireWriter().message(2, entryOf(pair)).finish())
      const { events } = WATCH_RESPONSE.decode(message.finish())
      for (const range of [prefixRange(from), keyRange(from, to), keyRange(from, undefined)])
        for (const { kv } of events) expect(isEntryInRange(kv, range)).toBe(isInRange(kv.key, range))
    }),
  )
})
