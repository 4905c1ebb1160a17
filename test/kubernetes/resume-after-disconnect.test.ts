import { describe, expect, test } from 'vitest'
import type { ListContext } from '../../src/adapter.js'
import type { Version } from '../../src/index.js'
import type { VirtualClock } from '../../testing/virtual-clock.js'
import { waitUntil } from '../servers/wait-until.js'
import { type FakeKubernetes, isAny, isHead, isStreamedList } from './fake.js'
import { FakeCollection } from './fake-collection.js'
import type { Exchange } from './fake-exchange.js'
import { Mirror } from './mirror.js'

const MISSING = { code: 404, reason: 'NotFound', message: 'the server could not find the requested resource' }
/** The heartbeat of the watches, which no test waits for. */
const LONGEST_MS = 60_000
/** A watch with data this often is not treated as half open. */
const WORD_MS = 10_000
const isPage = ({ isList, query }: Exchange): boolean => isList && query.has('continue')

/** The source of a mirror that is not started, and those who read it at its side, each in calls of its own. */
class Shared {
  readonly fake: FakeKubernetes
  readonly clock: VirtualClock
  readonly doubts: string[] = []
  readonly #mirror: Mirror
  readonly #stopping = new AbortController()

  private constructor(mirror: Mirror) {
    this.#mirror = mirror
    this.fake = mirror.fake
    this.clock = mirror.clock
  }

  static async with(act: (shared: Shared) => Promise<void>): Promise<void> {
    await using mirror = await Mirror.open({ fill: 9, source: { maxWatchMs: LONGEST_MS } })
    const shared = new Shared(mirror)
    await act(shared).finally(() => shared.#stopping.abort())
  }

  get heads(): number {
    return this.fake.exchanges.filter(isHead).length
  }

  /** Returns the version. `between` is called after each page. */
  async list(between?: () => Promise<void>): Promise<Version> {
    let listed = ''
    for await (const { version } of this.#mirror.source.list(this.#context)) {
      listed = version ?? listed
      await between?.()
    }
    return listed
  }

  /** What comes only with time. */
  async passing<V>(promise: Promise<V>): Promise<V> {
    let isOver = false
    const over = () => (isOver = true)
    promise.then(over, over)
    await waitUntil('it to be over', async () => {
      if (!isOver) await this.clock.advance(100)
      return isOver
    })
    return await promise
  }

  /** From now on lists come in three pages. */
  inPages(): void {
    this.fake.collection.hasStreamedLists = false
    this.fake.collection.largestPage = 3
  }

  /** Opens a watch. Returns a function that waits for more of it. */
  async watch(after: Version): Promise<() => Promise<IteratorResult<unknown>>> {
    const context = {
      ...this.#context,
      after,
      onProgressRequest: () => {},
      requestAudit: (why: string) => void this.doubts.push(why),
    }
    const batches = this.#mirror.source.watch(context)[Symbol.asyncIterator]()
    await batches.next()
    return () => batches.next()
  }

  /** From now on there is what was in a backup. */
  restore(): void {
    const backup = new FakeCollection()
    backup.fill(3)
    this.fake.rule(isAny, (exchange) => backup.answer(exchange))
  }

  /** Lets a watch last for its time, with a word now and then. */
  async end(next: () => Promise<IteratorResult<unknown>>): Promise<void> {
    for (let isOver = false; !isOver; ) {
      const delivered = next()
      await this.clock.advance(WORD_MS)
      // A client that has left receives nothing.
      void this.fake.collection.bookmark()
      isOver = (await delivered).done === true
    }
  }

  /** A mirror followed, and every connection broke off. */
  async breakOff(): Promise<void> {
    const next = (await this.watch(this.fake.collection.version))()
    const broken = expect(next).rejects.toMatchObject({ code: 'UNAVAILABLE' })
    for (const watch of this.fake.collection.watching) watch.reset()
    await broken
  }

  get #context(): ListContext {
    return { ...this.#mirror.context(), signal: this.#stopping.signal }
  }
}

describe('of two informers over one source that were disconnected, the one that resumes later', () => {
  test.each<[string, (shared: Shared) => Promise<Version>]>([
    ['has listed', (shared) => shared.list()],
    ['was not as far and continues', async () => '1001'],
  ])('detects a rewound history, although the other %s', (_what, versionOf) =>
    Shared.with(async (shared) => {
      const before = shared.fake.collection.version
      await shared.breakOff()
      shared.restore()
      await shared.watch(await versionOf(shared))
      await expect(shared.watch(before)).rejects.toMatchObject({ code: 'EPOCH_CHANGED' })
    }),
  )

  for (const how of ['reset', 'end'] as const)
    test(`detects a rewound history, although only a streamed list broke off (${how}), and the other read it in pages`, () =>
      Shared.with(async (shared) => {
        const before = shared.fake.collection.version
        shared.restore()
        shared.fake.next(isStreamedList, (exchange) => {
          exchange.open()
          exchange[how]()
        })
        await shared.list()
        await expect(shared.watch(before)).rejects.toMatchObject({ code: 'EPOCH_CHANGED' })
      }))

  test('detects a rewound history, although only a page broke off, which the other requested again', () =>
    Shared.with(async (shared) => {
      shared.inPages()
      shared.fake.next(isPage, (exchange) => exchange.reset())
      await shared.passing(shared.list())
      shared.restore()
      // Of another than the list's own version.
      await expect(shared.watch('1008')).rejects.toMatchObject({ code: 'EPOCH_CHANGED' })
    }))

  test('lists a resource that was missing meanwhile, although the other has', () =>
    Shared.with(async (shared) => {
      const { fake } = shared
      const before = fake.collection.version
      await shared.breakOff()
      const missing = fake.rule(isAny, (exchange) => exchange.refuse(MISSING))
      await expect(shared.watch(before)).rejects.toMatchObject({ code: 'NOT_FOUND' })
      missing()
      fake.collection.put('k0', 'of another')
      await shared.watch(await shared.list())
      await expect(shared.watch(before)).rejects.toMatchObject({ code: 'VERSION_EXPIRED' })
    }))

  test('requests an audit after a long outage', () =>
    Shared.with(async (shared) => {
      const before = shared.fake.collection.version
      await shared.breakOff()
      await shared.clock.advance(60_000)
      await shared.watch(before)
      await shared.clock.advance(20_000)
      await shared.watch(before)
      expect(shared.doubts).toHaveLength(2)
    }))
})

describe('the length of an outage', () => {
  /** A reader reads pages, and from the second on the server is unreachable. */
  const untilGivenUp = async (shared: Shared): Promise<() => void> => {
    shared.inPages()
    const back = shared.fake.rule(isPage, (exchange) => exchange.reset())
    await expect(shared.passing(shared.list())).rejects.toMatchObject({ code: 'UNAVAILABLE' })
    return back
  }

  test('is counted from the first page that failed, not from the end of its list', () =>
    Shared.with(async (shared) => {
      const back = await untilGivenUp(shared)
      const givenUpMs = shared.clock.now()
      await shared.clock.advance(25_000)
      back()
      await shared.watch('1008')
      expect([shared.doubts.length, givenUpMs > 10_000]).toEqual([1, true])
    }))

  test('ends with the next page, however long the rest of the list takes', () =>
    Shared.with(async (shared) => {
      shared.inPages()
      shared.fake.next(isPage, (exchange) => exchange.reset())
      await shared.passing(shared.list(() => shared.clock.advance(40_000)))
      await shared.watch('1008')
      expect(shared.doubts).toEqual([])
    }))
})

test('a mirror that was disconnected once need not verify the history after a list, nor if its next watch ended in time', () =>
  Shared.with(async (shared) => {
    await shared.breakOff()
    const listed = await shared.list()
    await shared.end(await shared.watch(listed))
    await shared.watch(listed)
    expect(shared.heads).toBe(0)
  }))

test('a mirror that was disconnected once verifies the history if its next watch ended in time but silent: it may have been half open', () =>
  Shared.with(async (shared) => {
    await shared.breakOff()
    const listed = await shared.list()
    const ended = (await shared.watch(listed))()
    await shared.clock.advance(LONGEST_MS)
    expect(await ended).toMatchObject({ done: true })
    await shared.watch(listed)
    expect(shared.heads).toBe(1)
  }))
