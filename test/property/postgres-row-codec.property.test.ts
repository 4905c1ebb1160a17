import fc from 'fast-check'
import { expect, test } from 'vitest'
import { RowCodec } from '../../adapters/postgres/table/row-codec.js'

const TEXT = 25
const JSON_TYPE = 114
const INTEGER = 23
const DATE = 1184

const parsers: Readonly<Record<number, (text: string) => unknown>> = {
  [JSON_TYPE]: JSON.parse,
  [INTEGER]: (text) => Number.parseInt(text, 10),
  [DATE]: (text) => new Date(text),
}

/** The escapes of COPY. Other characters may be escaped too, and mean themselves. */
const ESCAPES: Readonly<Record<string, string>> = { '\t': '\\t', '\n': '\\n', '\\': '\\\\', '\r': '\\r', '\b': '\\b' }

function escaped(text: string | null): string {
  return text === null ? '\\N' : text.replace(/[\t\n\\\r\b]/g, (char) => ESCAPES[char] ?? char)
}

const text = fc.oneof(
  fc.string({ maxLength: 30 }),
  fc.string({ unit: 'binary', maxLength: 30 }),
  fc.constantFrom('', 'N', '\\N', 'open', 'closed', 'a text of more than 13 characters', '\t\\\n'),
)
const texts: Readonly<Record<number, fc.Arbitrary<string>>> = {
  [TEXT]: text,
  [JSON_TYPE]: fc.oneof(fc.json({ maxDepth: 2 }), fc.constant('{')),
  [INTEGER]: fc.integer().map(String),
  [DATE]: fc.date().map((date) => (Number.isNaN(date.getTime()) ? 'invalid' : date.toISOString())),
}

const table = fc
  .array(fc.constantFrom(TEXT, JSON_TYPE, INTEGER, DATE), { minLength: 1, maxLength: 6 })
  .chain((typeIds) =>
    fc.record({
      typeIds: fc.constant(typeIds),
      key: fc.shuffledSubarray([...typeIds.keys()], { minLength: 1 }),
      rows: fc.array(fc.tuple(...typeIds.map((typeId) => fc.option(texts[typeId] ?? text))), { maxLength: 20 }),
    }),
  )

test('a row of COPY equals the same row of texts, with the same key, whatever it contains', () => {
  fc.assert(
    fc.property(table, ({ typeIds, key, rows }) => {
      const columns = typeIds.map((typeId, at) => {
        const position = key.indexOf(at)
        return { name: `column ${at}`, typeId, keyPosition: position === -1 ? undefined : position }
      })
      const codec = new RowCodec(columns, (typeId) => parsers[typeId] ?? ((each) => each), 16_000_000)
      for (const row of rows) {
        const line = row.map(escaped).join('\t')
        const bytes = Buffer.from(`${line}\n`)
        const expected = codec.fromTexts(row)
        expect(codec.fromCopyLine(line, undefined, 0)).toEqual(expected)
        if (bytes.length - 1 === line.length) expect(codec.fromCopyLine(line, bytes, 0)).toEqual(expected)
      }
    }),
  )
})
