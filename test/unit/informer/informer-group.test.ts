import { getEventListeners } from 'node:events'
import { describe, expect, test } from 'vitest'
import { type MemorySource, memorySource } from '../../../adapters/memory/index.js'
import { SourceError } from '../../../src/contract/errors.js'
import type { ListContext, ListerWatcher } from '../../../src/contract/source.js'
import { createInformer } from '../../../src/informer/create-informer.js'
import { groupInformers } from '../../../src/informer/informer-group.js'
import type { Informer, Lifecycle } from '../../../src/informer/informer-types.js'
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
    const informer = createInformer({ source, clock: this.clock, random: new SeededRandom(1) })
    return informer.on('error', () => {})
  }

  async *#list(memory: MemorySource<number>, context: ListContext): ReturnType<MemorySource<number>['list']> {
    this.running++
    this.lists.push(memory.name)
    this.most = Math.max(this.most, this.running)
    try {
      await context.clock.sleep(1_000, context.signal)
      yield* memory.list(context)
    } finally {
      this.running--
    }
  }
}

function three(slow = new Slow()): { readonly slow: Slow; readonly members: readonly Informer<number>[] } {
  return { slow, members: ['a', 'b', 'c'].map((name) => slow.informer(name)) }
}

describe('a group', () => {
  test('starts, syncs and stops its members together', async () => {
    const { slow, members } = three()
    const group = groupInformers(members)
    const synced = group.start().synced()
    await slow.clock.advance(500)
    expect([await outcomeOf(synced, slow.clock), group.health().isReady, group.health().isLive]).toEqual([
      'pending',
      false,
      true,
    ])
    await slow.clock.advance(500)
    expect([await outcomeOf(synced, slow.clock), group.health().isReady]).toEqual(['resolved', true])
    await assertCleanStop(group, slow.clock)
    expect(members.map(({ status }) => status.state)).toEqual(['stopped', 'stopped', 'stopped'])
    expect(() => group.start()).toThrow('start: the group was stopped')
  })

  test('rejects synced with the error of a member, and is ready only if all members are', async () => {
    const { slow, members } = three()
    const group = groupInformers(members)
    slow.sources[1]?.fail(new SourceError('no such thing', { code: 'NOT_FOUND' }), 100)
    const synced = group.start().synced()
    synced.catch(() => {})
    await slow.clock.advance(1_100)
    expect(await outcomeOf(synced, slow.clock)).toMatchObject({ rejected: { code: 'NOT_FOUND' } })
    expect(group.health()).toMatchObject({
      isLive: true,
      isReady: false,
      reason: expect.stringContaining('no such thing'),
    })
    await assertCleanStop(group, slow.clock)
  })

  test('stops waiting for other members once synced of one rejects', async () => {
    const { slow, members } = three()
    const group = groupInformers(members)
    slow.sources[1]?.fail(new SourceError('no such thing', { code: 'NOT_FOUND' }), 100)
    slow.sources[2]?.fail(new SourceError('not now', { code: 'UNAVAILABLE' }), 100)
    const controller = new AbortController()
    const synced = group.start().synced({ timeoutMs: 3_600_000, signal: controller.signal })
    synced.catch(() => {})
    const waiting = slow.clock.sleeping
    await slow.clock.advance(1_100)
    expect(await outcomeOf(synced, slow.clock)).toMatchObject({ rejected: { code: 'NOT_FOUND' } })
    expect(slow.clock.sleeping).toBeLessThan(waiting)
    expect(getEventListeners(controller.signal, 'abort')).toEqual([])
    await assertCleanStop(group, slow.clock)
  })

  test('aborts the signals of all other waits once synced of one member rejects', async () => {
    const { slow, members } = three()
    const signals: (AbortSignal | undefined)[] = []
    const endless: Lifecycle = {
      start: () => endless,
      synced: ({ signal } = {}) => {
        signals.push(signal)
        return new Promise(() => {})
      },
      health: () => ({ isLive: true, isReady: false, reason: 'none' }),
      stop: async () => {},
      [Symbol.asyncDispose]: async () => {},
    }
    const group = groupInformers([endless, ...members])
    slow.sources[1]?.fail(new SourceError('no such thing', { code: 'NOT_FOUND' }), 100)
    const synced = group.start().synced()
    synced.catch(() => {})
    await slow.clock.advance(50)
    expect(signals.map((signal) => signal?.aborted)).toEqual([false])
    await slow.clock.advance(1_100)
    expect(await outcomeOf(synced, slow.clock)).toMatchObject({ rejected: { code: 'NOT_FOUND' } })
    expect(signals.map((signal) => signal?.aborted)).toEqual([true])
    await assertCleanStop(group, slow.clock)
  })

  test('stops waiting when the signal of synced aborts', async () => {
    const { slow, members } = three()
    const group = groupInformers(members)
    const synced = group.start().synced({ signal: AbortSignal.abort(new Error('enough')) })
    expect(await outcomeOf(synced, slow.clock)).toMatchObject({ rejected: { message: 'enough' } })
    await assertCleanStop(group, slow.clock)
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
    const { slow, members } = three()
    await using group = groupInformers(members)
    group.start()
    await slow.clock.advance(1_000)
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
    const stopped = group.stop({ drainMs: 10_000 })
    await slow.clock.advance(3_000)
    expect([await outcomeOf(stopped, slow.clock), handled]).toEqual(['resolved', 3])
  })

  test('with a stopped member starts no member', async () => {
    const { slow, members } = three()
    const group = groupInformers([...members.slice(0, 1), groupInformers(members.slice(1))])
    await members[2]?.stop()
    expect(() => group.start()).toThrow('start: the informer of c was stopped')
    expect(members.map(({ status }) => status.state)).toEqual(['idle', 'idle', 'stopped'])
    await assertCleanStop(group, slow.clock)
  })

  test('with a stopped inner group starts no member', async () => {
    const { slow, members } = three()
    const inner = groupInformers([])
    const group = groupInformers([...members, inner])
    await inner.stop()
    expect(() => group.start()).toThrow('start: the group was stopped')
    expect(members.map(({ status }) => status.state)).toEqual(['idle', 'idle', 'idle'])
    await assertCleanStop(group, slow.clock)
  })

  test('stop stops all members, also if one of them throws', async () => {
    const { slow, members } = three()
    const broken: Lifecycle = {
      ...groupInformers([]),
      start: () => broken,
      synced: async () => {},
      health: () => ({ isLive: true, isReady: true, reason: 'none' }),
      stop: () => {
        throw new Error('it will not')
      },
      [Symbol.asyncDispose]: async () => {},
    }
    const group = groupInformers([broken, ...members])
    group.start()
    await slow.clock.advance(1_500)
    const stopped = expect(group.stop()).rejects.toThrow('it will not')
    await slow.clock.advance(1_000)
    await stopped
    expect(members.map(({ status }) => status.state)).toEqual(members.map(() => 'stopped'))
  })

  test.each([-1, Number.NaN, '1'])('that rejects stop with drainMs: %j continues as before', async (drainMs) => {
    const { slow, members } = three()
    const group = groupInformers(members)
    await expect(group.stop({ drainMs: drainMs as number })).rejects.toThrow('stop: option "drainMs" must be')
    const synced = group.start().synced()
    await slow.clock.advance(1_000)
    expect(await outcomeOf(synced, slow.clock)).toBe('resolved')
    await assertCleanStop(group, slow.clock)
  })

  test.each<[string, () => Lifecycle, string]>([
    ['a value that is not an array', () => groupInformers({} as never), 'must be an array of informers or groups'],
    ['a value that is not an informer', () => groupInformers([{} as never]), 'informers or groups (wrong: element 0)'],
    [
      'maxRelists: 0',
      () => groupInformers([], { maxRelists: 0 }),
      'option "maxRelists" must be a whole number of at least 1',
    ],
    ['an unknown option', () => groupInformers([], { max: 1 } as never), 'unknown option "max"'],
  ])('with %s is a TypeError', (_what, call, message) => {
    expect(call).toThrow(message)
  })
})

describe('maxRelists', () => {
  async function relisting(maxRelists: number | undefined): Promise<Slow> {
    const { slow, members } = three()
    const group = groupInformers(members, { maxRelists })
    group.start()
    await slow.clock.advance(1_000)
    expect(slow.most, 'first lists are not held back').toBe(3)
    slow.most = 0
    for (const source of slow.sources) {
      source.put('x', 1)
      source.compact()
      source.disconnect()
    }
    await slow.clock.advance(20_000)
    expect(members.map(({ status }) => [status.state, status.relists])).toEqual(members.map(() => ['live', 1]))
    await assertCleanStop(group, slow.clock)
    return slow
  }

  test.each([1, 2])('[G1] at most %d members relist at a time', async (max) => {
    expect((await relisting(max)).most).toBe(max)
  })

  test('without maxRelists all members relist at a time', async () => {
    expect((await relisting(undefined)).most).toBe(3)
  })

  test('[G5] a member that waits for a slot stops at once', async () => {
    const { slow, members } = three()
    const group = groupInformers(members, { maxRelists: 1 })
    group.start()
    await slow.clock.advance(1_000)
    for (const member of members) void member.relist().catch(() => {})
    await slow.clock.advance(1_500)
    const stopped = members[2]?.stop()
    expect(stopped && (await outcomeOf(stopped, slow.clock))).toBe('resolved')
    await slow.clock.advance(10_000)
    expect(members.map(({ status }) => status.state)).toEqual(['live', 'live', 'stopped'])
    await assertCleanStop(group, slow.clock)
  })

  test('a member that is stopped as it gets its slot lists nothing', async () => {
    const { slow, members } = three()
    const group = groupInformers(members.slice(0, 2), { maxRelists: 1 })
    group.start()
    await slow.clock.advance(1_000)
    slow.lists.length = 0
    for (const [nth, member] of members.slice(0, 2).entries()) {
      member.on('status', ({ state }, { state: previous }) => {
        if (previous === 'relisting' && state === 'connecting') void members[1 - nth]?.stop()
      })
      void member.relist().catch(() => {})
    }
    await slow.clock.advance(10_000)
    expect(slow.lists.length).toBe(1)
    await assertCleanStop(group, slow.clock)
  })

  test('[G2] a relist that is requested while the member waits for a slot joins the waiting relist', async () => {
    const { slow, members } = three()
    const group = groupInformers(members.slice(0, 2), { maxRelists: 1 })
    group.start()
    await slow.clock.advance(1_000)
    slow.lists.length = 0
    for (const member of members.slice(0, 2)) void member.relist().catch(() => {})
    await slow.clock.advance(500)
    expect(members.slice(0, 2).map(({ status }) => status.state)).toEqual(['relisting', 'relisting'])
    const [first] = slow.lists
    const waiting = members[first === 'a' ? 1 : 0]
    const relisted = waiting?.relist()
    await slow.clock.advance(30_000)
    expect(relisted && (await outcomeOf(relisted, slow.clock))).toBe('resolved')
    expect(slow.lists).toEqual(first === 'a' ? ['a', 'b'] : ['b', 'a'])
    await assertCleanStop(group, slow.clock)
  })

  test('a relist that fails releases its slot', async () => {
    const { slow, members } = three()
    const group = groupInformers(members, { maxRelists: 1 })
    group.start()
    await slow.clock.advance(1_000)
    for (const source of slow.sources) source.fail(new SourceError('not now', { code: 'UNAVAILABLE' }))
    for (const member of members) void member.relist().catch(() => {})
    await slow.clock.advance(30_000)
    expect([slow.most > 0, members.every(({ status }) => status.relists > 0 && status.state === 'live')]).toEqual([
      true,
      true,
    ])
    await assertCleanStop(group, slow.clock)
  })
})
