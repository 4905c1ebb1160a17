import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { FRAME_BYTES, PRELUDE_BYTES } from '../../caches/file/block-format.js'
import { fileCache } from '../../caches/file/index.js'
import type { MirrorCache } from '../../src/contract/mirror-cache.js'
import { contextOf, entries, folder, mirrorOf, tryLoad } from './support.js'

const RECORDS = 9_000
/** A prime, so that all parts of blocks are hit. */
const STEP = 9_973

let path = ''
let good: Buffer
let cache: MirrorCache
const encryptionKey = new Uint8Array(32).fill(7)

/** The position of each frame and each payload, and the end. */
function boundaries(file: Buffer): number[] {
  const found = [0, PRELUDE_BYTES]
  for (let at = PRELUDE_BYTES; at < file.length; ) {
    found.push(at + FRAME_BYTES)
    at += FRAME_BYTES + file.readUInt32LE(at)
    found.push(at)
  }
  return found
}

function steps(file: Buffer): number[] {
  return Array.from({ length: Math.floor(file.length / STEP) }, (_, i) => i * STEP)
}

/** The file with these bytes is not used, and a reason is reported. */
async function expectUnused(bytes: Buffer, what: string): Promise<void> {
  writeFileSync(path, bytes)
  const [loaded, reason] = await tryLoad(cache)
  expect([loaded, reason], what).toEqual([undefined, expect.stringMatching(/ (is not|cannot be) used: ./)])
}

describe.each(Object.entries({ 'a plain file': undefined, 'an encrypted file': encryptionKey }))('%s', (_name, key) => {
  beforeEach(async () => {
    path = join(folder(), 'a.cache')
    cache = fileCache({ path, ...(key && { encryptionKey: key }) })
    await cache.save(mirrorOf(entries(RECORDS)), contextOf())
    good = readFileSync(path)
    expect(boundaries(good).at(-1)).toBe(good.length)
    expect(boundaries(good).length).toBeGreaterThan(10)
  })

  test('is refused if it is cut at any boundary or at every 9973rd byte', async () => {
    for (const at of new Set([...boundaries(good).slice(0, -1), ...steps(good)]))
      await expectUnused(good.subarray(0, at), `cut at ${at}`)
    writeFileSync(path, good)
    expect((await tryLoad(cache))[0]?.records).toHaveLength(RECORDS)
  })

  test('is refused if any 9973rd byte differs, or any byte beside a boundary', async () => {
    const beside = boundaries(good).flatMap((at) => [at - 1, at, at + 1, at + 4, at + 8, at + 12, at + 16])
    for (const at of new Set([...beside, ...steps(good)])) {
      if (at < 0 || at >= good.length) continue
      const bytes = Buffer.from(good)
      bytes[at] = (bytes[at] ?? 0) ^ (1 << (at % 8))
      await expectUnused(bytes, `another byte at ${at}`)
    }
  })

  test('is refused if blocks are missing, doubled, swapped, or of another file', async () => {
    const starts = boundaries(good).filter((_, i) => i % 2 === 1)
    const blocks = starts.slice(0, -1).map((at, i) => good.subarray(at, starts[i + 1]))
    const prelude = good.subarray(0, PRELUDE_BYTES)
    for (let i = 0; i < blocks.length; i++) {
      await expectUnused(Buffer.concat([prelude, ...blocks.toSpliced(i, 1)]), `without block ${i}`)
      const [block = prelude, next] = blocks.slice(i, i + 2)
      await expectUnused(Buffer.concat([prelude, ...blocks.toSpliced(i, 0, block)]), `block ${i} twice`)
      if (next) await expectUnused(Buffer.concat([prelude, ...blocks.toSpliced(i, 2, next, block)]), `${i} swapped`)
    }
    await cache.save(mirrorOf(entries(RECORDS)), contextOf())
    const other = readFileSync(path)
    for (let i = 0; i < blocks.length; i++) {
      const block = other.subarray(starts[i], starts[i + 1])
      await expectUnused(Buffer.concat([prelude, ...blocks.toSpliced(i, 1, block)]), `block ${i} of another file`)
    }
    await expectUnused(Buffer.concat([other.subarray(0, PRELUDE_BYTES), ...blocks]), 'the prelude of another file')
  })

  test('is refused with bytes after its end', async () => {
    await expectUnused(Buffer.concat([good, Buffer.of(0)]), 'one byte more')
    await expectUnused(Buffer.concat([good, good]), 'the file twice')
  })
})

describe('a file that fileCache has not written', () => {
  test('of another format is refused by its number', async () => {
    path = join(folder(), 'a.cache')
    cache = fileCache({ path })
    await cache.save(mirrorOf(entries(3)), contextOf())
    const bytes = readFileSync(path)
    bytes.writeUInt32LE(1, 16)
    writeFileSync(path, bytes)
    expect((await tryLoad(cache))[1]).toBe(`the file is not used: it has format 1; this version of listwatch reads 3`)
  })

  test.each([1, 15, 16, 59, 60, 61, 80, 81, 1_000, 1_000_000])('of %i zero bytes is refused', async (length) => {
    path = join(folder(), 'a.cache')
    cache = fileCache({ path })
    await expectUnused(Buffer.alloc(length), 'zeros')
  })

  test('of random bytes is refused, also after a right magic', async () => {
    path = join(folder(), 'a.cache')
    cache = fileCache({ path })
    await cache.save(mirrorOf(entries(3)), contextOf())
    const magic = readFileSync(path).subarray(0, 24)
    for (let seed = 1; seed <= 200; seed++) {
      const bytes = Buffer.alloc(seed * 7)
      let state = seed
      for (let i = 0; i < bytes.length; i++) {
        state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
        bytes[i] = state >>> 16
      }
      await expectUnused(bytes, `seed ${seed}`)
      await expectUnused(Buffer.concat([magic, bytes]), `magic and seed ${seed}`)
    }
  })
})
