import { expect, onTestFinished, test, vi } from 'vitest'
import { Fold } from '../../support/fold.js'
import { mirrorOf, type World } from '../../support/informers.js'
import { running } from '../../support/running.js'

const held = ({ informer }: World<number, object, unknown>) => Object.fromEntries(informer.entries())

async function started(...entries: (readonly [string, number])[]) {
  const world = mirrorOf<number, object>(entries)
  const fold = new Fold<number>()
  world.informer.subscribe(fold.handlers)
  return { ...(await running(world)), fold }
}

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
