import { systemClock } from '../src/contract/clock.js'
import { systemRandom } from '../src/contract/random.js'
import {
  type CollectionBatch,
  type CollectionSource,
  type HistoryWatchContext,
  isCollection,
} from '../src/contract/shared-history.js'
import type { ListContext, ListerWatcher } from '../src/contract/source.js'
import type { Version } from '../src/contract/version.js'
import { check } from './conformance/run/assertions.js'
import { defineTests } from './conformance/vitest-suite.js'

/**
 * Two collections of one history under test, and a writer to both.
 *
 * @example
 * ```ts
 * import { memoryDatabase } from 'listwatch/memory'
 * import type { SharedHistorySubject } from 'listwatch/testing'
 *
 * function create(): SharedHistorySubject {
 *   const database = memoryDatabase()
 *   const sources = [database.collection<string>('a'), database.collection<string>('b')] as const
 *   return {
 *     sources,
 *     write: (changes) => {
 *       database.commit((tx) => {
 *         for (const { to, key, value } of changes) tx.put(sources[to], key, value)
 *       })
 *     },
 *   }
 * }
 * ```
 */
export interface SharedHistorySubject {
  /** Two empty collections of the same history. */
  readonly sources: readonly [ListerWatcher<unknown>, ListerWatcher<unknown>]
  /** Commits all changes as one transaction. `to` is the number of the collection. */
  write(
    changes: readonly { readonly to: 0 | 1; readonly key: string; readonly value: string }[],
  ): Promise<unknown> | unknown
  /** The key of the source for a written key. Default: the key itself. */
  keyOf?(key: string, to: 0 | 1): string
  /** Called at the end of each test. */
  dispose?(): Promise<void> | void
}

/** The time in which a batch has to arrive, in milliseconds. */
const BATCH_MS = 30_000

/**
 * Defines vitest tests that a history keeps the contract of `SharedHistory`. `create` is called for each test.
 * @returns When the tests are defined.
 * @throws Error if vitest is not installed.
 *
 * @example
 * ```ts
 * import { memoryDatabase } from 'listwatch/memory'
 * import { describeSharedHistory } from 'listwatch/testing'
 *
 * await describeSharedHistory('memory', () => {
 *   const database = memoryDatabase()
 *   const sources = [database.collection<string>('a'), database.collection<string>('b')] as const
 *   const write = (changes: readonly { to: 0 | 1; key: string; value: string }[]) =>
 *     database.commit((tx) => changes.forEach(({ to, key, value }) => tx.put(sources[to], key, value)))
 *   return { sources, write }
 * })
 * ```
 */
export async function describeSharedHistory(
  name: string,
  create: () => SharedHistorySubject | Promise<SharedHistorySubject>,
): Promise<void> {
  const run = async (historyCase: HistoryCase): Promise<undefined> => {
    const subject = await create()
    const follower = new Follower(subject)
    try {
      await historyCase(subject, follower)
    } finally {
      await follower.close()
      await subject.dispose?.()
    }
  }
  const tests = Array.from(historyCases, ([title, each]) => ({ name: title, run: () => run(each) }))
  await defineTests('describeSharedHistory', name, tests, 4 * BATCH_MS)
}

type HistoryCase = (subject: SharedHistorySubject, follower: Follower) => Promise<void>

/** @internal The promises of a history, by their sentences. Each rejects if the history breaks it. */
export const historyCases: ReadonlyMap<string, HistoryCase> = new Map<string, HistoryCase>([
  [
    'a transaction that writes to two collections is in one batch',
    async ({ write }, follower) => {
      await follower.open(await follower.list(0), await follower.list(1))
      for (let n = 0; n < 20; n++) {
        const value = String(n)
        await write([
          { to: 0, key: 'x', value },
          { to: 1, key: 'x', value },
        ])
        await follower.until((batch) => {
          const [a, b] = follower.sizesOf(batch)
          check(a === b, `a batch has ${a} of the changes of one collection, and ${b} of the other one`)
          return (a ?? 0) > 0
        })
      }
    },
  ],
  [
    'the first batch brings collections that were listed at different versions to one version',
    async ({ write }, follower) => {
      const first = await follower.list(0)
      await write([
        { to: 0, key: 'early', value: '1' },
        { to: 1, key: 'early', value: '1' },
      ])
      const second = await follower.list(1)
      await write([{ to: 1, key: 'late', value: '1' }])
      await follower.open(first, second)
      const batch = await follower.next()
      check(follower.has(batch, 0, 'early'), 'the first batch lacks a change after the version of the earlier list')
      for (const at of [0, 1] as const) {
        const { source, version } = follower.versionOf(batch, at)
        const position = at === 0 ? first : second
        check(source.hasReached?.(version, position) !== false, 'the first batch is before the version of a list')
      }
      check(follower.sizesOf(batch)[0] === 1, 'a collection has the changes of another one')
    },
  ],
  [
    'a watch that is opened again continues from its versions, without a gap',
    async ({ write }, follower) => {
      await follower.open(await follower.list(0), await follower.list(1))
      const batch = await follower.next()
      const [first, second] = [follower.versionOf(batch, 0).version, follower.versionOf(batch, 1).version]
      await follower.close()
      await write([{ to: 1, key: 'meanwhile', value: '1' }])
      await follower.open(first, second)
      await follower.until((each) => follower.has(each, 1, 'meanwhile'))
    },
  ],
])

/** @internal */
export class Follower {
  readonly #sources: readonly [CollectionSource<unknown>, CollectionSource<unknown>]
  #batches: AsyncIterator<CollectionBatch> | undefined
  #ending = new AbortController()

  readonly #batchMs: number
  readonly #keyOf: (key: string, to: 0 | 1) => string

  constructor({ sources, keyOf }: SharedHistorySubject, batchMs: number = BATCH_MS) {
    const [a, b] = sources
    check(isCollection(a) && isCollection(b) && a.history === b.history, 'the sources have no common history')
    this.#sources = [a, b]
    this.#batchMs = batchMs
    this.#keyOf = keyOf ?? ((key) => key)
  }

  async list(at: 0 | 1): Promise<Version> {
    const context: ListContext = { ...this.#context(), pageSize: 1_000 }
    let version: Version | undefined
    for await (const page of this.#sources[at].list(context)) version = page.version ?? version
    check(version !== undefined, 'a list has no version')
    return version
  }

  async open(first: Version, second: Version): Promise<void> {
    const [a, b] = this.#sources
    const positions = new Map([
      [a.collection, first],
      [b.collection, second],
    ])
    const context: HistoryWatchContext = { ...this.#context(), positions, onProgressRequest: (listener) => listener() }
    this.#batches = a.history.watch(context)[Symbol.asyncIterator]()
  }

  #context(): Pick<HistoryWatchContext, 'signal' | 'clock' | 'random'> {
    return { signal: this.#ending.signal, clock: systemClock, random: systemRandom }
  }

  async next(): Promise<CollectionBatch> {
    const late = systemClock.sleep(this.#batchMs, this.#ending.signal).then(() => undefined)
    late.catch(() => {})
    const next = await Promise.race([this.#batches?.next(), late])
    check(next !== undefined && next.done !== true, `no batch within ${this.#batchMs} ms`)
    const { lost } = next.value
    for (const [collection, error] of lost ?? []) throw new Error(`${collection} is lost`, { cause: error })
    return next.value
  }

  async until(isDone: (batch: CollectionBatch) => boolean): Promise<void> {
    const deadline = systemClock.now() + this.#batchMs
    while (!isDone(await this.next())) check(systemClock.now() < deadline, 'an expected change does not come')
  }

  has({ parts }: CollectionBatch, to: 0 | 1, key: string): boolean {
    const part = parts.get(this.#sources[to].collection) ?? []
    return part.some((event) => 'key' in event && event.key === this.#keyOf(key, to))
  }

  sizesOf({ parts }: CollectionBatch): readonly number[] {
    return this.#sources.map(({ collection }) => parts.get(collection)?.length ?? 0)
  }

  versionOf(batch: CollectionBatch, at: 0 | 1) {
    const source = this.#sources[at]
    return { source, version: batch.versions?.get(source.collection) ?? batch.version }
  }

  async close(): Promise<void> {
    this.#ending.abort()
    this.#ending = new AbortController()
    await this.#batches?.return?.()?.catch(() => {})
    this.#batches = undefined
  }
}
