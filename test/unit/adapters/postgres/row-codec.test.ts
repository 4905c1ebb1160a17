import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { RowCodec } from '../../../../adapters/postgres/table/row-codec.js'

const TEXT = 25
const JSON_TYPE = 114
/** Its parser returns a part of the text. */
const OWN_TYPE = 90_000

function codecOf(columns: Readonly<Record<string, number>>): RowCodec<Record<string, unknown>> {
  const parsers: Readonly<Record<number, (text: string) => unknown>> = {
    [JSON_TYPE]: (text) => JSON.parse(text).length,
    [OWN_TYPE]: (text) => text.slice(1),
  }
  const [key] = Object.keys(columns)
  return new RowCodec(
    Object.entries(columns).map(([name, typeId]) => ({ name, typeId, keyPosition: name === key ? 0 : undefined })),
    (typeId) => parsers[typeId] ?? ((text) => text),
    16_000_000,
  )
}

test.each([true, false])('[P16] texts of a listed row do not keep the rest of it in memory, ASCII: %s', (isAscii) => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const codec = codecOf({ id: TEXT, name: TEXT, own: OWN_TYPE, data: JSON_TYPE })
  const large = JSON.stringify('x'.repeat(500_000))
  collect()
  const before = process.memoryUsage().heapUsed
  const rows = Array.from({ length: 40 }, (_, n) => {
    const bytes = Buffer.from(
      `a key of more than 13 characters ${n}\ta name of more than 13 characters\t<an own text of more than 13\t${large}\n`,
    )
    return codec.fromCopyLine(bytes.toString('utf8', 0, bytes.length - 1), isAscii ? bytes : undefined, 0)
  })
  collect()
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(10_000_000)
  expect(rows.at(-1)).toEqual({
    type: 'put',
    key: 'a key of more than 13 characters 39',
    object: {
      id: 'a key of more than 13 characters 39',
      name: 'a name of more than 13 characters',
      own: 'an own text of more than 13',
      data: 500_000,
    },
  })
})

test('escapes and nulls of a listed row are read in their fields alone, in every position', () => {
  const codec = codecOf({ id: TEXT, a: TEXT, b: TEXT })
  const fields = [
    ['\\N', null],
    ['plain text of more than 13', 'plain text of more than 13'],
    ['a tab\\t and a backslash \\\\', 'a tab\t and a backslash \\'],
    ['\\\\N', '\\N'],
    ['', ''],
  ] as const
  for (const [a, first] of fields)
    for (const [b, second] of fields)
      for (const [c, third] of fields) {
        const line = [a, b, c].join('\t')
        const object = { id: first, a: second, b: third }
        const row = codec.fromCopyLine(line, Buffer.from(`${line}\n`), 0)
        expect(row).toEqual({ type: 'put', key: first ?? '', object })
      }
})

test('columns may have any name, and their objects are independent', () => {
  const names = ['id', '__proto__', 'constructor', '1', 'a "quoted" name']
  const columns = names.map((name, at) => ({ name, typeId: TEXT, keyPosition: at === 0 ? 0 : undefined }))
  const codec = new RowCodec<Record<string, unknown>>(columns, () => (text) => text, 16_000_000)
  const rows = [codec.fromCopyLine('a\tb\tc\td\te', undefined, 0), codec.fromTexts(['a', 'b', 'c', 'd', 'f'])]
  const objects = rows.map((row) => (row.type === 'put' ? row.object : {}))
  for (const object of objects) {
    expect(Object.getPrototypeOf(object)).toBe(Object.prototype)
    expect(Object.keys(object).sort()).toEqual([...names].sort())
    expect(Object.getOwnPropertyDescriptor(object, '__proto__')?.value).toBe('b')
  }
  expect(objects.map((object) => object['a "quoted" name'])).toEqual(['e', 'f'])
})

test('a line in the middle of a block is read from its own bytes', () => {
  const codec = codecOf({ id: TEXT, a: TEXT })
  const line = 'a key of more than 13\ta text of more than 13'
  const bytes = Buffer.from(`another line of the block\n${line}\nand one more`)
  expect(codec.fromCopyLine(line, bytes, bytes.indexOf(line))).toEqual({
    type: 'put',
    key: 'a key of more than 13',
    object: { id: 'a key of more than 13', a: 'a text of more than 13' },
  })
})
