import { getEventListeners } from 'node:events'
import { describe, expect, test } from 'vitest'
import { memorySource } from '../../../adapters/memory/index.js'
import type { ListEvent, Sink, WatchBatch, WatchEvent } from '../../../src/adapter.js'
import { createInformer, Reflector, SourceError } from '../../../src/index.js'
import { VirtualClock } from '../../../testing/virtual-clock.js'
import { BusyClock } from '../../support/busy-clock.js'
import { informerOf } from '../../support/informers.js'
import { reflect, store } from '../../support/reflectors.js'
import { heard, listed, ordered, reflected, running } from '../../support/running.js'
import { numbered, put, scripted } from '../../support/scripted-source.js'

const remove = (key: string): WatchEvent<number> => ({ type: 'delete', key })
const invalid = (key: string): WatchEvent<number> => ({ type: 'invalid', key, error: new Error('broken') })
/** The collection has exactly this object. */
const whole = (key: string, object: number): WatchEvent<number> => ({ type: 'replace', entries: [{ key, object }] })

test('[C5] a reflector lists a source and follows its changes; a break whose history is still there is resumed without a relist', async () => {
  const { source, objects, clock, reflector, states } = await reflected(memorySource({ entries: [['a', 1]] }))
  source.put('b', 2)
  await clock.advance(0)
  expect(objects()).toEqual({ a: 1, b: 2 })
  source.disconnect()
  source.put('a', 2)
  source.put('b', 3)
  await clock.advance(1_000)
  expect(objects()).toEqual({ a: 2, b: 3 })
  expect(reflector.state).toMatchObject({ name: 'live', relists: 0, reconnects: 1 })
  expect(states).toEqual(['listing', 'connecting', 'live', 'backing-off', 'connecting', 'live'])
})

test('[C6] an expired version is exactly one relist', async () => {
  const { source, objects, clock, reflector } = await reflected(memorySource({ entries: [['a', 1]] }))
  source.disconnect()
  source.delete('a')
  source.put('b', 2)
  source.compact()
  await clock.advance(60_000)
  expect(objects()).toEqual({ b: 2 })
  expect(reflector.state).toMatchObject({ name: 'live', relists: 1 })
})

test('a list has the version of the last page that names one, and a context with page size, clock and random numbers', async () => {
  const { source, clock } = await reflected(scripted<number>())
  expect(source.lists[0]?.context).toMatchObject({ pageSize: 1_000, clock })
  expect(source.lists[0]?.context.random.next()).toBeTypeOf('number')
  source.lists[0]?.page([put('a', 1)], '3')
  source.lists[0]?.page([put('b', 2)], '5')
  source.lists[0]?.page([put('c', 3)])
  source.lists[0]?.end()
  await clock.advance(0)
  expect(source.watches[0]?.context.after).toBe('5')
})

test('[B24] a list that breaks in the middle leaves nothing behind, and is read again from its beginning', async () => {
  const { source, objects, clock } = await reflected(
    scripted<number>({ onList: (list, nth) => nth > 1 && list.answer([put('b', 2)], '6') }),
  )
  source.lists[0]?.page([put('a', 1)])
  source.lists[0]?.fail(new Error('gone'))
  await clock.advance(0)
  expect(objects()).toEqual({})
  await clock.advance(1_000)
  expect(objects()).toEqual({ b: 2 })
})

test('[C2] a list that yields no page for 30 s fails with UNAVAILABLE', async () => {
  const { source, clock, errors } = await reflected(scripted<number>())
  source.lists[0]?.page([put('a', 1)])
  await clock.advance(20_000)
  source.lists[0]?.page([put('b', 1)])
  await clock.advance(29_999)
  expect(errors).toEqual([])
  await clock.advance(1)
  expect(errors).toMatchObject([{ code: 'UNAVAILABLE', phase: 'list', source: 'scripted' }])
  expect(errors[0]?.message).toMatch(/^list of scripted failed: no page for 30 s; listing again in 0\.[4-8] s$/)
})

test('[C4] a list that calls alive may take longer than 30 s for a page, and fails 30 s after the last call', async () => {
  const { source, clock, errors } = await reflected(scripted<number>())
  for (let times = 0; times < 3; times++) {
    await clock.advance(20_000)
    source.lists[0]?.context.alive?.()
  }
  await clock.advance(29_999)
  expect(errors).toEqual([])
  await clock.advance(1)
  expect(errors).toMatchObject([{ code: 'UNAVAILABLE', phase: 'list' }])
})

test('[C3] a list whose only page takes minutes to apply does not time out', async () => {
  const clock = new BusyClock()
  const source = scripted<number>()
  const transform = (object: number): number => {
    clock.work(1_000)
    return object
  }
  const informer = createInformer<number, object>({ source, clock, transform })
  const errors: SourceError[] = []
  informer.on('error', (error) => errors.push(error))
  informer.start()
  const entries = Array.from({ length: 600 }, (_, at) => put(`k${at}`, at))
  source.lists[0]?.answer(entries, '5')
  await clock.turns(20)
  expect([errors, informer.size]).toEqual([[], 600])
  await informer.stop()
})

test('a page of many objects yields to the event loop', async () => {
  const { source, clock, objects } = await reflected(scripted<number>())
  const now = clock.now.bind(clock)
  let reads = 0
  // Each read of the clock advances it by 5 ms.
  clock.now = () => now() + 5 * reads++
  const entries = Array.from({ length: 2_000 }, (_, i) => put(`k${i}`, i))
  source.lists[0]?.answer(entries, '1')
  const before = clock.sleeping
  for (let i = 0; i < 10; i++) await Promise.resolve()
  expect(clock.sleeping).toBe(before + 1)
  await clock.advance(0)
  expect(Object.keys(objects())).toHaveLength(2_000)
})

test('[I11][B21] a list that is older than the shown state is refused as STALE_LIST, and read again', async () => {
  const source = scripted<number>({
    hasReached: numbered,
    onList: (list, nth) => list.answer([put('a', nth)], nth === 2 ? '4' : '9'),
    onWatch: (watch, nth) => nth === 1 && watch.fail(new SourceError('gone', { code: 'VERSION_EXPIRED' })),
  })
  const { objects, clock, errors } = await reflected(source)
  await clock.advance(1_600)
  expect([source.lists.length, objects()]).toEqual([2, { a: 1 }])
  expect(errors.map(({ code }) => code)).toEqual(['VERSION_EXPIRED', 'STALE_LIST'])
  await clock.advance(10_000)
  expect(objects()).toEqual({ a: 3 })
})

test('[I11][B22] a list has the shown version as its floor; the first list and one after EPOCH_CHANGED have none', async () => {
  const source = scripted<number>({
    hasReached: numbered,
    onList: (list, nth) => list.answer([put('a', nth)], nth === 1 ? '4' : '9'),
    onWatch: (watch, nth) => {
      if (nth === 1) watch.batch([put('a', 5)], '9')
      if (nth < 3) watch.fail(new SourceError('gone', { code: nth === 1 ? 'VERSION_EXPIRED' : 'EPOCH_CHANGED' }))
    },
  })
  const { clock } = await reflected(source)
  await clock.advance(10_000)
  expect(source.lists.map(({ context }) => context.floor)).toEqual([undefined, '9', undefined])
})

test.each<[string, { readonly hasReached?: typeof numbered }, string]>([
  ['that is as old as the shown state', { hasReached: numbered }, '9'],
  ['of a source that cannot compare versions', {}, '4'],
])('[I11] a list %s is applied', async (_what, script, version) => {
  const source = scripted<number>({
    ...script,
    onList: (list, nth) => list.answer([put('a', nth)], nth === 2 ? version : '9'),
    onWatch: (watch, nth) => nth === 1 && watch.fail(new SourceError('gone', { code: 'VERSION_EXPIRED' })),
  })
  const { objects, clock } = await reflected(source)
  await clock.advance(2_000)
  expect(objects()).toEqual({ a: 2 })
})

test('[I11][I6] an event that is older than the list changes nothing, whatever its key', async () => {
  const { source, objects, clock, ignored } = await reflected(ordered<number>([put('a', 1)], '9'))
  source.watches[0]?.batch([put('a', 0), put('gone', 0)], '7')
  source.watches[0]?.batch([{ type: 'delete', key: 'a' }], '8')
  await clock.advance(0)
  expect([objects(), ignored]).toEqual([{ a: 1 }, ['7', '8']])
})

describe('batches', () => {
  test('[B26] a batch that the store includes already is dropped whole', async () => {
    const { source, objects, clock } = await reflected(ordered<number>([put('a', 1)], '5'))
    source.watches[0]?.batch([put('b', 7)], '7')
    source.watches[0]?.batch([put('b', 6), put('c', 6)], '6')
    await clock.advance(0)
    expect(objects()).toEqual({ a: 1, b: 7 })
  })

  test.each([
    ['[C33] a batch of an equal version', ordered<number>([put('a', 1)], '5'), '5'],
    ['without hasReached a batch of an older version', listed<number>([put('a', 1)], '5'), '3'],
  ])('%s is applied', async (_what, source, version) => {
    const { objects, clock } = await reflected(source)
    source.watches[0]?.batch([put('b', 2)], version)
    await clock.advance(0)
    expect(objects()).toEqual({ a: 1, b: 2 })
  })

  test.each<
    [string, 'omit' | 'keep-previous', readonly WatchEvent<number>[], Record<string, number>, readonly string[]]
  >([
    [
      'with several events of a key',
      'omit',
      [put('a', 1), put('a', 2), remove('b'), put('b', 1), put('gone', 1), remove('gone'), invalid('d'), put('d', 1)],
      { a: 2, b: 1, c: 0, d: 1 },
      [],
    ],
    [
      'with replace events',
      'keep-previous',
      [put('a', 1), put('b', 1), whole('a', 2), remove('a'), whole('a', 3), put('b', 2)],
      { a: 3, b: 2 },
      [],
    ],
    [
      'with a replace and an invalid object',
      'keep-previous',
      [invalid('c'), put('b', 1), whole('a', 2)],
      { a: 2, c: 0 },
      ['c'],
    ],
    ['with a replace, then a delete of a key', 'omit', [whole('a', 1), remove('a')], {}, []],
    ['with a replace, then an invalid object', 'omit', [whole('a', 1), invalid('a')], {}, ['a']],
  ])('[C33] a batch %s that is delivered again changes nothing', async (_what, onInvalid, events, objects, keys) => {
    const source = ordered([put('a', 0), put('c', 0)], '1')
    const { clock, informer } = informerOf<number, object, typeof source>(source, { onInvalid })
    const told = heard(informer, ({ type, key, object }) => `${type} ${key} ${object}`)
    await running({ clock, informer })
    const shown = () => [Object.fromEntries(informer.entries()), [...informer.invalid.keys()]]
    source.watches[0]?.batch(events, '2')
    await clock.advance(0)
    const once = [...told]
    expect(once.length).toBeGreaterThan(2)
    expect(shown()).toEqual([objects, keys])
    source.watches[0]?.batch(events, '2')
    await clock.advance(0)
    expect([shown(), told]).toEqual([[objects, keys], once])
  })

  test('a batch of an equal version reports each invalid event without a key', async () => {
    const { clock, source, errors } = await running(informerOf(ordered<number>([put('a', 1)], '5')))
    const broken: WatchEvent<number> = { type: 'invalid', error: new Error('broken') }
    source.watches[0]?.batch([broken, broken], '5')
    await clock.advance(0)
    expect(errors.map(({ code }) => code)).toEqual(['DECODE', 'DECODE'])
  })

  test('[I10] a bookmark moves the resume point on, an older version never back', async () => {
    const { source, clock } = await reflected(ordered<number>([], '5'))
    source.watches[0]?.batch([], '7')
    source.watches[0]?.batch([], '6')
    source.watches[0]?.fail(new Error('gone'))
    await clock.advance(2_000)
    expect(source.watches[1]?.context.after).toBe('7')
  })
})

/** A sink with the given `apply`, which counts lists. */
function slowSink(apply: (batch: WatchBatch<number>) => void | Promise<void>): Sink<number> & { listed: number } {
  return {
    version: undefined,
    listed: 0,
    apply,
    replace() {
      return {
        page: (_events: readonly ListEvent<number>[]) => {},
        commit: () => {
          this.listed++
        },
        abandon: () => {},
      }
    },
  }
}

test.each(
  Object.entries<() => Promise<void>>({
    rejects: () => Promise.reject(new Error('the disk is full')),
    'throws synchronously for': () => {
      throw new Error('the disk is full')
    },
  }),
)(
  '[I10] a batch that the sink %s is applied again, and the error is reported as that of the sink',
  async (_how, fail) => {
    const applied: string[] = []
    const sink = slowSink(({ version }) => (applied.push(version) === 1 ? fail() : undefined))
    const source = listed([put('a', 0)], '5', { onWatch: (watch) => watch.batch([put('a', 1)], '6') })
    const { clock, errors } = await reflect(source, sink)
    await clock.advance(2_000)
    expect(source.watches.map(({ context }) => context.after)).toEqual(['5', '5'])
    expect(applied).toEqual(['6', '6'])
    expect(errors).toMatchObject([{ code: 'UNAVAILABLE', phase: 'apply', source: source.name }])
  },
)

test('[I10] a slow sink delays the source, its time does not count as silence, and it does not delay the end', async () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  const applied: string[] = []
  const sink = slowSink(({ version }) => {
    applied.push(version)
    return version === '6' ? promise : new Promise(() => {})
  })
  const source = listed<number>([], '5')
  const { clock, errors, stop } = await reflect(source, sink)
  source.watches[0]?.batch([put('a', 1)], '6')
  source.watches[0]?.batch([put('a', 2)], '7')
  await clock.advance(600_000)
  expect([applied, errors]).toEqual([['6'], []])
  resolve()
  await clock.advance(0)
  expect(applied).toEqual(['6', '7'])
  await expect(stop()).resolves.toBeUndefined()
})

test('[I10] silence is counted from the end of the work of the sink', async () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  const source = listed<number>([], '5')
  const { clock, errors } = await reflect(
    source,
    slowSink(() => promise),
  )
  source.watches[0]?.batch([put('a', 1)], '6')
  await clock.advance(610_000)
  resolve()
  await clock.advance(24_000)
  expect(errors).toEqual([])
})

test('[I10] a list that the sink refuses is read again', async () => {
  const sink = slowSink(() => {})
  const replacement = sink.replace()
  const commits = [() => Promise.reject(new Error('no')), replacement.commit]
  sink.replace = () => ({ ...replacement, commit: commits.shift() ?? replacement.commit })
  const source = listed<number>([], '5')
  const { clock } = await reflect(source, sink)
  expect(source.watches).toHaveLength(0)
  await clock.advance(2_000)
  expect([source.lists.length, source.watches.length, sink.listed]).toEqual([2, 1, 1])
})

test('[I15] run leaves no listener on the signal and no timer, and a second run is a TypeError', async () => {
  const clock = new VirtualClock()
  const control = new AbortController()
  const reflector = new Reflector(memorySource({ entries: [['a', 1]] }), store<number>().sink, { clock })
  const running = reflector.run({ signal: control.signal })
  await clock.advance(100)
  control.abort()
  await running
  await clock.advance(0)
  expect([clock.sleeping, getEventListeners(control.signal, 'abort').length]).toEqual([0, 0])
  await expect(reflector.run({ signal: AbortSignal.abort() })).rejects.toThrow(TypeError)
})

test('iterators are closed when their attempt is over', async () => {
  const { source, clock, stop } = await reflected(listed<number>([], '5'))
  expect(source.lists[0]?.isReturned).toBe(true)
  await stop()
  await clock.advance(0)
  expect(source.watches[0]?.isReturned).toBe(true)
})

describe('an invalid source', () => {
  const good = { name: 'x', list: () => [], watch: () => [] }
  const made = (...args: unknown[]): Reflector<unknown> => Reflect.construct(Reflector, args)
  test.each([
    [undefined, 'the source must have a name'],
    [{}, 'the source must have a name'],
    [Promise.resolve(), 'the source is a promise: await it first'],
    [{ name: 'x' }, 'the source "x" must have list and watch'],
    [{ ...good, watch: undefined }, 'the source "x" must have list and watch'],
    [{ ...good, list: 5 }, 'the source "x": option "list" must be a function, got 5'],
    [{ ...good, hasReached: 5 }, 'the source "x": option "hasReached" must be a function, got 5'],
    [{ ...good, isLaterEpoch: 5 }, 'the source "x": option "isLaterEpoch" must be a function, got 5'],
    [{ ...good, head: 5 }, 'the source "x": option "head" must be a function, got 5'],
    [{ ...good, heartbeatMs: 0 }, "the source's heartbeatMs must be a finite number above 0, got 0"],
    [{ ...good, heartbeatMs: Number.NaN }, "the source's heartbeatMs must be a finite number above 0, got NaN"],
  ])('%j is refused at the call', (source, message) => {
    expect(() => made(source, store().sink)).toThrow(expect.objectContaining({ message: `new Reflector: ${message}` }))
  })

  test('a wrong option, sink or signal is a TypeError that names it', async () => {
    const { sink } = store()
    expect(() => made(good, sink, { clok: 1 })).toThrow('unknown option "clok"; allowed are clock, random')
    expect(() => made(good, { apply: sink.apply })).toThrow(/^new Reflector: the sink must have apply and replace$/)
    await expect(made(good, sink).run({} as never)).rejects.toThrow('run: option "signal" is missing')
  })
})
