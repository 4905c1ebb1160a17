import { describe, expect, test } from 'vitest'
import type { ListEvent, WatchEvent } from '../../../src/contract/source.js'
import { Indexer } from '../../../src/store/indexer.js'
import { failure } from '../../support/failure.js'
import { reflect, store } from '../../support/reflectors.js'
import { listed, ordered, reflected } from '../../support/running.js'
import { put, scripted } from '../../support/scripted-source.js'

const FIVE_MINUTES = 300_000

/** A value that the types of a source do not allow. */
function odd<E>(event: unknown): E {
  return event as E
}

/** A source that lists at once. Its watch does not time out, because its heartbeats are an hour apart. */
function healthy(events: readonly ListEvent<number>[] = [], later: readonly ListEvent<number>[] = events) {
  return scripted<number>({
    heartbeatMs: 3_600_000,
    onList: (list, nth) => list.answer(nth === 1 ? events : later, `${nth * 10}`),
  })
}

describe('[B20] invalid versions', () => {
  const bad = [
    ['empty', ''],
    ['of two lines', '1\n2'],
    ['not ASCII', '1é'],
    ['too long', '1'.repeat(65_537)],
    ['not a string', odd<string>(7)],
    ['missing', odd<string>(undefined)],
  ] as const

  test.each(bad)('a list version that is %s is PROTOCOL, and no watch is opened', async (_what, version) => {
    const { source, objects, errors, reflector } = await reflected(listed<number>([put('a', 1)], version))
    expect(errors).toMatchObject([{ code: 'PROTOCOL', phase: 'list' }])
    expect([reflector.state.name, source.watches.length, objects()]).toEqual(['failed', 0, {}])
  })

  test.each(bad)('a batch version that is %s is PROTOCOL, and the batch is not applied', async (_what, version) => {
    const { source, objects, clock, errors, reflector } = await reflected(
      listed<number>([put('a', 1)], '5', { onWatch: (watch, nth) => nth === 1 && watch.batch([put('a', 2)], version) }),
    )
    expect(errors).toMatchObject([{ code: 'PROTOCOL', phase: 'watch' }])
    expect([reflector.state.name, objects()]).toEqual(['failed', { a: 1 }])
    await clock.advance(30_000)
    expect(source.watches[1]?.context.after).toBe('5')
  })

  test('a watch starts from a version of the greatest length with unusual characters', async () => {
    const version = `~ !{}${'9'.repeat(65_531)}`
    const source = listed<number>([], version)
    await reflect(source, store<number>().sink)
    expect(source.watches[0]?.context.after).toBe(version)
  })

  test('[C2a] a list without an end fails after 100 000 empty pages', async () => {
    const source = scripted<number>()
    source.list = async function* () {
      for (;;) yield { events: [] }
    }
    const { errors } = await reflected<number, typeof source>(source)
    expect(errors[0]).toMatchObject(failure('PROTOCOL', '100001 empty pages in a row'))
  })

  test.each([
    ['without a version', [put('a', 1)]],
    ['without a page', undefined],
  ])('a list %s fails with PROTOCOL', async (_what, page) => {
    const source = scripted<number>({
      onList: (list) => {
        if (page !== undefined) list.page(page)
        list.end()
      },
    })
    const { errors } = await reflected(source)
    expect(errors).toMatchObject([{ code: 'PROTOCOL' }])
    expect(errors[0]?.message).toContain('the version of the list is missing')
  })
})

describe('[B17] an event of an unknown type', () => {
  const unknown = odd<WatchEvent<number>>({ type: 'patch', key: 'a' })

  test.each([[unknown], [null], [undefined], [7], [{}]])('%j is left out, and the rest is applied', async (event) => {
    const source = healthy([put('a', 1)])
    const { objects, clock, errors, reflector } = await reflected(source)
    source.watches[0]?.batch([put('b', 2), odd(event), put('c', 3)], '6')
    await clock.advance(0)
    expect(objects()).toEqual({ a: 1, b: 2, c: 3 })
    expect(errors).toMatchObject([{ code: 'DECODE' }])
    expect(reflector.state.name).toBe('live')
  })

  test('an event of an unknown type is reported at most once a minute', async () => {
    const { source, clock, errors } = await reflected(healthy())
    for (let i = 0; i < 61; i++) {
      source.watches[0]?.batch([unknown, unknown], '6')
      await clock.advance(1_000)
    }
    expect(errors).toHaveLength(2)
    expect(errors[0]).toMatchObject({ code: 'DECODE', phase: 'decode', source: 'scripted' })
    expect(errors[0]?.message).toMatch(
      /^an event of the unknown type "patch" of \S+ was left out: put, delete, replace and invalid are allowed; a list follows within 5 minutes$/,
    )
  })

  test('an event of an unknown type causes a relist 5 minutes after the last list, or soon if that is longer ago', async () => {
    const source = healthy([put('a', 1)], [put('a', 2)])
    const { objects, clock } = await reflected(source)
    await clock.advance(60_000)
    source.watches[0]?.batch([unknown], '6')
    await clock.advance(FIVE_MINUTES - 60_001)
    expect(source.lists).toHaveLength(1)
    await clock.advance(1_001)
    expect(objects()).toEqual({ a: 2 })
    await clock.advance(2 * FIVE_MINUTES)
    source.watches[1]?.batch([unknown], '26')
    await clock.advance(1_000)
    expect(source.lists).toHaveLength(3)
  })

  test('events of an unknown type cause at most one relist in 5 minutes', async () => {
    const { source, clock } = await reflected(healthy())
    const listed: number[] = []
    for (let second = 0; second < 1_800; second++) {
      source.watches.at(-1)?.batch([unknown], `${100 + second}`)
      if (source.lists.length > listed.length) listed.push(second)
      await clock.advance(1_000)
    }
    const gaps = listed.slice(1).map((at, i) => at - (listed[i] ?? 0))
    expect(gaps).toHaveLength(5)
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(299)
  })

  test('a list with an event of an unknown type applies the other events', async () => {
    const { source, objects, clock, errors } = await reflected(healthy([put('a', 1), odd(unknown), put('b', 2)]))
    expect(objects()).toEqual({ a: 1, b: 2 })
    expect(errors).toMatchObject([{ code: 'DECODE' }])
    await clock.advance(FIVE_MINUTES + 1_000)
    expect(source.lists).toHaveLength(2)
  })
})

describe('[B18] an object without a key', () => {
  const keyless = odd<ListEvent<number>>({ type: 'put', object: 7 })

  test('an object without a key is reported as invalid and never stored, and the other objects are applied', async () => {
    const reported: string[] = []
    const sink = new Indexer<number>({}, { report: (error) => reported.push(`${error.code}: ${error.message}`) })
    const source = healthy([put('a', 1)])
    const { clock } = await reflect(source, sink)
    source.watches[0]?.batch([keyless, put('b', 2)], '16')
    source.watches[0]?.batch([odd({ type: 'put', key: 7, object: 7 })], '16')
    await clock.advance(0)
    expect(Object.fromEntries(sink.entries())).toEqual({ a: 1, b: 2 })
    const says = 'DECODE: an object whose key is unknown is invalid: its key must be a string, got'
    expect(reported).toEqual([`${says} undefined`, `${says} number`])
  })

  test('[B18] a put without an object is invalid, and the last object stays', async () => {
    const sink = new Indexer<number>({}, { report: () => {} })
    const source = healthy([put('a', 1)])
    const { clock } = await reflect(source, sink)
    source.watches[0]?.batch([odd({ type: 'put', key: 'a' })], '16')
    await clock.advance(0)
    expect([Object.fromEntries(sink.entries()), [...sink.invalid.keys()]]).toEqual([{ a: 1 }, ['a']])
  })

  test('[C32] an object without a key schedules a relist after 5 minutes', async () => {
    const { source, objects, clock } = await reflected(healthy([put('a', 1), keyless], [put('a', 2)]))
    await clock.advance(FIVE_MINUTES - 1)
    expect(source.lists).toHaveLength(1)
    await clock.advance(1_001)
    expect(objects()).toEqual({ a: 2 })
  })

  test.each([{ type: 'put', key: 7, object: 1 }, { type: 'delete' }, { type: 'invalid', error: new Error('bad') }])(
    '%j is an event without a key, and causes a relist',
    async (event) => {
      const { source, clock } = await reflected(healthy())
      source.watches[0]?.batch([odd(event)], '6')
      await clock.advance(FIVE_MINUTES + 1_000)
      expect(source.lists).toHaveLength(2)
    },
  )
})

test.each([
  [10, [256, 512, 768]],
  [0, []],
])(
  'a batch of many events is validated in slices if an event takes %i ms, with turns of the event loop after %j',
  async (ms, turns) => {
    const { source, objects, clock } = await reflected(healthy())
    let reads = 0
    const events = Array.from({ length: 1_000 }, (_, nth) => ({
      get type(): 'put' {
        reads++
        return 'put'
      },
      key: `k${nth}`,
      object: nth,
    }))
    const readsBetweenTurns: number[] = []
    const [now, sleep] = [clock.now.bind(clock), clock.sleep.bind(clock)]
    Object.assign(clock, {
      now: () => now() + ms * reads,
      sleep: (ms: number, signal?: AbortSignal) => {
        if (ms === 0) readsBetweenTurns.push(reads)
        return sleep(ms, signal)
      },
    })
    source.watches[0]?.batch(events, '6')
    await clock.advance(0)
    expect([readsBetweenTurns.slice(0, 3), Object.keys(objects()).length]).toEqual([turns, 1_000])
  },
)

test.each([
  ['first', 0, 1],
  ['at the end of a slice', 255, 511],
  ['at the beginning of a slice', 256, 512],
  ['in the middle of a slice', 600, 700],
  ['last', 999, 998],
])(
  'a batch of many events keeps all valid events in order, with invalid events among them: %s',
  async (_place, keyless, unknown) => {
    const { source, objects, clock, errors } = await reflected(healthy())
    const events: WatchEvent<number>[] = Array.from({ length: 1_000 }, (_, nth) => put(`k${nth % 900}`, nth))
    events[keyless] = odd({ type: 'put', object: 7 })
    events[unknown] = odd({ type: 'patch' })
    const expected: Record<string, number> = {}
    for (const event of events) if (event.type === 'put' && event.key) expected[event.key] = event.object
    source.watches[0]?.batch(events, '6')
    await clock.advance(0)
    expect(objects()).toEqual(expected)
    expect(errors).toMatchObject([{ code: 'DECODE' }])
    await clock.advance(FIVE_MINUTES + 1_000)
    expect(source.lists).toHaveLength(2)
  },
)

test.each([
  ['events that are not an array', 'put'],
  ['a replace without entries', [{ type: 'replace' }]],
  ['a replace with an entry that has no key', [{ type: 'replace', entries: [{ object: 1 }] }]],
  [
    'a late event that is malformed',
    [...Array.from({ length: 700 }, (_, nth) => put(`k${nth}`, nth)), { type: 'replace' }],
  ],
])('a batch with %s fails with PROTOCOL, and nothing of it is applied', async (_what, events) => {
  const source = healthy([put('a', 1)])
  const { objects, clock, errors } = await reflected(source)
  source.watches[0]?.batch(odd(events), '60')
  await clock.advance(0)
  expect([errors.map(({ code }) => code), objects()]).toEqual([['PROTOCOL'], { a: 1 }])
})

test('[B30] hostile keys are keys like any other', async () => {
  const { source, sink, clock } = await reflected(
    ordered<number>([put('__proto__', 1), put('constructor', 2), put('', 3)], '1'),
  )
  source.watches[0]?.batch([put('__proto__', 4), { type: 'delete', key: 'constructor' }], '2')
  await clock.advance(0)
  expect([sink.get('__proto__'), sink.get('constructor'), sink.get(''), sink.size]).toEqual([4, undefined, 3, 2])
})
