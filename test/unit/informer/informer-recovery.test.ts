import { expect, onTestFinished, test, vi } from 'vitest'
import type { MemorySource } from '../../../adapters/memory/index.js'
import { SourceError } from '../../../src/contract/errors.js'
import { Fold } from '../../support/fold.js'
import { informerOf, mirrorOf, type World } from '../../support/informers.js'
import { ordered, running } from '../../support/running.js'
import { numbered, put, scripted } from '../../support/scripted-source.js'

const held = ({ informer }: World<number, object, unknown>) => Object.fromEntries(informer.entries())

async function started(...entries: (readonly [string, number])[]) {
  const world = mirrorOf<number, object>(entries)
  const fold = new Fold<number>()
  world.informer.subscribe(fold.handlers)
  return { ...(await running(world)), fold }
}

// I1: after the last fault and the last write the store, the fold and the version equal the source.
test.each<[string, (source: MemorySource<number>) => void, { relists: number }]>([
  ['a break', (source) => source.disconnect(), { relists: 0 }],
  ['a half-open connection', (source) => source.stall(), { relists: 0 }],
  [
    'an expiry',
    (source) => {
      source.disconnect()
      source.put('x', 1)
      source.delete('x')
      source.compact()
    },
    { relists: 1 },
  ],
  ['a restored backup', (source) => void source.restore([['old', 1]]), { relists: 1 }],
  [
    'five refused connections',
    (source) => {
      source.disconnect()
      source.fail(new SourceError('refused', { code: 'UNAVAILABLE' }), 5)
    },
    { relists: 0 },
  ],
  [
    'access that was revoked and granted again',
    (source) => {
      source.disconnect()
      source.fail(new SourceError('no', { code: 'UNAUTHORIZED' }), 2)
    },
    { relists: 0 },
  ],
])('[I1] convergence after %s', async (_fault, strike, counts) => {
  const world = await started(['a', 1], ['b', 2])
  const { clock, source, informer, fold } = world
  strike(source)
  source.put('a', 5)
  source.delete('b')
  source.put('c', 6)
  await clock.advance(120_000)
  const expected = informer.has('old') ? { old: 1, a: 5, c: 6 } : { a: 5, c: 6 }
  expect(held(world)).toEqual(expected)
  expect(Object.fromEntries(fold.objects)).toEqual(expected)
  expect(informer.version).toBe(await source.head())
  expect(informer.status).toMatchObject({ state: 'live', ...counts })
})

test('[I6] a put that is older than a delete is not applied', async () => {
  const { clock, source, informer } = await running(informerOf(ordered([put('a', 1)], '5')))
  source.watches[0]?.batch([{ type: 'delete', key: 'a' }], '9')
  source.watches[0]?.batch([put('a', 1)], '7')
  await clock.advance(0)
  expect([informer.has('a'), informer.version]).toEqual([false, '9'])
})

test('[I7] at each bookmark the store, and a subscription that reports it, equal the source', async () => {
  const { clock, source, informer, fold } = await started(['a', 1])
  const subscription = informer.subscribe({ add: () => clock.sleep(7), update: () => clock.sleep(7) })
  const history = new Map<string, Record<string, number>>()
  for (let i = 0; i < 40; i++) {
    history.set(source.put(`k${i % 4}`, i), {})
    await clock.advance(3)
    if (informer.version === (await source.head())) expect(fold.objects.get(`k${i % 4}`)).toBe(i)
    const handled = subscription.version
    const stored = informer.version
    if (handled !== undefined && stored !== undefined) expect(source.hasReached(stored, handled)).toBe(true)
  }
  await clock.advance(1_000)
  expect(subscription.version).toBe(await source.head())
})

test('[I11] a list that is older than the shown state is refused, and the shown state stays readable', async () => {
  const source = scripted<number>({
    hasReached: numbered,
    onList: (list, nth) => list.answer([put('a', nth)], nth === 1 ? '9' : '4'),
  })
  const { clock, informer, errors } = await running(informerOf(source))
  const relisted = informer.relist({ timeoutMs: 120_000 })
  const late = expect(relisted).rejects.toMatchObject({ code: 'TIMEOUT' })
  await clock.advance(120_000)
  await late
  expect([informer.get('a'), informer.version]).toEqual([1, '9'])
  expect(new Set(errors.map(({ code }) => code))).toEqual(new Set(['STALE_LIST']))
  expect(informer.status.reason).toMatch(/^behind: /)
})

test('[I3][I10] the states of a key come in the order in which the source had them, and the version never goes back', async () => {
  const { clock, source, informer, fold } = await started()
  let last = informer.version ?? ''
  for (let i = 1; i <= 200; i++) {
    source.put('a', i)
    if (i % 9 === 0) source.disconnect()
    if (i % 30 === 0) source.compact()
    if (i % 67 === 0) source.stall()
    await clock.advance(i % 4 === 0 ? 900 : 1)
    const now = informer.version ?? ''
    expect(source.hasReached(now, last)).toBe(true)
    last = now
  }
  await clock.advance(60_000)
  const seen = fold.changes.map(({ object }) => object)
  expect(seen).toEqual(seen.toSorted((a, b) => a - b))
  expect(new Set(seen).size).toBe(seen.length)
  expect(seen.at(-1)).toBe(200)
})

test('[B31] a jump of the system clock does not matter', async () => {
  vi.useFakeTimers({ toFake: ['Date'] })
  onTestFinished(() => void vi.useRealTimers())
  const { clock, source, informer, errors } = await started(['a', 1])
  vi.setSystemTime(Date.UTC(2001, 0, 1))
  source.put('a', 2)
  await clock.advance(1_000)
  vi.setSystemTime(Date.UTC(2099, 0, 1))
  await clock.advance(60_000)
  const { state, silentMs } = informer.status
  expect([informer.get('a'), state, silentMs <= 10_000, errors]).toEqual([2, 'live', true, []])
})

test('[B23] an empty list after a list of many objects is applied', async () => {
  const world = await started(['a', 1], ['b', 2])
  const { clock, source, fold } = world
  source.disconnect()
  source.delete('a')
  source.delete('b')
  source.compact()
  await clock.advance(5_000)
  expect([held(world), fold.objects.size]).toEqual([{}, 0])
})

test('[R16] after an hour of flapping there was never more than one open a second', async () => {
  const { clock, source, informer } = await started(['a', 1])
  for (let i = 0; i < 3_600; i++) {
    source.disconnect()
    await clock.advance(1_000)
  }
  expect(informer.status.reconnects).toBeLessThan(400)
  expect(informer.status.relists).toBe(0)
})
