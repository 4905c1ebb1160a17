import { describe, expect, onTestFinished, test } from 'vitest'
import { type MemorySource, memorySource } from '../../../adapters/memory/index.js'
import { createInformer, groupInformers, type Informer, SourceError } from '../../../src/index.js'
import { internalsOf } from '../../../src/informer/internals.js'
import { SeededRandom } from '../../../testing/seeded-random.js'
import { VirtualClock } from '../../../testing/virtual-clock.js'
import { outcomeOf } from '../../support/informers.js'

type Pod = { readonly owner: string }

/** Two mirrors with one clock: sites, and the pods that belong to them. */
class World {
  readonly clock = new VirtualClock()
  readonly errors: SourceError[] = []
  readonly siteSource = memorySource({ name: 'sites', entries: [['shop', 1]] as [string, number][] })
  readonly podSource = memorySource<Pod>({ name: 'pods', entries: [['p1', { owner: 'shop' }]] })
  readonly sites = this.#informer(this.siteSource)
  readonly pods = this.#informer(this.podSource)
  readonly seen: string[] = []

  #informer<T>(source: MemorySource<T>): Informer<T, object> {
    const informer = createInformer<T, object, T>({ source, clock: this.clock, random: new SeededRandom(1) })
    onTestFinished(() => informer.stop())
    return informer.on('error', (error) => this.errors.push(error))
  }

  readonly fn = async (key: string, { reason }: { readonly reason: string }): Promise<void> => {
    this.seen.push(`${key} ${reason}`)
  }
}

test('[N10] watches run the keys of each changed object, also those of its previous state', async () => {
  const { clock, sites, pods, podSource, seen, fn } = new World()
  sites.reconcile(fn, { watches: [{ informer: pods, keys: ({ owner }) => [owner] }] })
  groupInformers([sites, pods]).start()
  await clock.advance(10)
  expect(seen).toEqual(['shop watches'])
  podSource.put('p2', { owner: 'old' })
  await clock.advance(10)
  podSource.put('p2', { owner: 'new' })
  await clock.advance(10)
  podSource.delete('p2')
  await clock.advance(10)
  expect(seen.slice(1)).toEqual(['old watches', 'old watches', 'new watches', 'new watches'])
})

test('[B16a] watches report a keys function that throws, or returns no list of keys, and enqueue the keys of the current state after one that throws', async () => {
  const { clock, errors, sites, pods, podSource, seen, fn } = new World()
  const keys = ({ owner }: Pod): string[] => {
    if (owner === 'bad') throw new Error('no owner')
    return owner === 'text' ? (owner as never) : owner === 'late' ? (Promise.reject(owner) as never) : [owner]
  }
  sites.reconcile(fn, { name: 'mine', watches: [{ informer: pods, keys }] })
  groupInformers([sites, pods]).start()
  podSource.put('p2', { owner: 'bad' })
  await clock.advance(10)
  podSource.put('p2', { owner: 'good' })
  podSource.put('p3', { owner: 'text' })
  podSource.put('p4', { owner: 'late' })
  await clock.advance(10)
  expect(seen).toEqual(['shop watches', 'good watches'])
  expect(errors.map(({ code, key }) => `${code} ${key}`)).toEqual(
    ['p2', 'p2', 'p3', 'p4'].map((key) => `HANDLER ${key}`),
  )
})

test('watches end with the controller, and nothing is left of one that cannot begin', async () => {
  const { clock, sites, pods, fn } = new World()
  const controller = sites.reconcile(fn, { watches: [{ informer: pods, keys: () => [] }] })
  expect(pods.inspect().subscriptions.count).toBe(1)
  await controller.close()
  expect(pods.inspect().subscriptions.count).toBe(0)
  const { pods: stopped } = new World()
  await stopped.stop()
  const watches = [
    { informer: pods, keys: () => [] },
    { informer: stopped, keys: () => [] },
  ]
  expect(() => sites.reconcile(fn, { watches })).toThrow(expect.objectContaining({ code: 'STOPPED' }))
  const leases = { name: 'none', mode: 'share', leaseMs: 100, renewMs: 10, open: () => JSON.parse('') } as const
  expect(() => sites.reconcile(fn, { leases, after: [pods] })).toThrow(SyntaxError)
  expect(internalsOf(sites)?.input.context.router.feeds.size).toBe(0)
  await clock.advance(0)
  expect([pods.inspect().subscriptions.count, sites.inspect().subscriptions.count]).toEqual([0, 0])
})

describe('after', () => {
  test('[N11] no key runs before all of them are synced, also if one fails first', async () => {
    const { clock, errors, sites, pods, podSource, seen, fn } = new World()
    const other = new World()
    podSource.fail(new SourceError('no', { code: 'UNAUTHORIZED' }), 2)
    sites.reconcile(fn, { after: [groupInformers([pods]), other.pods] })
    groupInformers([sites, pods]).start()
    await clock.advance(600)
    expect([seen, errors.length > 0]).toEqual([[], true])
    await clock.advance(600_000)
    expect([pods.status.isSynced, seen]).toEqual([true, []])
    other.pods.start()
    await other.clock.advance(10)
    await clock.advance(0)
    expect(seen).toEqual(['shop initial'])
  })

  test('[N11] if one is stopped before it is synced, that is reported, no key runs, and a drain ends', async () => {
    const { clock, errors, sites, pods, seen, fn } = new World()
    const controller = sites.reconcile(fn, { after: [pods], name: 'mine' })
    sites.start()
    await clock.advance(10)
    await pods.stop()
    await clock.advance(10)
    expect(errors.map(({ message }) => message)).toEqual([
      'reconcile "mine" on sites runs no key: an informer of "after" or "watches" was stopped before its first list',
    ])
    expect([await outcomeOf(controller.close({ drain: true }), clock), seen]).toEqual(['resolved', []])
    await sites.stop()
  })

  test('[N11] if one was not started for 10 s, that is reported, and health is not ready until it is synced', async () => {
    const { clock, errors, sites, pods, fn } = new World()
    sites.reconcile(fn, { after: [groupInformers([pods])], name: 'mine' })
    await sites.start().synced()
    await clock.advance(11_000)
    expect(sites.health()).toMatchObject({
      isLive: true,
      isReady: false,
      reason: 'live: following the watch; reconcile "mine" waits for "pods", which was not started',
    })
    expect(errors.map(({ message }) => message)).toEqual([
      'reconcile "mine" on sites runs no key: it waits for "pods", which was not started: call start()',
    ])
    pods.start()
    await clock.advance(10)
    expect([sites.health().isReady, errors.length]).toEqual([true, 1])
  })

  test('leaves no timer and no wait when the controller is closed', async () => {
    const { clock, sites, pods, fn } = new World()
    const controller = sites.reconcile(fn, { after: [pods] })
    await controller.close()
    await clock.advance(0)
    expect(clock.sleeping).toBe(0)
  })
})

describe('a group', () => {
  /** `c` waits for `b`, and `b` for `a`. */
  function chain() {
    const world = new World()
    const log: string[] = []
    const informers = ['a', 'b', 'c'].map((name) => {
      const source = memorySource({ name, entries: [['k', 1]] as [string, number][] })
      const informer = createInformer<number, object, number>({
        source,
        clock: world.clock,
        random: new SeededRandom(1),
      })
      informer.on('status', ({ state }) => {
        if (state === 'listing' || state === 'stopped') log.push(`${name} ${state}`)
      })
      return informer
    })
    informers.forEach((informer, at) => {
      const before = informers[at - 1]
      const run = async (): Promise<void> => {
        await world.clock.sleep(100)
        log.push(`${informer.name} ran, ${before?.status.state}`)
      }
      informer.reconcile(run, before === undefined ? {} : { after: [before] })
    })
    return { world, members: informers.toReversed(), log }
  }

  test('[G6] starts what others wait for first, and drains it last, while it is still mirrored', async () => {
    const { world, members, log } = chain()
    const [c, b, a] = members
    if (a === undefined || b === undefined || c === undefined) throw new Error('three')
    const group = groupInformers([c, groupInformers([b]), a])
    group.start()
    await world.clock.advance(10)
    expect(log).toEqual(['a listing', 'b listing', 'c listing'])
    log.length = 0
    const stopped = group.stop({ drainMs: 1_000 })
    await world.clock.advance(1_000)
    await stopped
    expect(log).toEqual(['c stopped', 'a ran, undefined', 'b ran, live', 'c ran, live', 'b stopped', 'a stopped'])
  })

  test('[G6] does not count what a closed controller waited for', async () => {
    const { clock, sites, pods, fn } = new World()
    const group = groupInformers([sites, pods])
    const closed = sites.reconcile(fn, { after: [pods] })
    group.start()
    await clock.advance(10)
    await closed.close()
    const states: string[] = []
    const run = async (): Promise<void> => {
      await clock.sleep(100)
      states.push(sites.status.state)
    }
    pods.reconcile(run, { after: [sites] })
    await clock.advance(10)
    const stopped = group.stop({ drainMs: 1_000 })
    await clock.advance(1_000)
    await stopped
    expect(states).toEqual(['live'])
  })

  test('without drainMs stops all at once, and a cycle is allowed', async () => {
    const { clock, sites, pods, fn } = new World()
    sites.reconcile(fn, { after: [pods] })
    pods.reconcile(fn, { after: [sites] })
    const group = groupInformers([sites, pods]).start()
    await clock.advance(10)
    const stopped = group.stop()
    expect([sites.status.state, pods.status.state]).toEqual(['stopped', 'stopped'])
    await stopped
  })
})
