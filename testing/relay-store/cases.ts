import { systemClock } from '../../src/contract/clock.js'
import { systemRandom } from '../../src/contract/random.js'
import type { RelayStore, TextChange } from '../../src/contract/relay-store.js'
import type { ListContext, ListEvent, WatchBatch, WatchContext } from '../../src/contract/source.js'
import type { Version } from '../../src/contract/version.js'
import { check, sourceErrorOf, withTimeout } from '../conformance/run/assertions.js'
import { defineTests } from '../conformance/vitest-suite.js'
import type { RelayStoreHarness } from './harness.js'

/**
 * One promise of the contract of relay stores, with its check.
 *
 * @example
 * ```ts
 * import type { RelayStore } from 'listwatch/adapter'
 * import { relayStoreCases } from 'listwatch/testing'
 *
 * declare const engine: { open(name: string): RelayStore; drop(name: string): Promise<void> }
 * for (const { name, run } of relayStoreCases) {
 *   await run({ create: (collection) => engine.open(collection), remove: (collection) => engine.drop(collection) })
 *   console.log(name)
 * }
 * ```
 */
export interface RelayStoreCase {
  /** The promise as a sentence. */
  readonly name: string
  /** Checks a store. Rejects with a description if the store violates the contract. */
  run(harness: RelayStoreHarness): Promise<void>
}

/** Keys and texts that a store must neither change nor refuse. */
const STRANGE = [' ', "'", '"', '\\', '\0', '\0"a"', '\n\r\t', '{}', 'a/b c%20', 'ü€😀', '\u2028', '$1', '*', '>', '.']

class StoreContext implements AsyncDisposable {
  readonly #harness: RelayStoreHarness
  readonly #name = Array.from({ length: 12 }, () => Math.floor(systemRandom.next() * 36).toString(36)).join('')
  readonly #abort = new AbortController()
  readonly #stores: RelayStore[] = []

  constructor(harness: RelayStoreHarness) {
    this.#harness = harness
  }

  get context(): ListContext {
    return { signal: this.#abort.signal, clock: systemClock, random: systemRandom, pageSize: 100 }
  }

  async store(): Promise<RelayStore> {
    const store = await this.#harness.create(this.#name)
    this.#stores.push(store)
    return store
  }

  async remove(): Promise<void> {
    await this.#harness.remove(this.#name)
  }

  within<V>(what: string, work: Promise<V>): Promise<V> {
    return withTimeout(this.#harness.timeoutMs ?? 10_000, what, work)
  }

  async position(store: RelayStore): Promise<Version> {
    return (await this.within('a read', store.read('k', this.context))).position
  }

  async text(store: RelayStore, key: string): Promise<string | undefined> {
    return (await this.within('a read', store.read(key, this.context))).text
  }

  async write(
    store: RelayStore,
    changes: Readonly<Record<string, string | undefined>>,
    after: Version,
  ): Promise<Version> {
    return await this.within('a write', store.write(changesOf(changes), after, this.context))
  }

  async list(
    store: RelayStore,
  ): Promise<{ readonly texts: Map<string, string>; readonly version: Version | undefined }> {
    const texts = new Map<string, string>()
    let version: Version | undefined
    const read = async (): Promise<void> => {
      for await (const page of store.collection.list(this.context)) {
        applyTo(texts, page.events)
        version = page.version
      }
    }
    await this.within('a list', read())
    return { texts, version }
  }

  watch(store: RelayStore, after: Version): () => Promise<WatchBatch<string>> {
    const context: WatchContext = { ...this.context, after, onProgressRequest: () => {} }
    const batches = store.collection.watch(context)[Symbol.asyncIterator]()
    return async () => {
      const { done, value } = await this.within('a batch', batches.next())
      check(done !== true, 'the watch ended')
      return value
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#abort.abort()
    await Promise.allSettled(this.#stores.map((store) => store.close()))
  }
}

function storeCase(name: string, body: (context: StoreContext) => Promise<void>): RelayStoreCase {
  const run = async (harness: RelayStoreHarness): Promise<void> => {
    await using context = new StoreContext(harness)
    await body(context)
  }
  return { name, run }
}

/**
 * All cases of `relayStoreConformance`, for other test runners.
 *
 * @example
 * ```ts
 * import { test } from 'node:test'
 * import { type RelayStoreHarness, relayStoreCases } from 'listwatch/testing'
 *
 * function testStore(harness: RelayStoreHarness): void {
 *   for (const { name, run } of relayStoreCases) test(name, () => run(harness))
 * }
 * ```
 */
export const relayStoreCases: readonly RelayStoreCase[] = [
  storeCase('a collection that does not exist has a position, which the first write needs', async (context) => {
    const store = await context.store()
    check((await context.text(store, 'a')) === undefined, 'it has a text')
    await context.write(store, { a: '1' }, await context.position(store))
    check((await context.text(store, 'a')) === '1', 'the text was not written')
  }),
  storeCase('a read includes each write that has resolved, also of another process', async (context) => {
    const [one, two] = [await context.store(), await context.store()]
    let position = await context.position(one)
    for (let round = 0; round < 20; round++) {
      position = await context.write(one, { a: `${round}` }, position)
      check((await context.text(two, 'a')) === `${round}`, `round ${round}: the read has an older text`)
      check((await context.position(two)) === position, `round ${round}: the read has another position`)
    }
  }),
  storeCase('a write at another position is refused, and writes nothing', async (context) => {
    const [one, two] = [await context.store(), await context.store()]
    const before = await context.position(one)
    const position = await context.write(one, { a: '1', b: '1' }, before)
    const error = await sourceErrorOf(
      'a write at another position',
      two.write(changesOf({ a: '2', c: '2' }), before, context.context),
    )
    check(error.code === 'CONFLICT', `it was refused with ${error.code}`)
    const { texts } = await context.list(one)
    check(show(texts) === 'a=1 b=1', `the collection is ${show(texts)}`)
    check((await context.position(two)) === position, 'the position has changed')
  }),
  storeCase('of writes at one position, exactly one succeeds', async (context) => {
    const stores = [await context.store(), await context.store(), await context.store()]
    let [position, winners] = [await context.position(stores[0] as RelayStore), 0]
    for (let round = 0; round < 10; round++) {
      const after = position
      const writes = stores.map((store, at) => store.write(changesOf({ a: `${round} ${at}` }), after, context.context))
      for (const outcome of await context.within('the writes', Promise.allSettled(writes))) {
        if (outcome.status === 'rejected') continue
        winners++
        position = outcome.value
      }
    }
    check(winners === 10, `${winners} writes succeeded in 10 rounds`)
  }),
  storeCase('a watch yields each write as a whole, in order, up to its position', async (context) => {
    const store = await context.store()
    const start = await context.write(store, { a: '0', b: '0' }, await context.position(store))
    const next = context.watch(store, start)
    let position = start
    for (let round = 1; round <= 10; round++)
      position = await context.write(store, { a: `${round}`, b: round % 2 === 0 ? undefined : `${round}` }, position)
    const texts = new Map([
      ['a', '0'],
      ['b', '0'],
    ])
    for (let isEnd = false; !isEnd; ) {
      const { events, version } = await next()
      applyTo(texts, events)
      const round = Number(texts.get('a'))
      const b = round === 0 ? '0' : round % 2 === 0 ? undefined : `${round}`
      check(texts.get('b') === b, `round ${round} was not delivered as a whole: ${show(texts)}`)
      isEnd = store.collection.hasReached?.(version, position) === true
      check(isEnd === (round === 10), `the version of round ${round} is wrong`)
    }
  }),
  storeCase('a list has the version of its content', async (context) => {
    const store = await context.store()
    let position = await context.position(store)
    for (let round = 0; round < 5; round++) position = await context.write(store, { [`k${round}`]: 'x' }, position)
    const { texts, version } = await context.list(store)
    check(texts.size === 5, `the list is ${show(texts)}`)
    check(version === position, `the list is of ${version}, and the collection at ${position}`)
    const last = await context.write(store, { k0: undefined }, version ?? '')
    const { texts: later } = await context.list(store)
    check(!later.has('k0') && later.size === 4, `the second list is ${show(later)}`)
    check(store.collection.hasReached?.(last, position) === true, 'positions are not in order')
    check(store.collection.hasReached?.(position, last) === false, 'an older position includes a newer one')
  }),
  storeCase('keys and texts keep all their characters', async (context) => {
    const store = await context.store()
    const changes = Object.fromEntries(STRANGE.map((text) => [text, `${text}=`]))
    const position = await context.position(store)
    const next = context.watch(store, await context.write(store, { first: '1' }, position))
    await context.write(store, changes, await context.position(store))
    const [watched, { texts: listed }] = [new Map<string, string>(), await context.list(store)]
    while (watched.size < STRANGE.length) applyTo(watched, (await next()).events)
    for (const key of STRANGE) {
      const text = `${key}=`
      check(watched.get(key) === text, `the watch has ${JSON.stringify(watched.get(key))} for ${JSON.stringify(key)}`)
      check(listed.get(key) === text, `the list has ${JSON.stringify(listed.get(key))} for ${JSON.stringify(key)}`)
      check((await context.text(store, key)) === text, `a read has another text for ${JSON.stringify(key)}`)
    }
  }),
  storeCase('a write may have as many changes and bytes as the store says', async (context) => {
    const store = await context.store()
    const count = Math.min(store.maxChanges, 5_000)
    const many = Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, `${at}`]))
    const position = await context.write(store, many, await context.position(store))
    const long = 'x'.repeat(Math.min(store.maxBytes, 8 * 1024 * 1024) - 1)
    await context.write(store, { l: long }, position)
    const { texts } = await context.list(store)
    check(texts.size === count + 1, `the list has ${texts.size} texts of ${count + 1}`)
    check(texts.get('l') === long, 'a text of the maximum size was changed')
  }),
  storeCase('after the collection was removed, older positions are of another history', async (context) => {
    const store = await context.store()
    const before = await context.write(store, { a: '1' }, await context.position(store))
    const last = await context.write(store, { a: '2' }, before)
    await context.remove()
    const error = await sourceErrorOf(
      'a write at another position',
      store.write(changesOf({ a: '3' }), last, context.context),
    )
    check(error.code === 'CONFLICT', `a write at an older position was refused with ${error.code}`)
    check((await context.text(store, 'a')) === undefined, 'a text is left')
    const again = await context.write(store, { a: '1' }, await context.position(store))
    const position = await context.write(store, { a: '4' }, again)
    check(position !== last, 'two histories have the same position')
    const compared = async (): Promise<boolean> => store.collection.hasReached?.(position, last) === true
    const failed = await sourceErrorOf('a comparison with another history', compared())
    check(failed.code === 'EPOCH_CHANGED', `a comparison with another history fails with ${failed.code}`)
    const resumed = await sourceErrorOf('a watch of another history', context.watch(store, last)())
    check(resumed.code === 'EPOCH_CHANGED', `a watch of another history fails with ${resumed.code}`)
  }),
]

/**
 * Defines vitest tests that a relay store keeps the contract of `RelayStore`, one for each case.
 * @throws Error if vitest is not installed.
 *
 * @example
 * ```ts
 * import type { RelayStore } from 'listwatch/adapter'
 * import { relayStoreConformance } from 'listwatch/testing'
 *
 * declare function myRelayStore(options: { name: string }): RelayStore
 * declare function dropCollection(name: string): Promise<void>
 *
 * // At the top of a test file, or in an async `describe`.
 * await relayStoreConformance('my store', { create: (name) => myRelayStore({ name }), remove: dropCollection })
 * ```
 */
export async function relayStoreConformance(name: string, harness: RelayStoreHarness): Promise<void> {
  const tests = relayStoreCases.map((each) => ({ name: each.name, run: () => each.run(harness).then(() => undefined) }))
  await defineTests('relayStoreConformance', name, tests)
}

function changesOf(changes: Readonly<Record<string, string | undefined>>): readonly TextChange[] {
  return Object.entries(changes).map(([key, text]) => ({ key, text }))
}

function applyTo(
  texts: Map<string, string>,
  events: readonly (ListEvent<string> | { readonly type: 'replace' })[],
): void {
  for (const event of events) {
    check(event.type === 'put' || event.type === 'delete', `the collection yields the event ${event.type}`)
    if (event.type === 'put') texts.set(event.key, event.object)
    else texts.delete(event.key)
  }
}

function show(texts: ReadonlyMap<string, string>): string {
  return Array.from(texts, ([key, text]) => `${key}=${text}`)
    .sort()
    .join(' ')
}
