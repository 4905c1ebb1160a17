import { getEventListeners } from 'node:events'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type MemorySource, memorySource } from '../../../adapters/memory/index.js'
import { SourceError } from '../../../src/contract/errors.js'
import type { ListContext, ListerWatcher } from '../../../src/contract/source.js'
import { createInformer } from '../../../src/informer/create-informer.js'
import { groupInformers } from '../../../src/informer/informer-group.js'
import type { Informer, Lifecycle } from '../../../src/informer/informer-types.js'
import { RelistLimiter, SLOT_MS } from '../../../src/informer/relist-limiter.js'
import { SeededRandom } from '../../../testing/seeded-random.js'
import { VirtualClock } from '../../../testing/virtual-clock.js'
import { assertCleanStop, outcomeOf } from '../../support/informers.js'

/** Sources whose lists take a second, and the largest number of concurrent lists. */
class Slow {
  readonly clock = new VirtualClock()
  running = 0
  most = 0
  /** The sources that were listed, in order. */
  readonly lists: string[] = []
  readonly sources: MemorySource<number>[] = []

  informer(name: string): Informer<number> {
    const memory = memorySource<number>({ name, entries: [[name, 1]] })
    this.sources.push(memory)
    const list = (context: ListContext): ReturnType<typeof memory.list> => this.#list(memory, context)
    const source: ListerWatcher<number> = { ...memory, name, list, watch: (context) => memory.watch(context) }
    return createInformer({ source, clock: this.clock, random: new SeededRandom(1) }).on('error', () => {})
  }

  async *#list(memory: MemorySource<number>, context: ListContext): ReturnType<MemorySource<number>['list']> {
    this.running++
    this.lists.push(memory.name)
    this.most = Math.max(this.most, this.running)
    using _ = { [Symbol.dispose]: () => this.running-- }
    await context.clock.sleep(1_000, context.signal)
    yield* memory.list(context)
  }
}

type GroupOptions = NonNullable<Parameters<typeof groupInformers>[1]>

/** A group of three members, which is stopped when the test is over. */
function three(options: GroupOptions = {}) {
  const slow = new Slow()
  const members = ['a', 'b', 'c'].map((name) => slow.informer(name))
  const group = groupInformers(members, options)
  onTestFinished(() => assertCleanStop(group, slow.clock))
  return { slow, members, group }
}

async function started(options: GroupOptions = {}) {
  const world = three(options)
  world.group.start()
  await world.slow.clock.advance(1_000)
  world.slow.lists.length = 0
  return world
}

describe('a group', () => {
  test('starts, syncs and stops its members together', async () => {
    const { slow, members, group } = three()
    const synced = group.start().synced()
    await slow.clock.advance(500)
    expect(await outcomeOf(synced, slow.clock)).toBe('pending')
    expect([group.health().isReady, group.health().isLive]).toEqual([false, true])
    await slow.clock.advance(500)
    expect([await outcomeOf(synced, slow.clock), group.health().isReady]).toEqual(['resolved', true])
    await assertCleanStop(group, slow.clock)
    expect(members.map(({ status }) => status.state)).toEqual(['stopped', 'stopped', 'stopped'])
    expect(() => group.start()).toThrow('start: the group was stopped')
  })

  test('rejects synced with the error of a member, and waits for no other member then', async () => {
    const { slow, group } = three()
    slow.sources[1]?.fail(new SourceError('no such thing', { code: 'NOT_FOUND' }), 100)
    slow.sources[2]?.fail(new SourceError('not now', { code: 'UNAVAILABLE' }), 100)
    const controller = new AbortController()
    const synced = group.start().synced({ timeoutMs: 3_600_000, signal: controller.signal })
    synced.catch(() => {})
    const waiting = slow.clock.sleeping
    await slow.clock.advance(1_100)
    expect(await outcomeOf(synced, slow.clock)).toMatchObject({ rejected: { code: 'NOT_FOUND' } })
    const reason = expect.stringContaining('no such thing')
    expect(group.health()).toMatchObject({ isLive: true, isReady: false, reason })
    expect(slow.clock.sleeping).toBeLessThan(waiting)
    expect(getEventListeners(controller.signal, 'abort')).toEqual([])
  })

  test('may contain groups, and may be empty', async () => {
    const { slow, members } = three()
    const group = groupInformers([groupInformers(members), groupInformers([])])
    const synced = group.start().synced()
    await slow.clock.advance(1_000)
    expect(await outcomeOf(synced, slow.clock)).toBe('resolved')
    await assertCleanStop(group, slow.clock)
    expect(groupInformers([]).health()).toEqual({ isLive: true, isReady: true, reason: 'there are no informers' })
  })

  test('passes drainMs to the stop of its members', async () => {
    const { slow, members, group } = await started()
    let handled = 0
    for (const member of members) {
      member.subscribe({
        add: async () => {
          await slow.clock.sleep(3_000)
          handled++
        },
      })
    }
    await slow.clock.advance(0)
    await expect(group.stop({ drainMs: -1 })).rejects.toThrow('stop: option "drainMs" must be')
    const stopped = group.stop({ drainMs: 10_000 })
    await slow.clock.advance(3_000)
    expect([await outcomeOf(stopped, slow.clock), handled]).toEqual(['resolved', 3])
  })

  test('with a stopped member or inner group starts no member', async () => {
    const { slow, members } = three()
    const inner = groupInformers([])
    const groups = [
      groupInformers([...members, inner]),
      groupInformers([members[0] ?? inner, groupInformers(members.slice(1))]),
    ]
    await inner.stop()
    expect(() => groups[0]?.start()).toThrow('start: the group was stopped')
    await members[2]?.stop()
    expect(() => groups[1]?.start()).toThrow('start: the informer of c was stopped')
    expect(members.map(({ status }) => status.state)).toEqual(['idle', 'idle', 'stopped'])
    expect(slow.lists).toEqual([])
  })

  test('stop stops all members, also if one of them throws', async () => {
    const broken = Object.assign(groupInformers([]), {
      stop: () => {
        throw new Error('it will not')
      },
    })
    const slow = new Slow()
    const members = ['a', 'b'].map((name) => slow.informer(name))
    const group = groupInformers([broken, ...members])
    group.start()
    await slow.clock.advance(1_500)
    await Promise.all([expect(group.stop()).rejects.toThrow('it will not'), slow.clock.advance(1_000)])
    expect(members.map(({ status }) => status.state)).toEqual(['stopped', 'stopped'])
  })

  test.each<[string, () => Lifecycle, string]>([
    ['a value that is not an array', () => groupInformers({} as never), 'must be an array of informers or groups'],
    ['a value that is not an informer', () => groupInformers([{} as never]), 'informers or groups (wrong: element 0)'],
    ['maxRelists: 0', () => groupInformers([], { maxRelists: 0 }), '"maxRelists" must be a whole number of at least 1'],
    ['an unknown option', () => groupInformers([], { max: 1 } as never), 'unknown option "max"'],
  ])('with %s is a TypeError', (_what, call, message) => expect(call).toThrow(message))
})

test.each([1, 2, undefined])('[G1] at most maxRelists members relist at a time: %s', async (maxRelists) => {
  const { slow, members } = await started({ maxRelists })
  expect(slow.most, 'first lists are not held back').toBe(3)
  slow.most = 0
  for (const source of slow.sources) {
    source.put('x', 1)
    source.compact()
    source.disconnect()
  }
  await slow.clock.advance(20_000)
  expect(members.map(({ status }) => [status.state, status.relists])).toEqual(members.map(() => ['live', 1]))
  expect(slow.most).toBe(maxRelists ?? 3)
})

test('[G1a] a relist needs a slot of each group of its member', async () => {
  const { slow, members } = await started({ maxRelists: 1 })
  slow.most = 0
  groupInformers([groupInformers(members.slice(0, 2)), ...members], { maxRelists: 1 }) // It has two members twice.
  for (const member of members) void member.relist().catch(() => {})
  await slow.clock.advance(20_000)
  expect([slow.most, slow.lists.toSorted()]).toEqual([1, ['a', 'b', 'c']])
})

test('[G5] a member that waits for a slot stops at once', async () => {
  const { slow, members } = await started({ maxRelists: 1 })
  for (const member of members) void member.relist().catch(() => {})
  await slow.clock.advance(1_500)
  const stopped = members[2]?.stop()
  expect(stopped && (await outcomeOf(stopped, slow.clock))).toBe('resolved')
  await slow.clock.advance(10_000)
  expect(members.map(({ status }) => status.state)).toEqual(['live', 'live', 'stopped'])
})

test('[G2] a relist that is requested while the member waits for a slot joins the waiting relist', async () => {
  const { slow, members } = await started({ maxRelists: 1 })
  for (const member of members) void member.relist().catch(() => {})
  await slow.clock.advance(500)
  expect(members.map(({ status }) => status.state)).toEqual(['relisting', 'relisting', 'relisting'])
  const waiting = members.filter(({ name }) => name !== slow.lists[0])
  const relisted = Promise.all(waiting.map((member) => member.relist()))
  await slow.clock.advance(30_000)
  expect(await outcomeOf(relisted, slow.clock)).toBe('resolved')
  expect(slow.lists.toSorted()).toEqual(['a', 'b', 'c'])
})

test('[G3] the next relist begins if one takes longer than five minutes', async () => {
  const limit = new RelistLimiter(1)
  const clock = new VirtualClock()
  const { signal } = new AbortController()
  const late = await limit.acquire(signal, clock)
  const next = limit.acquire(signal, clock)
  await clock.advance(SLOT_MS - 1)
  expect(await outcomeOf(next, clock)).toBe('pending')
  await clock.advance(1)
  expect(await outcomeOf(next, clock)).toBe('resolved')
  late() // Its slot had expired: this frees no further slot.
  const third = limit.acquire(signal, clock)
  expect(await outcomeOf(third, clock)).toBe('pending')
  for (const acquired of [next, third]) (await acquired)()
  expect(clock.sleeping).toBe(0)
})
