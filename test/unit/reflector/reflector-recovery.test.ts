import { describe, expect, test } from 'vitest'
import { Reflector, SourceError, type SourceErrorCode } from '../../../src/index.js'
import { VirtualClock } from '../../../testing/virtual-clock.js'
import { store } from '../../support/reflectors.js'
import { listed, reflected } from '../../support/running.js'
import { numbered, put, type ScriptedSource, scripted } from '../../support/scripted-source.js'

const failure = (code: SourceErrorCode): SourceError => new SourceError(`it is ${code}`, { code })

describe('EPOCH_CHANGED', () => {
  test('[C8] the next list trusts no version: a list with an older version is applied', async () => {
    const source = scripted<number>({
      hasReached: numbered,
      onList: (list, nth) => list.answer([put('a', nth)], nth === 1 ? 'a9' : 'b2'),
      onWatch: (watch, nth) => nth === 1 && watch.fail(failure('EPOCH_CHANGED')),
    })
    const { objects, clock, reflector } = await reflected(source)
    await clock.advance(2_000)
    expect([objects(), reflector.state.relists]).toEqual([{ a: 2 }, 1])
    expect(reflector.state).not.toHaveProperty('ignoreVersions')
  })

  test('[C15] a batch of another epoch has the effect of EPOCH_CHANGED', async () => {
    const source = scripted<number>({
      hasReached: numbered,
      onList: (list, nth) => list.answer([put('a', nth)], nth === 1 ? 'a9' : 'b2'),
      onWatch: (watch, nth) => nth === 1 && watch.batch([put('a', 7)], 'b1'),
    })
    const { objects, clock, errors } = await reflected(source)
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
    const { objects, clock, errors } = await reflected(source)
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
    const { objects, clock } = await reflected(source)
    await clock.advance(2_000)
    expect(objects()).toEqual({ a: 2 })
  })
})

test.each([
  ...(['UNAVAILABLE', 'TIMEOUT', 'DECODE', 'UNAUTHORIZED', 'NOT_FOUND', 'PROTOCOL'] as const).map(
    (code) => [code, 1] as const,
  ),
  ...(['VERSION_EXPIRED', 'EPOCH_CHANGED', 'STALE_LIST'] as const).map((code) => [code, 2] as const),
])('a watch that breaks with %s is resumed from its version after %i lists', async (code, lists) => {
  const source = listed<number>([], '5', { onWatch: (watch, nth) => nth === 1 && watch.fail(failure(code)) })
  const { clock } = await reflected(source)
  await clock.advance(31_000)
  expect([source.lists.length, source.watches[1]?.context.after]).toEqual([lists, '5'])
})

test.each([
  [undefined, 25_000],
  [1_000, 7_000],
  [60_000, 125_000],
])('[C1] with a heartbeat of %s ms a watch may be silent for %i ms', async (heartbeatMs, idleMs) => {
  const { clock, errors } = await reflected(
    listed<number>([], '5', { ...(heartbeatMs === undefined ? {} : { heartbeatMs }) }),
  )
  await clock.advance(idleMs - 1)
  expect(errors).toEqual([])
  await clock.advance(1)
  expect(errors).toMatchObject([{ code: 'UNAVAILABLE', phase: 'watch' }])
  expect(errors[0]?.message).toContain(`no data for ${idleMs / 1_000} s; reconnecting in 0.`)
})

test('each batch restarts the limit of silence, also a bookmark', async () => {
  const { source, clock, errors } = await reflected(listed<number>([], '5'))
  for (let i = 0; i < 5; i++) {
    await clock.advance(24_999)
    source.watches[0]?.batch([], '6')
  }
  await clock.advance(0)
  expect([errors, source.watches.length]).toEqual([[], 1])
})

test('a batch of a watch that was abandoned because of its silence is ignored', async () => {
  const { source, objects, clock } = await reflected(listed<number>([put('a', 1)], '5'))
  await clock.advance(25_000)
  source.watches[0]?.batch([put('a', 66)], '66')
  await clock.advance(2_000)
  expect([objects(), source.watches[1]?.context.after]).toEqual([{ a: 1 }, '5'])
})

// A laptop sleeps for 8 h, and the system clock jumps.
test('[B31] a sleep of 8 h of the machine causes one error and one reconnect', async () => {
  const { source, clock, errors } = await reflected(
    listed<number>([], '5', { onWatch: (watch) => watch.batch([], '5') }),
  )
  const now = clock.now.bind(clock)
  await clock.advance(10_000)
  clock.now = () => now() + 8 * 3_600_000
  await clock.advance(20_000)
  expect([source.watches.length, errors.length]).toEqual([2, 1])
})

test.each(['list', 'watch'] as const)('a source that throws synchronously in %s is retried', async (phase) => {
  const fail = (): never => {
    throw new Error('no connection')
  }
  const source = scripted<number>({
    onList: (list, nth) => (phase === 'list' && nth === 1 ? fail() : list.answer([], '5')),
    onWatch: (_watch, nth) => void (phase === 'watch' && nth === 1 && fail()),
  })
  const { clock, errors, reflector } = await reflected(source)
  expect(errors).toMatchObject([{ code: 'UNAVAILABLE', phase }])
  await clock.advance(1_000)
  expect(reflector.state.name).toBe('connecting')
})

test.each([
  ['list', { list: async () => [] }],
  ['watch', { watch: () => 5 }],
])('a source whose %s is not an async iterable is reported as PROTOCOL', async (call, members) => {
  const { errors } = await reflected({ ...listed<number>([], '5'), ...members } as unknown as ScriptedSource<number>)
  expect(errors).toMatchObject([{ code: 'PROTOCOL' }])
  const reason = `${call} did not return an async iterable; it must be an async generator`
  expect(errors[0]?.message).toContain(reason)
})

test('[B25] a watch that ends at once repeatedly is opened after growing delays, with the reason `unstable`', async () => {
  const clock = new VirtualClock()
  const opens: number[] = []
  const source = listed<number>([], '5', {
    onWatch: (watch) => {
      opens.push(clock.now())
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
  const running = reflector.run({ signal: control.signal })
  await clock.advance(150_000)
  const gaps = opens.slice(1).map((at, i) => Math.round((at - (opens[i] ?? 0)) / 100) / 10)
  expect(gaps).toEqual([0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30, 30, 30])
  expect([...reasons]).toEqual(['unstable: the watch ended after 0 ms'])
  control.abort()
  await running
})

test('a source that ignores its abort signal delays no relist and no stop', async () => {
  const { source, clock, reflector, stop } = await reflected(listed<number>([], '5'))
  reflector.relist('wanted')
  await clock.advance(1_000)
  expect([source.lists.length, source.watches.length]).toEqual([2, 2])
  expect(source.watches[0]?.context.signal.aborted).toBe(true)
  await stop()
})

test('[R5] in the state failed the objects stay readable, and the watch is resumed from its version', async () => {
  const { source, objects, clock, reflector } = await reflected(
    listed([put('a', 1)], '5', {
      onWatch: (watch, nth) => (nth === 1 ? watch.fail(failure('NOT_FOUND')) : watch.batch([put('a', 2)], '6')),
    }),
  )
  expect([reflector.state.name, objects()]).toEqual(['failed', { a: 1 }])
  await clock.advance(30_000)
  expect([reflector.state.name, objects(), source.lists.length]).toEqual(['live', { a: 2 }, 1])
})

test('a reported error names the failed call, the source and the next step, and keeps what the thrown error has', async () => {
  const { source, clock, errors, reflector } = await reflected(listed<number>([], '5'))
  const has = { code: 'TIMEOUT', cause: new Error('root'), retryAfterMs: 7_000, key: 'k' } as const
  source.watches[0]?.fail(new SourceError('too late', has))
  await clock.advance(0)
  expect(errors[0]).toMatchObject({ ...has, phase: 'watch' })
  expect(errors[0]?.message).toBe('watch of scripted failed: too late; reconnecting in 7.0 s')
  expect(reflector.lastError).toBe(errors[0])
})
