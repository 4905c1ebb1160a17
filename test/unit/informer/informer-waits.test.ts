import { describe, expect, onTestFinished, test } from 'vitest'
import { memorySource } from '../../../adapters/memory/index.js'
import { OptionError, SourceError } from '../../../src/contract/errors.js'
import type { ListerWatcher } from '../../../src/contract/source.js'
import type { Version } from '../../../src/contract/version.js'
import { createInformer } from '../../../src/informer/create-informer.js'
import { sourceSet } from '../../../src/informer/source-set.js'
import { SeededRandom } from '../../../testing/seeded-random.js'
import { VirtualClock } from '../../../testing/virtual-clock.js'
import { assertCleanStop, deferred, informerOf, mirrorOf, outcomeOf, type World } from '../../support/informers.js'
import { numbered, put, scripted } from '../../support/scripted-source.js'

type Numbers = World<number, object, ReturnType<typeof memorySource<number>>>

async function started(entries: readonly (readonly [string, number])[] = []): Promise<Numbers> {
  const world = mirrorOf<number, object>(entries)
  world.informer.start()
  await world.clock.advance(0)
  return world
}

/** A version far above `version`, which the store does not reach soon. */
function beyond(version: Version | undefined, by = 100): Version {
  return (version ?? '').replace(/\d+$/, (n) => `${Number(n) + by}`)
}

describe('waitFor', () => {
  test('waitFor resolves when the store includes the version of the write', async () => {
    const { clock, source, informer } = await started()
    const version = source.put('a', 1)
    const waited = informer.waitFor(version)
    expect(informer.get('a')).toBeUndefined()
    expect(await outcomeOf(waited, clock)).toBe('resolved')
    expect(informer.get('a')).toBe(1)
  })

  test('waitFor resolves at once if the store includes the version already', async () => {
    const { informer } = await started()
    await expect(informer.waitFor(informer.version ?? '')).resolves.toBeUndefined()
  })

  test('waitFor resolves with a bookmark', async () => {
    const source = scripted<number>({ hasReached: numbered, onList: (list) => list.answer([], '5') })
    const { clock, informer } = informerOf(source)
    informer.start()
    const waited = informer.waitFor('8')
    expect(await outcomeOf(waited, clock)).toBe('pending')
    source.watches[0]?.batch([], '8')
    expect(await outcomeOf(waited, clock)).toBe('resolved')
  })

  test('waitFor resolves with a relist that includes the version', async () => {
    const { clock, source, informer } = await started()
    source.stall()
    const waited = informer.waitFor(source.put('a', 1))
    source.compact()
    await clock.advance(30_000)
    expect(await outcomeOf(waited, clock)).toBe('resolved')
    expect(informer.status.relists).toBe(1)
  })

  test('waitFor can be called before start, and waits for the first list', async () => {
    const { clock, source, informer } = mirrorOf<number, object>([])
    const waited = informer.waitFor(source.put('a', 1))
    expect(await outcomeOf(waited, clock)).toBe('pending')
    informer.start()
    expect(await outcomeOf(waited, clock)).toBe('resolved')
  })

  test('a wait sends a progress request at once and when a watch opens', async () => {
    const source = scripted<number>({ hasReached: numbered, onList: (list) => list.answer([], '5') })
    const { clock, informer } = informerOf(source)
    informer.start()
    await clock.advance(0)
    const waited = informer.waitFor('9')
    expect(source.watches[0]?.progressRequests).toBe(1)
    source.watches[0]?.end()
    await clock.advance(1_000)
    expect(source.watches[1]?.progressRequests).toBe(1)
    source.watches[1]?.batch([], '9')
    await clock.advance(0)
    await waited
  })

  test('a waitFor that resolves at once sends no progress request', async () => {
    const source = scripted<number>({ hasReached: numbered, onList: (list) => list.answer([], '5') })
    const { clock, informer } = informerOf(source)
    informer.start()
    await clock.advance(0)
    await informer.waitFor('5')
    expect(source.watches[0]?.progressRequests).toBe(0)
  })

  test('[C11] waitFor rejects for a mark of another epoch, once the head of the source is in the epoch of the store', async () => {
    const { informer } = await started()
    await expect(informer.waitFor(memorySource().put('a', 1))).rejects.toMatchObject({ code: 'EPOCH_CHANGED' })
  })

  test('[C11] waitFor for a mark of another epoch requests the head after each batch until a response arrives', async () => {
    let failures = 2
    const source = scripted<number>({
      hasReached: numbered,
      onList: (list) => list.answer([], 'a5'),
      head: async () => {
        if (failures-- > 0) throw new Error('not now')
        return 'a7'
      },
    })
    const { clock, informer } = informerOf(source)
    informer.start()
    await clock.advance(0)
    const waited = informer.waitFor('b1')
    expect(await outcomeOf(waited, clock)).toBe('pending')
    source.watches[0]?.batch([], 'a6')
    expect(await outcomeOf(waited, clock)).toBe('pending')
    source.watches[0]?.batch([], 'a7')
    expect(await outcomeOf(waited, clock)).toMatchObject({ rejected: { code: 'EPOCH_CHANGED' } })
  })

  test('waitFor for a mark of another epoch is decided by a head that was requested after the wait began', async () => {
    const heads: ReturnType<typeof deferred<Version>>[] = []
    const source = scripted<number>({
      hasReached: numbered,
      onList: (list) => list.answer([], 'a5'),
      head: () => {
        const head = deferred<Version>()
        heads.push(head)
        return head.promise
      },
    })
    const { clock, informer } = informerOf(source)
    informer.start()
    await clock.advance(0)
    const earlier = informer.waitFor('b1')
    expect(await outcomeOf(earlier, clock)).toBe('pending')
    const later = informer.waitFor('b2')
    heads[0]?.resolve('a6')
    expect(await outcomeOf(earlier, clock)).toMatchObject({ rejected: { code: 'EPOCH_CHANGED' } })
    expect([await outcomeOf(later, clock), heads.length]).toEqual(['pending', 2])
    heads[1]?.resolve('b2')
    expect(await outcomeOf(later, clock)).toBe('pending')
  })

  test('waitFor for a mark of another epoch cancels its request for the head when the informer stops', async () => {
    let asked: AbortSignal | undefined
    const source = {
      ...scripted<number>({ hasReached: numbered, onList: (list) => list.answer([], 'a5') }),
      head: ({ signal }: { signal: AbortSignal }) => {
        asked = signal
        return new Promise<Version>(() => {})
      },
    }
    const { clock, informer } = informerOf(source)
    informer.start()
    await clock.advance(0)
    const waited = expect(informer.waitFor('b1')).rejects.toMatchObject({ code: 'STOPPED' })
    await clock.advance(0)
    expect(asked?.aborted).toBe(false)
    await informer.stop()
    await waited
    expect([asked?.aborted, clock.sleeping]).toEqual([true, 0])
  })

  test('[C12] waitFor rejects at once for a mark of another epoch if the source has no head', async () => {
    const source = scripted<number>({ hasReached: numbered, onList: (list) => list.answer([], 'a5') })
    const { clock, informer } = informerOf(source)
    informer.start()
    await clock.advance(0)
    expect(await outcomeOf(informer.waitFor('b1'), clock)).toMatchObject({ rejected: { code: 'EPOCH_CHANGED' } })
  })

  test('[C11] waitFor for a mark of the new epoch waits for the list, though the mirror has not noticed that epoch', async () => {
    const { clock, source, informer } = await started([['a', 1]])
    const subscription = informer.subscribe({})
    await clock.advance(0)
    source.stall()
    source.restore([['a', 2]])
    const mark = source.put('b', 3)
    const waits = [informer.waitFor(mark), subscription.waitFor(mark), informer.fresh()]
    for (const wait of waits) expect(await outcomeOf(wait, clock)).toBe('pending')
    await clock.advance(60_000)
    for (const wait of waits) expect(await outcomeOf(wait, clock)).toBe('resolved')
    expect(informer.get('b')).toBe(3)
  })

  describe('between EPOCH_CHANGED and the next list, of a source whose versions do not name their epoch,', () => {
    async function forked() {
      const source = scripted<number>({
        hasReached: numbered,
        head: async () => '50',
        onList: (list, nth) => nth === 1 && list.answer([put('old', 1)], '100'),
      })
      const { clock, informer } = informerOf(source)
      const gate = deferred()
      const slow = informer.start().subscribe({ update: () => gate.promise, add: () => {} }, { name: 'slow' })
      const fast = informer.subscribe({}, { name: 'fast' })
      await clock.advance(0)
      source.watches[0]?.batch([put('old', 2)], '101')
      await clock.advance(0)
      source.watches[0]?.fail(new SourceError('restored', { code: 'EPOCH_CHANGED' }))
      await clock.advance(5_000)
      expect(source.lists).toHaveLength(2)
      return { source, clock, informer, slow, fast, gate }
    }

    test('[C10] waits for marks wait for the list, and for the handlers of a subscription to have handled it', async () => {
      const { source, clock, informer, slow, fast, gate } = await forked()
      const [stored, byFast, bySlow] = [informer.waitFor('50'), fast.waitFor('50'), slow.waitFor('50')]
      for (const wait of [stored, byFast, bySlow]) expect(await outcomeOf(wait, clock)).toBe('pending')
      source.lists[1]?.answer([put('new', 1)], '60')
      expect(await outcomeOf(stored, clock)).toBe('resolved')
      expect(informer.get('new')).toBe(1)
      expect([await outcomeOf(byFast, clock), await outcomeOf(bySlow, clock)]).toEqual(['resolved', 'pending'])
      expect(await outcomeOf(slow.waitFor('50'), clock)).toBe('pending')
      gate.resolve()
      expect([await outcomeOf(bySlow, clock), slow.version]).toEqual(['resolved', '60'])
    })

    test('a change of the old history that a handler completes resolves no wait, though later changes were taken', async () => {
      const { source, clock, informer, gate } = await forked()
      const hanging = deferred()
      const add = ({ key }: { readonly key: string }): Promise<void> => (key === 'new' ? hanging : gate).promise
      const subscription = informer.subscribe({ add }, { concurrency: 2 })
      await clock.advance(0)
      source.lists[1]?.answer([put('new', 1)], '60')
      await clock.advance(0)
      const waited = subscription.waitFor('50')
      gate.resolve()
      expect(await outcomeOf(waited, clock)).toBe('pending')
      hanging.resolve()
      expect([await outcomeOf(waited, clock), subscription.version]).toEqual(['resolved', '60'])
    })

    test('[C10] fresh waits for the list', async () => {
      const { source, clock, informer } = await forked()
      const fresh = informer.fresh()
      expect(await outcomeOf(fresh, clock)).toBe('pending')
      source.lists[1]?.answer([], '49')
      expect(await outcomeOf(fresh, clock)).toBe('pending')
      source.watches[1]?.batch([], '50')
      expect(await outcomeOf(fresh, clock)).toBe('resolved')
    })

    test('[C10] a second EPOCH_CHANGED rejects no wait that waits for the list', async () => {
      const { source, clock, informer } = await forked()
      const waited = informer.waitFor('50')
      source.lists[1]?.fail(new SourceError('restored again', { code: 'EPOCH_CHANGED' }))
      await clock.advance(10_000)
      expect(await outcomeOf(waited, clock)).toBe('pending')
      source.lists[2]?.answer([], '60')
      expect(await outcomeOf(waited, clock)).toBe('resolved')
    })
  })

  describe('for a mark of a later epoch, of a source whose hasReached is only false for it,', () => {
    const epochOf = (version: Version): string => version.replace(/\d+$/, '')
    const script = {
      hasReached: (at: Version, mark: Version) => epochOf(mark) <= epochOf(at) && numbered(at, mark),
      head: async () => 'a6',
      onList: (list: { answer: (events: [], version: Version) => void }, nth: number) => {
        if (nth <= 3) list.answer([], `${['a', 'b', 'c'][nth - 1]}5`)
      },
    }
    const isLaterEpoch = (at: Version, mark: Version): boolean => epochOf(mark) > epochOf(at)

    async function live(members: { readonly isLaterEpoch?: typeof isLaterEpoch }) {
      const source = scripted<number>({ ...script, ...members })
      const { clock, informer } = informerOf(source)
      const subscription = informer.start().subscribe({})
      await clock.advance(0)
      const change = async (): Promise<void> => {
        source.watches.at(-1)?.fail(new SourceError('restored', { code: 'EPOCH_CHANGED' }))
        await clock.advance(60_000)
      }
      return { clock, informer, subscription, change }
    }

    test('[C13] a wait outlives EPOCH_CHANGED with isLaterEpoch, and resolves with the list of that epoch', async () => {
      const { clock, informer, subscription, change } = await live({ isLaterEpoch })
      const [next, handled, afterNext] = [informer.waitFor('b1'), subscription.waitFor('b1'), informer.waitFor('c5')]
      expect(await outcomeOf(next, clock)).toBe('pending')
      await change()
      expect([informer.version, await outcomeOf(next, clock), await outcomeOf(handled, clock)]).toEqual([
        'b5',
        'resolved',
        'resolved',
      ])
      expect(await outcomeOf(afterNext, clock)).toBe('pending')
      await change()
      expect([informer.version, await outcomeOf(afterNext, clock)]).toEqual(['c5', 'resolved'])
    })

    test('[C14] a wait rejects at EPOCH_CHANGED without isLaterEpoch', async () => {
      const { clock, informer, subscription, change } = await live({})
      const waits = [informer.waitFor('b1'), subscription.waitFor('b1')]
      for (const wait of waits) wait.catch(() => {})
      await change()
      for (const wait of waits)
        expect(await outcomeOf(wait, clock)).toMatchObject({ rejected: { code: 'EPOCH_CHANGED' } })
    })

    test('[C14] with isLaterEpoch a wait for a mark of the epoch that is over rejects', async () => {
      const { clock, informer, change } = await live({ isLaterEpoch })
      const [over, next] = [informer.waitFor('a9'), informer.waitFor('b9')]
      over.catch(() => {})
      await change()
      expect(await outcomeOf(over, clock)).toMatchObject({ rejected: { code: 'EPOCH_CHANGED' } })
      expect(await outcomeOf(next, clock)).toBe('pending')
      await expect(outcomeOf(informer.waitFor('b5'), clock)).resolves.toBe('resolved')
      next.catch(() => {})
    })
  })

  describe('of a subscription whose handler runs, for a version that the store includes,', () => {
    const forms = ['one source', 'several sources'] as const

    async function handling(form: (typeof forms)[number]) {
      const source = scripted<number>({
        hasReached: numbered,
        onList: (list, nth) => nth === 1 && list.answer([put('old', 1)], '100'),
      })
      const clock = new VirtualClock()
      const other = memorySource<number>()
      const informer = createInformer<number, object>({
        source: form === 'one source' ? source : sourceSet({ scripted: source, other }),
        clock,
        random: new SeededRandom(1),
      })
      onTestFinished(() => assertCleanStop(informer, clock))
      const codes: string[] = []
      informer.on('error', ({ code }) => codes.push(code))
      const gate = deferred()
      const subscription = informer.start().subscribe({ add: () => {}, update: () => gate.promise })
      await clock.advance(0)
      source.watches[0]?.batch([put('old', 2)], '101')
      await clock.advance(0)
      return { source, clock, codes, gate, waitFor: () => subscription.waitFor('101', { source: 'scripted' }) }
    }

    test.each(forms)('[C9] the wait rejects when the epoch changes (%s)', async (form) => {
      const { source, clock, gate, waitFor } = await handling(form)
      const waited = waitFor()
      expect(await outcomeOf(waited, clock)).toBe('pending')
      source.watches[0]?.fail(new SourceError('restored', { code: 'EPOCH_CHANGED' }))
      expect(await outcomeOf(waited, clock)).toMatchObject({ rejected: { code: 'EPOCH_CHANGED' } })
      gate.resolve()
    })

    test.each(forms)('[C9] no version of the next history resolves the wait (%s)', async (form) => {
      let early = 0
      for (let turns = 0; turns < 30; turns++) {
        const { source, clock, codes, gate, waitFor } = await handling(form)
        source.watches[0]?.fail(new SourceError('restored', { code: 'EPOCH_CHANGED' }))
        for (let turn = 0; turn < turns; turn++) await Promise.resolve()
        const isEarly = codes.length === 0
        const outcome = waitFor().then(
          () => 'resolved',
          ({ code }: SourceError) => code,
        )
        await clock.advance(5_000)
        source.lists[1]?.answer([put('new', 1)], '200')
        await clock.advance(0)
        gate.resolve()
        expect(await outcome, `after ${turns} turns`).toBe(isEarly ? 'EPOCH_CHANGED' : 'resolved')
        if (isEarly) early++
      }
      expect(early).toBeGreaterThan(1)
      expect(early).toBeLessThan(30)
    })
  })

  // Waiters reject on a change of epoch.
  test('[C9] waitFor rejects when the epoch changes', async () => {
    const { clock, source, informer } = await started()
    const waited = informer.waitFor(beyond(informer.version))
    const rejected = expect(waited).rejects.toMatchObject({ code: 'EPOCH_CHANGED' })
    source.restore([])
    await clock.advance(2_000)
    await rejected
  })

  test('[C9] waitFor rejects when the epoch changes and the versions of the source do not show it', async () => {
    const source = scripted<number>({ hasReached: numbered, onList: (list) => list.answer([], '5') })
    const { clock, informer } = informerOf(source)
    const subscription = informer.start().subscribe({})
    await clock.advance(0)
    const waits = [informer.waitFor('8'), subscription.waitFor('8')]
    const rejected = waits.map((wait) => expect(wait).rejects.toMatchObject({ code: 'EPOCH_CHANGED' }))
    source.watches[0]?.fail(new SourceError('restored', { code: 'EPOCH_CHANGED' }))
    await clock.advance(2_000)
    await Promise.all(rejected)
  })

  test.each(['', 'x'.repeat(65_537), 'a\u0000'])('waitFor rejects an invalid mark as PROTOCOL (%#)', async (mark) => {
    const { informer } = await started()
    await expect(informer.waitFor(mark)).rejects.toMatchObject({ code: 'PROTOCOL' })
  })

  test('waitFor rejects a mark that the source does not know as PROTOCOL', async () => {
    const { informer } = await started()
    await expect(informer.waitFor('hello')).rejects.toMatchObject({ code: 'PROTOCOL' })
  })

  test('waitFor rejects with TIMEOUT, with the state of the informer in the message', async () => {
    const { clock, informer } = await started()
    const waited = informer.waitFor(beyond(informer.version), { timeoutMs: 500 })
    const late = expect(waited).rejects.toMatchObject({
      code: 'TIMEOUT',
      message: 'waitFor on memory: not within 500 ms; live: following the watch',
    })
    await clock.advance(500)
    await late
  })

  test('waitFor rejects with the reason of its signal', async () => {
    const { informer } = await started()
    const control = new AbortController()
    const waited = informer.waitFor(beyond(informer.version), { signal: control.signal })
    control.abort('enough')
    await expect(waited).rejects.toBe('enough')
  })

  test('[C17] waitFor throws a TypeError if the source cannot compare versions', () => {
    const { informer } = informerOf(scripted<number>())
    expect(() => informer.waitFor('5')).toThrow(
      new TypeError('waitFor: the source "scripted" cannot compare versions (it has no hasReached)'),
    )
    const subscription = informer.subscribe({})
    expect(() => subscription.waitFor('5')).toThrow(TypeError)
  })

  test.each<[unknown[], string]>([
    [[5], 'waitFor: the version must be a string, got number'],
    [[Promise.resolve('1.1.1')], 'waitFor: the version must be a string, got a promise: await it first'],
    [['1.1.1', { timeoutMs: Number.NaN }], 'waitFor: option "timeoutMs" must be a finite number above 0, got NaN'],
    [['1.1.1', { source: 5 }], 'waitFor: option "source" must be a string, got 5'],
  ])('waitFor with %j is a TypeError with the reason', async (args, message) => {
    const { informer } = await started()
    expect(() => Reflect.apply(informer.waitFor, informer, args)).toThrow(new TypeError(message))
  })

  test('a progress listener that throws is reported, and the wait continues', async () => {
    const memory = memorySource<number>()
    const { clock, informer, errors } = informerOf<number, object, ListerWatcher<number>>({
      name: 'deaf',
      list: (context) => memory.list(context),
      hasReached: (at, mark) => memory.hasReached(at, mark),
      async *watch(context) {
        context.onProgressRequest(() => {
          throw new Error('the socket is closed')
        })
        yield* memory.watch({ ...context, onProgressRequest: () => {} })
      },
    })
    const subscription = informer.subscribe({})
    await informer.start().synced()
    await clock.advance(0)
    const mark = memory.put('a', 1)
    const waits = Promise.all([informer.waitFor(mark), subscription.waitFor(mark)])
    expect(await outcomeOf(waits, clock)).toBe('resolved')
    expect(errors.map(({ message }) => message)).toContain('the socket is closed')
  })

  test('waitFor of a subscription resolves when its handler has completed the change', async () => {
    const { clock, source, informer } = await started()
    const seen: string[] = []
    const subscription = informer.subscribe({
      add: async ({ key }) => {
        await clock.sleep(100)
        seen.push(key)
      },
    })
    const version = source.put('a', 1)
    const [stored, handled] = [informer.waitFor(version), subscription.waitFor(version)]
    expect([await outcomeOf(stored, clock), await outcomeOf(handled, clock)]).toEqual(['resolved', 'pending'])
    await clock.advance(100)
    expect([seen, await outcomeOf(handled, clock)]).toEqual([['a'], 'resolved'])
  })

  test('waitFor of a subscription rejects when the epoch changes', async () => {
    const { clock, source, informer } = await started([['a', 1]])
    const subscription = informer.subscribe({})
    await clock.advance(0)
    const waited = subscription.waitFor(beyond(informer.version))
    const rejected = expect(waited).rejects.toMatchObject({ code: 'EPOCH_CHANGED' })
    source.restore([['a', 2]])
    await clock.advance(2_000)
    await rejected
  })

  test('a wait of a subscription sends a progress request', async () => {
    const source = scripted<number>({ hasReached: numbered, onList: (list) => list.answer([], '5') })
    const { clock, informer } = informerOf(source)
    const subscription = informer.start().subscribe({})
    await clock.advance(0)
    const waited = subscription.waitFor('6')
    expect(source.watches[0]?.progressRequests).toBe(1)
    source.watches[0]?.batch([], '6')
    await clock.advance(0)
    await waited
  })
})

describe('fresh', () => {
  test('fresh waits until the store includes the current version of the source', async () => {
    const { clock, source, informer } = await started()
    source.stall()
    source.put('a', 1)
    const waited = informer.fresh()
    expect(await outcomeOf(waited, clock)).toBe('pending')
    await clock.advance(30_000)
    expect([await outcomeOf(waited, clock), informer.get('a')]).toEqual(['resolved', 1])
  })

  test('[C20] fresh rejects with the OptionError that head threw', async () => {
    const mistake = new OptionError('scripted: option "client" must return a new client', { option: 'client' })
    const { informer } = informerOf(
      scripted<number>({
        hasReached: numbered,
        head: () => Promise.reject(mistake),
        onList: (list) => list.answer([], '5'),
      }),
    )
    await informer.start().synced()
    await expect(informer.fresh()).rejects.toBe(mistake)
  })

  test('fresh throws a TypeError if the source has no head', () => {
    const { informer } = informerOf(scripted<number>({ hasReached: numbered }))
    expect(() => informer.fresh()).toThrow(
      new TypeError('fresh: the source "scripted" cannot report its version (it has no head)'),
    )
  })

  test('[C17] fresh throws a TypeError if the source cannot compare versions', () => {
    const { informer } = informerOf(scripted<number>({ head: async () => '5' }))
    expect(() => informer.fresh()).toThrow(
      new TypeError('fresh: the source "scripted" cannot compare versions (it has no hasReached)'),
    )
  })

  test('[C21] fresh retries the head request after transient errors', async () => {
    let tries = 0
    const source = scripted<number>({
      hasReached: numbered,
      head: async () => {
        if (++tries < 5) throw new Error('down')
        return '5'
      },
      onList: (list) => list.answer([], '5'),
    })
    const { clock, informer } = informerOf(source)
    await informer.start().synced()
    const waited = informer.fresh({ timeoutMs: 10_000 })
    expect(await outcomeOf(waited, clock)).toBe('pending')
    await clock.advance(100 + 200 + 400 + 800 - 1)
    expect(tries).toBeLessThan(5)
    await clock.advance(1_501)
    expect([await outcomeOf(waited, clock), tries]).toEqual(['resolved', 5])
  })

  test('[C21] fresh retries the head request if no response arrives for 30 s', async () => {
    let tries = 0
    const source = scripted<number>({
      hasReached: numbered,
      head: () => (++tries === 1 ? new Promise(() => {}) : Promise.resolve('5')),
      onList: (list) => list.answer([], '5'),
    })
    const { clock, informer } = informerOf(source)
    await informer.start().synced()
    const waited = informer.fresh()
    await clock.advance(29_999)
    expect([await outcomeOf(waited, clock), tries]).toEqual(['pending', 1])
    await clock.advance(1_000)
    expect([await outcomeOf(waited, clock), tries]).toEqual(['resolved', 2])
  })

  test('[C22] fresh rejects with TIMEOUT and the error of head, if head fails until the timeout', async () => {
    const source = scripted<number>({ hasReached: numbered, head: async () => Promise.reject(new Error('down')) })
    const { clock, informer } = informerOf(source)
    const late = expect(informer.fresh({ timeoutMs: 3_000 })).rejects.toMatchObject({
      code: 'TIMEOUT',
      message: expect.stringContaining('head failed: down'),
    })
    await clock.advance(3_000)
    await late
  })

  test('[C23] fresh rejects with an error that no retry fixes, which names the source', async () => {
    const refusal = new SourceError('no access', { code: 'UNAUTHORIZED' })
    const source = scripted<number>({ hasReached: numbered, head: async () => Promise.reject(refusal) })
    const { informer } = informerOf(source)
    await expect(informer.fresh()).rejects.toMatchObject({ code: 'UNAUTHORIZED', source: 'scripted' })
  })

  test('fresh rejects with TIMEOUT if head never settles, and aborts its signal', async () => {
    let asked: AbortSignal | undefined
    const source = {
      ...scripted<number>({ hasReached: numbered }),
      head: ({ signal }: { signal: AbortSignal }) => {
        asked = signal
        return new Promise<Version>(() => {})
      },
    }
    const { clock, informer } = informerOf(source)
    const late = expect(informer.fresh({ timeoutMs: 100 })).rejects.toMatchObject({ code: 'TIMEOUT' })
    await clock.advance(100)
    await late
    expect(asked?.aborted).toBe(true)
  })

  test.each(['timeout', 'abort'])('fresh leaves no waiter after an early end by %s', async (how) => {
    const source = scripted<number>({
      hasReached: numbered,
      head: async () => '9',
      onList: (list) => list.answer([], '5'),
    })
    const { clock, informer } = informerOf(source)
    informer.start()
    await clock.advance(0)
    const [watch] = source.watches
    const control = new AbortController()
    const fresh = informer.fresh(how === 'abort' ? { signal: control.signal } : { timeoutMs: 100 })
    expect([await outcomeOf(fresh, clock), watch?.context.hasWaiters?.()]).toEqual(['pending', true])
    control.abort('enough')
    await clock.advance(100)
    expect(await outcomeOf(fresh, clock)).toHaveProperty('rejected')
    expect(watch?.context.hasWaiters?.()).toBe(false)
  })

  test('fresh rejects with STOPPED when a source whose head never settles is removed', async () => {
    const mute = Object.assign(memorySource<number>(), { head: () => new Promise<Version>(() => {}) })
    const set = sourceSet<number>({ mute, other: memorySource<number>() })
    const clock = new VirtualClock()
    const informer = createInformer<number, object>({ source: set, clock, random: new SeededRandom(1) })
    informer.start()
    const fresh = informer.fresh()
    const rejected = expect(fresh).rejects.toMatchObject({ code: 'STOPPED' })
    await clock.advance(10)
    set.remove('mute')
    await rejected
    await assertCleanStop(informer, clock)
  })

  test('fresh rejects with STOPPED when the informer is stopped', async () => {
    const source = scripted<number>({ hasReached: numbered, head: () => new Promise(() => {}) })
    const { informer } = informerOf(source)
    const waited = expect(informer.fresh()).rejects.toMatchObject({ code: 'STOPPED' })
    await informer.stop()
    await waited
  })
})

describe('a wait for an informer that was not started', () => {
  const { logger, messages } = (() => {
    const messages: string[] = []
    const log = (message: string): void => void messages.push(message)
    return { messages, logger: { debug: log, info: log, warn: log, error: log } }
  })()

  test('[B7a] a wait for an informer that was not started is reported once after 10 s, with the remedy', async () => {
    const { clock, informer } = mirrorOf<number, object>([], { logger })
    for (const waited of [informer.synced(), informer.fresh(), informer.relist()]) waited.catch(() => {})
    await clock.advance(9_999)
    expect(messages).toEqual([])
    await clock.advance(60_000)
    expect(messages).toEqual([expect.stringMatching(/^synced of \S+ waits, but .* was not started: call start\(\)$/)])
  })

  test('[B7a] a wait for an informer that is started in time is not reported, although it continues', async () => {
    const { clock, informer } = informerOf(scripted<number>(), { logger })
    messages.length = 0
    informer.synced().catch(() => {})
    await clock.advance(9_000)
    informer.start()
    await clock.advance(60_000)
    expect(messages.filter((message) => message.includes('waits'))).toEqual([])
  })

  test('a wait for an informer that is stopped before its start is not reported', async () => {
    const { clock, informer } = mirrorOf<number, object>([], { logger })
    messages.length = 0
    informer.synced().catch(() => {})
    await clock.advance(9_000)
    await informer.stop()
    await clock.advance(60_000)
    expect(messages.filter((message) => message.includes('waits'))).toEqual([])
  })

  test('a wait whose signal has aborted already leaves no timer, although the informer was not started', async () => {
    const { clock, informer } = mirrorOf<number, object>([], { logger })
    await expect(informer.synced({ signal: AbortSignal.abort('no') })).rejects.toBe('no')
    expect(clock.sleeping).toBe(0)
  })

  test('a wait that ends before the informer is started is not reported', async () => {
    const { clock, informer } = mirrorOf<number, object>([], { logger })
    messages.length = 0
    const waited = informer.synced({ timeoutMs: 5_000 })
    waited.catch(() => {})
    await clock.advance(60_000)
    await expect(waited).rejects.toMatchObject({ code: 'TIMEOUT' })
    expect(messages.filter((message) => message.includes('waits'))).toEqual([])
  })
})

describe('until', () => {
  test('until calls its condition at start if the set has no source', async () => {
    const clock = new VirtualClock()
    const informer = createInformer({ source: sourceSet<number>({}), clock })
    const waited = informer.until('a', (n) => n === undefined)
    expect(await outcomeOf(waited, clock)).toBe('pending')
    informer.start()
    expect(await outcomeOf(waited, clock)).toBe('resolved')
    await assertCleanStop(informer, clock)
  })

  test('until resolves with the object once the condition holds', async () => {
    const { clock, source, informer } = await started([['a', 1]])
    const waited = informer.until('a', (n) => n === 3)
    source.put('a', 2)
    expect(await outcomeOf(waited, clock)).toBe('pending')
    source.put('a', 3)
    expect(await outcomeOf(waited, clock)).toBe('resolved')
    expect(await waited).toBe(3)
  })

  test('until resolves at once if the condition holds already', async () => {
    const { informer } = await started([['a', 1]])
    await expect(informer.until('a', (n) => n === 1)).resolves.toBe(1)
  })

  test('until calls no condition before the first list is complete', async () => {
    const { clock, informer } = mirrorOf<number, object>([['a', 1]])
    const looks: unknown[] = []
    const waited = informer.until('a', (n) => {
      looks.push(n)
      return true
    })
    expect([await outcomeOf(waited, clock), looks]).toEqual(['pending', []])
    informer.start()
    expect([await outcomeOf(waited, clock), looks]).toEqual(['resolved', [1]])
  })

  test('until passes undefined for an absent key', async () => {
    const { clock, source, informer } = await started([['a', 1]])
    const waited = informer.until('a', (n) => n === undefined)
    source.delete('a')
    await clock.advance(0)
    await expect(waited).resolves.toBeUndefined()
  })

  test('until passes each state that the store had', async () => {
    const { clock, source, informer } = await started()
    const seen: unknown[] = []
    const waited = informer.until('a', (n) => {
      seen.push(n)
      return n === 3
    })
    for (let i = 1; i <= 3; i++) source.put('a', i)
    await clock.advance(0)
    await waited
    expect(seen).toEqual([undefined, 1, 2, 3])
  })

  test('until rejects with the error that the condition throws', async () => {
    const { clock, source, informer } = await started()
    const waited = informer.until('a', (n) => {
      if (n !== undefined) throw new Error('mine')
      return false
    })
    const rejected = expect(waited).rejects.toThrow('mine')
    source.put('a', 1)
    await clock.advance(0)
    await rejected
  })

  test('after TIMEOUT until calls its condition no more', async () => {
    const { clock, source, informer } = await started()
    let looks = 0
    const waited = informer.until(
      'a',
      () => {
        looks++
        return false
      },
      { timeoutMs: 100 },
    )
    const late = expect(waited).rejects.toMatchObject({ code: 'TIMEOUT' })
    await clock.advance(100)
    await late
    const before = looks
    source.put('a', 1)
    await clock.advance(0)
    expect(looks).toBe(before)
  })

  test.each<[unknown[], string]>([
    [[5, () => true], 'until: the key must be a string, got number'],
    [['a', 5], 'until: the condition must be a function'],
    [['a', () => true, { timeout: 5 }], 'until: unknown option "timeout"; allowed are signal, timeoutMs'],
  ])('until with %j is a TypeError with the reason', async (args, message) => {
    const { informer } = await started()
    expect(() => Reflect.apply(informer.until, informer, args)).toThrow(new TypeError(message))
  })
})

describe('relist', () => {
  test('relist reads the whole source again, and resolves when the store has that list', async () => {
    const source = scripted<number>({ onList: (list, nth) => list.answer([put('a', nth)], `${nth}`) })
    const { clock, informer } = informerOf(source)
    informer.start()
    await clock.advance(0)
    const relisted = informer.relist()
    expect(await outcomeOf(relisted, clock)).toBe('pending')
    await clock.advance(1_000)
    expect([await outcomeOf(relisted, clock), informer.get('a')]).toEqual(['resolved', 2])
  })

  test('relist right after synced resolves', async () => {
    const { clock, informer } = mirrorOf<number, object>([['a', 1]])
    const relistAtOnce = async (): Promise<void> => {
      await informer.start().synced()
      await informer.relist()
    }
    const relisted = relistAtOnce()
    await clock.advance(10_000)
    expect(await outcomeOf(relisted, clock)).toBe('resolved')
    expect(informer.status.relists).toBe(1)
  })

  test('relist during a list resolves with the list after it', async () => {
    const source = scripted<number>({ onList: (list, nth) => nth > 1 && list.answer([put('a', nth)], `${nth}`) })
    const { clock, informer } = informerOf(source)
    informer.start()
    await clock.advance(0)
    const relisted = informer.relist()
    source.lists[0]?.answer([put('a', 1)], '1')
    expect(await outcomeOf(relisted, clock)).toBe('pending')
    await clock.advance(1_000)
    expect([await outcomeOf(relisted, clock), informer.get('a'), source.lists.length]).toEqual(['resolved', 2, 2])
  })

  test('relist during a list that fails resolves with the next list', async () => {
    const source = scripted<number>({ onList: (list, nth) => nth > 1 && list.answer([put('a', nth)], `${nth}`) })
    const { clock, informer } = informerOf(source)
    informer.start()
    await clock.advance(0)
    const relisted = informer.relist()
    source.lists[0]?.fail(new Error('no'))
    await clock.advance(60_000)
    expect([await outcomeOf(relisted, clock), source.lists.length]).toEqual(['resolved', 2])
  })

  test('relist before start resolves with the first list', async () => {
    const { clock, informer } = mirrorOf<number, object>([])
    const relisted = informer.relist()
    expect(await outcomeOf(relisted, clock)).toBe('pending')
    informer.start()
    expect(await outcomeOf(relisted, clock)).toBe('resolved')
  })

  test('relist continues to wait if the list fails, until one succeeds', async () => {
    const { clock, source, informer } = await started()
    source.fail(new SourceError('down', { code: 'UNAVAILABLE' }), 2)
    const relisted = informer.relist()
    await clock.advance(1_000)
    expect(await outcomeOf(relisted, clock)).toBe('pending')
    await clock.advance(10_000)
    expect(await outcomeOf(relisted, clock)).toBe('resolved')
  })

  test('concurrent relist calls share one list', async () => {
    const { clock, informer } = await started()
    const all = Promise.all([informer.relist(), informer.relist(), informer.relist()])
    await clock.advance(10_000)
    expect(await outcomeOf(all, clock)).toBe('resolved')
    expect(informer.status.relists).toBe(1)
  })

  test('relists that are requested every second are spaced', async () => {
    const { clock, source, informer } = await started()
    let lists = 0
    const list = source.list.bind(source)
    Object.assign(source, {
      list: (context: Parameters<typeof list>[0]) => {
        lists++
        return list(context)
      },
    })
    for (let i = 0; i < 60; i++) {
      informer.relist().catch(() => {})
      await clock.advance(1_000)
    }
    expect(lists).toBeLessThanOrEqual(10)
  })

  test('relist resolves when the source that cannot be read is removed', async () => {
    const [eu, us] = [memorySource<number>({ entries: [['a', 1]] }), memorySource<number>()]
    const set = sourceSet({ eu, us })
    const clock = new VirtualClock()
    const informer = createInformer<number, object>({ source: set, clock, random: new SeededRandom(1) })
    await informer.start().synced()
    us.fail(new SourceError('down', { code: 'UNAVAILABLE' }), 1_000)
    us.disconnect()
    await clock.advance(60_000)
    const relisted = informer.relist()
    await clock.advance(1_000)
    expect(await outcomeOf(relisted, clock)).toBe('pending')
    set.remove('us')
    expect(await outcomeOf(relisted, clock)).toBe('resolved')
    await assertCleanStop(informer, clock)
  })

  test('relist rejects with TIMEOUT', async () => {
    const { clock, source, informer } = await started()
    source.fail(new SourceError('down', { code: 'UNAVAILABLE' }), 100)
    const late = expect(informer.relist({ timeoutMs: 5_000 })).rejects.toMatchObject({ code: 'TIMEOUT' })
    await clock.advance(5_000)
    await late
  })
})
