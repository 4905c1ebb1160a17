import { describe, expect, test } from 'vitest'
import { Shard } from '../../../../adapters/kubernetes/shard.js'

/** FNV-1a of 64 bits, by its definition. */
function fnv(text: string): bigint {
  let hash = 0xcbf29ce484222325n
  for (const byte of Buffer.from(text)) hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n)
  return hash
}

const uids = [
  '',
  'a',
  'foobar',
  'é',
  ...Array.from({ length: 500 }, (_, at) => `0a1b2c3d-${at.toString(16)}-4e5f-8a9b-${at}`),
]

describe('a shard', () => {
  test.each([1, 2, 3, 7, 1_000, 2 ** 32, Number.MAX_SAFE_INTEGER])('of %i has only the uids of its hashes', (count) => {
    for (const uid of uids) {
      // The last bound that is not above the hash.
      let index = Number((fnv(uid) * BigInt(count)) >> 64n)
      if ((BigInt(index + 1) << 64n) / BigInt(count) <= fnv(uid)) index++
      expect(new Shard({ index, count }).includes(uid)).toBe(true)
      for (const other of [index - 1, index + 1])
        if (other >= 0 && other < count) expect(new Shard({ index: other, count }).includes(uid)).toBe(false)
    }
  })

  test('names its range with 16 digits, and the end of all with 17', () => {
    expect([0, 1, 2].map((index) => new Shard({ index, count: 3 }).selector)).toEqual([
      "shardRange(object.metadata.uid, '0x0000000000000000', '0x5555555555555555')",
      "shardRange(object.metadata.uid, '0x5555555555555555', '0xaaaaaaaaaaaaaaaa')",
      "shardRange(object.metadata.uid, '0xaaaaaaaaaaaaaaaa', '0x10000000000000000')",
    ])
  })

  test('an object without a uid is in each', () => {
    new Shard({ index: 0, count: 9 }).check([{ type: 'put', key: 'a', object: {} }])
  })
})
