import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Decoder } from '../../adapters/kubernetes/decode/decoder.js'
import { JsonListSplitter } from '../../adapters/kubernetes/decode/json-list-splitter.js'
import { LineSplitter, linesOf } from '../../adapters/kubernetes/decode/line-splitter.js'
import { runs } from '../support/property.js'

const LARGE = 1_000_000

/** What looks like the border between two items, at all depths. */
const treacherous = fc.constantFrom('},{"metadata', '"items":[{', '\\"}],{', '"', '\\', '{', ']', 'ü😀')
const text = fc
  .array(fc.oneof(fc.string({ unit: 'binary' }), treacherous), { maxLength: 4 })
  .map((parts) => parts.join(''))
/**
 * Without a backslash: the JSON.parse of V8 since Node 23 takes a key with an escape for one of the same length that begins like its
 * source: `{"m":0,"\"":1}` has the key `\` once there was a `{"m":1,"\\":1}`.
 */
const name = text.map((each) => each.replaceAll('\\', '/'))
const inner = fc.letrec((tie) => ({
  value: fc.oneof({ maxDepth: 4 }, text, fc.integer(), fc.constant(null), tie('array'), tie('object')),
  array: fc.array(tie('value'), { maxLength: 4 }),
  object: fc.dictionary(fc.oneof(fc.constantFrom('metadata', 'items'), name), tie('value'), { maxKeys: 4 }),
})).object
const item = fc.oneof(fc.record({ metadata: inner, spec: inner }), inner)

function pieces(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const at = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length]
  return at.slice(1).map((end, number) => bytes.subarray(at[number], end))
}

const cuts = fc.array(fc.nat(), { maxLength: 12 })

test('a list is cut into what JSON.parse finds in it, wherever its bytes are cut, guessed or not', () => {
  fc.assert(
    fc.property(fc.array(item, { maxLength: 8 }), inner, cuts, fc.boolean(), (items, metadata, places, isLast) => {
      const list = isLast ? { kind: 'L', items, metadata } : { metadata, items, kind: 'L' }
      const found: unknown[] = []
      const splitter = new JsonListSplitter(
        {
          item: (bytes) => found.push(JSON.parse(bytes.toString())),
          tryRun: () => false,
          tryItem: (bytes) => {
            try {
              found.push(JSON.parse(bytes.toString()))
              return true
            } catch {
              return false
            }
          },
        },
        LARGE,
      )
      for (const piece of pieces(Buffer.from(JSON.stringify(list)), places)) splitter.push(piece)
      const parsed = JSON.parse(JSON.stringify(list)) as typeof list
      expect([splitter.isComplete, found]).toEqual([true, parsed.items])
      expect(splitter.envelope()).toEqual({ ...parsed, items: [] })
    }),
    runs(500),
  )
})

const decoder = new Decoder<unknown>({
  apiVersion: 'v1',
  kind: 'Thing',
  stripManagedFields: true,
  metadataOnly: false,
  maxObjectBytes: LARGE,
})
const metadata = fc.record({ name: fc.oneof(text, fc.constant('a')), resourceVersion: fc.constantFrom('7', 'x') })
/** Most of them begin in the same way, as in a real list, and some have such inside. */
const thing = fc.oneof(
  { weight: 3, arbitrary: fc.record({ metadata, spec: inner }, { noNullPrototype: true }) },
  fc.record({ metadata, of: fc.array(fc.record({ metadata, spec: inner }), { maxLength: 3 }), zero: fc.constant(0) }),
  fc.record({ kind: fc.constant('Other'), metadata }),
  inner,
)

test('a list is decoded as its items are one by one, wherever its bytes are cut', () => {
  fc.assert(
    fc.property(fc.array(thing, { maxLength: 8 }), cuts, (items, places) => {
      const delivered: unknown[] = []
      const splitter = new JsonListSplitter(
        {
          item: (bytes, shape) => delivered.push(decoder.item(bytes, shape)),
          tryItem: (bytes) => {
            const event = decoder.tryItem(bytes)
            if (event !== undefined) delivered.push(event)
            return event !== undefined
          },
          tryRun: (bytes, between) => {
            const run = decoder.tryRun(bytes, between.toString())
            if (run !== undefined) delivered.push(...run)
            return run !== undefined
          },
        },
        LARGE,
      )
      const body = JSON.stringify({ metadata: {}, items })
      const bytes = Buffer.from(body)
      for (const piece of pieces(bytes, places)) splitter.push(piece)
      expect(bytes.toString()).toBe(Buffer.from(body).toString())
      const alone = items.map((each) => decoder.item(Buffer.from(JSON.stringify(each)), { isWhole: true, depth: 1 }))
      expect(delivered).toEqual(alone)
    }),
    runs(500),
  )
})

test('lines come as they are, wherever their bytes are cut', () => {
  const line = fc.string({ unit: 'binary', minLength: 1 }).map((text) => text.replaceAll('\n', ' ') || ' ')
  fc.assert(
    // With 64 bytes, most blocks of several lines are too large, and are read line by line.
    fc.property(fc.array(line, { maxLength: 8 }), cuts, fc.constantFrom(64, LARGE), (all, places, maxBytes) => {
      const lines = all.filter((each) => Buffer.byteLength(each) <= maxBytes)
      const found: string[] = []
      const splitter = new LineSplitter((block) => found.push(...linesOf(block).map(String)), maxBytes)
      const bytes = Buffer.from(lines.map((each) => `${each}\n`).join(''))
      for (const piece of pieces(bytes, places)) splitter.push(piece)
      expect(found).toEqual(lines.map((each) => Buffer.from(each).toString()))
    }),
    runs(300),
  )
})
