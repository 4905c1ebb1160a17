import { describe, expect, test } from 'vitest'
import { SourceError, type SourceErrorCode } from '../../../src/contract/errors.js'
import { Reflector } from '../../../src/reflector/reflector.js'
import { VirtualClock } from '../../../testing/virtual-clock.js'
import { reflect, store } from '../../support/reflectors.js'
import { numbered, put, type Script, type ScriptedSource, scripted } from '../../support/scripted-source.js'

function failure(code: SourceErrorCode, retryAfterMs?: number): SourceError {
  return new SourceError(`it is ${code}`, { code, retryAfterMs })
}

/** A source that lists at once, and records the time of each list and watch. */
function timed(
  clock: { now: () => number },
  script: Script<number> = {},
): ScriptedSource<number> & { opens: number[] } {
  const opens: number[] = []
  const source = scripted<number>({
    onList: (list) => list.answer([put('a', 1)], '5'),
    ...script,
    onWatch: (watch, nth) => {
      if (nth > 1) opens.push(clock.now())
      script.onWatch?.(watch, nth)
    },
  })
  return Object.assign(source, { opens })
}

describe('EPOCH_CHANGED', () => {
  test('[C8] the next list trusts no version: a list with an older version is applied', async () => {
    const source = scripted<number>({
      hasReached: numbered,
      onList: (list, nth) => list.answer([put('a', nth)], nth === 1 ? 'a9' : 'b2'),
      onWatch: (watch, nth) => nth === 1 && watch.fail(failure('EPOCH_CHANGED')),
    })
    const { sink, objects } = store<number>()
    const { clock, reflector } = await reflect(source, sink)
    await clock.advance(2_000)
    expect(objects()).toEqual({ a: 2 })
    expect(reflector.state.relists).toBe(1)
    expect(reflector.state).not.toHaveProperty('ignoreVersions')
  })

  test('the next list compares objects by their content and not by version', async () => {
    const source = scripted<number>({
      hasReached: numbered,
      onList: (list, nth) => list.answer([put('a', nth, '1')], nth === 1 ? 'a9' : 'b2'),
      onWatch: (watch, nth) => nth === 1 && watch.fail(failure('EPOCH_CHANGED')),
    })
    const { sink, objects } = store<number>()
    const { clock } = await reflect(source, sink)
    await clock.advance(2_000)
    expect(objects()).toEqual({ a: 2 })
  })

  test('[C15] a batch of another epoch has the effect of EPOCH_CHANGED', async () => {
    const source = scripted<number>({
      hasReached: numbered,
      onList: (list, nth) => list.answer([put('a', nth)], nth === 1 ? 'a9' : 'b2'),
      onWatch: (watch, nth) => nth === 1 && watch.batch([put('a', 7)], 'b1'),
    })
    const { sink, objects } = store<number>()
    const { clock, errors } = await reflect(source, sink)
    expect(objects()).toEqual({ a: 1 })
    await clock.advance(2_000)
    expect(objects()).toEqual({ a: 2 })
    expect(errors).toMatchObject([{ code: 'EPOCH_CHANGED' }])
  })

  test('[C15] if only the last page of a list reveals another epoch, the list is abandoned and read again', async () => {
    const source = scripted<number>({
      hasReached: numbered,
      onList: (list, nth) => list.answer([put('a', nth, '1')], nth === 1 ? 'a9' : 'b2'),
      onWatch: (watch, nth) => nth === 1 && watch.fail(failure('VERSION_EXPIRED')),
    })
    const { sink, objects } = store<number>()
    const { clock, errors } = await reflect(source, sink)
    await clock.advance(1_600)
    expect([source.lists.length, objects()]).toEqual([2, { a: 1 }])
    await clock.advance(4_000)
    expect([source.lists.length, objects()]).toEqual([3, { a: 3 }])
    expect(errors.map(({ code }) => code)).toEqual(['VERSION_EXPIRED', 'EPOCH_CHANGED'])
  })

  test.each([
    { how: 'with hasReached', script: { hasReached: numbered } },
    { how: 'without hasReached', script: {} },
  ])('[C16] a relist after VERSION_EXPIRED compares objects by content, $how', async ({ script }) => {
    const source = scripted<number>({
      ...script,
      onList: (list, nth) => list.answer([put('a', nth, '1')], '5'),
      onWatch: (watch, nth) => nth === 1 && watch.fail(failure('VERSION_EXPIRED')),
    })
    const { sink, objects } = store<number>()
    const { clock } = await reflect(source, sink)
    await clock.advance(2_000)
    expect(objects()).toEqual({ a: 2 })
  })
})

describe('errors with and without a relist', () => {
  test.each(['UNAVAILABLE', 'TIMEOUT', 'DECODE', 'UNAUTHORIZED', 'NOT_FOUND', 'PROTOCOL'] as const)(
    'a watch that breaks with %s is resumed from its version',
    async (code) => {
      const source = scripted<number>({
        onList: (list) => list.answer([], '5'),
        onWatch: (watch, nth) => nth === 1 && watch.fail(failure(code)),
      })
      const { clock } = await reflect(source, store<number>().sink)
      await clock.advance(31_000)
      expect([source.lists.length, source.watches[1]?.context.after]).toEqual([1, '5'])
    },
  )

  test.each(['VERSION_EXPIRED', 'EPOCH_CHANGED', 'STALE_LIST'] as const)('%s causes one relist', async (code) => {
    const source = scripted<number>({
      onList: (list) => list.answer([], '5'),
      onWatch: (watch, nth) => nth === 1 && watch.fail(failure(code)),
    })
    const { clock } = await reflect(source, store<number>().sink)
    await clock.advance(20_000)
    expect([source.lists.length, source.watches.length]).toEqual([2, 2])
  })

  test('an error that is not a SourceError counts as UNAVAILABLE', async () => {
    const source = scripted<number>({
      onList: (list) => list.answer([], '5'),
      onWatch: (watch, nth) => nth === 1 && watch.fail('a string'),
    })
    const { clock, errors } = await reflect(source, store<number>().sink)
    await clock.advance(2_000)
    expect([source.lists.length, source.watches.length]).toEqual([1, 2])
    expect(errors).toMatchObject([{ code: 'UNAVAILABLE', cause: 'a string' }])
  })
})

describe('silence', () => {
  test.each([
    [undefined, 25_000],
    [1_000, 7_000],
    [60_000, 125_000],
  ])('[C1] with a heartbeat of %s ms a watch may be silent for %i ms', async (heartbeatMs, idleMs) => {
    const source = scripted<number>({
      ...(heartbeatMs === undefined ? {} : { heartbeatMs }),
      onList: (list) => list.answer([], '5'),
    })
    const { clock, errors } = await reflect(source, store<number>().sink)
    await clock.advance(idleMs - 1)
    expect(errors).toEqual([])
    await clock.advance(1)
    expect(errors).toMatchObject([{ code: 'UNAVAILABLE', phase: 'watch' }])
    expect(errors[0]?.message).toContain(`no data for ${idleMs / 1_000} s; reconnecting in 0.`)
  })

  test('each batch restarts the limit of silence, also a bookmark', async () => {
    const source = scripted<number>({ onList: (list) => list.answer([], '5') })
    const { clock, errors } = await reflect(source, store<number>().sink)
    for (let i = 0; i < 5; i++) {
      await clock.advance(24_999)
      source.watches[0]?.batch([], '6')
    }
    await clock.advance(0)
    expect([errors, source.watches.length]).toEqual([[], 1])
  })

  test('a batch of a watch that was abandoned because of its silence is ignored', async () => {
    const source = scripted<number>({ onList: (list) => list.answer([put('a', 1)], '5') })
    const { sink, objects } = store<number>()
    const { clock } = await reflect(source, sink)
    await clock.advance(25_000)
    source.watches[0]?.batch([put('a', 66)], '66')
    await clock.advance(2_000)
    expect(objects()).toEqual({ a: 1 })
    expect(source.watches[1]?.context.after).toBe('5')
  })

  // A laptop sleeps for 8 h, and the system clock jumps.
  test('[B31] a sleep of 8 h of the machine causes one error and one reconnect', async () => {
    const virtual = new VirtualClock()
    let slept = 0
    const clock = {
      now: () => virtual.now() + slept,
      sleep: (ms: number, signal?: AbortSignal) => virtual.sleep(ms, signal),
    }
    const source = scripted<number>({
      onList: (list) => list.answer([], '5'),
      onWatch: (watch) => watch.batch([], '5'),
    })
    const control = new AbortController()
    const errors: SourceError[] = []
    const hooks = { onError: (error: SourceError) => errors.push(error) }
    const running = new Reflector(source, store<number>().sink, { clock }, hooks).run({ signal: control.signal })
    await virtual.advance(10_000)
    slept = 8 * 3_600_000
    await virtual.advance(20_000)
    expect([source.watches.length, errors.length]).toEqual([2, 1])
    control.abort()
    await running
  })
})

describe('a source that misbehaves', () => {
  test('a source that throws synchronously in list is retried', async () => {
    const source = scripted<number>({
      onList: (list, nth) => {
        if (nth === 1) throw new Error('no connection')
        list.answer([], '5')
      },
    })
    const { clock, errors, reflector } = await reflect(source, store<number>().sink)
    expect(errors).toMatchObject([{ code: 'UNAVAILABLE', phase: 'list' }])
    await clock.advance(1_000)
    expect(reflector.state.name).toBe('connecting')
  })

  test('a source that throws synchronously in watch is retried', async () => {
    const source = scripted<number>({
      onList: (list) => list.answer([], '5'),
      onWatch: (_watch, nth) => {
        if (nth === 1) throw new Error('no connection')
      },
    })
    const { clock, errors, reflector } = await reflect(source, store<number>().sink)
    expect(errors).toMatchObject([{ code: 'UNAVAILABLE', phase: 'watch' }])
    await clock.advance(1_000)
    expect(reflector.state).toMatchObject({ name: 'connecting', reconnects: 1 })
  })

  test('a source whose watch is not an async iterable is reported as PROTOCOL', async () => {
    const source = { ...scripted<number>({ onList: (list) => list.answer([], '5') }), watch: () => 5 }
    const running = await reflect(source as never, store<number>().sink)
    expect(running.errors).toMatchObject([{ code: 'PROTOCOL' }])
    expect(running.errors[0]?.message).toContain(
      'watch did not return an async iterable; it must be an async generator',
    )
  })

  test('the error about a list that is a promise of an array names the required type', async () => {
    const source = { ...scripted<number>(), list: async () => [] }
    const running = await reflect(source as never, store<number>().sink)
    expect(running.errors[0]?.message).toContain('list did not return an async iterable; it must be an async generator')
  })

  test('[B25] a watch that ends at once repeatedly is opened after growing delays, with the reason `unstable`', async () => {
    const clock = new VirtualClock()
    const source = timed(clock, {
      onWatch: (watch) => {
        watch.batch([], '5')
        watch.end()
      },
    })
    const control = new AbortController()
    const reasons = new Set<string>()
    const reflector = new Reflector<number>(
      source,
      store<number>().sink,
      { clock, random: { next: () => 0.999_999 } },
      { onStateChange: ({ name, reason }) => name === 'backing-off' && reasons.add(reason) },
    )
    const begun = clock.now()
    const running = reflector.run({ signal: control.signal })
    await clock.advance(150_000)
    const gaps = source.opens.map((at, i) => Math.round((at - (source.opens[i - 1] ?? begun)) / 100) / 10)
    expect(gaps).toEqual([0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30, 30, 30])
    expect([...reasons]).toEqual(['unstable: the watch ended after 0 ms'])
    control.abort()
    await running
  })

  test('a list that fails at once repeatedly is opened after growing delays', async () => {
    const clock = new VirtualClock()
    const opens: number[] = []
    const source = scripted<number>({
      onList: (list) => {
        opens.push(clock.now())
        list.fail(new Error('no'))
      },
    })
    const control = new AbortController()
    const running = new Reflector(source, store<number>().sink, { clock, random: { next: () => 0 } }).run({
      signal: control.signal,
    })
    await clock.advance(120_000)
    const gaps = opens.slice(1).map((at, i) => at - (opens[i] ?? 0))
    expect(gaps).toEqual([400, 800, 1_600, 3_200, 6_400, 12_800, 15_000, 15_000, 15_000, 15_000, 15_000, 15_000])
    control.abort()
    await running
  })

  test('a watch that is live for a minute between its breaks is reopened within 0.8 s', async () => {
    const source = scripted<number>({
      onList: (list) => list.answer([], '5'),
      onWatch: (watch) => watch.batch([], '5'),
    })
    const { clock } = await reflect(source, store<number>().sink)
    for (let i = 1; i <= 5; i++) {
      for (let beats = 0; beats < 6; beats++) {
        await clock.advance(10_000)
        source.watches.at(-1)?.batch([], '5')
      }
      await clock.advance(0)
      source.watches.at(-1)?.fail(new Error('gone'))
      await clock.advance(800)
      expect(source.watches).toHaveLength(i + 1)
    }
  })

  test('a source that ignores its abort signal delays no relist and no stop', async () => {
    const source = scripted<number>({ onList: (list) => list.answer([], '5') })
    const { clock, reflector, stop } = await reflect(source, store<number>().sink)
    reflector.relist('wanted')
    await clock.advance(1_000)
    expect([source.lists.length, source.watches.length]).toEqual([2, 2])
    expect(source.watches[0]?.context.signal.aborted).toBe(true)
    await stop()
  })
})

describe('retryAfterMs', () => {
  test.each([
    [7_000, 7_000],
    [0, 800],
    [Number.NaN, 800],
    [undefined, 800],
  ])('after an error with retryAfterMs %s the list is opened again within %i ms', async (retryAfterMs, withinMs) => {
    const source = scripted<number>({
      onList: (list, nth) => nth === 1 && list.fail(failure('UNAVAILABLE', retryAfterMs)),
    })
    const { clock } = await reflect(source, store<number>().sink)
    await clock.advance(withinMs - 401)
    expect(source.lists).toHaveLength(1)
    await clock.advance(401)
    expect(source.lists).toHaveLength(2)
  })

  test('an infinite retryAfterMs counts as absent', async () => {
    const source = scripted<number>({
      onList: (list, nth) => nth === 1 && list.fail(failure('UNAVAILABLE', Number.POSITIVE_INFINITY)),
    })
    const { clock } = await reflect(source, store<number>().sink)
    await clock.advance(800)
    expect(source.lists).toHaveLength(2)
  })
})

describe('failed', () => {
  test.each(['UNAUTHORIZED', 'NOT_FOUND', 'PROTOCOL'] as const)(
    '%s is retried soon at first, then every 15 to 30 s without a limit',
    async (code) => {
      const opens: number[] = []
      let now = (): number => 0
      const source = scripted<number>({
        onList: (list) => {
          opens.push(now())
          list.fail(failure(code))
        },
      })
      const running = await reflect(source, store<number>().sink)
      now = () => running.clock.now()
      opens[0] = running.clock.now()
      await running.clock.advance(300_000)
      const gaps = opens.slice(1).map((at, i) => at - (opens[i] ?? 0))
      expect(gaps.length).toBeGreaterThanOrEqual(10)
      expect(gaps[0]).toBeLessThan(800)
      expect(gaps.slice(6).filter((gap) => gap < 15_000 || gap >= 30_000)).toEqual([])
      expect(running.reflector.state.name).toBe('failed')
    },
  )

  test('a reflector in the state failed becomes live after access is granted again', async () => {
    const source = scripted<number>({
      onList: (list, nth) => (nth < 3 ? list.fail(failure('UNAUTHORIZED')) : list.answer([put('a', 1)], '5')),
      onWatch: (watch) => watch.batch([], '5'),
    })
    const { sink, objects } = store<number>()
    const { clock, states } = await reflect(source, sink)
    await clock.advance(4_000)
    expect(objects()).toEqual({ a: 1 })
    expect(states).toEqual(['listing', 'failed', 'listing', 'failed', 'listing', 'connecting', 'live'])
  })

  test('in the state failed the objects stay readable, and the watch is resumed from its version', async () => {
    const source = scripted<number>({
      onList: (list) => list.answer([put('a', 1)], '5'),
      onWatch: (watch, nth) => (nth === 1 ? watch.fail(failure('NOT_FOUND')) : watch.batch([put('a', 2)], '6')),
    })
    const { sink, objects } = store<number>()
    const { clock, reflector } = await reflect(source, sink)
    expect([reflector.state.name, objects()]).toEqual(['failed', { a: 1 }])
    await clock.advance(30_000)
    expect([reflector.state.name, objects(), source.lists.length]).toEqual(['live', { a: 2 }, 1])
  })
})

describe('reported errors', () => {
  test('the message names the failed call, the source and the next step', async () => {
    const source = scripted<number>({ onList: (list) => list.answer([], '5') })
    const { clock, errors } = await reflect(source, store<number>().sink)
    source.watches[0]?.fail(failure('VERSION_EXPIRED'))
    await clock.advance(0)
    expect(errors[0]?.message).toMatch(/^watch of scripted failed: it is VERSION_EXPIRED; listing again in 0\.\d s$/)
  })

  test('a reported error keeps code, cause, key and retryAfterMs of the thrown error', async () => {
    const cause = new Error('root')
    const source = scripted<number>({
      onList: (list) => list.fail(new SourceError('no', { code: 'TIMEOUT', cause, retryAfterMs: 7_000, key: 'k' })),
    })
    const { errors, reflector } = await reflect(source, store<number>().sink)
    expect(errors[0]).toMatchObject({ code: 'TIMEOUT', cause, retryAfterMs: 7_000, key: 'k', phase: 'list' })
    expect(reflector.lastError).toBe(errors[0])
  })

  test('each failure is reported once', async () => {
    const source = scripted<number>({
      onList: (list) => list.answer([], '5'),
      onWatch: (watch, nth) => nth < 4 && watch.fail(new Error(`no ${nth}`)),
    })
    const { clock, errors } = await reflect(source, store<number>().sink)
    await clock.advance(20_000)
    expect(errors.map(({ message }) => message.match(/no \d/)?.[0])).toEqual(['no 1', 'no 2', 'no 3'])
  })
})

describe('relist', () => {
  test('relist reads the source again, and then watches from the version of that list', async () => {
    const source = scripted<number>({ onList: (list, nth) => list.answer([put('a', nth)], `${nth}`) })
    const { sink, objects } = store<number>()
    const { clock, reflector } = await reflect(source, sink)
    reflector.relist('wanted')
    await clock.advance(1_000)
    expect(objects()).toEqual({ a: 2 })
    expect(source.watches[1]?.context.after).toBe('2')
    expect(reflector.state.relists).toBe(1)
  })

  test('a relist that is requested during a list is another list after it', async () => {
    const source = scripted<number>({ onList: (list, nth) => nth > 1 && list.answer([put('a', nth)], `${nth}`) })
    const { sink, objects } = store<number>()
    const { clock, reflector } = await reflect(source, sink)
    reflector.relist('wanted')
    source.lists[0]?.answer([put('a', 1)], '1')
    await clock.advance(0)
    expect(objects()).toEqual({ a: 1 })
    await clock.advance(1_000)
    expect(objects()).toEqual({ a: 2 })
    expect(source.watches).toHaveLength(1)
  })

  test('a relist that is requested ten times is one list', async () => {
    const source = scripted<number>({ onList: (list, nth) => list.answer([], `${nth}`) })
    const { clock, reflector } = await reflect(source, store<number>().sink)
    for (let i = 0; i < 10; i++) reflector.relist('wanted')
    await clock.advance(10_000)
    expect(source.lists).toHaveLength(2)
  })
})
