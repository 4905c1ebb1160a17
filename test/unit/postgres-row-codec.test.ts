import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { RowCodec } from '../../adapters/postgres/row-codec.js'

const TEXT = 25
const JSON_TYPE = 114

function codecOf(columns: Readonly<Record<string, number>>): RowCodec<Record<string, unknown>> {
  const parsers: Readonly<Record<number, (text: string) => unknown>> = {
    [JSON_TYPE]: (text) => JSON.parse(text).length,
  }
  const [key] = Object.keys(columns)
  return new RowCodec(
    Object.entries(columns).map(([name, typeId]) => ({ name, typeId, keyPosition: name === key ? 0 : undefined })),
    (typeId) => parsers[typeId] ?? ((text) => text),
    16_000_000,
  )
}

test('texts of a listed row do not keep the rest of the row in memory', () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const codec = codecOf({ id: TEXT, name: TEXT, data: JSON_TYPE })
  const large = JSON.stringify('x'.repeat(500_000))
  collect()
  const before = process.memoryUsage().heapUsed
  const rows = Array.from({ length: 40 }, (_, n) =>
    codec.fromCopyLine(
      Buffer.from(`a key of more than 13 characters ${n}\ta name of more than 13 characters\t${large}`).toString(),
    ),
  )
  collect()
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(10_000_000)
  expect(rows.at(-1)).toEqual({
    type: 'put',
    key: 'a key of more than 13 characters 39',
    object: { id: 'a key of more than 13 characters 39', name: 'a name of more than 13 characters', data: 500_000 },
  })
})

test('a listed row has the same texts, however long they are and whatever they contain', () => {
  const codec = codecOf({ id: TEXT, a: TEXT, b: TEXT })
  for (const text of [
    '',
    'x',
    'twelve chars',
    'thirteen char',
    'ä longer text with ünicode 🦉',
    ' leading and trailing ',
  ]) {
    expect(codec.fromCopyLine(`${text}\t${text}\t\\N`)).toEqual({
      type: 'put',
      key: text,
      object: { id: text, a: text, b: null },
    })
  }
})
