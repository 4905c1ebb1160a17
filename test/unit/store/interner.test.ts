import { setImmediate as nextTask } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, test } from 'vitest'
import { Ingest } from '../../../src/store/write/ingest.js'
import { Interner } from '../../../src/store/write/interner.js'
import { begun, mirrorOf } from '../../support/informers.js'

interface Pod {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly owners: readonly { readonly uid: string; readonly kind: string }[]
}

const pod = (name: string): Pod =>
  JSON.parse(
    JSON.stringify({ name, labels: { app: 'web-frontend', tier: 'a' }, owners: [{ uid: '1', kind: 'ReplicaSet' }] }),
  ) as Pod

describe('equal subtrees', () => {
  test.each([
    ['another value', { app: 'web' }, { app: 'db' }],
    ['another name', { app: 'web' }, { abb: 'web' }],
    ['one more property', { app: 'web' }, { app: 'web', tier: 'a' }],
    ['another order of properties', { app: 'web', tier: 'a' }, { tier: 'a', app: 'web' }],
    ['a property that is undefined', { app: 'web', tier: undefined }, { app: 'web' }],
    ['another type of number', { n: 0 }, { n: -0 }],
    ['a number instead of a text', { n: 1 }, { n: '1' }],
    ['an array instead of an object', { 0: 'a' }, ['a']],
    ['a longer array', [1, 2], [1, 2, 3]],
    ['the same values in another order', [1, 2], [2, 1]],
    ['a name of the same hash', { app: undefined }, { akp: undefined }],
    ['an array value of the same hash', [0], [-0]],
    ['a small number of the same hash', { n: 1e-9 }, { n: 2e-9 }],
    ['a long text of the same hash', { text: `${'a'.repeat(30)}b${'a'.repeat(30)}` }, { text: 'a'.repeat(61) }],
    ['another subtree', { a: { b: { c: 1 } } }, { a: { b: { c: 2 } } }],
  ])('[S17] with %s are not shared', (_difference, one, other) => {
    const interner = new Interner()
    const [a, b] = [interner.intern({ part: one }), interner.intern({ part: other })]
    expect([a, b]).toStrictEqual([{ part: one }, { part: other }])
    expect(b.part).not.toBe(a.part)
  })

  test('[S18] the whole object is never shared, so that the store can tell an update from a repetition', () => {
    const interner = new Interner()
    expect(interner.intern({ n: 1 })).not.toBe(interner.intern({ n: 1 }))
  })

  test('[S17] the object that arrives is not modified, also if it is frozen', () => {
    const interner = new Interner()
    interner.intern(pod('a'))
    const labels = Object.freeze({ app: 'web-frontend', tier: 'a' })
    const arrived = Object.freeze({ name: 'b', labels, owners: Object.freeze([]) })
    const shared = interner.intern(arrived)
    expect(arrived.labels).toBe(labels)
    expect(shared).toEqual(arrived)
    expect(shared.labels).not.toBe(labels)
    expect(Object.isFrozen(shared)).toBe(true)
  })
})

describe('kept as they are', () => {
  class Size {
    readonly bytes = 1
  }
  const date = new Date(0)
  const map = new Map([['a', { n: 1 }]])
  const hidden = (): object => Object.defineProperty({ n: 1 }, 'secret', { value: 1, enumerable: false })
  const marked = (): object => ({ n: 1, [Symbol.for('mark')]: 1 })
  const named = (): object => Object.assign([1, 2], { index: 1 })
  const namedWithGap = (): object => {
    const array = Object.assign([1, 2, 3], { index: 1 })
    delete array[1]
    return array
  }
  const gap = (): object => {
    const array = [1, 2, 3]
    delete array[1]
    return array
  }

  test.each([
    ['instances of classes', () => new Size()],
    ['Dates', () => date],
    ['Maps', () => map],
    ['bytes', () => new Uint8Array(2)],
    ['objects without a prototype', () => Object.assign(Object.create(null) as object, { n: 1 })],
    ['objects with a hidden property', hidden],
    ['objects with a symbol', marked],
    ['arrays with a named property', named],
    ['arrays with a gap', gap],
    ['arrays with a gap and a named property', namedWithGap],
    ['objects with a property __proto__', () => JSON.parse('{"__proto__":{"n":1}}') as object],
    ['functions', () => () => 1],
  ])('%s', (_what, make) => {
    const interner = new Interner()
    const [one, other] = [make(), make()]
    expect(interner.intern({ part: one }).part).toBe(one)
    expect(interner.intern({ part: other }).part).toBe(other)
    const whole = interner.intern({ text: 'some long text here', part: { n: 1 }, [Symbol.iterator]: 1 })
    expect(whole[Symbol.iterator]).toBe(1)
  })

  test('cyclic objects, and objects that nest too deep', () => {
    const interner = new Interner()
    const cyclic: { labels: object; self?: object } = { labels: { app: 'a long name of an app' } }
    cyclic.self = { cyclic }
    let deep: object = {}
    for (let level = 0; level < 1_000; level++) deep = { deep }
    for (let turn = 0; turn < 2; turn++) {
      expect(interner.intern(cyclic)).toBe(cyclic)
      expect(interner.intern(deep)).toBe(deep)
    }
  })

  test('an object that contains one subtree exponentially often takes bounded time', () => {
    let wide: object = { app: 'a long name of an app' }
    for (let level = 0; level < 40; level++) wide = { left: wide, right: wide }
    expect(new Interner().intern(wide)).toBe(wide)
  })
})

test('[S19] the table shares a subtree that occurs often, however many others occur once', () => {
  const interner = new Interner(64)
  const common = interner.intern({ labels: { app: 'web' } }).labels
  interner.intern({ labels: { app: 'web' } })
  let shared = 0
  for (let n = 0; n < 5_000; n++) {
    interner.intern({ status: { n } })
    if (n % 10 === 0 && interner.intern({ labels: { app: 'web' } }).labels === common) shared++
  }
  expect(shared).toBe(500)
})

test('[S19] the table grows with the number of subtrees that occur again', () => {
  const interner = new Interner(16)
  const round = (): object[] => Array.from({ length: 2_000 }, (_, n) => interner.intern({ part: { n } }).part)
  for (let turn = 0; turn < 12; turn++)
    for (let n = 0; n < 2_000; n++) for (let times = 0; times < 3; times++) interner.intern({ part: { n } })
  const [first, second] = [round(), round()]
  expect(second.filter((part, n) => part === first[n]).length).toBeGreaterThan(1_900)
})

test('[S19] the table lets a subtree be collected that no object contains', async () => {
  const interner = new Interner()
  const ref = new WeakRef(interner.intern({ labels: { app: 'gone' } }).labels)
  await nextTask() // Until then a new WeakRef keeps its object.
  setFlagsFromString('--expose-gc')
  ;(runInNewContext('gc') as () => void)()
  expect(ref.deref()).toBeUndefined()
  expect(interner.intern({ labels: { app: 'gone' } })).toEqual({ labels: { app: 'gone' } })
})

describe('ingest with intern', () => {
  const intake = (options: object = {}): Ingest<Pod> =>
    new Ingest<Pod>({ freeze: false, intern: true, report: () => {}, ...options })

  test('an update shares the subtrees that did not change with the object before', () => {
    const it = intake()
    const before = it.ingest({ key: 'k', object: pod('a'), version: '1' }, undefined, false)
    if (typeof before === 'symbol' || before instanceof Error) throw new Error('no entry')
    const after = it.ingest({ key: 'k', object: { ...pod('a'), name: 'b' }, version: '2' }, before, false)
    if (typeof after === 'symbol' || after instanceof Error) throw new Error('no entry')
    expect(after.object.labels).toBe(before.object.labels)
    expect(after.object.name).toBe('b')
  })

  test('[S18] an object that the equals function calls different is another object, even if its content is the same', () => {
    const it = intake({ equals: () => false })
    const before = it.ingest({ key: 'k', object: pod('a') }, undefined, false)
    if (typeof before === 'symbol' || before instanceof Error) throw new Error('no entry')
    const after = it.ingest({ key: 'k', object: pod('a') }, before, false)
    expect((after as typeof before).object).not.toBe(before.object)
  })

  test('objects of a saved mirror share subtrees with later ones', () => {
    const it = intake()
    const saved = it.restored({ type: 'entry', key: 'a', object: pod('a') })
    const later = it.ingest({ key: 'b', object: pod('b') }, undefined, false)
    expect((later as typeof saved).object.labels).toBe(saved.object.labels)
  })
})

describe('an informer with intern', () => {
  const entries: [string, Pod][] = Object.entries({ a: pod('a'), b: pod('b') })

  test('stores equal labels of two objects once, after transform', async () => {
    const { clock, informer } = mirrorOf<Pod, object>(entries, {
      intern: true,
      transform: ({ labels, owners }: Pod) => ({ name: '', labels: { ...labels, more: 'yes' }, owners }),
    })
    await begun(informer, clock)
    const [a, b] = informer.list()
    expect(a).toEqual({ name: '', labels: { app: 'web-frontend', tier: 'a', more: 'yes' }, owners: pod('a').owners })
    expect(b?.labels).toBe(a?.labels)
  })
})
