import fc from 'fast-check'
import { expect, test } from 'vitest'
import { LineBuffer } from '../../adapters/postgres/connection/line-buffer.js'

const ascii = fc.string({ maxLength: 40 })
const long = fc
  .tuple(ascii, fc.integer({ min: 3_000, max: 30_000 }))
  .map(([text, length]) => text.padEnd(length, 'é-x'))
const lines = fc.array(fc.oneof({ weight: 20, arbitrary: ascii }, fc.string({ unit: 'binary' }), long), {
  maxLength: 60,
  size: 'max',
})

test('lines of any length are read in any division into chunks, with their bytes if each character is one byte', () => {
  fc.assert(
    fc.property(
      lines,
      fc.infiniteStream(fc.integer({ min: 1, max: 20_000 })),
      fc.infiniteStream(fc.boolean()),
      (texts, sizes, flushes) => {
        const expected = texts.map((text) => Buffer.from(text.replaceAll('\n', ' ')).toString())
        const read: string[] = []
        const buffer = new LineBuffer(
          (line, bytes, at) => {
            read.push(line)
            const hasBytes = /^[\0-\x7f]*$/.test(line)
            expect(bytes?.toString('latin1', at, at + line.length)).toBe(hasBytes ? line : undefined)
          },
          () => expect.unreachable(),
        )
        const all = Buffer.from(expected.map((line) => `${line}\n`).join(''))
        for (let at = 0; at < all.length; ) {
          const size = sizes.next().value ?? 1
          const chunk = Buffer.from(all.subarray(at, at + size))
          buffer.push(chunk)
          chunk.fill(0) // The driver overwrites its buffer.
          if (flushes.next().value === true) buffer.flush()
          at += size
        }
        buffer.flush()
        expect(read).toEqual(expected)
      },
    ),
    { numRuns: 300 },
  )
})
