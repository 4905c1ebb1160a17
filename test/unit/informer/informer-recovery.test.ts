import { expect, onTestFinished, test, vi } from 'vitest'
import { Fold } from '../../support/fold.js'
import { informerOf, mirrorOf, type World } from '../../support/informers.js'
import { running } from '../../support/running.js'
import { numbered, put, scripted } from '../../support/scripted-source.js'

const held = ({ informer }: World<number, object, unknown>) => Object.fromEntries(informer.entries())

async function started(...entries: (readonly [string, number])[]) {
  const world = mirrorOf<number, object>(entries)
  const fold = new Fold<number>()
  world.informer.subscribe(fold.handlers)
  return { ...(await running(world)), fold }
}

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
