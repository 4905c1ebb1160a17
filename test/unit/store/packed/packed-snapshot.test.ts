import { describe, expect, test } from 'vitest'
import type { PackedContent, SavedRecord } from '../../../../src/contract/mirror-cache.js'
import { hashText } from '../../../../src/store/packed/hash-slots.js'
import { pack } from '../../../../src/store/packed/pack.js'
import { PackedSnapshot } from '../../../../src/store/packed/packed-snapshot.js'
import { placed } from '../../../support/packed.js'

/** Packs objects that contain their keys, and then other records, in the order of their ordinals, which have gaps. */
function packed(
  keys: readonly string[],
  others: readonly SavedRecord[] = [],
  encode: (record: SavedRecord) => string = (record) => JSON.stringify(record),
): PackedContent {
  function* records(): Generator<readonly [number | undefined, SavedRecord]> {
    for (const [i, key] of keys.entries()) yield [i * 2 + 1, { type: 'entry', key, object: { key }, version: '1' }]
    for (const other of others) yield [undefined, other]
  }
  const { sections, block } = placed(
    pack({ size: keys.length, ordinalLimit: keys.length * 2 + 1, indexes: [], records }, encode, 7),
  )
  return {
    sections: new Map(Array.from(sections, ([name, bytes]) => [name, unaligned(bytes)])),
    block,
    decode: (text) => JSON.parse(text) as SavedRecord,
  }
}

/** Shared memory at an address that is not aligned. */
function unaligned(section: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(new SharedArrayBuffer(section.length + 3), 3)
  bytes.set(section)
  return bytes
}

describe('a packed snapshot', () => {
  test('has the other records after the entries', () => {
    const others: SavedRecord[] = [
      { type: 'filtered', key: 'f', version: '2' },
      { type: 'invalid', key: 'i', version: '3', reason: 'bad' },
    ]
    const snapshot = new PackedSnapshot(packed(['a'], others))
    expect([snapshot.size, snapshot.count, [snapshot.recordAt(1), snapshot.recordAt(2)]]).toEqual([1, 3, others])
    expect(snapshot.ordinalOf('f')).toBeUndefined()
    expect(() => snapshot.recordAt(3)).toThrow(RangeError)
  })

  test('finds keys with equal hashes, and keys that fill several blocks', () => {
    const byHash = new Map<number, string>()
    const colliding: string[] = []
    for (let i = 0; colliding.length < 4; i++) {
      const hash = hashText(`k${i}`, 7)
      const other = byHash.get(hash)
      if (other !== undefined) colliding.push(other, `k${i}`)
      byHash.set(hash, `k${i}`)
    }
    const long = Array.from({ length: 300 }, (_, i) => `${i}-`.padEnd(3_000, 'x'))
    const all = [...colliding, ...long, `${'w'.repeat(600_000)}Ā`]
    const released = new Set<Uint8Array>()
    const snapshot = new PackedSnapshot({ ...packed(all), release: (block) => released.add(block) })
    for (const [i, key] of all.entries()) {
      expect(snapshot.ordinalOf(key)).toBe(i)
      expect(snapshot.keyAt(i) === key).toBe(true)
      expect(snapshot.recordAt(i).key === key).toBe(true)
    }
    expect(released.size).toBeGreaterThan(1)
  })

  test('refuses content that lacks a section, or has another byte order', () => {
    const content = packed([])
    expect(new PackedSnapshot(content).size).toBe(0)
    for (const name of content.sections.keys()) {
      const sections = new Map(content.sections)
      sections.delete(name)
      expect(() => new PackedSnapshot({ ...content, sections }), name).toThrow(RangeError)
    }
    const swapped = new Map(content.sections).set('byte order', Uint8Array.of(1, 2, 3, 4))
    expect(() => new PackedSnapshot({ ...content, sections: swapped })).toThrow('byte order')
  })

  test('refuses a record of another key', () => {
    const snapshot = new PackedSnapshot(packed(['a', 'b'], [], (record) => JSON.stringify({ ...record, key: 'a' })))
    expect(snapshot.recordAt(0).key).toBe('a')
    expect(() => snapshot.recordAt(1)).toThrow('not the expected one')
  })
})
