import { describe, expect, test, vi } from 'vitest'
import { memorySource } from '../../../adapters/memory/index.js'
import { type Change, type Informer, SourceError } from '../../../src/index.js'
import { Partition } from '../../../src/store/write/partition.js'
import { informerOf, mirrorOf, outcomeOf } from '../../support/informers.js'
import { heard, running, setOf } from '../../support/running.js'
import { numbered, put, scripted } from '../../support/scripted-source.js'

const REVOKED = new SourceError('permission denied', { code: 'UNAUTHORIZED' })
const ENTRIES = Object.entries({ a: 1, b: 2 })

const telling = (informer: Informer<number>): string[] =>
  heard(
    informer,
    (change) =>
      `${change.type} ${change.key} ${change.origin}${change.type === 'delete' ? ` ${change.finalState}` : ''}`,
  )

/** A mirror that is live, and then refused `times` times. */
async function refused(onAccessLost: 'keep' | 'clear' | undefined, times = 1) {
  const world = mirrorOf(ENTRIES, onAccessLost === undefined ? {} : { onAccessLost })
  const told = telling(world.informer)
  await world.informer.start().synced()
  await world.clock.advance(0)
  world.source.fail(REVOKED, times)
  world.source.disconnect()
  await world.clock.advance(250)
  expect(world.informer.status.state).toBe('failed')
  return { ...world, told }
}

describe('a list or a watch that is refused with UNAUTHORIZED', () => {
  test.each(['keep', undefined] as const)('[C24] with onAccessLost %s keeps objects, and resumes', async (by) => {
    const { clock, informer, told } = await refused(by)
    expect([informer.size, informer.health().isReady]).toEqual([2, true])
    await clock.advance(30_000)
    expect([informer.status.state, informer.status.relists]).toEqual(['live', 0])
    expect(told).toEqual(['add a initial', 'add b initial'])
  })

  test('[C25][C26][C27] with onAccessLost clear empties the store once, however often the list is refused, and lists again', async () => {
    const { clock, source, informer, errors, told } = await refused('clear', 6)
    expect(errors.at(-1)?.message).toMatch(/^watch of memory failed: permission denied; listing again in /)
    expect([informer.size, informer.version, informer.list()]).toEqual([0, undefined, []])
    expect(told.slice(2)).toEqual(['delete a access-lost unknown', 'delete b access-lost unknown'])
    const reason = 'failed: permission denied; access to memory was lost, and its objects were deleted'
    expect(informer.health()).toEqual({ isLive: true, isReady: false, reason })
    source.delete('b')
    await clock.advance(30_000)
    expect([informer.status.state, informer.size, told.length]).toEqual(['failed', 0, 4])
    await clock.advance(240_000)
    expect([informer.status.state, informer.get('a'), told.slice(4)]).toEqual(['live', 1, ['add a relist']])
    expect([informer.version, informer.health().isReady]).toEqual([await source.head(), true])
  })

  test('[C26] with onAccessLost clear lets waits wait for the next list', async () => {
    const { clock, source, informer } = await refused('clear', 2)
    const subscription = informer.subscribe({})
    const version = await source.head()
    const waits = [informer.waitFor(version), informer.fresh(), informer.relist(), subscription.waitFor(version)]
    for (const wait of waits) expect(await outcomeOf(wait, clock)).toBe('pending')
    await clock.advance(60_000)
    for (const wait of waits) expect(await outcomeOf(wait, clock)).toBe('resolved')
    expect(informer.size).toBe(2)
  })

  test('[C25] with onAccessLost clear deletes the objects at the next refusal, if the deletion failed before', async () => {
    using _ = vi.spyOn(Partition.prototype, 'clear').mockImplementationOnce(() => {
      throw new Error('a defect')
    })
    const { clock, informer, told } = await refused('clear', 2)
    expect(informer.size).toBe(2)
    await clock.advance(30_000)
    expect(told.slice(2, 4)).toEqual(['delete a access-lost unknown', 'delete b access-lost unknown'])
  })

  test('with onAccessLost clear forgets what was invalid', async () => {
    const { clock, source, informer } = await running(mirrorOf(ENTRIES, { onAccessLost: 'clear' }))
    source.corrupt('a', new Error('it does not decode'))
    await clock.advance(0)
    expect([...informer.invalid.keys()]).toEqual(['a'])
    source.fail(REVOKED)
    source.disconnect()
    await clock.advance(250)
    expect([informer.invalid.size, informer.size]).toEqual([0, 0])
  })

  test.each(['UNAVAILABLE', 'NOT_FOUND', 'PROTOCOL'] as const)('with %s clears nothing', async (code) => {
    const { clock, source, informer } = await running(mirrorOf(ENTRIES, { onAccessLost: 'clear' }))
    source.fail(new SourceError('not now', { code }))
    source.disconnect()
    await clock.advance(1_000)
    expect([informer.size, informer.health().isReady]).toEqual([2, true])
  })
})

test('[C25] over several sources onAccessLost clears the objects of the one that refuses', async () => {
  const eu = memorySource<number>({ name: 'eu', entries: ENTRIES })
  const us = memorySource<number>({ name: 'us', entries: [['c', 3]] })
  const { clock, informer } = setOf({ eu, us }, { onAccessLost: 'clear' })
  await running({ clock, informer })
  const subscription = informer.subscribe({})
  eu.fail(REVOKED)
  eu.disconnect()
  await clock.advance(250)
  expect([[...informer.keys()], [...informer.versions.keys()]]).toEqual([['c'], ['us']])
  expect(informer.health()).toMatchObject({ isReady: false, reason: expect.stringContaining('access to eu was lost') })
  const waits = [eu, us].map(async (each) => subscription.waitFor(await each.head(), { source: each.name }))
  expect(await Promise.all(waits.map((wait) => outcomeOf(wait, clock)))).toEqual(['pending', 'resolved'])
  await clock.advance(30_000)
  expect(await Promise.all(waits.map((wait) => outcomeOf(wait, clock)))).toEqual(['resolved', 'resolved'])
  expect([[...informer.keys()].sort(), informer.health().isReady]).toEqual([['a', 'b', 'c'], true])
})

test('[M5] over several sources synced waits for the next list of a source whose access was lost before the others were listed', async () => {
  const eu = memorySource<number>({ name: 'eu', entries: ENTRIES })
  const us = scripted<number>()
  const { clock, informer } = setOf({ eu, us }, { onAccessLost: 'clear' })
  await running({ clock, informer })
  eu.fail(REVOKED)
  eu.disconnect()
  await clock.advance(250)
  us.lists[0]?.answer([put('c', 3)], '1')
  await clock.advance(0)
  const until = informer.until('a', () => true)
  expect(await outcomeOf(until, clock)).toBe('pending')
  await clock.advance(30_000)
  await informer.synced()
  expect([await until, [...informer.keys()].sort()]).toEqual([1, ['a', 'b', 'c']])
})

test('[M10] over several sources a wait of a subscription waits for the next list if access was lost before it was notified', async () => {
  const eu = memorySource<number>({ name: 'eu', entries: ENTRIES })
  const us = memorySource<number>({ name: 'us' })
  const { clock, informer } = setOf({ eu, us }, { onAccessLost: 'clear' })
  await informer.start().synced()
  const told = new Map<string, number>()
  const slow = ({ key, object }: Change<number>): Promise<void> => {
    told.set(key, object)
    return clock.sleep(500)
  }
  const subscription = informer.subscribe({ add: slow, delete: ({ key }) => told.delete(key) }, { delivery: 'latest' })
  await clock.advance(0)
  const wait = subscription.waitFor(eu.put('c', 3), { source: 'eu' })
  await clock.advance(0)
  expect(informer.get('c')).toBe(3)
  eu.fail(REVOKED, 2)
  eu.disconnect()
  await clock.advance(1_100)
  expect([informer.size, told.size, await outcomeOf(wait, clock)]).toEqual([0, 0, 'pending'])
  await clock.advance(30_000)
  expect([told.get('c'), await outcomeOf(wait, clock)]).toEqual([3, 'resolved'])
})

test('[C26] after access was lost, EPOCH_CHANGED of the next list rejects waits for marks of the history that is over', async () => {
  const source = scripted<number>({
    hasReached: numbered,
    onList: (list, nth) => {
      if (nth === 1) list.answer([], '5')
      else if (nth === 2) list.fail(new SourceError('restored', { code: 'EPOCH_CHANGED' }))
      else list.answer([], '9')
    },
  })
  const { clock, informer } = informerOf(source, { onAccessLost: 'clear' })
  const subscription = informer.start().subscribe({})
  await clock.advance(0)
  const waits = [informer.waitFor('8'), subscription.waitFor('8')]
  const outcomes = waits.map((wait) => outcomeOf(wait, clock))
  source.watches[0]?.fail(REVOKED)
  await clock.advance(30_000)
  expect(source.lists.length).toBe(3)
  for (const outcome of await Promise.all(outcomes)) expect(outcome).toBe('pending')
  for (const wait of waits) await expect(wait).rejects.toMatchObject({ code: 'EPOCH_CHANGED' })
})
