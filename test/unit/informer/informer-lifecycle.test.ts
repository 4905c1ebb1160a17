import { getEventListeners } from 'node:events'
import { describe, expect, test } from 'vitest'
import { memorySource } from '../../../adapters/memory/index.js'
import type { ListContext, SourceContext, WatchContext } from '../../../src/adapter.js'
import { createInformer, type ListerWatcher, OptionError, SourceError, type Status } from '../../../src/index.js'
import { assertCleanStop, informerOf, mirrorOf, outcomeOf } from '../../support/informers.js'
import { listed, running } from '../../support/running.js'
import { put, scripted } from '../../support/scripted-source.js'

const REFUSED = new SourceError('no such table', { code: 'NOT_FOUND' })
const MISTAKE = new OptionError('scripted: option "client" must return a new client', { option: 'client' })

/** A source whose list or watch stays open after its signal aborts, until `closed` resolves. */
function closingLate(what: 'list' | 'watch', closed: Promise<void>): ListerWatcher<number> {
  async function* open({ signal }: SourceContext): AsyncGenerator<never> {
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
    await closed
  }
  const memory = memorySource<number>({})
  return {
    name: 'late',
    list: what === 'list' ? open : (context: ListContext) => memory.list(context),
    watch: what === 'watch' ? open : (context: WatchContext) => memory.watch(context),
  }
}

describe('start', () => {
  test('[B5] nothing is opened before start, which returns the informer, and a second start does nothing', async () => {
    const source = scripted<number>()
    const { clock, informer } = informerOf(source)
    await clock.advance(60_000)
    expect([source.lists.length, informer.status.state, informer.status.reason]).toEqual([0, 'idle', 'not started'])
    expect(informer.start().start()).toBe(informer)
    await clock.advance(0)
    expect(source.lists).toHaveLength(1)
  })

  test('an abort of its signal stops the informer', async () => {
    const { clock, informer } = mirrorOf([['a', 1]])
    const control = new AbortController()
    informer.start({ signal: control.signal })
    await clock.advance(0)
    control.abort()
    await clock.advance(0)
    expect([informer.status.state, clock.sleeping]).toEqual(['stopped', 0])
  })

  test('[I15] stop leaves no listener on the signal of start', async () => {
    const { informer } = mirrorOf([])
    const { signal } = new AbortController()
    informer.start({ signal })
    expect(getEventListeners(signal, 'abort').length).toBeGreaterThan(0)
    await informer.stop()
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })

  test('[B7] with a signal that has aborted already it settles at once, and nothing is opened', async () => {
    const source = scripted<number>()
    const { clock, informer } = informerOf(source)
    const synced = informer.start({ signal: AbortSignal.abort() }).synced()
    await expect(synced).rejects.toMatchObject({ code: 'STOPPED' })
    await informer.stop()
    expect([source.lists.length, informer.status.state, clock.sleeping]).toEqual([0, 'stopped', 0])
  })
})

describe('synced', () => {
  test('[I8] resolves when the whole first list is in the store, and not before, also if it is called before start', async () => {
    const source = scripted<number>()
    const { clock, informer } = informerOf(source)
    const waits = [informer.synced(), informer.start().synced()]
    await clock.advance(0)
    source.lists[0]?.page([put('a', 1)])
    for (const synced of waits) expect(await outcomeOf(synced, clock)).toBe('pending')
    source.lists[0]?.answer([put('b', 2)], '5')
    await Promise.all(waits)
    expect([informer.size, informer.status.isSynced]).toEqual([2, true])
    expect(informer.status).toMatchObject({ state: 'connecting', reason: expect.stringContaining('the list is in') })
    expect(informer.health()).toMatchObject({ isReady: true, reason: expect.stringContaining('the list is in') })
    await expect(informer.synced()).resolves.toBeUndefined()
  })

  test('[R5] synced rejects with the error if the state becomes failed before the first list, and not after it', async () => {
    const { clock, source, informer } = mirrorOf([])
    informer.on('error', () => void informer.relist().catch(() => {}))
    source.fail(REFUSED)
    const synced = informer.start().synced()
    await expect(synced).rejects.toMatchObject({ code: 'NOT_FOUND', phase: 'list' })
    await expect(informer.synced()).rejects.toMatchObject({ code: 'NOT_FOUND' })
    expect(informer.status.state).toBe('failed')
    await clock.advance(30_000)
    await expect(informer.synced()).resolves.toBeUndefined()
    source.fail(REFUSED)
    source.disconnect()
    await clock.advance(30_000)
    await expect(informer.synced()).resolves.toBeUndefined()
  })

  test.each(['list', 'watch'] as const)('[C19] an OptionError thrown by %s makes the state failed', async (call) => {
    const fail = (): void => {
      throw MISTAKE
    }
    const source = call === 'list' ? scripted<number>({ onList: fail }) : listed<number>([], '1', { onWatch: fail })
    const { informer, errors } = await running(informerOf(source))
    expect([informer.status.state, informer.status.lastError?.code]).toEqual(['failed', 'PROTOCOL'])
    expect([errors.length, errors[0]?.cause]).toEqual([1, MISTAKE])
  })

  test('[C19][C20][R5] synced rejects with the very OptionError that the source threw, which is reported with the time of the next attempt', async () => {
    const source = scripted<number>({ onList: (list) => list.fail(MISTAKE) })
    const { clock, informer, errors } = informerOf(source)
    await expect(informer.start().synced()).rejects.toBe(MISTAKE)
    await expect(informer.synced()).rejects.toBe(MISTAKE)
    const [, seconds = ''] = /; a mistake in the program; listing again in (.*) s$/.exec(errors[0]?.message ?? '') ?? []
    await clock.advance(1_000 * Number(seconds) - 100)
    expect(source.lists).toHaveLength(1)
    await clock.advance(200)
    expect(source.lists).toHaveLength(2)
  })

  test('[C18] synced continues to wait after a plain TypeError of the source, which counts as UNAVAILABLE', async () => {
    const source = scripted<number>({
      onList: (list, nth) => (nth < 3 ? list.fail(new TypeError('fetch failed')) : list.answer([], '5')),
    })
    const { clock, informer } = informerOf(source)
    const synced = informer.start().synced()
    expect(await outcomeOf(synced, clock)).toBe('pending')
    expect(informer.status).toMatchObject({ state: 'backing-off', lastError: { code: 'UNAVAILABLE' } })
    await clock.advance(60_000)
    await synced
  })

  test('the error of a timeout names the state: not started, or why the list failed', async () => {
    const source = scripted<number>({ onList: (list) => list.fail(new Error('connect ECONNREFUSED 127.0.0.1:5')) })
    const { clock, informer } = informerOf(source)
    const early = expect(informer.synced({ timeoutMs: 100 })).rejects.toMatchObject({
      message: expect.stringMatching(/not within 100 ms; idle: not started$/),
    })
    await clock.advance(100)
    await early
    const late = expect(informer.start().synced({ timeoutMs: 100 })).rejects.toMatchObject({
      message: expect.stringMatching(/not within 100 ms; backing-off: connect ECONNREFUSED 127.0.0.1:5$/),
    })
    await clock.advance(100)
    await late
  })

  test('synced rejects with the reason of its signal', async () => {
    const { informer } = informerOf(scripted<number>())
    const control = new AbortController()
    const synced = informer.start().synced({ signal: control.signal })
    control.abort('enough')
    await expect(synced).rejects.toBe('enough')
  })
})

describe('stop', () => {
  test('[I15] leaves no timer, and no callback is called after it, however many operations were in progress', async () => {
    const { clock, source, informer } = mirrorOf<number, object>([['a', 1]])
    const told: string[] = []
    informer.on('status', ({ state }) => told.push(state))
    informer.on('error', ({ code }) => told.push(code))
    informer.subscribe({ add: () => new Promise(() => {}) })
    informer.subscribe({ add: ({ key }) => void told.push(key) }, { delivery: 'latest', concurrency: 3 })
    const changes = informer.changes()
    informer.reconcile(async (key) => {
      told.push(key)
      throw new Error('no')
    })
    await running({ clock, informer })
    const waits = [
      changes.synced({ timeoutMs: 60_000 }),
      informer.until('x', () => false, { timeoutMs: 60_000 }),
      informer.relist({ timeoutMs: 60_000 }),
    ]
    for (const wait of waits) wait.catch(() => {})
    source.disconnect()
    await clock.advance(100)
    await assertCleanStop(informer, clock)
    const before = [...told]
    source.put('b', 1)
    source.disconnect()
    await clock.advance(600_000)
    expect([told, before.at(-1)]).toEqual([before, 'stopped'])
  })

  test.each(['listing', 'watching', 'waiting'])('[B32] settles at once if the signal is ignored: %s', async (at) => {
    const source = scripted<number>({
      onList: (list) => at !== 'listing' && (at === 'waiting' ? list.fail(new Error('no')) : list.answer([], '5')),
    })
    const { clock, informer } = await running(informerOf(source))
    expect(await outcomeOf(informer.stop(), clock)).toBe('resolved')
    expect(clock.sleeping).toBe(0)
  })

  test.each(['list', 'watch'] as const)('[I15][B32] waits until the %s has closed, 1 s at most', async (what) => {
    const { promise: closed, resolve } = Promise.withResolvers<void>()
    for (const isEarly of [true, false]) {
      const { clock, informer } = await running(informerOf(closingLate(what, isEarly ? closed : new Promise(() => {}))))
      const stopped = informer.stop()
      await clock.advance(999)
      expect(await outcomeOf(stopped, clock)).toBe('pending')
      if (isEarly) resolve()
      else await clock.advance(1)
      expect(await outcomeOf(stopped, clock)).toBe('resolved')
    }
  })

  test('[B10] waits for a handler that runs, 1 s at most', async () => {
    const { clock, informer } = mirrorOf<number, object>([['a', 1]])
    informer.subscribe({ add: () => new Promise(() => {}) })
    await running({ clock, informer })
    const stopped = informer.stop()
    await clock.advance(999)
    expect(await outcomeOf(stopped, clock)).toBe('pending')
    await clock.advance(1)
    expect(await outcomeOf(stopped, clock)).toBe('resolved')
  })

  test('stop rejects all pending waits with STOPPED, and ends change streams without an error', async () => {
    const { clock, source, informer } = mirrorOf<number, object>([])
    source.fail(new SourceError('down', { code: 'UNAVAILABLE' }), 1_000)
    const subscription = informer.subscribe({})
    const next = informer.changes()[Symbol.asyncIterator]().next()
    await running({ clock, informer })
    const waits = [
      informer.synced(),
      informer.waitFor('1.1.9'),
      informer.until('x', () => false),
      informer.relist(),
      informer.fresh(),
      subscription.waitFor('1.1.9'),
    ].map((wait) => expect(wait).rejects.toMatchObject({ code: 'STOPPED' }))
    await informer.stop()
    await Promise.all([...waits, expect(next).resolves.toMatchObject({ done: true })])
  })

  test('[B2] stop inside a handler works, and nothing more is delivered', async () => {
    const { clock, source, informer } = mirrorOf<number, object>(Object.entries({ a: 1, b: 2 }))
    const told: string[] = []
    let stopped: Promise<void> | undefined
    informer.subscribe({
      add: ({ key }) => {
        told.push(key)
        stopped = informer.stop()
      },
    })
    await running({ clock, informer })
    source.put('c', 3)
    await clock.advance(1_000)
    await stopped
    expect([told, clock.sleeping]).toEqual([['a'], 0])
  })
})

test('the states of a healthy informer are emitted in order', async () => {
  const { clock, source, informer } = mirrorOf<number, object>([['a', 1]])
  const begun = clock.now()
  const seen: Status[] = []
  informer.on('status', (status) => seen.push(status))
  expect(informer.status.silentMs).toBe(0)
  await running({ clock, informer })
  source.disconnect()
  await clock.advance(10_500)
  const states = ['listing', 'connecting', 'live', 'backing-off', 'connecting', 'live']
  expect(seen.map(({ state }) => state)).toEqual(states)
  expect(seen[0]).toMatchObject({ isSynced: false, version: undefined, reason: 'reading the first list', attempt: 1 })
  expect(seen[1]).toMatchObject({ isSynced: true, version: informer.version, attempt: 0, lastContactAt: begun })
  expect(seen[3]).toMatchObject({ attempt: 0, lastError: { code: 'UNAVAILABLE' } })
  expect(seen[3]?.retryInMs).toBeLessThanOrEqual(200)
  expect(seen[4]).toMatchObject({ attempt: 1, reconnects: 1, retryInMs: undefined })
  expect(informer.status).toMatchObject({ attempt: 0, relists: 0, reconnects: 1, reason: 'following the watch' })
  expect(informer.status.silentMs).toBeLessThan(1_000)
})

test('[B31] lagMs is right after the machine has slept, and after the system clock was set', async () => {
  const source = listed<number>([], '5')
  const { clock, informer } = informerOf(source)
  let aheadMs = 0
  Object.assign(clock, { wallNow: () => clock.now() + aheadMs })
  await running({ clock, informer })
  expect(informer.status.lagMs).toBeUndefined()
  const lagAfter = async (jumpMs: number, version: string, agoMs = 30_000): Promise<number | undefined> => {
    aheadMs += jumpMs
    source.watches[0]?.send({ events: [], version, committedAt: clock.now() + aheadMs - agoMs })
    await clock.advance(0)
    return informer.status.lagMs
  }
  expect(await lagAfter(8 * 3_600_000, '6')).toBe(30_000)
  expect(await lagAfter(-16 * 3_600_000, '7')).toBe(30_000)
  expect(await lagAfter(0, '8', -30)).toBe(0)
  expect(await lagAfter(0, '9', Number.NaN)).toBe(0)
})

test('isReady with silentAfterMs: the source has responded within that time', async () => {
  const { clock, source, informer } = await running(mirrorOf<number, object>([]))
  source.stall()
  await clock.advance(20_000)
  expect(informer.health()).toEqual({ isLive: true, isReady: true, reason: 'live: following the watch' })
  expect(informer.health({ silentAfterMs: 20_000 })).toMatchObject({ isReady: true })
  expect(informer.health({ silentAfterMs: 19_999 })).toEqual({
    isLive: true,
    isReady: false,
    reason: 'live: following the watch; nothing was heard from the source for 20 s',
  })
})

describe('a method of an informer refuses a wrong argument with a TypeError that has the reason', () => {
  const index = (ix: { equal: (of: unknown) => unknown }): unknown => ix.equal(() => 1)
  const made = () => mirrorOf<number, object>([], { indexes: (ix) => ({ total: ix.equal((n: number) => n) }) }).informer

  test.each<['start' | 'health' | 'addIndex' | 'on' | 'off', unknown[], string]>([
    ['start', [{ signal: {} }], 'option "signal" must be an AbortSignal, got an object'],
    ['start', [{ singal: undefined }], 'unknown option "singal"; allowed are signal'],
    ['start', [5], 'the options must be an object'],
    ['health', [{ silentAfterMs: 0 }], 'option "silentAfterMs" must be a finite number above 0, got 0'],
    ['addIndex', ['', () => {}], 'a name and a function are needed'],
    ['addIndex', ['x', 5], 'a name and a function are needed'],
    ['addIndex', ['total', index], 'there is an index "total" already'],
    ['on', ['change', () => {}], 'the event must be "error" or "status", got "change"'],
    ['off', ['change', () => {}], 'the event must be "error" or "status", got "change"'],
    ['on', ['error', 5], 'the listener must be a function'],
    ['off', ['error', 5], 'the listener must be a function'],
  ])('%s of %j', (method, args, reason) => {
    const informer = made()
    const call = (): unknown => Reflect.apply(informer[method], informer, args)
    expect(call).toThrow(TypeError)
    expect(call).toThrow(expect.objectContaining({ message: `${method}: ${reason}` }))
  })

  test.each<['synced' | 'waitFor' | 'until', unknown[], string]>([
    ['synced', [{ timeoutMs: -1 }], 'option "timeoutMs" must be a finite number above 0, got -1'],
    ['waitFor', [5], 'the version must be a string, got number'],
    ['waitFor', [Promise.resolve('1.1.1')], 'the version must be a string, got a promise: await it first'],
    ['waitFor', ['1.1.1', { timeoutMs: Number.NaN }], 'option "timeoutMs" must be a finite number above 0, got NaN'],
    ['waitFor', ['1.1.1', { source: 5 }], 'option "source" must be a string, got 5'],
    ['until', [5, () => true], 'the key must be a string, got number'],
    ['until', ['a', 5], 'the condition must be a function'],
    [
      'until',
      ['a', () => true, { timeout: 5 }],
      'unknown option "timeout"; use "timeoutMs"; allowed are signal, timeoutMs',
    ],
  ])('%s of %j, by its promise', async (method, args, reason) => {
    const informer = made()
    const call = Reflect.apply(informer[method], informer, args)
    await expect(call).rejects.toThrow(TypeError)
    await expect(call).rejects.toThrow(expect.objectContaining({ message: `${method}: ${reason}` }))
  })
})

describe('[B1] createInformer rejects invalid options at the call', () => {
  const source = memorySource<number>()
  test.each([
    [undefined, 'createInformer: option "source" is missing'],
    [{}, 'createInformer: option "source" is missing'],
    [{ source: {} }, 'createInformer: the source must have a name'],
    [{ source: 5 }, 'createInformer: option "source" must be an object, got 5'],
    [{ source: { name: 'x' } }, 'createInformer: the source "x" must have list and watch'],
    [{ source, transform: 5 }, 'createInformer: option "transform" must be a function, got 5'],
    [{ source, equals: true }, 'createInformer: option "equals" must be a function, got true'],
    [
      { source, indexes: {} },
      'createInformer: option "indexes" must be a function, such as (ix) => ({ tenant: ix.equal((order) => order.tenant) }), got an object',
    ],
    [
      { source, onInvalid: 'ignore' },
      'createInformer: option "onInvalid" must be one of "omit", "keep-previous", got "ignore"',
    ],
    [{ source, freeze: 1 }, 'createInformer: option "freeze" must be true or false, got 1'],
    [{ source, clock: 5 }, 'createInformer: option "clock" must be an object, got 5'],
    [{ source, random: 5 }, 'createInformer: option "random" must be an object, got 5'],
    [{ source, logger: 5 }, 'createInformer: option "logger" must be an object, got 5'],
    [{ source, indexes: () => ({ a: 5 }) }, 'indexes: "a" is not an index; make it with ix.equal, ix.multi, …'],
  ])('%#: %j', (options, message) => {
    expect(() => Reflect.apply(createInformer, undefined, [options])).toThrow(expect.objectContaining({ message }))
  })

  test('the error of an unknown option names it and the allowed options', () => {
    expect(() => Reflect.apply(createInformer, undefined, [{ source, indices: () => ({}) }])).toThrow(
      /^createInformer: unknown option "indices"; allowed are source, name, .*indexes, .*intern, audit, .*logger$/,
    )
  })
})
