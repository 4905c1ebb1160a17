import { describe, expect, test } from 'vitest'
import { memorySource } from '../../../adapters/memory/index.js'
import { OptionError, SourceError, type Version } from '../../../src/index.js'
import { informerOf, mirrorOf, outcomeOf } from '../../support/informers.js'
import { ordered, running, setOf } from '../../support/running.js'
import { numbered, put, scripted } from '../../support/scripted-source.js'

const MISTAKE = new OptionError('scripted: option "client" must return a new client', { option: 'client' })
const started = (entries: readonly (readonly [string, number])[] = []) => running(mirrorOf<number, object>(entries))

/** A version far above `version`, which the store does not reach soon. */
function beyond(version: Version | undefined, by = 100): Version {
  return (version ?? '').replace(/\d+$/, (n) => `${Number(n) + by}`)
}

describe('waitFor', () => {
  test('waitFor resolves when the store includes the version of the write, by the first list, a batch or a relist', async () => {
    const { clock, source, informer } = mirrorOf<number, object>([])
    const first = informer.waitFor(source.put('a', 1))
    expect(await outcomeOf(first, clock)).toBe('pending')
    informer.start()
    expect([await outcomeOf(first, clock), informer.get('a')]).toEqual(['resolved', 1])
    const second = informer.waitFor(source.put('a', 2))
    expect([informer.get('a'), await outcomeOf(second, clock), informer.get('a')]).toEqual([1, 'resolved', 2])
    source.stall()
    const third = informer.waitFor(source.put('a', 3))
    source.compact()
    await clock.advance(30_000)
    expect([await outcomeOf(third, clock), informer.status.relists]).toEqual(['resolved', 1])
  })

  test('a wait sends a progress request at once and when a watch opens, unless it resolves at once', async () => {
    const { clock, source, informer } = await running(informerOf(ordered<number>([], '5')))
    await informer.waitFor('5')
    expect(source.watches[0]?.progressRequests).toBe(0)
    const subscription = informer.subscribe({})
    await clock.advance(0)
    const waits = [informer.waitFor('9'), subscription.waitFor('9')]
    expect(source.watches[0]?.progressRequests).toBe(2)
    source.watches[0]?.end()
    await clock.advance(0)
    waits.push(informer.waitFor('9'))
    expect(source.watches[0]?.progressRequests, 'requests of a watch that is over').toBe(2)
    await clock.advance(1_000)
    expect(source.watches[1]?.progressRequests).toBe(1)
    source.watches[1]?.batch([], '9')
    await clock.advance(0)
    await Promise.all(waits)
  })

  test('[C11] waitFor for a mark of another epoch requests the head after each batch until a response arrives', async () => {
    let failures = 2
    const source = ordered<number>([], 'a5', {
      head: async () => {
        if (failures-- > 0) throw new Error('not now')
        return 'a7'
      },
    })
    const { clock, informer } = await running(informerOf(source))
    const waited = informer.waitFor('b1')
    expect(await outcomeOf(waited, clock)).toBe('pending')
    source.watches[0]?.batch([], 'a6')
    expect(await outcomeOf(waited, clock)).toBe('pending')
    source.watches[0]?.batch([], 'a7')
    expect(await outcomeOf(waited, clock)).toMatchObject({ rejected: { code: 'EPOCH_CHANGED' } })
  })

  test('waitFor for a mark of another epoch is decided by a head that was requested after the wait began, until stop', async () => {
    const heads: (PromiseWithResolvers<Version> & { readonly signal: AbortSignal })[] = []
    const source = Object.assign(ordered<number>([], 'a5'), {
      head: ({ signal }: { signal: AbortSignal }) => {
        const head = { ...Promise.withResolvers<Version>(), signal }
        heads.push(head)
        return head.promise
      },
    })
    const { clock, informer } = await running(informerOf(source))
    const earlier = informer.waitFor('b1')
    expect(await outcomeOf(earlier, clock)).toBe('pending')
    const later = informer.waitFor('b2')
    const stopped = expect(later).rejects.toMatchObject({ code: 'STOPPED' })
    heads[0]?.resolve('a6')
    expect(await outcomeOf(earlier, clock)).toMatchObject({ rejected: { code: 'EPOCH_CHANGED' } })
    expect([await outcomeOf(later, clock), heads.length, heads[1]?.signal.aborted]).toEqual(['pending', 2, false])
    await informer.stop()
    await stopped
    expect([heads[1]?.signal.aborted, clock.sleeping]).toEqual([true, 0])
  })

  test('[C12] waitFor rejects at once for a mark of another epoch if the source has no head', async () => {
    const { clock, informer } = await running(informerOf(ordered<number>([], 'a5')))
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
      const gate = Promise.withResolvers<void>()
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
      const waits = [informer.waitFor('50'), informer.fresh(), fast.waitFor('50'), slow.waitFor('50')]
      for (const wait of waits) expect(await outcomeOf(wait, clock)).toBe('pending')
      source.lists[1]?.fail(new SourceError('restored again', { code: 'EPOCH_CHANGED' }))
      await clock.advance(10_000)
      for (const wait of waits) expect(await outcomeOf(wait, clock)).toBe('pending')
      source.lists[2]?.answer([put('new', 1)], '49')
      await clock.advance(0)
      expect(informer.get('new')).toBe(1)
      for (const wait of waits) expect(await outcomeOf(wait, clock)).toBe('pending')
      source.watches[1]?.batch([], '50')
      const outcomes = await Promise.all(waits.map((wait) => outcomeOf(wait, clock)))
      expect(outcomes).toEqual(['resolved', 'resolved', 'resolved', 'pending'])
      expect(await outcomeOf(slow.waitFor('50'), clock)).toBe('pending')
      gate.resolve()
      expect([await outcomeOf(waits[3] ?? Promise.reject(), clock), slow.version]).toEqual(['resolved', '50'])
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

    test.each([
      { members: { isLaterEpoch }, survives: true },
      { members: {}, survives: false },
    ])(
      '[C13][C14] at EPOCH_CHANGED a wait for the epoch that is over rejects, one for a later epoch survives: $survives',
      async ({ members, survives }) => {
        const { clock, informer, subscription, change } = await live(members)
        const rejected = { rejected: { code: 'EPOCH_CHANGED' } }
        const over = outcomeOf(informer.waitFor('a9'), clock)
        const waits = [informer.waitFor('b9'), subscription.waitFor('b9'), informer.waitFor('a9')]
        for (const wait of waits) wait.catch(() => {})
        expect(await over).toBe('pending')
        await change()
        const outcomes = await Promise.all(waits.map((wait) => outcomeOf(wait, clock)))
        expect(outcomes.slice(0, 2)).toMatchObject(survives ? ['pending', 'pending'] : [rejected, rejected])
        expect(outcomes[2]).toMatchObject(rejected)
        expect(await outcomeOf(informer.waitFor('b5'), clock)).toBe('resolved')
      },
    )
  })

  describe('of a subscription whose handler runs, for a version that the store includes,', () => {
    const forms = ['one source', 'several sources'] as const

    async function handling(form: (typeof forms)[number]) {
      const source = scripted<number>({
        hasReached: numbered,
        onList: (list, nth) => nth === 1 && list.answer([put('old', 1)], '100'),
      })
      const world =
        form === 'one source' ? informerOf(source) : setOf({ scripted: source, other: memorySource<number>() })
      const { clock, informer, errors } = world
      const gate = Promise.withResolvers<void>()
      const subscription = informer.start().subscribe({ add: () => {}, update: () => gate.promise })
      await clock.advance(0)
      source.watches[0]?.batch([put('old', 2)], '101')
      await clock.advance(0)
      return { source, clock, errors, gate, waitFor: () => subscription.waitFor('101', { source: 'scripted' }) }
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
        const { source, clock, errors, gate, waitFor } = await handling(form)
        source.watches[0]?.fail(new SourceError('restored', { code: 'EPOCH_CHANGED' }))
        for (let turn = 0; turn < turns; turn++) await Promise.resolve()
        const isEarly = errors.length === 0
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

  test.each(['', 'x'.repeat(65_537), 'a\u0000', 'hello'])('[C40] a wrong mark is INVALID_MARK (%#)', async (mark) => {
    const { informer } = await started()
    await expect(informer.waitFor(mark)).rejects.toMatchObject({ code: 'INVALID_MARK' })
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

  test('[C17] waitFor and fresh reject with a TypeError if the source cannot compare versions', async () => {
    const { informer } = informerOf(scripted<number>({ head: async () => '5' }))
    const reason = 'the source "scripted" cannot compare versions (it has no hasReached)'
    await expect(informer.waitFor('5')).rejects.toThrow(new TypeError(`waitFor: ${reason}`))
    await expect(informer.fresh()).rejects.toThrow(new TypeError(`fresh: ${reason}`))
    await expect(informer.subscribe({}).waitFor('5')).rejects.toThrow(TypeError)
  })

  test('a progress listener that throws is reported, and the wait continues', async () => {
    const fail = (): never => {
      throw new Error('the socket is closed')
    }
    const source = ordered<number>([], '5', { onWatch: ({ context }) => context.onProgressRequest(fail) })
    const { clock, informer, errors } = await running(informerOf(source))
    const waits = Promise.all([informer.waitFor('6'), informer.subscribe({}).waitFor('6')])
    source.watches[0]?.batch([], '6')
    expect(await outcomeOf(waits, clock)).toBe('resolved')
    expect(errors.map(({ message }) => message)).toContain('the socket is closed')
  })
})

test('fresh rejects with a TypeError if the source has no head', async () => {
  const { informer } = informerOf(scripted<number>({ hasReached: numbered }))
  await expect(informer.fresh()).rejects.toThrow(
    new TypeError('fresh: the source "scripted" cannot report its version (it has no head)'),
  )
})

test('[C21] fresh retries the head request after transient errors, and if no response arrives for 30 s', async () => {
  let tries = 0
  const source = ordered<number>([], '5', {
    head: async () => {
      if (++tries < 5) throw new Error('down')
      return tries === 6 ? new Promise(() => {}) : '5'
    },
  })
  const { clock, informer } = await running(informerOf(source))
  const waited = informer.fresh({ timeoutMs: 10_000 })
  expect(await outcomeOf(waited, clock)).toBe('pending')
  await clock.advance(100 + 200 + 400 + 800 - 1)
  expect(tries).toBeLessThan(5)
  await clock.advance(1_501)
  expect([await outcomeOf(waited, clock), tries]).toEqual(['resolved', 5])
  const silent = informer.fresh()
  await clock.advance(29_999)
  expect([await outcomeOf(silent, clock), tries]).toEqual(['pending', 6])
  await clock.advance(1_000)
  expect([await outcomeOf(silent, clock), tries]).toEqual(['resolved', 7])
})

test('[C38] fresh does not resolve by a head that is older than the mirror, but by the list of the restored history', async () => {
  const source = scripted<number>({
    hasReached: numbered,
    head: async () => '5',
    onList: (list, nth) => (nth === 1 ? list.answer([put('lost', 1)], '9') : list.answer([put('new', 2)], '5')),
  })
  const { clock, informer } = await running(informerOf(source))
  source.watches[0]?.fail(new Error('down'))
  const fresh = informer.fresh()
  await clock.advance(1_000)
  expect(await outcomeOf(fresh, clock)).toBe('pending')
  source.watches[1]?.fail(new SourceError('restored', { code: 'EPOCH_CHANGED' }))
  await clock.advance(5_000)
  expect([await outcomeOf(fresh, clock), informer.keys().toArray()]).toEqual(['resolved', ['new']])
})

test.each<[string, Error | undefined, object]>([
  [
    '[C22] TIMEOUT and the error of head, if head fails until the timeout',
    new Error('down'),
    { code: 'TIMEOUT', message: expect.stringContaining('head failed: down') },
  ],
  [
    '[C23] an error that no retry fixes, which names the source',
    new SourceError('no access', { code: 'UNAUTHORIZED' }),
    { code: 'UNAUTHORIZED', source: 'scripted' },
  ],
  ['[C20] the OptionError that head threw', MISTAKE, MISTAKE],
  ['[C23a] PROTOCOL, if head resolves without a version', undefined, { code: 'PROTOCOL' }],
])('fresh rejects with %s', async (_what, thrown, rejected) => {
  const head = async (): Promise<Version> => (thrown === undefined ? (undefined as never) : Promise.reject(thrown))
  const source = ordered<number>([], '5', { head })
  const { clock, informer } = await running(informerOf(source))
  const fresh = informer.fresh({ timeoutMs: 3_000 }).catch((error: unknown) => error)
  await clock.advance(3_000)
  if (rejected === MISTAKE) expect(await fresh).toBe(MISTAKE)
  else expect(await fresh).toMatchObject(rejected)
})

test.each(['timeout', 'abort'])('fresh leaves no waiter after an early end by %s', async (how) => {
  const { clock, source, informer } = await running(informerOf(ordered<number>([], '5', { head: async () => '9' })))
  const [watch] = source.watches
  const control = new AbortController()
  const fresh = informer.fresh(how === 'abort' ? { signal: control.signal } : { timeoutMs: 100 })
  expect([await outcomeOf(fresh, clock), watch?.context.hasWaiters?.()]).toEqual(['pending', true])
  control.abort('enough')
  await clock.advance(100)
  expect(await outcomeOf(fresh, clock)).toHaveProperty('rejected')
  expect(watch?.context.hasWaiters?.()).toBe(false)
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

  test('a wait whose signal has aborted already leaves no timer, although the informer was not started', async () => {
    const { clock, informer } = mirrorOf<number, object>([], { logger })
    await expect(informer.synced({ signal: AbortSignal.abort('no') })).rejects.toBe('no')
    expect(clock.sleeping).toBe(0)
  })
})

test('until calls its condition at start if the set has no source', async () => {
  const { clock, informer } = setOf<number, object, Readonly<Record<string, never>>>({})
  const waited = informer.until('a', (n) => n === undefined)
  expect(await outcomeOf(waited, clock)).toBe('pending')
  informer.start()
  expect(await outcomeOf(waited, clock)).toBe('resolved')
})

test('until passes each state that the store had, from the first list on, and resolves with the object', async () => {
  const { clock, source, informer } = mirrorOf<number, object>([])
  const seen: unknown[] = []
  const waited = informer.until('a', (n) => seen.push(n) > 0 && n === 4)
  expect([await outcomeOf(waited, clock), seen]).toEqual(['pending', []])
  await running({ clock, informer })
  expect(new Set(seen.splice(0))).toEqual(new Set([undefined]))
  for (let i = 1; i <= 2; i++) source.put('a', i)
  source.delete('a')
  expect([await outcomeOf(waited, clock), seen]).toEqual(['pending', [1, 2, undefined]])
  source.put('a', 4)
  expect([await outcomeOf(waited, clock), await waited]).toEqual(['resolved', 4])
})

test('[B16a] until rejects if its condition is asynchronous', async () => {
  const { informer } = await started()
  const waited = informer.until('a', (async () => Promise.reject(new Error('mine'))) as never)
  await expect(waited).rejects.toThrow('the condition of until is asynchronous')
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
  const waited = informer.until('a', () => ++looks < 0, { timeoutMs: 100 })
  const late = expect(waited).rejects.toMatchObject({ code: 'TIMEOUT' })
  await clock.advance(100)
  await late
  const before = looks
  source.put('a', 1)
  await clock.advance(0)
  expect(looks).toBe(before)
})

test('relist reads the whole source again, and resolves when the store has a list that began after the call', async () => {
  const source = scripted<number>({ onList: (list, nth) => nth > 1 && list.answer([put('a', nth)], `${nth}`) })
  const { clock, informer } = await running(informerOf(source))
  const during = informer.relist()
  source.lists[0]?.answer([put('a', 1)], '1')
  expect(await outcomeOf(during, clock)).toBe('pending')
  await clock.advance(1_000)
  expect([await outcomeOf(during, clock), informer.get('a'), source.lists.length]).toEqual(['resolved', 2, 2])
  const after = Promise.all([informer.relist(), informer.relist()])
  expect(await outcomeOf(after, clock)).toBe('pending')
  await clock.advance(10_000)
  expect([await outcomeOf(after, clock), informer.get('a'), source.lists.length]).toEqual(['resolved', 3, 3])
})

test('when a source that cannot be read is removed, relist resolves, and fresh rejects with STOPPED', async () => {
  const us = Object.assign(memorySource<number>(), { head: () => new Promise<Version>(() => {}) })
  const { clock, set, informer } = await running(setOf({ eu: memorySource<number>(), us }))
  us.fail(new SourceError('down', { code: 'UNAVAILABLE' }), 1_000)
  us.disconnect()
  await clock.advance(60_000)
  const [relisted, fresh] = [informer.relist(), informer.fresh()]
  fresh.catch(() => {})
  await clock.advance(1_000)
  expect([await outcomeOf(relisted, clock), await outcomeOf(fresh, clock)]).toEqual(['pending', 'pending'])
  set.remove('us')
  expect(await outcomeOf(relisted, clock)).toBe('resolved')
  expect(await outcomeOf(fresh, clock)).toMatchObject({ rejected: { code: 'STOPPED' } })
})
