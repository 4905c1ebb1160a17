import { describe, expect, test } from 'vitest'
import { fieldDifferences } from '../../../inspector/field-differences.js'
import { jsonOf, jsonTextOf } from '../../../inspector/object-json.js'

describe('an object as JSON', () => {
  test('has texts for values without a form in JSON', () => {
    const circular: Record<string, unknown> = {
      at: new Date(0),
      wrong: new Date(Number.NaN),
      big: 2n,
      missing: undefined,
    }
    circular['self'] = circular
    const others = { map: new Map([['a', 1n]]), set: new Set([1]), bytes: new Uint8Array(3), nan: Number.NaN, fn() {} }
    expect(jsonOf({ ...circular, ...others }, false)).toEqual({
      at: '1970-01-01T00:00:00.000Z',
      wrong: 'Invalid Date',
      big: '2',
      self: expect.objectContaining({ big: '2', self: '(circular)' }),
      map: [['a', '1']],
      set: [1],
      bytes: '(3 bytes)',
      nan: 'NaN',
      fn: '(function)',
    })
    expect(jsonTextOf({ big: 2n }, false)).toBe('{"big":"2"}')
  })

  test('keeps a field with the name __proto__', () => {
    expect(JSON.stringify(jsonOf(JSON.parse('{"__proto__":{"a":1}}'), false))).toBe('{"__proto__":{"a":1}}')
  })

  test('ends at a depth, and does not overflow the stack', () => {
    let deep: unknown = 1
    for (let i = 0; i < 100_000; i++) deep = [deep]
    expect(JSON.stringify(jsonOf(deep, false))).toContain('(deeper levels are left out)')
  })

  test('hides the values of a Secret, and the copies of it in annotations', () => {
    const secret = {
      kind: 'Secret',
      metadata: {
        name: 'db',
        annotations: { 'kubectl.kubernetes.io/last-applied-configuration': 'aHVudGVyMg==', owner: 'me' },
      },
      data: { password: 'aHVudGVyMg==' },
      stringData: { user: 'hunter2' },
    }
    const hidden = '(hidden)'
    expect(jsonOf(secret, false)).toEqual({
      kind: 'Secret',
      metadata: {
        name: 'db',
        annotations: { 'kubectl.kubernetes.io/last-applied-configuration': hidden, owner: 'me' },
      },
      data: { password: hidden },
      stringData: { user: hidden },
    })
    expect(jsonTextOf(secret, false)).not.toMatch(/aHVudGVyMg|hunter2/)
    expect(jsonOf(secret, true)).toEqual(secret)
  })
})

test('hides the values of a Secret of a list, which has no kind', () => {
  const secret = { metadata: { name: 'db' }, type: 'Opaque', data: { password: 'aHVudGVyMg==' } }
  expect(jsonTextOf(secret, false)).toBe(
    '{"metadata":{"name":"db","annotations":{}},"type":"Opaque","data":{"password":"(hidden)"}}',
  )
  const configMap = { metadata: { name: 'db' }, data: { host: 'db.example' } }
  expect(jsonOf(configMap, false)).toEqual(configMap)
})

test('field differences name each field that was added, changed or removed', () => {
  const before = { a: 1, b: { c: 'x', gone: true }, list: [1, 2], same: null }
  const after = { a: 2, b: { c: 'x' }, list: [1, 3, 4], same: null, more: {} }
  expect(fieldDifferences(before, after)).toEqual([
    { path: ['a'], before: 1, after: 2 },
    { path: ['b', 'gone'], before: true },
    { path: ['list', '1'], before: 2, after: 3 },
    { path: ['list', '2'], after: 4 },
    { path: ['more'], after: {} },
  ])
})

test('field differences are one difference if the kind of value changes', () => {
  expect(fieldDifferences({ a: [1] }, { a: { 0: 1 } })).toEqual([{ path: ['a'], before: [1], after: { 0: 1 } }])
  expect(fieldDifferences(null, 'text')).toEqual([{ path: [], before: null, after: 'text' }])
  expect(fieldDifferences({ a: 1 }, { a: 1 })).toEqual([])
})

test('field differences are limited in number', () => {
  const many = Object.fromEntries(Array.from({ length: 5_000 }, (_, n) => [`f${n}`, n]))
  expect(fieldDifferences({}, many)).toHaveLength(100)
})
