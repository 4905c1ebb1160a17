import { getEventListeners } from 'node:events'
import { describe, expect, test } from 'vitest'
import { memorySource } from '../../../adapters/memory/index.js'
import { OptionError, SourceError } from '../../../src/contract/errors.js'
import type { ListContext, ListerWatcher, SourceContext, WatchContext } from '../../../src/contract/source.js'
import type { Status } from '../../../src/contract/status.js'
import { createInformer } from '../../../src/informer/create-informer.js'
import type { Informer } from '../../../src/informer/informer-types.js'
import type { VirtualClock } from '../../../testing/virtual-clock.js'
import { deferred, informerOf, mirrorOf, outcomeOf } from '../../support/informers.js'
import { put, scripted } from '../../support/scripted-source.js'

const REFUSED = new SourceError('no such table', { code: 'NOT_FOUND' })

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
  test('no list or watch is opened before start', async () => {
    const source = scripted<number>()
    const { clock, informer } = informerOf(source)
    await clock.advance(60_000)
    expect([source.lists.length, informer.status.state, informer.status.reason]).toEqual([0, 'idle', 'not started'])
  })

  test('start returns the informer', () => {
    const { informer } = mirrorOf([])
    expect(informer.start()).toBe(informer)
  })

  test('[B5] a second start does nothing', async () => {
    const source = scripted<number>()
    const { clock, informer } = informerOf(source)
    informer.start().start()
    await clock.advance(0)
    expect(source.lists).toHaveLength(1)
  })

  test('start after stop throws STOPPED', async () => {
    const { informer } = mirrorOf([])
    await informer.stop()
    expect(() => informer.start()).toThrow(expect.objectContaining({ code: 'STOPPED' }))
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

  test('[B7] with a signal that has aborted already it settles at once, and nothing is opened', async () => {
    const source = scripted<number>()
    const { clock, informer } = informerOf(source)
    const synced = informer.start({ signal: AbortSignal.abort() }).synced()
    await expect(synced).rejects.toMatchObject({ code: 'STOPPED' })
    await informer.stop()
    expect([source.lists.length, informer.status.state, clock.sleeping]).toEqual([0, 'stopped', 0])
  })

  // I15
  test('keeps no listener on its signal after stop', async () => {
    const { informer } = mirrorOf([])
    const { signal } = new AbortController()
    informer.start({ signal })
    expect(getEventListeners(signal, 'abort').length).toBeGreaterThan(0)
    await informer.stop()
    expect(getEventListeners(signal, 'abort')).toHaveLength(0)
  })

  test.each([
    [{ signal: {} }, 'start: option "signal" must be an AbortSignal, got an object'],
    [{ singal: undefined }, 'start: unknown option "singal"; allowed are signal'],
    [5, 'start: the options must be an object'],
  ])('start with %j throws a TypeError with the reason', (options, message) => {
    const { informer } = mirrorOf([])
    expect(() => Reflect.apply(informer.start, informer, [options])).toThrow(new TypeError(message))
  })
})

describe('synced', () => {
  // I8
  test('[I8] resolves when the whole first list is in the store, and not before', async () => {
    const source = scripted<number>()
    const { clock, informer } = informerOf(source)
    const synced = informer.start().synced()
    await clock.advance(0)
    source.lists[0]?.page([put('a', 1)])
    expect(await outcomeOf(synced, clock)).toBe('pending')
    source.lists[0]?.answer([put('b', 2)], '5')
    expect(await outcomeOf(synced, clock)).toBe('resolved')
    expect([informer.size, informer.status.isSynced]).toEqual([2, true])
  })

  test('synced resolves if the collection is empty', async () => {
    const { clock, informer } = mirrorOf([])
    expect(await outcomeOf(informer.start().synced(), clock)).toBe('resolved')
    expect([informer.size, informer.list(), informer.status.isSynced]).toEqual([0, [], true])
  })

  test('synced resolves at once after the first list', async () => {
    const { clock, informer } = mirrorOf([])
    informer.start()
    await clock.advance(0)
    await expect(informer.synced()).resolves.toBeUndefined()
  })

  test('synced can be called before start', async () => {
    const { clock, informer } = mirrorOf([])
    const synced = informer.synced()
    expect(await outcomeOf(synced, clock)).toBe('pending')
    informer.start()
    expect(await outcomeOf(synced, clock)).toBe('resolved')
  })

  test('synced rejects with the error if the state becomes failed before the first list', async () => {
    const { clock, source, informer } = mirrorOf([])
    source.fail(REFUSED)
    const synced = informer.start().synced()
    await expect(synced).rejects.toMatchObject({ code: 'NOT_FOUND', phase: 'list' })
    await expect(informer.synced()).rejects.toMatchObject({ code: 'NOT_FOUND' })
    expect(informer.status.state).toBe('failed')
    await clock.advance(30_000)
    await expect(informer.synced()).resolves.toBeUndefined()
  })

  test.each(['list', 'watch'] as const)('[C19] an OptionError thrown by %s makes the state failed', async (call) => {
    const mistake = new OptionError('scripted: option "client" must return a new client', { option: 'client' })
    const fail = (): void => {
      throw mistake
    }
    const source = scripted<number>(
      call === 'list' ? { onList: fail } : { onList: (list) => list.answer([], '1'), onWatch: fail },
    )
    const { clock, informer, errors } = informerOf(source)
    informer.start()
    await clock.advance(0)
    expect([informer.status.state, informer.status.lastError?.code]).toEqual(['failed', 'PROTOCOL'])
    expect([errors.length, errors[0]?.cause]).toEqual([1, mistake])
  })

  test('[C19] an OptionError is reported as a mistake in the program, with the time of the next attempt', async () => {
    const mistake = new OptionError('scripted: option "client" must return a new client', { option: 'client' })
    const source = scripted<number>({ onList: (list) => list.fail(mistake) })
    const { clock, informer, errors } = informerOf(source)
    informer.start()
    await clock.advance(0)
    const [, seconds = ''] = /; a mistake in the program; listing again in (.*) s$/.exec(errors[0]?.message ?? '') ?? []
    await clock.advance(1_000 * Number(seconds) - 100)
    expect(source.lists).toHaveLength(1)
    await clock.advance(200)
    expect(source.lists).toHaveLength(2)
  })

  test('[C20][R5] synced rejects with the very OptionError that the source threw, before and after the failure', async () => {
    const mistake = new OptionError('scripted: option "client" must return a new client', { option: 'client' })
    const source = scripted<number>({ onList: (list) => list.fail(mistake) })
    const { informer } = informerOf(source)
    await expect(informer.start().synced()).rejects.toBe(mistake)
    await expect(informer.synced()).rejects.toBe(mistake)
  })

  test('[C18] synced continues to wait after a plain TypeError of the source, which counts as UNAVAILABLE', async () => {
    const source = scripted<number>({ onList: (list) => list.fail(new TypeError('fetch failed')) })
    const { clock, informer } = informerOf(source)
    expect(await outcomeOf(informer.start().synced(), clock)).toBe('pending')
    expect(informer.status.state).toBe('backing-off')
  })

  test('synced continues to wait if the source is only unavailable', async () => {
    const { clock, source, informer } = mirrorOf([])
    source.fail(new SourceError('down', { code: 'UNAVAILABLE' }), 3)
    const synced = informer.start().synced()
    expect(await outcomeOf(synced, clock)).toBe('pending')
    await clock.advance(60_000)
    expect(await outcomeOf(synced, clock)).toBe('resolved')
  })

  test('synced rejects with the error of the source also if an error listener requests a relist', async () => {
    const { clock, informer, source } = mirrorOf<number, object>([['a', 1]])
    source.fail(new SourceError('no rights', { code: 'UNAUTHORIZED' }))
    informer.on('error', () => void informer.relist().catch(() => {}))
    expect(await outcomeOf(informer.start().synced(), clock)).toMatchObject({ rejected: { code: 'UNAUTHORIZED' } })
  })

  test('synced resolves after the first list, even if the state became failed later', async () => {
    const { clock, source, informer } = mirrorOf([])
    await outcomeOf(informer.start().synced(), clock)
    source.fail(REFUSED)
    source.disconnect()
    await clock.advance(250)
    expect(informer.status.state).toBe('failed')
    await expect(informer.synced()).resolves.toBeUndefined()
  })

  test('rejects with TIMEOUT after timeoutMs', async () => {
    const { clock, informer } = informerOf(scripted<number>())
    const synced = informer.start().synced({ timeoutMs: 100 })
    const late = expect(synced).rejects.toMatchObject({ code: 'TIMEOUT' })
    await clock.advance(100)
    await late
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

  test('the list is in the store when synced resolves', async () => {
    const { informer } = mirrorOf([['a', 1]])
    await informer.start().synced()
    expect(informer.status).toMatchObject({ state: 'connecting', reason: expect.stringContaining('the list is in') })
    expect(informer.health()).toMatchObject({ isReady: true, reason: expect.stringContaining('the list is in') })
  })

  test('rejects with the reason of its signal', async () => {
    const { informer } = informerOf(scripted<number>())
    const control = new AbortController()
    const synced = informer.start().synced({ signal: control.signal })
    control.abort('enough')
    await expect(synced).rejects.toBe('enough')
  })

  test('rejects with STOPPED when the informer is stopped', async () => {
    const { informer } = informerOf(scripted<number>())
    const synced = informer.start().synced()
    await Promise.all([expect(synced).rejects.toMatchObject({ code: 'STOPPED' }), informer.stop()])
    await expect(informer.synced()).rejects.toMatchObject({ code: 'STOPPED' })
  })

  test('an invalid option is a TypeError', () => {
    const { informer } = mirrorOf([])
    expect(() => informer.synced({ timeoutMs: -1 })).toThrow(
      new TypeError('synced: option "timeoutMs" must be a finite number above 0, got -1'),
    )
  })
})

// I15
describe('stop', () => {
  test('[I15] leaves no timer, however many operations were in progress', async () => {
    const { clock, source, informer } = mirrorOf<number, object>([['a', 1]])
    informer.subscribe({ add: () => new Promise(() => {}) })
    informer.subscribe({ add: () => {} }, { delivery: 'latest', concurrency: 3 })
    const changes = informer.changes()
    informer.reconcile(async () => {
      throw new Error('no')
    })
    informer.start()
    await clock.advance(0)
    const waits = [
      changes.synced({ timeoutMs: 60_000 }),
      informer.until('x', () => false, { timeoutMs: 60_000 }),
      informer.relist({ timeoutMs: 60_000 }),
    ]
    for (const wait of waits) wait.catch(() => {})
    source.disconnect()
    await clock.advance(100)
    const stopped = informer.stop()
    await clock.advance(1_000)
    await stopped
    expect(clock.sleeping).toBe(0)
  })

  test.each([
    [
      'a subscription',
      (informer: Informer<number, object>) => informer.subscribe({ add: () => new Promise(() => {}) }),
    ],
    ['a controller', (informer: Informer<number, object>) => informer.reconcile(() => new Promise(() => {}))],
  ] as const)('leaves no timer of %s that is closed once more behind what is stuck', async (_what, follow) => {
    const { clock, informer } = mirrorOf<number, object>([['a', 1]])
    const subscription = follow(informer)
    informer.start()
    await clock.advance(0)
    const stopped = informer.stop()
    await clock.advance(500)
    const closed = subscription.close()
    await clock.advance(500)
    await stopped
    expect(clock.sleeping).toBe(0)
    await closed
  })

  test('[I15] no callback is called after stop', async () => {
    const { clock, source, informer } = mirrorOf<number, object>([])
    const told: string[] = []
    informer.on('status', ({ state }) => told.push(state))
    informer.on('error', ({ code }) => told.push(code))
    informer.subscribe({ add: ({ key }) => void told.push(key) })
    informer.reconcile(async (key) => void told.push(key))
    informer.start()
    await clock.advance(0)
    await informer.stop()
    const before = [...told]
    source.put('a', 1)
    source.disconnect()
    await clock.advance(600_000)
    expect(told).toEqual(before)
    expect(before.at(-1)).toBe('stopped')
  })

  test.each(['listing', 'watching', 'waiting'])(
    '[B32] settles at once against a source that ignores its signal: %s',
    async (at) => {
      const source = scripted<number>({
        onList: (list) => at !== 'listing' && (at === 'waiting' ? list.fail(new Error('no')) : list.answer([], '5')),
      })
      const { clock, informer } = informerOf(source)
      informer.start()
      await clock.advance(0)
      expect(await outcomeOf(informer.stop(), clock)).toBe('resolved')
      expect(clock.sleeping).toBe(0)
    },
  )

  describe.each(['list', 'watch'] as const)('while the source closes its %s', (what) => {
    test('[I15] waits until the source has closed it', async () => {
      const { promise: closed, resolve } = deferred()
      const { clock, informer } = informerOf(closingLate(what, closed))
      informer.start()
      await clock.advance(0)
      const stopped = informer.stop()
      expect(await outcomeOf(stopped, clock)).toBe('pending')
      resolve()
      expect(await outcomeOf(stopped, clock)).toBe('resolved')
    })

    test('[B32] waits for a second at most', async () => {
      const { clock, informer } = informerOf(closingLate(what, new Promise(() => {})))
      informer.start()
      await clock.advance(0)
      const stopped = informer.stop()
      await clock.advance(999)
      expect(await outcomeOf(stopped, clock)).toBe('pending')
      await clock.advance(1)
      expect(await outcomeOf(stopped, clock)).toBe('resolved')
    })
  })

  test('[B10] waits for a handler that runs, 1 s at most', async () => {
    const { clock, informer } = mirrorOf<number, object>([['a', 1]])
    informer.subscribe({ add: () => new Promise(() => {}) })
    informer.start()
    await clock.advance(0)
    const stopped = informer.stop()
    await clock.advance(999)
    expect(await outcomeOf(stopped, clock)).toBe('pending')
    await clock.advance(1)
    expect(await outcomeOf(stopped, clock)).toBe('resolved')
  })

  test('ends change streams without an error', async () => {
    const { clock, informer } = mirrorOf<number, object>([])
    informer.start()
    const read = async (): Promise<void> => {
      for await (const _batch of informer.changes());
    }
    const end = read()
    await clock.advance(0)
    await informer.stop()
    await expect(end).resolves.toBeUndefined()
  })

  test('stop rejects all pending waits with STOPPED', async () => {
    const { clock, informer } = mirrorOf<number, object>([])
    const subscription = informer.subscribe({})
    informer.start()
    await clock.advance(0)
    const beyond = `${informer.version?.slice(0, -1)}9`
    const waits = [
      informer.waitFor(beyond),
      informer.until('x', () => false),
      informer.relist(),
      subscription.waitFor(beyond),
    ].map((wait) => expect(wait).rejects.toMatchObject({ code: 'STOPPED' }))
    await informer.stop()
    await Promise.all(waits)
  })

  test('[B6] calls after stop fail with STOPPED', async () => {
    const { clock, informer } = mirrorOf<number, object>([])
    informer.start()
    await clock.advance(0)
    const beyond = `${informer.version?.slice(0, -1)}9`
    await informer.stop()
    const stopped = expect.objectContaining({ code: 'STOPPED' })
    const waits = [informer.waitFor(beyond), informer.fresh(), informer.relist(), informer.until('x', () => true)]
    await Promise.all(waits.map((wait) => expect(wait).rejects.toEqual(stopped)))
    expect(() => informer.subscribe({})).toThrow(stopped)
    expect(() => informer.changes()).toThrow(stopped)
    expect(() => informer.reconcile(async () => {})).toThrow(stopped)
  })

  test('synced rejects with STOPPED, also after the first list', async () => {
    const { clock, informer } = mirrorOf<number, object>([])
    informer.start()
    await clock.advance(0)
    await informer.stop()
    await expect(informer.synced()).rejects.toMatchObject({ code: 'STOPPED' })
  })

  test('the store stays readable', async () => {
    const { clock, informer } = mirrorOf([['a', 1]], {
      indexes: (ix) => ({ odd: ix.equal((n: number) => n % 2 === 1) }),
    })
    informer.start()
    await clock.advance(0)
    await informer.stop()
    expect([informer.get('a'), informer.by.odd(true), informer.size]).toEqual([1, [1], 1])
  })

  test('a second stop has no effect', async () => {
    const { informer } = mirrorOf([])
    informer.start()
    expect(informer.stop()).toBe(informer.stop())
    await informer.stop()
  })

  test('stop before start is final too', async () => {
    const { clock, informer } = mirrorOf([])
    await informer.stop()
    expect([informer.status.state, clock.sleeping]).toEqual(['stopped', 0])
  })

  test('disposal of the informer stops it', async () => {
    const { clock, informer } = mirrorOf([])
    informer.start()
    await clock.advance(0)
    await informer[Symbol.asyncDispose]()
    expect(informer.status.state).toBe('stopped')
  })

  test('[B2] stop inside a handler works, and nothing more is delivered', async () => {
    const { clock, source, informer } = mirrorOf<number, object>([
      ['a', 1],
      ['b', 2],
    ])
    const told: string[] = []
    let stopped: Promise<void> | undefined
    informer.subscribe({
      add: ({ key }) => {
        told.push(key)
        stopped = informer.stop()
      },
    })
    informer.start()
    await clock.advance(0)
    source.put('c', 3)
    await clock.advance(1_000)
    await stopped
    expect([told, clock.sleeping]).toEqual([['a'], 0])
  })

  test('stop inside an async handler that waits for it settles after the 1 s limit of handlers', async () => {
    const { clock, informer } = mirrorOf<number, object>([['a', 1]])
    let isOver = false
    informer.subscribe({
      add: async () => {
        await informer.stop()
        isOver = true
      },
    })
    informer.start()
    await clock.advance(999)
    expect(isOver).toBe(false)
    await clock.advance(1)
    expect([isOver, clock.sleeping]).toEqual([true, 0])
  })

  test('stop inside a status listener works', async () => {
    const { clock, informer } = mirrorOf([])
    const states: string[] = []
    informer.on('status', ({ state }) => {
      states.push(state)
      if (state === 'connecting') void informer.stop()
    })
    informer.start()
    await clock.advance(60_000)
    expect(states).toEqual(['listing', 'connecting', 'stopped'])
  })

  test('stop inside the first listener of the start works', async () => {
    const { clock, informer } = mirrorOf([])
    const stops: Promise<void>[] = []
    informer.on('status', () => stops.push(informer.stop()))
    informer.start()
    await clock.advance(60_000)
    await Promise.all(stops)
    expect(informer.status.state).toBe('stopped')
  })

  test('stop inside an error listener works, and the error is reported once', async () => {
    const { clock, informer, source } = mirrorOf([])
    const states: string[] = []
    informer.on('status', ({ state }) => states.push(state))
    informer.on('error', () => void informer.stop())
    informer.start()
    await clock.advance(0)
    source.disconnect()
    await clock.advance(60_000)
    expect(states).toEqual(['listing', 'connecting', 'live', 'stopped'])
  })

  test('stop inside a condition of until works', async () => {
    const { clock, informer } = mirrorOf([])
    const waited = informer.until('a', () => {
      void informer.stop()
      return false
    })
    const rejected = expect(waited).rejects.toMatchObject({ code: 'STOPPED' })
    informer.start()
    await clock.advance(60_000)
    await rejected
    expect(informer.status.state).toBe('stopped')
  })
})

describe('status', () => {
  test('the states of a healthy informer are emitted in order', async () => {
    const { clock, source, informer } = mirrorOf<number, object>([['a', 1]])
    const begun = clock.now()
    const seen: Status[] = []
    informer.on('status', (status) => seen.push(status))
    informer.start()
    await clock.advance(0)
    source.disconnect()
    await clock.advance(1_000)
    expect(seen.map(({ state }) => state)).toEqual([
      'listing',
      'connecting',
      'live',
      'backing-off',
      'connecting',
      'live',
    ])
    expect(seen[0]).toMatchObject({ isSynced: false, version: undefined, reason: 'reading the first list', attempt: 1 })
    expect(seen[1]).toMatchObject({ isSynced: true, version: informer.version, attempt: 0, lastContactAt: begun })
    expect(seen[3]).toMatchObject({ attempt: 0, lastError: { code: 'UNAVAILABLE' } })
    expect(seen[3]?.retryInMs).toBeLessThanOrEqual(200)
    expect(seen[4]).toMatchObject({ attempt: 1, reconnects: 1, retryInMs: undefined })
    expect(informer.status).toMatchObject({ attempt: 0, relists: 0, reconnects: 1, reason: 'following the watch' })
  })

  test('a status listener receives the previous status too', async () => {
    const { clock, informer } = mirrorOf([])
    const pairs: string[] = []
    informer.on('status', (status, previous) => pairs.push(`${previous.state} → ${status.state}`))
    informer.start()
    await clock.advance(0)
    expect(pairs).toEqual(['idle → listing', 'listing → connecting', 'connecting → live'])
  })

  test('staleMs is the time since the last response, or since start before the first response', async () => {
    const { clock, informer } = informerOf(scripted<number>({ onWatch: (watch) => watch.batch([], '5') }))
    expect(informer.status.staleMs).toBe(0)
    informer.start()
    await clock.advance(700)
    expect([informer.status.staleMs, informer.status.lastContactAt]).toEqual([700, undefined])
  })

  test('staleMs restarts with each response', async () => {
    const { clock, informer } = mirrorOf<number, object>([])
    informer.start()
    await clock.advance(10_500)
    expect(informer.status.staleMs).toBe(500)
  })

  test('lagMs is the time from the commit at the source', async () => {
    const source = scripted<number>({ onList: (list) => list.answer([], '5') })
    const { clock, informer } = informerOf(source)
    informer.start()
    await clock.advance(0)
    expect(informer.status.lagMs).toBeUndefined()
    source.watches[0]?.send({ events: [put('a', 1)], version: '6', committedAt: clock.now() - 30 })
    await clock.advance(0)
    expect(informer.status.lagMs).toBe(30)
    source.watches[0]?.send({ events: [put('a', 2)], version: '7', committedAt: clock.now() + 30 })
    await clock.advance(0)
    expect(informer.status.lagMs).toBe(0)
  })

  test('[B31] lagMs is right after the machine has slept, and after the system clock was set', async () => {
    const source = scripted<number>({ onList: (list) => list.answer([], '5') })
    const { clock, informer } = informerOf(source)
    let aheadMs = 0
    Object.assign(clock, { wallNow: () => clock.now() + aheadMs })
    informer.start()
    await clock.advance(0)
    const lagAfter = async (ms: number, version: string): Promise<number | undefined> => {
      aheadMs += ms
      source.watches[0]?.send({ events: [], version, committedAt: clock.now() + aheadMs - 30_000 })
      await clock.advance(0)
      return informer.status.lagMs
    }
    expect(await lagAfter(8 * 3_600_000, '6')).toBe(30_000)
    expect(await lagAfter(-16 * 3_600_000, '7')).toBe(30_000)
  })
})

describe('health', () => {
  async function started(): Promise<{ clock: VirtualClock; informer: Informer<number>; break: () => void }> {
    const { clock, source, informer } = mirrorOf<number, object>([])
    informer.start()
    await clock.advance(0)
    return { clock, informer, break: () => source.stall() }
  }

  test('isLive: started and not stopped', async () => {
    const { informer } = mirrorOf([])
    expect(informer.health()).toEqual({ isLive: false, isReady: false, reason: 'idle: not started' })
    informer.start()
    expect(informer.health()).toMatchObject({ isLive: true, isReady: false })
    await informer.stop()
    expect(informer.health()).toEqual({ isLive: false, isReady: false, reason: 'stopped' })
  })

  test('isReady: the first list is in the store', async () => {
    const { informer } = await started()
    expect(informer.health()).toEqual({ isLive: true, isReady: true, reason: 'live: following the watch' })
  })

  test('isReady with staleAfterMs: the source has responded within that time', async () => {
    const { clock, informer, ...of } = await started()
    of.break()
    await clock.advance(20_000)
    expect(informer.health()).toMatchObject({ isReady: true })
    expect(informer.health({ staleAfterMs: 20_000 })).toMatchObject({ isReady: true })
    expect(informer.health({ staleAfterMs: 19_999 })).toEqual({
      isLive: true,
      isReady: false,
      reason: 'live: following the watch; nothing was heard from the source for 20 s',
    })
  })

  test('a synced mirror whose state is failed is ready, unless staleAfterMs is set', async () => {
    const { clock, source, informer } = mirrorOf<number, object>([])
    informer.start()
    await clock.advance(0)
    source.fail(REFUSED, 100)
    source.disconnect()
    await clock.advance(60_000)
    expect(informer.status.state).toBe('failed')
    expect(informer.health()).toMatchObject({ isReady: true, reason: expect.stringMatching(/^failed: /) })
    expect(informer.health({ staleAfterMs: 30_000 })).toMatchObject({ isReady: false })
  })

  test('an informer of a source that always rejects is live, and is ready while its data is not too old', async () => {
    const { clock, source, informer } = mirrorOf<number, object>([])
    source.fail(REFUSED)
    informer.start()
    await clock.advance(0)
    expect(informer.health()).toMatchObject({ isLive: true, isReady: false })
    expect(informer.health().reason).toMatch(/^failed: /)
  })

  test('an invalid option is a TypeError', async () => {
    const { informer } = await started()
    expect(() => informer.health({ staleAfterMs: 0 })).toThrow(
      new TypeError('health: option "staleAfterMs" must be a finite number above 0, got 0'),
    )
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
    expect(() => Reflect.apply(createInformer, undefined, [options])).toThrow(new TypeError(message))
  })

  test('the error of an unknown option names it and the allowed options', () => {
    expect(() => Reflect.apply(createInformer, undefined, [{ source, indices: () => ({}) }])).toThrow(
      /^createInformer: unknown option "indices"; allowed are source, name, .*indexes, .*intern, audit, .*logger$/,
    )
  })
})

test('the real clock and random numbers are the defaults', async () => {
  const source = memorySource<number>({ entries: [['a', 1]] })
  const informer = createInformer({ source })
  await informer.start().synced({ timeoutMs: 5_000 })
  await informer.waitFor(source.put('b', 2), { timeoutMs: 5_000 })
  expect(informer.list()).toEqual([1, 2])
  await informer.stop()
})
