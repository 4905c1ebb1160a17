import { expect, test } from 'vitest'
import { PackedTexts, TextsWriter } from '../../../../src/store/packed/object-blocks.js'

test('texts of any length and of any characters are read from the blocks that contain them', () => {
  const texts = Array.from(
    { length: 3_000 },
    (_, i) =>
      `${i}${[...'aé€😀']
        .slice(0, i % 5)
        .join('')
        .repeat(i % 90)}`,
  )
  texts.splice(1_000, 0, '', '€'.repeat(200_000), 'x'.repeat(700_000), '')
  const writer = new TextsWriter()
  const blocks = [...texts.map((text) => writer.add(text)), writer.end()].filter((block) => block !== undefined)
  expect(writer.end()).toBeUndefined()
  expect(blocks.length).toBe(writer.firsts.length)
  const released: number[] = []
  const read = new PackedTexts(Uint32Array.from(writer.firsts), texts.length, {
    block: (index) => {
      const block = blocks[index]
      if (block === undefined) throw new RangeError(`there is no block ${index}`)
      return block.slice()
    },
    release: (block) => {
      released.push(block.length)
      block.fill(0)
    },
  })
  for (const [i, text] of texts.entries()) if (read.at(i) !== text) expect.fail(`text ${i}`)
  expect(() => read.at(texts.length)).toThrow(RangeError)
  // The last blocks are kept for later reads.
  expect(released).toEqual(blocks.slice(0, -4).map(({ length }) => length))
})
