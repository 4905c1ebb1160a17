import { describe, expect, onTestFinished, test } from 'vitest'
import { type MemorySource, memorySource } from '../../../adapters/memory/index.js'
import { createInformer } from '../../../src/informer/create-informer.js'
import type { Informer, InformerOptions } from '../../../src/informer/informer-types.js'
import { EqualIndex } from '../../../src/store/indexes/hash-index.js'
import type { IndexBuilder } from '../../../src/store/indexes/index-types.js'
import { Int32List } from '../../../src/store/indexes/int32-list.js'
import { MultiIndex } from '../../../src/store/indexes/multi-index.js'
import { ScalarMap } from '../../../src/store/indexes/scalar.js'
import { SortedIndex } from '../../../src/store/indexes/sorted-index.js'
import type { Subscription } from '../../../src/subscriptions/subscription-types.js'
import { SeededRandom } from '../../../testing/seeded-random.js'
import { VirtualClock } from '../../../testing/virtual-clock.js'
import { Fold } from '../../support/fold.js'
import { warnings } from '../../support/informers.js'

interface Item {
  readonly tenant: string
  readonly tags: readonly string[]
  readonly at: Date
  readonly n: number | bigint
}

const item = (n: number | bigint, tenant = `t${Number(n) % 2}`): Item => ({
  tenant,
  tags: [tenant, `g${Number(n) % 3}`],
  at: new Date(Number(n) * 1_000),
  n,
})

/** Throws at one of the calls of `pass`. */
class Fuse {
  #left = Infinity
  #again = 0
  hasBlown = false

  /** The `nth` call from now on throws, and the next `again` calls too. */
  arm(nth: number, again = 0): void {
    this.#left = nth
    this.#again = again
  }

  disarm(): void {
    this.#left = Infinity
  }

  /** Calls `act` without faults, for reads of the test itself. */
  pausing<V>(act: () => V): V {
    const left = this.#left
    this.#left = Infinity
    try {
      return act()
    } finally {
      this.#left = left
    }
  }

  pass(): void {
    if (--this.#left > 0) return
    this.hasBlown = true
    if (this.#again-- <= 0) this.disarm()
    throw new Error('injected')
  }
}

const declareWith = (fuse: Fuse | undefined) => (ix: IndexBuilder<Item>) => {
  const of =
    <V>(read: (o: Item) => V) =>
    (o: Item): V => {
      fuse?.pass()
      return read(o)
    }
  return {
    tenant: ix.equal(of((o) => o.tenant)),
    tag: ix.multi(of((o) => o.tags)),
    at: ix.ordered(of((o) => o.at)),
    n: ix.ordered(of((o) => o.n)),
    both: ix.compound(of((o) => [o.tenant, o.n] as const)),
  }
}
type By = ReturnType<ReturnType<typeof declareWith>>
/** The scopes of the followers, each beside a predicate that says the same. */
const scopes: readonly (readonly [object, (o: Item, key: string) => boolean])[] = [
  [{}, () => true],
  [{ delivery: 'latest', concurrency: 3 }, () => true],
  [{ where: { tenant: 't1' } }, (o) => o.tenant === 't1'],
  [{ where: { tag: 'g1' } }, (o) => o.tags.includes('g1')],
  [{ where: { at: new Date(2_000) } }, (o) => Number(o.at) === 2_000],
  [{ where: { n: 2 } }, (o) => Number(o.n) === 2],
  [{ where: { both: ['t0', 2n] } }, (o) => o.tenant === 't0' && Number(o.n) === 2],
  [{ key: 'b', where: { tenant: 't0' } }, (o, key) => key === 'b' && o.tenant === 't0'],
]

interface Faults {
  readonly fuse: Fuse
  readonly options?: Partial<InformerOptions<Item, By>>
  /** Called by every handler. */
  readonly inHandler?: () => void
  /** A filter of every follower. */
  readonly inFilter?: () => void
  /** Called as a listener of every event. */
  readonly listen?: (informer: Informer<Item, By>) => void
  /** What is read before it arrives. */
  readonly arriving?: (object: Item) => Item
  /** An object may be left out of an index, or of the store, until it is written again. */
  readonly mayLeaveOut: boolean
  readonly isPersistent?: boolean
}

/** A mirror with followers of every kind, over a source whose every state is remembered. */
class Stage {
  readonly clock = new VirtualClock()
  readonly source: MemorySource<Item> = memorySource<Item>({
    entries: ['a', 'b', 'c', 'd'].map((key, i) => [key, item(i)] as const),
  })
  readonly informer: Informer<Item, By>
  readonly #faults: Faults
  readonly #truth = new Map<string, Item>()
  readonly #states = new Map<string, ReadonlyMap<string, Item>>()
  readonly #followers: {
    readonly fold: Fold<Item>
    readonly isIn: (o: Item, key: string) => boolean
    readonly subscription: Subscription
  }[] = []
  readonly #ended = new Set<Subscription>()

  constructor(faults: Faults) {
    this.#faults = faults
    this.informer = createInformer<Item, By>({
      source: this.source,
      clock: this.clock,
      random: new SeededRandom(1),
      indexes: declareWith(undefined),
      ...faults.options,
    })
    this.informer.on('error', () => {})
    faults.listen?.(this.informer)
    for (const [key, i] of Object.entries({ a: 0, b: 1, c: 2, d: 3 })) this.#truth.set(key, item(i))
    for (const [options, isIn] of scopes) {
      const fold = new Fold<Item>(JSON.stringify(options, (_, v: unknown) => (typeof v === 'bigint' ? `${v}n` : v)))
      const tell: Fold<Item>['tell'] = (change) => {
        fold.tell(change)
        faults.inHandler?.()
      }
      const filter = (): boolean => {
        faults.inFilter?.()
        return true
      }
      const withFilter = faults.inFilter === undefined ? options : { ...options, filter }
      const subscription = this.informer.subscribe({ add: tell, update: tell, delete: tell }, withFilter)
      subscription.synced().catch(() => this.#ended.add(subscription))
      this.#followers.push({ fold, isIn, subscription })
    }
  }

  async write(writes: Readonly<Record<string, Item | undefined>>): Promise<void> {
    const { arriving = (object: Item) => object } = this.#faults
    const version = this.source.transaction((tx) => {
      for (const [key, object] of Object.entries(writes)) {
        if (object === undefined) tx.delete(key)
        else tx.put(key, arriving(object))
      }
    })
    for (const [key, object] of Object.entries(writes)) {
      if (object === undefined) this.#truth.delete(key)
      else this.#truth.set(key, object)
    }
    this.#states.set(version, new Map(this.#truth))
    await this.settle()
  }

  /** Waits until the informer is idle, and checks the store after each wait. */
  async settle(): Promise<void> {
    for (const ms of [0, 0, 100, 900, 1_000, 2_000]) {
      await this.clock.advance(ms)
      if (this.#faults.isPersistent === true) this.lookAtDamage()
      this.#faults.fuse.pausing(() => this.look())
    }
    this.#faults.fuse.pausing(() => this.compare())
  }

  /** Checks that the changes of each subscription result in the contents of the store. */
  compare(): void {
    const { informer } = this
    for (const { fold, isIn, subscription } of this.#followers) {
      if (this.hasEnded(subscription)) continue
      if (this.#faults.mayLeaveOut) {
        // An object may be missing in the index of a subscription, but its last change equals the stored object.
        for (const [key, object] of fold.objects) expect(informer.get(key)).toBe(object)
      } else expect(fold.objects).toEqual(new Map([...informer.entries()].filter(([key, o]) => isIn(o, key))))
    }
  }

  /** Whether a subscription has ended with an error. Such a subscription misses changes. */
  hasEnded(subscription: Subscription): boolean {
    return this.#ended.has(subscription)
  }

  /** Damaged indexes throw at the call. They never return wrong results. */
  lookAtDamage(): void {
    try {
      this.informer.by.tenant('t0')
    } catch (error) {
      expect(error).toMatchObject({ code: 'UNAVAILABLE', message: expect.stringContaining('injected') })
    }
  }

  // I8, I9
  look(): void {
    const { informer } = this
    const state = informer.version === undefined ? new Map() : this.#states.get(informer.version)
    if (state === undefined) return // The first list.
    const numbers = (objects: Iterable<readonly [string, Item]>): object =>
      Object.fromEntries(
        [...objects].filter(([key]) => !informer.invalid.has(key)).map(([key, { n }]) => [key, Number(n)]),
      )
    expect(numbers(informer.entries()), `the store at ${informer.version}`).toEqual(numbers(state))
    if (this.#faults.mayLeaveOut) return
    const { by } = informer
    for (const [index, objects] of [
      ['tenant', [...by.tenant('t0'), ...by.tenant('t1')]],
      ['tag', [...by.tag('g0'), ...by.tag('g1'), ...by.tag('g2')]],
      ['at', by.at()],
      ['n', by.n()],
      ['both', by.both([])],
    ] as const) {
      expect([index, objects.length]).toEqual([index, informer.size])
      expect([index, new Set(objects)]).toEqual([index, new Set(informer.list())])
    }
  }

  async run(): Promise<void> {
    this.informer.start()
    await this.settle()
    await this.write({ a: item(4), e: item(5), b: undefined, c: item(2n), f: item(2) })
    await this.write({ b: item(1), e: undefined, a: item(4, 't1'), g: item(7) })
    // A list that finds everything that a list can find.
    this.source.compact()
    this.source.disconnect()
    await this.write({ a: item(8), b: undefined, h: item(9), d: item(3n), f: item(2n) })
    this.source.corrupt('c', new Error('does not decode'))
    await this.settle()
    // From here on nothing throws, and every object is written once more.
    this.#faults.fuse.disarm()
    await this.clock.advance(60_000)
    const again = [...this.#truth].map(([key, { n }]) => [key, item(Number(n) + 20)] as const)
    await this.write(Object.fromEntries(again))
    await this.clock.advance(60_000)
    // I2, I5
    expect([...this.informer.invalid.keys()]).toEqual([])
    expect(Object.fromEntries(this.informer.entries())).toEqual(Object.fromEntries(this.#truth))
    this.#faults.fuse.disarm()
    for (const { fold, isIn, subscription } of this.#followers) {
      if (this.hasEnded(subscription)) continue
      expect(fold.objects).toEqual(new Map([...this.informer.entries()].filter(([key, o]) => isIn(o, key))))
    }
    const stopped = this.informer.stop()
    await this.clock.advance(1_000)
    await stopped
  }
}

/** Runs the same with a fault at the first call, the second one, and so on, until there is no such call. */
async function atEveryCall(faults: (fuse: Fuse) => Omit<Faults, 'fuse'>, again = 0, stride = 1): Promise<number> {
  for (let nth = 1; ; nth += stride) {
    const fuse = new Fuse()
    const stage = new Stage({ fuse, ...faults(fuse) })
    fuse.arm(nth, again)
    try {
      await stage.run()
    } catch (error) {
      throw new Error(`with a fault at call ${nth}: ${String(error)}`, { cause: error })
    }
    if (!fuse.hasBlown) return nth
  }
}

type Method = (this: unknown, ...args: unknown[]) => unknown

/** Makes a method throw before or after its work, if it is called for an index. */
function sabotage(
  proto: object,
  name: string,
  { isIndex, when, fuse }: { isIndex: boolean; when: 'before' | 'after'; fuse: () => Fuse },
): void {
  const original = Reflect.get(proto, name) as Method
  const sabotaged: Method = function (...args) {
    if (!isIndex && depth === 0) return Reflect.apply(original, this, args)
    if (when === 'before') fuse().pass()
    const result = Reflect.apply(original, this, args)
    if (when === 'after') fuse().pass()
    return result
  }
  Reflect.set(proto, name, sabotaged)
  onTestFinished(() => void Reflect.set(proto, name, original))
}

/** The number of index operations in progress. */
let depth = 0

function countDepth(proto: object, name: string): void {
  const original = Reflect.get(proto, name) as Method
  const counted: Method = function (...args) {
    depth++
    using _ = { [Symbol.dispose]: () => depth-- }
    return Reflect.apply(original, this, args)
  }
  Reflect.set(proto, name, counted)
  onTestFinished(() => void Reflect.set(proto, name, original))
}

const indexes = { EqualIndex, MultiIndex, SortedIndex }
const operations = Object.entries(indexes).flatMap(([name, { prototype }]) =>
  ['set', 'delete', 'valueAt', 'clear'].map((method) => [`${name}.${method}`, prototype, method, true] as const),
)
const hashIndex = Object.getPrototypeOf(EqualIndex.prototype) as object
const parts = [
  ...['bucketOf', 'bucketWith', 'add', 'replace', 'remove'].map(
    (method) => [`${method} of a hash index`, hashIndex, method, true] as const,
  ),
  ['ScalarMap.get in an index', ScalarMap.prototype, 'get', false],
  ['Int32List.get in an index', Int32List.prototype, 'get', false],
  ['Int32List.set in an index', Int32List.prototype, 'set', false],
] as const

describe.each([...operations, ...parts])('[S10] a transaction in which %s throws', (_, proto, method, isIndex) => {
  test.each([
    ['before its work', 'before', 0],
    ['after its work', 'after', 0],
    ['repeatedly, also while indexes are rebuilt', 'before', 3],
  ] as const)(
    '[S7][S8][S9] %s, at any call, is rolled back and applied again: no read sees a part of it, and no change is lost',
    async (_when, when, again) => {
      let current = new Fuse()
      sabotage(proto, method, { isIndex, when, fuse: () => current })
      if (!isIndex)
        for (const { prototype } of Object.values(indexes))
          for (const name of ['set', 'delete']) countDepth(prototype, name)
      const calls = await atEveryCall(
        (fuse) => {
          current = fuse
          return { mayLeaveOut: false, isPersistent: again > 0 }
        },
        again,
        when === 'before' && again === 0 ? 1 : 4,
      )
      if (method !== 'clear') expect(calls).toBeGreaterThan(1)
    },
    20_000,
  )
})

describe('[S7][S9] a callback that throws, at any call', () => {
  const passing =
    <A extends readonly unknown[], R>(fuse: Fuse, answer: (...args: A) => R) =>
    (...args: A): R => {
      fuse.pass()
      return answer(...args)
    }

  test.each(
    Object.entries<(fuse: Fuse) => Omit<Faults, 'fuse'>>({
      schema: (fuse) => ({
        mayLeaveOut: true,
        options: {
          schema: {
            '~standard': { version: 1, vendor: 'test', validate: passing(fuse, (value) => ({ value: value as Item })) },
          },
        },
      }),
      transform: (fuse) => ({ mayLeaveOut: true, options: { transform: passing(fuse, (o: Item) => o) } }),
      equals: (fuse) => ({ mayLeaveOut: true, options: { equals: passing(fuse, (a: Item, b: Item) => a.n === b.n) } }),
      'an index function': (fuse) => ({ mayLeaveOut: true, options: { indexes: declareWith(fuse) } }),
      'transform, with onInvalid omit': (fuse) => ({
        mayLeaveOut: true,
        options: { transform: passing(fuse, (o: Item) => o), onInvalid: 'omit' },
      }),
      'a filter': (fuse) => ({ mayLeaveOut: true, inFilter: () => fuse.pass() }),
      'a handler': (fuse) => ({ mayLeaveOut: false, inHandler: () => fuse.pass() }),
      'a listener': (fuse) => ({
        mayLeaveOut: false,
        listen: (informer) => informer.on('status', () => fuse.pass()).on('error', () => fuse.pass()),
      }),
      'a logger': (fuse) => {
        const log = (): void => fuse.pass()
        return { mayLeaveOut: false, options: { logger: { debug: log, info: log, warn: log, error: log } } }
      },
      'a getter that freezing meets': (fuse) => ({
        mayLeaveOut: true,
        options: { freeze: true },
        arriving: (o) =>
          Object.defineProperty({ ...o }, 'tags', {
            enumerable: true,
            get: passing(fuse, () => o.tags),
          }),
      }),
      'a Proxy that freezing and indexes meet': (fuse) => {
        const traps: ProxyHandler<Item> = {
          get: passing(fuse, Reflect.get),
          getPrototypeOf: passing(fuse, Reflect.getPrototypeOf),
          ownKeys: passing(fuse, Reflect.ownKeys),
          isExtensible: passing(fuse, Reflect.isExtensible),
        }
        return { mayLeaveOut: true, options: { freeze: true }, arriving: (o) => new Proxy(o, traps) }
      },
    }),
  )(
    '%s',
    async (_, faults) => {
      warnings()
      expect(await atEveryCall(faults)).toBeGreaterThan(3)
      // Hundreds of informers: five seconds are not enough on a machine that also runs server tests.
    },
    60_000,
  )
})
