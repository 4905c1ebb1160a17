import { expect, test } from 'vitest'
import { type KubernetesSource, kubernetesSource } from '../../adapters/kubernetes/index.js'
import type { WatchBatch } from '../../src/contract/source.js'
import type { Version } from '../../src/contract/version.js'
import { SeededRandom } from '../../testing/index.js'
import { VirtualClock } from '../../testing/virtual-clock.js'
import { waitUntil } from '../servers/wait-until.js'
import { FakeKubernetes, isWatch } from './fake.js'
import type { FakeObject } from './fake-collection.js'

/** A follower of a source that reads only when a test says so. */
class Reader {
  readonly progressRequests: (() => void)[] = []
  readonly #batches: AsyncIterator<WatchBatch<FakeObject>>
  readonly #stopping = new AbortController()

  constructor(source: KubernetesSource<FakeObject>, after: Version, clock: VirtualClock) {
    const context = { after, clock, random: new SeededRandom(1), signal: this.#stopping.signal }
    const batches = source.watch({ ...context, onProgressRequest: (listener) => this.progressRequests.push(listener) })
    this.#batches = batches[Symbol.asyncIterator]()
  }

  /** Reads up to this version, and returns the delivered events. */
  async upTo(version: Version): Promise<string[]> {
    const delivered: string[] = []
    for (;;) {
      const next = await this.#batches.next()
      if (next.done === true) throw new Error('the watch has ended')
      for (const event of next.value.events) if ('key' in event) delivered.push(`${event.type} ${event.key}`)
      if (Number(next.value.version) >= Number(version)) return delivered
    }
  }

  async next(): Promise<WatchBatch<FakeObject> | undefined> {
    const { value, done } = await this.#batches.next()
    return done === true ? undefined : value
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#batches.return?.()
  }
}

interface Scene {
  readonly fake: FakeKubernetes
  readonly clock: VirtualClock
  follow(after: Version): Reader
  joined(): Promise<Reader>
}

/** Sources of one configuration over one fake. */
async function withScene(act: (scene: Scene) => Promise<void>): Promise<void> {
  await using fake = await FakeKubernetes.start()
  fake.collection.fill(3)
  const clock = new VirtualClock()
  const kubeConfig = fake.config()
  const readers: Reader[] = []
  const follow = (after: Version): Reader => {
    // A probe opens watches, too: a test counts only its own.
    const source = kubernetesSource<FakeObject>({ kubeConfig, kind: 'ConfigMap', namespace: 'default', probeMs: false })
    const reader = new Reader(source, after, clock)
    readers.push(reader)
    return reader
  }
  const joined = async (): Promise<Reader> => {
    const { version } = fake.collection
    const reader = follow(version)
    await reader.upTo(version)
    return reader
  }
  await act({ fake, clock, follow, joined })
  await Promise.all(readers.map((reader) => reader.stop()))
}

/** Lets time pass until it is so. */
async function passing(clock: VirtualClock, what: string, isSo: () => boolean): Promise<void> {
  await waitUntil(
    what,
    async () => {
      if (!isSo()) await clock.advance(1_000)
      return isSo()
    },
    20_000,
  )
}

test('a follower that is ahead of a shared watch hides no event from the others when another connection takes over', () =>
  withScene(async ({ fake, clock, follow, joined }) => {
    const { collection } = fake
    const slow = await joined()
    const stream = collection.watching[0]
    collection.forget(stream)
    collection.put('k0', 'seen')
    await stream?.event('MODIFIED', collection.at().at(0))
    collection.put('k1', 'on its way')
    // It has listed all of that already.
    const ahead = follow(collection.version)
    await ahead.upTo(collection.version)
    const later = ahead.next()
    await passing(clock, 'another connection', () => fake.watches.length > 1)
    const version = collection.put('k2', 'last')
    expect(await slow.upTo(version)).toEqual(['put default/k0', 'put default/k1', 'put default/k2'])
    expect((await later)?.version).toBeDefined()
  }))

test('a follower without hasWaiters starts one probe for each progress request', () =>
  withScene(async ({ fake, clock, joined }) => {
    const { collection } = fake
    const reader = await joined()
    reader.progressRequests[0]?.()
    const version = collection.pass()
    const delivered = reader.upTo(version)
    await passing(clock, 'a short watch', () => collection.watching.length === 2)
    await fake.watches[1]?.bookmark(version)
    await delivered
    const later = reader.next()
    fake.watches[1]?.end()
    const since = clock.now()
    await passing(clock, 'half a minute', () => clock.now() - since >= 30_000)
    expect(fake.watches.length).toBe(2)
    collection.put('k0', 'after')
    expect((await later)?.version).toBe(collection.version)
  }))

test('a client that lists after a restore does not join a watch of the history before it', () =>
  withScene(async ({ fake, clock, follow, joined }) => {
    const { collection } = fake
    const fast = await joined()
    await joined()
    const restored = collection.put('k0', 'in the backup')
    const lost = collection.put('k1', 'lost')
    await fast.upTo(lost)
    fake.rule(
      ({ isWatch, query }) => !isWatch && query.get('limit') === '1',
      (exchange) => exchange.json({ kind: 'ConfigMapList', metadata: { resourceVersion: restored }, items: [] }),
    )
    const refused = expect(fast.upTo('9999')).rejects.toMatchObject({ code: 'EPOCH_CHANGED' })
    await passing(clock, 'a probe', () =>
      fake.exchanges.some(({ isWatch, query }) => !isWatch && query.get('limit') === '1'),
    )
    await refused
    const opened = fake.watches.length
    await follow(restored).next()
    expect(fake.watches.length).toBe(opened + 1)
  }))

test('a client that joins a watch that has been silent receives all events that arrived meanwhile: another connection takes over before', () =>
  withScene(async ({ fake, clock, follow, joined }) => {
    const { collection } = fake
    const start = collection.version
    const first = await joined()
    collection.forget(collection.watching[0])
    await clock.advance(20_000)
    const version = collection.put('k0', 'meanwhile')
    const second = follow(start)
    expect([await second.upTo(version), await first.upTo(version)]).toEqual([['put default/k0'], ['put default/k0']])
    expect(collection.watching.length).toBe(1)
  }))

test('of two that share a watch, the one that opened it may stop before it is open', () =>
  withScene(async ({ fake, follow }) => {
    const start = fake.collection.version
    const requested = fake.taken(isWatch)
    const [first, second] = [follow(start), follow(start)]
    const begun = [first.next(), second.next()]
    begun[0]?.catch(() => {})
    const exchange = await requested
    await first.stop()
    fake.collection.answer(exchange)
    await begun[1]
    expect(await second.upTo(fake.collection.put('k0', 'after'))).toEqual(['put default/k0'])
    expect(fake.watches.length).toBe(1)
  }))

test('of two that share a watch, the one that opened it may stop as the last, while a third comes: that one opens a watch', () =>
  withScene(async ({ fake, joined }) => {
    const { collection } = fake
    const [first, second] = [await joined(), await joined()]
    const stopped = Promise.all([second.stop(), first.stop()])
    const third = await joined()
    await stopped
    expect(await third.upTo(collection.put('k0', 'after'))).toEqual(['put default/k0'])
  }))
