import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import { Decoder } from '../../../../adapters/kubernetes/decode/decoder.js'
import { JsonListSplitter } from '../../../../adapters/kubernetes/decode/json-list-splitter.js'
import { scanMetadata } from '../../../../adapters/kubernetes/decode/metadata-scanner.js'

const options = { apiVersion: 'v1', kind: 'Pod', stripManagedFields: true, metadataOnly: false, maxObjectBytes: 10_000 }
const decoder = new Decoder<unknown>(options)
const whole = { isWhole: true, depth: 3 }
const bytesOf = (value: unknown): Buffer => Buffer.from(JSON.stringify(value))
const metadata = { name: 'a', namespace: 'n', uid: 'u', resourceVersion: '7' }
/** An object of which other fields look like metadata. */
const MISLEADING = {
  spec: { template: { metadata: { name: 'inner', namespace: 'inner' } } },
  metadata: { labels: { name: 'label' }, name: 'outer', ownerReferences: [{ name: 'owner', uid: 'o' }], uid: 'u' },
  data: { text: '"metadata":{"name":"text"}' },
}

test.each([
  ['is not JSON', Buffer.from('{"metadata":{"name":"a","namespace":"n","resourceVersion":"7"},"data":tru}'), whole],
  [
    'is not UTF-8',
    Buffer.concat([bytesOf({ metadata }).subarray(0, -1), Buffer.from(',"x":"\xff"}', 'latin1')]),
    whole,
  ],
  ['is too large', bytesOf({ metadata }), { ...whole, isWhole: false }],
  ['nests too deep', bytesOf({ metadata, x: 'x'.repeat(5_000) }), { ...whole, depth: 129 }],
])('an item of a list that %s is invalid, by its name', (_what, bytes, shape) => {
  expect(decoder.item(bytes, shape)).toMatchObject({ type: 'invalid', key: 'n/a', version: '7' })
})

test('[B33][B35] an item of a list that is damaged is invalid with an error that quotes nothing of it', () => {
  const secret = '{"metadata":{"name":"a","namespace":"n"},"data":{"password":"aHVudGVyMg=="hunter2}}'
  const line = `{"type":"MODIFIED","object":${secret}}`
  const events = [decoder.item(Buffer.from(secret), whole), decoder.line(Buffer.from(line), true)]
  expect(inspect(events, { depth: Infinity })).toContain('JSON')
  expect(inspect(events, { depth: Infinity })).not.toMatch(/hunter2|aHVudGVyMg/)
})

test('an item of a list without a name is invalid, without a key', () => {
  const event = decoder.item(bytesOf({ metadata: {} }), whole)
  expect(event).toMatchObject({ type: 'invalid', error: new TypeError('it has no metadata.name') })
  expect(event).not.toHaveProperty('key')
})

test.each([
  ['MODIFIED', 'invalid'],
  ['DELETED', 'delete'],
])('a line of a watch of the type %s that cannot be parsed is %s, with the scanned name and version', (type, is) => {
  const text = `{"type":"${type}","object":{"metadata":{"name":"a","namespace":"n","resourceVersion":"7"},"data":tru}}`
  expect(decoder.line(Buffer.from(text), true)).toMatchObject({ event: { type: is, key: 'n/a' }, version: '7' })
})

test.each([['null'], ['7'], ['[]'], ['{}'], ['{"type":"NEW","object":{}}'], ['{"type":"BOOKMARK"}'], ['"']])(
  'a line of a watch %s is invalid, and throws nothing',
  (text) => expect(decoder.line(Buffer.from(text), true)).toMatchObject({ event: { type: 'invalid' } }),
)

test.each([
  ['is that of its metadata, not of other fields', JSON.stringify(MISLEADING), { name: 'outer', uid: 'u' }],
  [
    'of an event is that of its object',
    JSON.stringify({ type: 'ADDED', object: MISLEADING }),
    { type: 'ADDED', name: 'outer', uid: 'u' },
  ],
  [
    'is decoded: a server escapes some characters of names',
    '{"meta\\u0064ata":{"name":"a\\u0026\\"b","namespace":"n\\u00e4"},"data":tru}',
    { name: 'a&"b', namespace: 'nä' },
  ],
  ['lacks what cannot be decoded', '{"metadata":{"name":"a\\x","uid":"u"}}', { uid: 'u' }],
  [
    'is found between white space',
    JSON.stringify({ type: 'DELETED', object: { metadata } }, null, 2).replaceAll(':', ' \t\r\n: '),
    { type: 'DELETED', name: 'a', namespace: 'n', uid: 'u', resourceVersion: '7' },
  ],
  [
    'ends at the cut of an incomplete object',
    JSON.stringify({ metadata: { name: 'a', namespace: 'n' }, data: 'x'.repeat(99) }).slice(0, 60),
    { name: 'a', namespace: 'n' },
  ],
])('the scanned metadata of an object %s', (_what, text, expected) => {
  const isEvent = 'type' in expected
  expect([scanMetadata(text, isEvent), scanMetadata(Buffer.from(text), isEvent)]).toEqual([expected, expected])
})

test('the items of a list that are too large are passed with their beginning, and later ones whole', () => {
  const delivered: [string, boolean][] = []
  const splitter = new JsonListSplitter(
    {
      item: (bytes, { isWhole }) => delivered.push([bytes.toString(), isWhole]),
      tryItem: () => false,
      tryRun: () => false,
    },
    20,
  )
  const body = '{"items":[{"n":1},{"n":"much more than that"},{"n":3}],"metadata":{"resourceVersion":"5"}}'
  for (let at = 0; at < body.length; at += 7) splitter.push(Buffer.from(body.slice(at, at + 7)))
  expect(delivered.map(([text, isWhole]) => [isWhole ? text : text.slice(0, 5), isWhole])).toEqual([
    ['{"n":1}', true],
    ['{"n":', false],
    ['{"n":3}', true],
  ])
  expect(splitter.envelope()).toEqual({ items: [], metadata: { resourceVersion: '5' } })
})

describe('other data among the items of a list', () => {
  const splitter = (): JsonListSplitter =>
    new JsonListSplitter({ item: () => {}, tryItem: () => false, tryRun: () => false }, 1_000)

  test.each([
    ['null', '[null]'],
    ['a number', '[{},1]'],
    ['a string', '["{}"]'],
    ['an array', '[[{}]]'],
    ['no JSON', '[{},oops,{}]'],
    ['two commas', '[{},,{}]'],
    ['no comma', '[{} {}]'],
    ['a comma at the beginning', '[,{}]'],
    ['a comma at the end', '[{},]'],
    ['another brace', '[{}}]'],
  ])('such as %s, makes it no list', (_what, items) => {
    expect(() => splitter().push(Buffer.from(`{"items":${items}}`))).toThrow('something else is among its items')
  })

  test('such as other items under the same name, makes it no list', () => {
    expect(() => splitter().push(Buffer.from('{"items":[{}],"items":[]}'))).toThrow('it has items twice')
  })

  test('is not white space', () => {
    const list = splitter()
    list.push(Buffer.from('{"items" : [ {"a":1}\t,\r\n{"b":2}\n]\n}'))
    expect(list.isComplete).toBe(true)
  })
})

describe('an object that nests deeper than 128 levels', () => {
  /** With what looks like the end of an object and the beginning of the next at every level. */
  const nested = (levels: number, innermost: string): string =>
    levels === 0 ? innermost : `[{"x":0},{"metadata":${nested(levels - 1, innermost)}},{"metadata":0}]`
  const small = `{"metadata":${JSON.stringify(metadata)}}`
  const deepest = (levels: number): string => {
    const [open = '', close = ''] = nested(levels, '|').split('|')
    return `{"metadata":${JSON.stringify(metadata)},"of":${open}""${close}}`
  }
  const padded = (text: string, length: number): string => text.replace('""', `"${'x'.repeat(length - text.length)}"`)

  /** The event in a list, cut in two anywhere, and in a watch. */
  function verdicts(object: string): Set<string> {
    const delivered = new Set<string>()
    const body = `{"items":[${[small, object, small, small].join(',')}]}`
    const at = body.indexOf(object)
    for (const cut of [1, at - 5, at + 5, at + 700, at + object.length - 5, at + object.length + 20, body.length]) {
      const types: string[] = []
      const take = (events: readonly { readonly type: string }[]): boolean => {
        types.push(...events.map(({ type }) => type))
        return events.length > 0
      }
      const splitter = new JsonListSplitter(
        {
          item: (bytes, shape) => take([decoder.item(bytes, shape)]),
          tryItem: (bytes) => take([decoder.tryItem(bytes) ?? []].flat()),
          tryRun: (bytes, border) => take(decoder.tryRun(bytes, border.toString()) ?? []),
        },
        1_000_000,
      )
      for (const piece of [body.slice(0, cut), body.slice(cut)]) splitter.push(Buffer.from(piece))
      delivered.add(`${types.length}: ${types[1]}`)
    }
    const line = decoder.line(Buffer.from(`{"type":"ADDED","object":${object}}`), true)
    return delivered.add(`4: ${'event' in line ? line.event.type : ''}`)
  }

  test.each([
    ['invalid if it is larger than 4 KiB', padded(deepest(64), 4_097), '4: invalid'],
    ['accepted if it is not', padded(deepest(64), 4_096), '4: put'],
    ['invalid, however often something in it looks like the end of an object', deepest(300), '4: invalid'],
    ['not what nests 128 levels deep', padded(deepest(63), 9_000), '4: put'],
  ])('is %s: in a list, wherever its bytes are cut, and in a watch', (_what, object, verdict) => {
    expect([...verdicts(object)]).toEqual([verdict])
  })
})

describe('several items of a list in one piece', () => {
  const between = '},{"metadata"'
  const nameless = { metadata, spec: { n: 1 } }
  const nesting = { ...nameless, of: [nameless, nameless] }
  const other = { kind: 'Pod', metadata: { ...metadata, name: 'b' }, $: "$&$'" }
  const text = JSON.stringify([nesting, nameless])
  const within = text.indexOf('{', text.indexOf('"of"'))
  test.each([
    ['one of them has such items inside', bytesOf([nesting, nameless])],
    ['one of them begins in another way', bytesOf([nameless, other, nameless])],
    [
      'one has such items inside and another begins in another way',
      bytesOf([nameless, other, { metadata, of: [{}, { metadata }] }]),
    ],
    ['something other than an item is between them', Buffer.from(text.replace(']},{', ']},0,{'))],
    ['one of them has no name', bytesOf([nameless, { metadata: {} }])],
    ['one of them is large', bytesOf([nameless, { metadata, x: 'x'.repeat(5_000) }, nameless])],
    ['they are not UTF-8', Buffer.from('[{"metadata":{"name":"\xff"}}]', 'latin1')],
    ['the last one is not whole', Buffer.from(`${text.slice(0, text.indexOf(between, within) + 1)}]`)],
    ['the first one began before', Buffer.from(`[${text.slice(within)}`)],
  ])('are decoded one by one if %s', (_what, run) => expect(decoder.tryRun(run, between)).toBeUndefined())
})
