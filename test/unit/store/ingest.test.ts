import { describe, expect, test } from 'vitest'
import { SourceError } from '../../../src/contract/errors.js'
import type { Entry } from '../../../src/contract/source.js'
import { FILTERED, Ingest, type IngestOptions, invalid, isOtherIdentity, UNCHANGED } from '../../../src/store/ingest.js'
import { structuralEqual } from '../../../src/store/structural-equal.js'

interface Item {
  readonly n: number
}

function intake(options: Partial<IngestOptions<Item>> = {}) {
  const reports: SourceError[] = []
  const made = new Ingest<Item>({
    equals: structuralEqual,
    freeze: false,
    report: (error) => reports.push(error),
    ...options,
  })
  return { intake: made, reports }
}

const entry = (n: number, version?: string, uid?: string): Entry<Item> => {
  return {
    key: 'k',
    object: { n },
    ...(version === undefined ? {} : { version }),
    ...(uid === undefined ? {} : { uid }),
  }
}

describe('an object that arrives', () => {
  test('an entry of a new key is returned without a copy', () => {
    const arrived = entry(1, '1')
    expect(intake().intake.ingest(arrived, undefined, false)).toBe(arrived)
  })

  test('an object with the stored version is unchanged, and is not compared', () => {
    let looks = 0
    const { intake: it } = intake({ equals: () => ++looks > 0, prepare: () => ({ n: ++looks }) })
    expect([it.ingest(entry(2, '1'), entry(1, '1'), false), looks]).toEqual([UNCHANGED, 0])
  })

  test('an object with the stored version is compared by content if versions are ignored', () => {
    const arrived = entry(2, '1')
    expect(intake().intake.ingest(arrived, entry(1, '1'), true)).toBe(arrived)
  })

  test('an object without a version is compared by content', () => {
    const arrived = entry(2)
    expect([
      intake().intake.ingest(entry(1), entry(1), false),
      intake().intake.ingest(arrived, entry(1), false),
    ]).toEqual([UNCHANGED, arrived])
  })

  test('an equal object with another version keeps the stored object with the new version', () => {
    const current = entry(1, '1')
    const taken = intake().intake.ingest(entry(1, '2'), current, false)
    expect(taken).toEqual({ key: 'k', object: { n: 1 }, version: '2' })
    expect((taken as Entry<Item>).object).toBe(current.object)
  })

  test('an equal object with a uid keeps the stored object and adds the uid', () => {
    const [current, unversioned] = [entry(1, '1'), entry(1)]
    const taken = intake().intake.ingest(entry(1, '1', 'first'), current, true)
    expect(taken).toEqual(entry(1, '1', 'first'))
    expect((taken as Entry<Item>).object).toBe(current.object)
    const arrived = entry(1, undefined, 'first')
    expect(intake().intake.ingest(arrived, unversioned, false)).toEqual(arrived)
  })

  test('an equal object with another uid is another object', () => {
    const arrived = entry(1, '1', 'second')
    expect(intake().intake.ingest(arrived, entry(1, '1', 'first'), false)).toBe(arrived)
  })
})

describe('isOtherIdentity', () => {
  test.each<[string | undefined, string | undefined, boolean]>([
    ['first', 'second', true],
    ['first', 'first', false],
    ['first', undefined, false],
    [undefined, 'first', false],
    [undefined, undefined, false],
  ])('uids %s and %s are two objects: %s', (a, b, expected) => {
    expect(isOtherIdentity(entry(1, '1', a), entry(1, '1', b))).toBe(expected)
  })
})

describe('prepare', () => {
  test('prepare returns the object to store, from the object and its key', () => {
    const { intake: it } = intake({ prepare: (object, key) => ({ n: (object as Item).n + key.length }) })
    expect(it.ingest(entry(1, '1'), undefined, false)).toEqual({ key: 'k', object: { n: 2 }, version: '1' })
  })

  test('an object is filtered out if prepare returns undefined', () => {
    const { intake: it } = intake({ prepare: () => undefined })
    expect(it.ingest(entry(1), entry(1), false)).toBe(FILTERED)
  })

  test('if prepare throws, the object is invalid, with its key and the cause', () => {
    const cause = new Error('no n')
    const { intake: it } = intake({
      prepare: () => {
        throw cause
      },
    })
    const taken = it.ingest(entry(1), undefined, false)
    expect(taken).toBeInstanceOf(SourceError)
    expect(taken).toMatchObject({
      code: 'DECODE',
      phase: 'decode',
      key: 'k',
      cause,
      message: 'the object "k" is invalid: no n',
    })
  })

  test('if prepare throws a value without a string form, the object is invalid', () => {
    const { intake: it } = intake({
      prepare: () => {
        throw Object.create(null)
      },
    })
    expect(it.ingest(entry(1), undefined, false)).toMatchObject({ code: 'DECODE', key: 'k' })
  })

  test('the result of prepare is compared with the stored object', () => {
    const { intake: it } = intake({ prepare: (object) => ({ n: (object as Item).n % 2 }) })
    expect(it.ingest(entry(3), entry(1), false)).toBe(UNCHANGED)
  })
})

describe('equals', () => {
  test('equals decides which objects count as changed', () => {
    const { intake: it } = intake({ equals: (a, b) => a.n % 2 === b.n % 2 })
    const arrived = entry(2)
    expect([it.ingest(entry(3), entry(1), false), it.ingest(arrived, entry(1), false)]).toEqual([UNCHANGED, arrived])
  })

  test('if equals throws, the object counts as changed and the error is reported once', () => {
    const cause = new Error('cyclic')
    const { intake: it, reports } = intake({
      equals: () => {
        throw cause
      },
    })
    const arrived = entry(1)
    expect([it.ingest(arrived, entry(1), false), it.ingest(arrived, entry(1), false)]).toEqual([arrived, arrived])
    expect(reports).toHaveLength(1)
    expect(reports[0]).toMatchObject({
      code: 'DECODE',
      phase: 'apply',
      cause,
      message: 'the equals function failed: cyclic; such objects count as changed',
    })
  })
})

describe('freeze', () => {
  test('with freeze the stored object is deep-frozen', () => {
    const list: unknown[] = []
    const object = { n: 1, deep: { list } }
    intake({ freeze: true }).intake.ingest({ key: 'k', object }, undefined, false)
    expect([object, object.deep, list].every(Object.isFrozen)).toBe(true)
  })

  test('without freeze the stored object is not frozen', () => {
    const arrived = entry(1)
    intake().intake.ingest(arrived, undefined, false)
    expect(Object.isFrozen(arrived.object)).toBe(false)
  })

  test('an object that cannot be frozen is invalid', () => {
    const hostile = Object.defineProperty({ n: 1 }, 'trap', {
      enumerable: true,
      get: () => {
        throw new Error('a getter threw')
      },
    })
    const taken = intake({ freeze: true }).intake.ingest({ key: 'k', object: hostile }, undefined, false)
    expect(taken).toMatchObject({ code: 'DECODE', key: 'k', message: 'the object "k" is invalid: a getter threw' })
  })
})

describe('the last state in a delete event', () => {
  test('the last state is prepared and frozen', () => {
    const { intake: it } = intake({ freeze: true, prepare: (object) => ({ n: (object as Item).n + 1 }) })
    const last = it.lastState('k', { n: 1 })
    expect([last, Object.isFrozen(last)]).toEqual([{ n: 2 }, true])
  })

  test('the last state is undefined if the event has none', () => {
    expect(intake({ prepare: () => ({ n: 1 }) }).intake.lastState('k', undefined)).toBeUndefined()
  })

  test('the last state is undefined if prepare throws', () => {
    const { intake: it } = intake({
      prepare: () => {
        throw new Error('bad')
      },
    })
    expect(it.lastState('k', { n: 1 })).toBeUndefined()
  })
})

describe('invalid', () => {
  test('the error of an object without a key says so', () => {
    expect(invalid(undefined, new Error('cut off'))).toMatchObject({
      code: 'DECODE',
      phase: 'decode',
      key: undefined,
      message: 'an object whose key is unknown is invalid: cut off',
    })
  })
})
