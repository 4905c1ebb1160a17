import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Interner } from '../../src/store/write/interner.js'
import { runs } from '../support/property.js'

/** Few different leaves and names, so that equal subtrees are common. */
const { tree } = fc.letrec<{ tree: unknown; object: unknown; array: unknown }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom<unknown>(
      'a',
      'a longer text than ten',
      'another text of that length',
      0,
      -0,
      1,
      Number.NaN,
      true,
      null,
      undefined,
    ),
    tie('object'),
    tie('array'),
  ),
  object: fc.dictionary(fc.constantFrom('app', 'tier', '__proto__', 'constructor', ''), tie('tree'), {
    maxKeys: 4,
    noNullPrototype: true,
  }),
  array: fc.array(tie('tree'), { maxLength: 3 }),
}))
const anything = fc.anything({
  withDate: true,
  withMap: true,
  withSet: true,
  withTypedArray: true,
  withNullPrototype: true,
})
const values = fc.array(fc.oneof({ weight: 5, arbitrary: tree }, { weight: 1, arbitrary: anything }), { maxLength: 30 })

/** The size of the tables. It is small, so that places are reused. */
const SLOTS = 64

test('[S17] an object with shared subtrees equals the object that arrived, to each property and its order, and stays so', () => {
  fc.assert(
    fc.property(values, (all) => {
      const interner = new Interner(SLOTS)
      const stored = all.map((value) => {
        const text = fingerprint(value)
        const object = interner.intern({ value }).value
        expect([fingerprint(object), fingerprint(value)]).toEqual([text, text])
        return { object, text }
      })
      for (const { object, text } of stored) expect(fingerprint(object)).toBe(text)
    }),
    runs(500),
  )
})

test('two equal objects in a row have the same subtrees', () => {
  fc.assert(
    fc.property(fc.array(tree, { maxLength: 10 }), tree, (others, value) => {
      const interner = new Interner()
      for (const other of others) interner.intern({ other })
      const text = fingerprint(value)
      fc.pre(!text.includes('__proto__'))
      const [one, other] = [interner.intern({ value }), interner.intern({ value: structuredClone(value) })]
      expect(other.value).toBe(one.value)
    }),
    runs(500),
  )
})

/** A text that shows values, names, their order and the kinds of objects. */
function fingerprint(value: unknown, depth = 0): string {
  if (typeof value !== 'object' || value === null)
    return Object.is(value, -0) ? '-0' : `${typeof value}:${String(value)}`
  if (depth > 20) return 'deep'
  const prototype: unknown = Object.getPrototypeOf(value)
  const kind = prototype === null ? 'null' : Object.prototype.toString.call(value)
  if (Array.isArray(value) || prototype === null || prototype === Object.prototype) {
    const members = Reflect.ownKeys(value).map((name) => {
      const member: unknown = Reflect.getOwnPropertyDescriptor(value, name)?.value
      return `${String(name)}=${fingerprint(member, depth + 1)}`
    })
    return `${kind}{${members.join(';')}}`
  }
  return `${kind}${identityOf(value)}`
}

const identities = new WeakMap<object, number>()
let count = 0

function identityOf(object: object): number {
  const known = identities.get(object) ?? ++count
  identities.set(object, known)
  return known
}
