import { runInNewContext } from 'node:vm'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { memorySource } from '../../../adapters/memory/index.js'
import { createInformer } from '../../../src/informer/create-informer.js'
import { parserOf, type StandardSchema, type Validated } from '../../../src/util/standard-schema.js'

function schemaOf<T>(validate: (value: unknown) => Validated<T> | Promise<Validated<T>>): StandardSchema<T> {
  return { '~standard': { version: 1, vendor: 'test', validate } }
}

const Limits = z.object({ rps: z.number().default(100), name: z.string().optional() })

test('a schema produces the stored object, and transform receives its output', async () => {
  const source = memorySource<unknown>({ entries: [['a', {}]] })
  await using informer = createInformer({ source, schema: Limits })
  await informer.start().synced()
  expect(informer.get('a')).toEqual({ rps: 100 })
  const transform = ({ rps }: z.infer<typeof Limits>, key: string): string => `${key} ${rps}`
  await using transformed = createInformer({ source, schema: Limits, transform })
  await transformed.start().synced()
  expect(transformed.list()).toEqual(['a 100'])
})

test('an object that the schema refuses is invalid, with the path in its error, and the last valid object stays', async () => {
  const source = memorySource<unknown>({ entries: [['a', { rps: 7 }]] })
  await using informer = createInformer({ source, schema: Limits })
  informer.on('error', () => {})
  await informer.start().synced()
  await informer.waitFor(source.put('a', { rps: 'many' }))
  expect(informer.get('a')).toEqual({ rps: 7 })
  expect(informer.invalid.get('a')?.message).toContain('the schema refuses it: rps: ')
})

test.each<[string, () => unknown]>([
  ['undefined', () => undefined],
  ['a string', () => 'no'],
  ['an object without a prototype', () => Object.create(null)],
])('a schema that throws %s makes that object invalid, and no other', async (_what, thrown) => {
  const source = memorySource<unknown>({ entries: [['a', 'bad']] })
  source.put('b', 'good')
  const schema = schemaOf<unknown>((value) => {
    if (value === 'bad') throw thrown()
    return { value }
  })
  await using informer = createInformer({ source, schema })
  informer.on('error', () => {})
  await informer.start().synced()
  expect([[...informer.keys()], [...informer.invalid.keys()]]).toEqual([['b'], ['a']])
})

test('an asynchronous transform makes every object invalid, and leaves no unhandled rejection', async () => {
  const source = memorySource<unknown>({ entries: [['a', 1]] })
  await using informer = createInformer({ source, transform: () => Promise.reject(new Error('later')) })
  informer.on('error', () => {})
  await informer.start().synced()
  expect(informer.size).toBe(0)
  expect(informer.invalid.get('a')?.message).toContain('the transform is asynchronous')
})

test.each([
  [null],
  [{}],
  [{ '~standard': { version: 2, validate: () => {} } }],
  [{ '~standard': { version: 1 } }],
  ['zod'],
])('the schema %j is a TypeError that names the option', (schema) => {
  expect(() => createInformer({ source: memorySource(), schema: schema as never })).toThrow(
    'createInformer: option "schema" must be a Standard Schema',
  )
})

describe('the parser of a schema', () => {
  test('the error names up to five issues, and the number of further ones', () => {
    const issues = Array.from({ length: 7 }, (_, i) => ({ message: `wrong ${i}`, path: ['list', { key: i }] }))
    expect(() => parserOf(schemaOf(() => ({ issues })))({})).toThrow(
      'the schema refuses it: list.0: wrong 0; list.1: wrong 1; list.2: wrong 2; list.3: wrong 3; list.4: wrong 4; and 2 more',
    )
  })

  test('an asynchronous schema is refused, and leaves no unhandled rejection', () => {
    const parse = parserOf(schemaOf(() => Promise.reject(new Error('later'))))
    expect(() => parse({})).toThrow('the schema is asynchronous')
  })

  test('a schema that returns a promise of another realm is refused as asynchronous', () => {
    const parse = parserOf(schemaOf(() => runInNewContext('Promise.resolve({ value: 1 })') as never))
    expect(() => parse({})).toThrow('the schema is asynchronous')
  })
})
