import { getEventListeners } from 'node:events'
import { describe, expect, test } from 'vitest'
import { memorySource } from '../../../adapters/memory/index.js'
import { SourceError } from '../../../src/contract/errors.js'
import type { ListEvent, Sink, WatchBatch, WatchEvent } from '../../../src/contract/source.js'
import { createInformer } from '../../../src/informer/create-informer.js'
import type { Informer } from '../../../src/informer/informer-types.js'
import type { Change } from '../../../src/queue/change.js'
import { Reflector } from '../../../src/reflector/reflector.js'
import { VirtualClock } from '../../../testing/virtual-clock.js'
import { BusyClock } from '../../support/busy-clock.js'
import { deferred, informerOf } from '../../support/informers.js'
import { reflect, store } from '../../support/reflectors.js'
import { numbered, put, scripted } from '../../support/scripted-source.js'

describe('over a memory source', () => {
  test('a reflector lists a memory source, then follows its changes', async () => {
    const source = memorySource({ entries: [['a', 1]] })
    const { sink, objects } = store<number>()
    const { clock, states } = await reflect(source, sink)
    source.put('b', 2)
    await clock.advance(0)
    expect(objects()).toEqual({ a: 1, b: 2 })
    expect(states).toEqual(['listing', 'connecting', 'live'])
  })

  test('[C5] a break whose history is still there is resumed without a relist', async () => {
    const source = memorySource({ entries: [['a', 1]] })
    const { sink, objects } = store<number>()
    const { clock, reflector } = await reflect(source, sink)
    source.disconnect()
    source.put('a', 2)
    source.put('b', 3)
    await clock.advance(1_000)
    expect(objects()).toEqual({ a: 2, b: 3 })
    expect(reflector.state).toMatchObject({ name: 'live', relists: 0, reconnects: 1 })
  })

  test('[C6] an expired version is exactly one relist', async () => {
    const source = memorySource({ entries: [['a', 1]] })
    const { sink, objects } = store<number>()
    const { clock, reflector } = await reflect(source, sink)
    source.disconnect()
    source.delete('a')
    source.put('b', 2)
    source.compact()
    await clock.advance(60_000)
    expect(objects()).toEqual({ b: 2 })
    expect(reflector.state).toMatchObject({ name: 'live', relists: 1 })
  })

  test('a restored backup is read again, though its versions look older', async () => {
    const source = memorySource({ entries: [['a', 1]] })
    const { sink, objects } = store<number>()
    const { clock, reflector } = await reflect(source, sink)
    for (let i = 0; i < 10; i++) source.put('a', i)
    await clock.advance(0)
    source.restore([['z', 0]])
    await clock.advance(2_000)
    expect(objects()).toEqual({ z: 0 })
    expect(reflector.state).toMatchObject({ name: 'live', relists: 1 })
  })

  test('a half-open connection times out, and causes no relist', async () => {
    const source = memorySource({ entries: [['a', 1]] })
    const { sink, objects } = store<number>()
    const { clock, reflector } = await reflect(source, sink)
    source.stall()
    source.put('a', 2)
    await clock.advance(24_999)
    expect(objects()).toEqual({ a: 1 })
    await clock.advance(1_001)
    expect(objects()).toEqual({ a: 2 })
    expect(reflector.state).toMatchObject({ name: 'live', relists: 0, reconnects: 1 })
  })

  test('a quiet source whose heartbeats arrive does not time out', async () => {
    const { sink } = store<number>()
    const { clock, reflector, errors } = await reflect(memorySource({ entries: [['a', 1]] }), sink)
    await clock.advance(3_600_000)
    expect(errors).toEqual([])
    expect(reflector.state).toMatchObject({ name: 'live', reconnects: 0 })
  })
})

describe('the list', () => {
  test('a list has the version of the last page that names one', async () => {
    const source = scripted<number>()
    const { sink } = store<number>()
    const { clock } = await reflect(source, sink)
    source.lists[0]?.page([put('a', 1)], '3')
    source.lists[0]?.page([put('b', 2)], '5')
    source.lists[0]?.page([put('c', 3)])
    source.lists[0]?.end()
    await clock.advance(0)
    expect(source.watches[0]?.context.after).toBe('5')
  })

  test('[I8] a list shows nothing before its last page', async () => {
    const source = scripted<number>()
    const { sink, objects } = store<number>()
    const { clock } = await reflect(source, sink)
    source.lists[0]?.page([put('a', 1)], '5')
    await clock.advance(0)
    expect(objects()).toEqual({})
    source.lists[0]?.end()
    await clock.advance(0)
    expect(objects()).toEqual({ a: 1 })
  })

  test('an empty collection is a list like any other', async () => {
    const source = scripted<number>({ onList: (list) => list.answer([], '1') })
    const { sink } = store<number>()
    const { reflector } = await reflect(source, sink)
    expect([sink.version, reflector.state.name]).toEqual(['1', 'connecting'])
  })

  test('[B24] a list that breaks in the middle leaves nothing behind, and is read again from its beginning', async () => {
    const source = scripted<number>({ onList: (list, nth) => nth > 1 && list.answer([put('b', 2)], '6') })
    const { sink, objects } = store<number>()
    const { clock } = await reflect(source, sink)
    source.lists[0]?.page([put('a', 1)])
    source.lists[0]?.fail(new Error('gone'))
    await clock.advance(0)
    expect(objects()).toEqual({})
    await clock.advance(1_000)
    expect(objects()).toEqual({ b: 2 })
  })

  test('[C2] a list that yields no page for 30 s fails with UNAVAILABLE', async () => {
    const source = scripted<number>()
    const { clock, errors } = await reflect(source, store<number>().sink)
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
    const source = scripted<number>()
    const { clock, errors } = await reflect(source, store<number>().sink)
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

  test('a list context has the page size, clock and random numbers of the reflector', async () => {
    const source = scripted<number>()
    const { clock } = await reflect(source, store<number>().sink)
    expect(source.lists[0]?.context).toMatchObject({ pageSize: 1_000, clock })
    expect(source.lists[0]?.context.random.next()).toBeTypeOf('number')
  })

  test('a page of many objects yields to the event loop', async () => {
    const source = scripted<number>()
    const real = new VirtualClock()
    let reads = 0
    // Each read of the clock advances it by 5 ms.
    const clock = {
      now: () => real.now() + 5 * reads++,
      sleep: (ms: number, signal?: AbortSignal) => real.sleep(ms, signal),
    }
    const control = new AbortController()
    const { sink, objects } = store<number>()
    const running = new Reflector(source, sink, { clock }).run({ signal: control.signal })
    await real.advance(0)
    source.lists[0]?.answer(
      Array.from({ length: 2_000 }, (_, i) => put(`k${i}`, i)),
      '1',
    )
    const before = real.sleeping
    for (let i = 0; i < 10; i++) await Promise.resolve()
    expect(real.sleeping).toBe(before + 1)
    await real.advance(0)
    expect(Object.keys(objects())).toHaveLength(2_000)
    control.abort()
    await running
  })
})

describe('[I11] the list floor', () => {
  // I11
  test('[B21] a list that is older than the shown state is refused as STALE_LIST, and read again', async () => {
    const source = scripted<number>({
      hasReached: numbered,
      onList: (list, nth) => list.answer([put('a', nth)], nth === 2 ? '4' : '9'),
      onWatch: (watch, nth) => nth === 1 && watch.fail(new SourceError('gone', { code: 'VERSION_EXPIRED' })),
    })
    const { sink, objects } = store<number>()
    const { clock, errors } = await reflect(source, sink)
    await clock.advance(1_600)
    expect(source.lists).toHaveLength(2)
    expect(objects()).toEqual({ a: 1 })
    expect(errors.map(({ code }) => code)).toEqual(['VERSION_EXPIRED', 'STALE_LIST'])
    await clock.advance(10_000)
    expect(objects()).toEqual({ a: 3 })
  })

  test('a list has the shown version as its floor; the first list and one after EPOCH_CHANGED have none', async () => {
    const source = scripted<number>({
      hasReached: numbered,
      onList: (list, nth) => list.answer([put('a', nth)], '9'),
      onWatch: (watch, nth) => {
        if (nth < 3) watch.fail(new SourceError('gone', { code: nth === 1 ? 'VERSION_EXPIRED' : 'EPOCH_CHANGED' }))
      },
    })
    const { clock } = await reflect(source, store<number>().sink)
    await clock.advance(10_000)
    expect(source.lists.map(({ context }) => context.floor)).toEqual([undefined, '9', undefined])
  })

  test('a list that is as old as the shown state is applied', async () => {
    const source = scripted<number>({
      hasReached: numbered,
      onList: (list, nth) => list.answer([put('a', nth)], '9'),
      onWatch: (watch, nth) => nth === 1 && watch.fail(new SourceError('gone', { code: 'VERSION_EXPIRED' })),
    })
    const { sink, objects } = store<number>()
    const { clock } = await reflect(source, sink)
    await clock.advance(2_000)
    expect(objects()).toEqual({ a: 2 })
  })

  test('a list of a source that cannot compare versions is always applied', async () => {
    const source = scripted<number>({
      onList: (list, nth) => list.answer([put('a', nth)], nth === 2 ? '4' : '9'),
      onWatch: (watch, nth) => nth === 1 && watch.fail(new SourceError('gone', { code: 'VERSION_EXPIRED' })),
    })
    const { sink, objects } = store<number>()
    const { clock } = await reflect(source, sink)
    await clock.advance(2_000)
    expect(objects()).toEqual({ a: 2 })
  })

  // I6
  test('[I6] an event that is older than the list changes nothing, whatever its key', async () => {
    const source = scripted<number>({ hasReached: numbered, onList: (list) => list.answer([put('a', 1)], '9') })
    const { sink, objects } = store<number>()
    const { clock, ignored } = await reflect(source, sink)
    source.watches[0]?.batch([put('a', 0), put('gone', 0)], '7')
    source.watches[0]?.batch([{ type: 'delete', key: 'a' }], '8')
    await clock.advance(0)
    expect(objects()).toEqual({ a: 1 })
    expect(ignored).toEqual(['7', '8'])
  })
})

describe('batches', () => {
  test('[B26] a batch that the store includes already is dropped whole', async () => {
    const source = scripted<number>({ hasReached: numbered, onList: (list) => list.answer([put('a', 1)], '5') })
    const { sink, objects } = store<number>()
    const { clock } = await reflect(source, sink)
    source.watches[0]?.batch([put('b', 7)], '7')
    source.watches[0]?.batch([put('b', 6), put('c', 6)], '6')
    await clock.advance(0)
    expect(objects()).toEqual({ a: 1, b: 7 })
  })

  test('[C33] a batch of an equal version is applied', async () => {
    const source = scripted<number>({ hasReached: numbered, onList: (list) => list.answer([put('a', 1)], '5') })
    const { sink, objects } = store<number>()
    const { clock } = await reflect(source, sink)
    source.watches[0]?.batch([put('b', 2)], '5')
    await clock.advance(0)
    expect(objects()).toEqual({ a: 1, b: 2 })
  })

  // I3
  test('[C33] a batch that is delivered again changes nothing', async () => {
    const source = scripted<number>({ hasReached: numbered, onList: (list) => list.answer([put('a', 0)], '1') })
    const { clock, informer } = informerOf<number, object, typeof source>(source, { onInvalid: 'omit' })
    const told = followed(informer)
    await informer.start().synced()
    await clock.advance(0)
    const events: readonly WatchEvent<number>[] = [
      put('a', 1),
      put('a', 2),
      { type: 'delete', key: 'b' },
      put('b', 1),
      put('gone', 1),
      { type: 'delete', key: 'gone' },
      { type: 'invalid', key: 'c', error: new Error('broken') },
      put('c', 1),
    ]
    source.watches[0]?.batch(events, '2')
    await clock.advance(0)
    const once = [...told]
    expect(once).toContain('update a 1')
    source.watches[0]?.batch(events, '2')
    await clock.advance(0)
    expect(told).toEqual(once)
  })

  test('[C33] a batch with a replace event that is delivered again changes nothing', async () => {
    const source = scripted<number>({ hasReached: numbered, onList: (list) => list.answer([put('a', 0)], '1') })
    const { clock, informer } = informerOf<number, object, typeof source>(source)
    const told = followed(informer)
    await informer.start().synced()
    await clock.advance(0)
    const all = (object: number): WatchEvent<number> => ({ type: 'replace', entries: [{ key: 'a', object }] })
    const events = [put('a', 1), put('b', 1), all(2), { type: 'delete', key: 'a' } as const, all(3), put('b', 2)]
    source.watches[0]?.batch(events, '2')
    await clock.advance(0)
    const once = [...told]
    expect(Object.fromEntries(informer.entries())).toEqual({
      a: 3,
      b: 2,
    })
    source.watches[0]?.batch(events, '2')
    await clock.advance(0)
    expect(told.slice(once.length)).toEqual([])
  })

  test('a batch with a replace event and an invalid object that is delivered again keeps that object invalid', async () => {
    const source = scripted<number>({
      hasReached: numbered,
      onList: (list) => list.answer([put('a', 0), put('c', 0)], '1'),
    })
    const { clock, informer } = informerOf<number, object, typeof source>(source)
    const told = followed(informer)
    await informer.start().synced()
    await clock.advance(0)
    const events: readonly WatchEvent<number>[] = [
      { type: 'invalid', key: 'c', error: new Error('broken') },
      put('gone', 1),
      { type: 'replace', entries: [{ key: 'a', object: 2 }] },
    ]
    source.watches[0]?.batch(events, '2')
    await clock.advance(0)
    const once = [...told]
    const expected = [Object.fromEntries(informer.entries()), [...informer.invalid.keys()]]
    expect(expected).toEqual([{ a: 2, c: 0 }, ['c']])
    source.watches[0]?.batch(events, '2')
    await clock.advance(0)
    expect([Object.fromEntries(informer.entries()), [...informer.invalid.keys()]]).toEqual(expected)
    expect(told.slice(once.length)).toEqual([])
  })

  test('a batch of an equal version reports each invalid event without a key', async () => {
    const source = scripted<number>({ hasReached: numbered, onList: (list) => list.answer([put('a', 1)], '5') })
    const { clock, informer, errors } = informerOf(source)
    await informer.start().synced()
    await clock.advance(0)
    const broken: WatchEvent<number> = { type: 'invalid', error: new Error('broken') }
    source.watches[0]?.batch([broken, broken], '5')
    await clock.advance(0)
    expect(errors.map(({ code }) => code)).toEqual(['DECODE', 'DECODE'])
  })

  test('without hasReached every batch is applied, whatever its version', async () => {
    const source = scripted<number>({ onList: (list) => list.answer([put('a', 1)], '5') })
    const { sink, objects } = store<number>()
    const { clock } = await reflect(source, sink)
    source.watches[0]?.batch([put('b', 2)], '3')
    await clock.advance(0)
    expect(objects()).toEqual({ a: 1, b: 2 })
  })

  // I10
  test('[I10] an older version never moves the resume point back', async () => {
    const source = scripted<number>({ hasReached: numbered, onList: (list) => list.answer([], '5') })
    const { clock } = await reflect(source, store<number>().sink)
    source.watches[0]?.batch([], '7')
    source.watches[0]?.batch([], '6')
    source.watches[0]?.fail(new Error('gone'))
    await clock.advance(2_000)
    expect(source.watches[1]?.context.after).toBe('7')
  })

  test('a bookmark moves the resume point on', async () => {
    const source = scripted<number>({ onList: (list) => list.answer([], '5') })
    const { clock } = await reflect(source, store<number>().sink)
    source.watches[0]?.batch([], '8')
    source.watches[0]?.end()
    await clock.advance(2_000)
    expect(source.watches[1]?.context.after).toBe('8')
  })
})

/** The changes that a handler receives, in their order. */
function followed(informer: Informer<number>): string[] {
  const told: string[] = []
  const tell = ({ type, key, object }: Change<number>): void => void told.push(`${type} ${key} ${object}`)
  informer.subscribe({ add: tell, update: tell, delete: tell })
  return told
}

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

// I10
describe('[I10] the resume point moves only after the sink has accepted', () => {
  test('a batch that the sink rejects is applied again', async () => {
    const applied: string[] = []
    const sink = slowSink(async ({ version }) => {
      applied.push(version)
      if (applied.length === 1) throw new Error('the disk is full')
    })
    const source = scripted<number>({
      onList: (list) => list.answer([], '5'),
      onWatch: (watch) => watch.batch([put('a', 1)], '6'),
    })
    const { clock, errors } = await reflect(source, sink)
    await clock.advance(2_000)
    expect(source.watches.map(({ context }) => context.after)).toEqual(['5', '5'])
    expect(applied).toEqual(['6', '6'])
    expect(errors).toMatchObject([{ code: 'UNAVAILABLE' }])
  })

  test("what a sink throws is reported as its own, not as the source's", async () => {
    const sink = slowSink(() => {
      throw new Error('the disk is full')
    })
    const source = scripted<number>({
      onList: (list) => list.answer([], '5'),
      onWatch: (watch) => watch.batch([put('a', 1)], '6'),
    })
    const { errors } = await reflect(source, sink)
    expect(errors[0]).toMatchObject({ phase: 'apply', source: source.name })
  })

  test('a batch for which the sink throws synchronously is applied again', async () => {
    let times = 0
    const sink = slowSink(() => {
      if (++times === 1) throw new Error('no')
    })
    const source = scripted<number>({
      onList: (list) => list.answer([], '5'),
      onWatch: (watch) => watch.batch([put('a', 1)], '6'),
    })
    const { clock } = await reflect(source, sink)
    await clock.advance(2_000)
    expect([times, source.watches[1]?.context.after]).toEqual([2, '5'])
  })

  test('a slow sink delays the source, and its time does not count as silence of the source', async () => {
    const { promise, resolve } = deferred()
    const applied: string[] = []
    const sink = slowSink(({ version }) => {
      applied.push(version)
      return promise
    })
    const source = scripted<number>({ onList: (list) => list.answer([], '5') })
    const { clock, errors } = await reflect(source, sink)
    source.watches[0]?.batch([put('a', 1)], '6')
    source.watches[0]?.batch([put('a', 2)], '7')
    await clock.advance(600_000)
    expect([applied, errors]).toEqual([['6'], []])
    resolve()
    await clock.advance(0)
    expect(applied).toEqual(['6', '7'])
  })

  test('a sink that never accepts does not keep the reflector from stopping', async () => {
    const source = scripted<number>({ onList: (list) => list.answer([], '5') })
    const { clock, stop } = await reflect(
      source,
      slowSink(() => new Promise(() => {})),
    )
    source.watches[0]?.batch([put('a', 1)], '6')
    await clock.advance(0)
    await expect(stop()).resolves.toBeUndefined()
  })

  test('a list that the sink refuses is read again', async () => {
    const sink = slowSink(() => {})
    const { replace } = sink
    let times = 0
    sink.replace = function (this: typeof sink) {
      const replacement = replace.call(this)
      return {
        ...replacement,
        commit: async (version) => {
          if (++times === 1) throw new Error('no')
          await replacement.commit(version)
        },
      }
    }
    const source = scripted<number>({ onList: (list) => list.answer([], '5') })
    const { clock } = await reflect(source, sink)
    expect(source.watches).toHaveLength(0)
    await clock.advance(2_000)
    expect([source.lists.length, source.watches.length, sink.listed]).toEqual([2, 1, 1])
  })
})

describe('progressRequests', () => {
  test('progress requests reach the open watch', async () => {
    const source = scripted<number>({ onList: (list) => list.answer([], '5') })
    const { reflector } = await reflect(source, store<number>().sink)
    reflector.requestProgress()
    expect(source.watches[0]?.progressRequests).toBe(1)
  })

  test('progress requests reach a watch that opens while a waiter exists', async () => {
    const source = scripted<number>({ onList: (list) => list.answer([], '5') })
    await reflect(source, store<number>().sink, { hasWaiters: () => true })
    expect(source.watches[0]?.progressRequests).toBe(1)
  })

  test('progress requests do not reach a watch that is over', async () => {
    const source = scripted<number>({ onList: (list) => list.answer([], '5') })
    const { clock, reflector } = await reflect(source, store<number>().sink)
    source.watches[0]?.end()
    await clock.advance(0)
    reflector.requestProgress()
    expect(source.watches[0]?.progressRequests).toBe(0)
  })
})

describe('run', () => {
  test('run opens nothing if its signal has aborted already, and resolves', async () => {
    const source = scripted<number>()
    await new Reflector(source, store<number>().sink).run({ signal: AbortSignal.abort() })
    expect(source.lists).toHaveLength(0)
  })

  test('run resolves once its signal aborts, though the source ignores its own signal', async () => {
    const source = scripted<number>()
    const { stop } = await reflect(source, store<number>().sink)
    await stop()
    expect(source.lists[0]?.context.signal.aborted).toBe(true)
  })

  // I15
  test('run leaves no listener on the signal and no timer', async () => {
    const clock = new VirtualClock()
    const control = new AbortController()
    const source = memorySource({ entries: [['a', 1]] })
    const running = new Reflector(source, store<number>().sink, { clock }).run({ signal: control.signal })
    await clock.advance(100)
    control.abort()
    await running
    await clock.advance(0)
    expect([clock.sleeping, getEventListeners(control.signal, 'abort').length]).toEqual([0, 0])
  })

  test('run resolves if its signal aborts during the delay of the next attempt', async () => {
    const source = scripted<number>({ onList: (list) => list.fail(new Error('no')) })
    const { reflector, stop } = await reflect(source, store<number>().sink)
    expect(reflector.state.name).toBe('backing-off')
    await expect(stop()).resolves.toBeUndefined()
    expect(reflector.state.name).toBe('stopped')
  })

  test('a second run is a TypeError', async () => {
    const reflector = new Reflector(scripted<number>(), store<number>().sink)
    await reflector.run({ signal: AbortSignal.abort() })
    await expect(reflector.run({ signal: AbortSignal.abort() })).rejects.toThrow(TypeError)
  })

  test('iterators are closed when their attempt is over', async () => {
    const source = scripted<number>({ onList: (list) => list.answer([], '5') })
    const { clock, stop } = await reflect(source, store<number>().sink)
    expect(source.lists[0]?.isReturned).toBe(true)
    await stop()
    await clock.advance(0)
    expect(source.watches[0]?.isReturned).toBe(true)
  })
})

describe('an invalid source', () => {
  const good = { name: 'x', list: () => [], watch: () => [] }
  test.each([
    [undefined, 'the source must have a name'],
    [{}, 'the source must have a name'],
    [{ name: 'x' }, 'the source "x" must have list and watch'],
    [{ ...good, watch: undefined }, 'the source "x" must have list and watch'],
    [{ ...good, list: 5 }, 'the source "x": option "list" must be a function, got 5'],
    [{ ...good, hasReached: 5 }, 'the source "x": option "hasReached" must be a function, got 5'],
    [{ ...good, isLaterEpoch: 5 }, 'the source "x": option "isLaterEpoch" must be a function, got 5'],
    [{ ...good, head: 5 }, 'the source "x": option "head" must be a function, got 5'],
    [{ ...good, heartbeatMs: 0 }, "the source's heartbeatMs must be a finite number above 0, got 0"],
    [{ ...good, heartbeatMs: Number.NaN }, "the source's heartbeatMs must be a finite number above 0, got NaN"],
  ])('%j is refused at the call', (source, message) => {
    expect(() => Reflect.construct(Reflector, [source, store().sink])).toThrow(
      new TypeError(`new Reflector: ${message}`),
    )
  })

  test('an unknown option is a TypeError that names it', () => {
    expect(() => Reflect.construct(Reflector, [good, store().sink, { clok: 1 }])).toThrow(
      new TypeError('new Reflector: unknown option "clok"; allowed are clock, random'),
    )
  })
})
