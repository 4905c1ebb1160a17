import { deflateRawSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { SharedBlockWriter } from '../../../../serving/share/shared-memory.js'
import { SNAPSHOT_FORMAT, savedMirrorOf } from '../../../../serving/share/shared-snapshot.js'

const EMPTY = { format: SNAPSHOT_FORMAT, version: '1', size: 0, savedAt: 0, sections: [], until: 0 } as const

test.each([1, 200, 16_384, 100_000])('a block of %i bytes is shared, and freed when it is released', async (length) => {
  const original = new Uint8Array(length).map((_, i) => i % 251)
  const writer = new SharedBlockWriter()
  for (let i = 0; i < 3; i++) writer.add(deflateRawSync(original), length)
  const saved = savedMirrorOf({ ...EMPTY, blocks: writer.end() })
  const content = await saved.packed?.()
  const [first, second] = [content?.block(0), content?.block(2)]
  expect([Uint8Array.from(first ?? []), Uint8Array.from(second ?? [])]).toEqual([original, original])
  if (first !== undefined) content?.release?.(first)
  expect([first?.length, Uint8Array.from(second ?? [])]).toEqual([0, original])
  expect(Uint8Array.from(content?.block(0) ?? [])).toEqual(original)
})

test('released memory that other buffers use is not freed', async () => {
  const writer = new SharedBlockWriter()
  const saved = savedMirrorOf({ ...EMPTY, blocks: writer.end() })
  const content = await saved.packed?.()
  const pooled = Buffer.from('pooled')
  content?.release?.(pooled)
  expect(String(pooled)).toBe('pooled')
})
