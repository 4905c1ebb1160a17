import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import {
  deflated,
  freeBytes,
  freeDeflated,
  freeInflated,
  inflated,
} from '../../../../adapters/share/block-compression.js'

describe('a block', () => {
  const lengths = [1, 200, 16_384, 40_000, 65_000, 300_000]

  test.each(lengths)('of %i bytes that cannot be compressed has memory of its own, which is freed', async (length) => {
    const block = new Uint8Array(randomBytes(length))
    const bytes = await deflated(block)
    const read = inflated(bytes, length)
    expect(read).toEqual(Buffer.from(block))
    freeInflated(read)
    freeDeflated(bytes, length)
    expect([read.length, bytes.length]).toEqual([0, 0])
    expect(block).toHaveLength(length)
  })

  test.each(lengths)('of %i equal bytes has memory of its own, which is freed', async (length) => {
    const bytes = await deflated(new Uint8Array(length).fill(7))
    freeDeflated(bytes, length)
    expect(bytes).toHaveLength(0)
  })
})

test('memory that other arrays use is not freed', () => {
  const bytes = new Uint8Array(100)
  for (const part of [bytes.subarray(0, 50), bytes.subarray(50)]) freeBytes(part)
  const pooled = Buffer.from('pooled')
  freeBytes(pooled)
  freeDeflated(pooled, pooled.length)
  freeInflated(pooled)
  expect([bytes.length, String(pooled)]).toEqual([100, 'pooled'])
})
