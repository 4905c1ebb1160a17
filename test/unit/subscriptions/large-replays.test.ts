import { describe, expect, test } from 'vitest'
import type { Delete, Put } from '../../../src/adapter.js'
import type { Change, Informer, SubscribeOptions, Subscription } from '../../../src/index.js'
import { outcomeOf } from '../../support/informers.js'
import { put } from '../../support/scripted-source.js'
import { sliceEachStep } from '../../support/slice-clock.js'
import { type Indexes, type Item, item, liveOf } from '../../support/sliced-informers.js'

/** The filter of all subscriptions here. */
const isSmall = ({ n }: Item): boolean => n < 10

type Event = Put<Item> | Delete<Item>

/** A live mirror of a1 b12 c3 d14 e5 at version 1. A replay from more than two objects pauses after each object. */
async function live() {
  const first = [put('a', item(1)), put('b', item(12)), put('c', item(3)), put('d', item(14)), put('e', item(5))]
  const world = await liveOf(first, { slices: sliceEachStep(2) })
  /** Delivers a batch of one event. Such a write is not large. */
  const send = async (event: Event, version: string): Promise<void> => {
    world.source.watches.at(-1)?.batch([event], version)
    await world.clock.advance(0)
    expect(world.informer.version).toBe(version)
  }
  return { ...world, send }
}

type Follower = { readonly lines: string[]; readonly subscription: Subscription }

function follow(informer: Informer<Item, Indexes>, options: SubscribeOptions<Item, Indexes>): Follower {
  const lines: string[] = []
  const tell = ({ type, key, object }: Change<Item>): void => void lines.push(`${type} ${key}${object.n}`)
  return { lines, subscription: informer.subscribe({ add: tell, update: tell, delete: tell }, options) }
}

describe('a replay that selects from many objects', () => {
  test('[W10] calls its filter in slices, once for each object', async () => {
    const { clock, informer } = await live()
    const calls: string[] = []
    const filter = (object: Item, key: string): boolean => {
      calls.push(key)
      return isSmall(object)
    }
    const { lines } = follow(informer, { filter })
    expect(calls).toEqual([])
    const seen: number[] = []
    await clock.slices(() => {
      seen.push(calls.length)
      return false
    })
    expect(seen).toEqual([0, 1, 2, 3, 4, 5])
    expect(calls.sort()).toEqual(['a', 'b', 'c', 'd', 'e'])
    expect(lines).toEqual(['add a1', 'add c3', 'add e5'])
  })

  test('[W10] selects from few objects at once', async () => {
    const { informer } = await live()
    let calls = 0
    const filter = (): boolean => ++calls > 0
    informer.subscribe({}, { filter, where: { kind: 'even' } })
    expect(calls).toBe(2)
    informer.subscribe({}, { filter, key: 'a' })
    expect(calls).toBe(3)
  })

  test.for([
    { name: 'a filter', options: { filter: isSmall } },
    { name: 'an index value', options: { where: { kind: 'odd' } } },
    { name: 'an index value and a filter', options: { where: { kind: 'odd' }, filter: isSmall } },
  ])('[W10] delivers the state at its beginning and then every change, at any time: $name', async ({ options }) => {
    const events: readonly Event[] = [
      put('a', item(15)),
      put('b', item(7)),
      { type: 'delete', key: 'c' },
      { type: 'delete', key: 'd' },
      put('f', item(9)),
      put('c', item(6)),
      put('e', item(5, 'even')),
      put('g', item(3)),
    ]
    const isIn = (object: Item): boolean =>
      (options.filter?.(object) ?? true) && (options.where === undefined || object.kind === options.where.kind)
    for (let slicesBefore = 0; slicesBefore <= 6; slicesBefore++) {
      const { clock, informer, send } = await live()
      const initial = Array.from(informer.entries(), ([key, object]) => ({ key, object })).filter((e) => isIn(e.object))
      const { lines } = follow(informer, options)
      for (let slice = 0; slice < slicesBefore; slice++) await clock.slice()
      const wanted: string[] = []
      const inScope = new Map(initial.map(({ key, object }) => [key, object]))
      let version = 1
      for (const event of events) {
        const { key } = event
        const last = inScope.get(key)
        if (event.type === 'put' && isIn(event.object)) {
          wanted.push(`${last === undefined ? 'add' : 'update'} ${key}${event.object.n}`)
          inScope.set(key, event.object)
        } else if (last !== undefined) {
          wanted.push(`delete ${key}${last.n}`)
          inScope.delete(key)
        }
        await send(event, String(++version))
      }
      await clock.slices()
      const replayed = lines.slice(0, initial.length)
      expect(replayed.sort()).toEqual(initial.map(({ key, object }) => `add ${key}${object.n}`).sort())
      expect(lines.slice(initial.length)).toEqual(wanted)
    }
  })

  test.for(['close', 'signal', 'stop', 'filter'] as const)('[W11] ends with its subscription: %s', async (by) => {
    const { clock, informer, errors } = await live()
    let calls = 0
    const abort = new AbortController()
    const filter = (): boolean => {
      if (++calls === 2 && by === 'filter') void subscription.close()
      return true
    }
    const { lines, subscription } = follow(informer, { filter, signal: abort.signal })
    await clock.slice()
    await clock.slice()
    if (by === 'close') void subscription.close()
    if (by === 'signal') abort.abort()
    // It is waited for by stop, until its current slice has ended.
    const stopped = by === 'stop' ? informer.stop() : undefined
    if (stopped !== undefined) expect([clock.isPaused, await outcomeOf(stopped, clock)]).toEqual([true, 'pending'])
    await clock.slices()
    await clock.advance(0)
    expect([calls, lines, errors, subscription.backlog.keys]).toEqual([2, [], [], 0])
    if (stopped !== undefined) expect(await outcomeOf(stopped, clock)).toBe('resolved')
  })

  test('continues if its filter throws, subscribes, or closes another subscription', async () => {
    const { clock, informer, errors } = await live()
    const other = follow(informer, { filter: () => true })
    const inner: string[][] = []
    const { lines } = follow(informer, {
      name: 'strict',
      filter: (object, key) => {
        if (key === 'c') throw new Error('no c')
        if (key === 'b') inner.push(follow(informer, { filter: isSmall }).lines)
        if (key === 'd') void other.subscription.close()
        return object.n > 3
      },
    })
    await clock.slices()
    expect([lines, inner]).toEqual([['add b12', 'add d14', 'add e5'], [['add a1', 'add c3', 'add e5']]])
    expect(errors.map(({ message }) => message)).toEqual([expect.stringContaining('the filter of "strict"')])
  })

  test('[W10] runs alone: the next one begins after it', async () => {
    const { clock, informer } = await live()
    const calls: number[] = []
    for (const nth of [1, 2]) informer.subscribe({}, { filter: () => calls.push(nth) > 0 })
    await clock.slices()
    expect(calls).toEqual([1, 1, 1, 1, 1, 2, 2, 2, 2, 2])
  })

  test('[W11] lets a controller wait until the objects in its scope are known', async () => {
    const { clock, informer } = await live()
    const runs: string[] = []
    const controller = informer.reconcile(async (key, { object }) => void runs.push(`${key}${object?.n}`), {
      filter: isSmall,
    })
    controller.enqueue('e')
    await clock.slice()
    expect(runs).toEqual([])
    await clock.slices()
    expect(runs.sort()).toEqual(['a1', 'c3', 'e5'])
  })
})
