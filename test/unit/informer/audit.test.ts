import { describe, expect, onTestFinished, test } from 'vitest'
import { type MemorySource, memorySource } from '../../../adapters/memory/index.js'
import { SourceError } from '../../../src/contract/errors.js'
import type { ListContext, ListerWatcher, VersionPage, WatchBatch, WatchContext } from '../../../src/contract/source.js'
import { Audit } from '../../../src/informer/audit.js'
import { createInformer } from '../../../src/informer/create-informer.js'
import type { Informer, InformerOptions } from '../../../src/informer/informer-types.js'
import { Indexer } from '../../../src/store/indexer.js'
import { SeededRandom } from '../../../testing/seeded-random.js'
import { VirtualClock } from '../../../testing/virtual-clock.js'
import { assertCleanStop, deferred, outcomeOf } from '../../support/informers.js'
import { numbered, put, type ScriptedSource, scripted } from '../../support/scripted-source.js'

const PERIOD_MS = 5 * 60_000

interface Item {
  readonly n: number
}

/** A source that loses the events of the keys in `lost`. Its version increases all the same. */
class Lossy implements ListerWatcher<Item> {
  readonly name = 'lossy'
  readonly memory: MemorySource<Item>
  readonly lost = new Set<string>()
  /** Keys whose events have a wrong object and the right version. */
  readonly mangled = new Set<string>()
  reads = 0
  stallMs = 0
  requestAudit: WatchContext['requestAudit']

  constructor(entries: Iterable<readonly [string, Item]>) {
    this.memory = memorySource<Item>({ entries })
  }

  list(context: ListContext): ReturnType<ListerWatcher<Item>['list']> {
    return this.memory.list(context)
  }

  async *watch(context: WatchContext): AsyncGenerator<WatchBatch<Item>> {
    this.requestAudit = context.requestAudit
    for await (const batch of this.memory.watch(context)) {
      const events = batch.events.filter((event) => !('key' in event && this.lost.has(event.key ?? '')))
      const isMangled = (event: (typeof events)[number]): boolean => event.type === 'put' && this.mangled.has(event.key)
      yield {
        ...batch,
        events: events.map((event) => (isMangled(event) ? { ...event, object: { n: -1 } } : event) as typeof event),
      }
    }
  }

  head(): Promise<string> {
    return this.memory.head()
  }

  hasReached(at: string, mark: string): boolean {
    return this.memory.hasReached(at, mark)
  }
}

/** How often a slow read of a `LossyVersioned` calls `alive`, in milliseconds. */
const ALIVE_MS = 20_000

/** A `Lossy` that can list keys and versions. */
class LossyVersioned extends Lossy {
  /** Whether a read that takes `stallMs` calls `alive`. */
  isAlive = false

  async *versions(context: ListContext): AsyncGenerator<VersionPage> {
    this.reads++
    for (let waitMs = this.stallMs; waitMs > 0; waitMs -= ALIVE_MS) {
      await context.clock.sleep(Math.min(waitMs, ALIVE_MS), context.signal)
      if (this.isAlive) context.alive?.()
    }
    for await (const { events, version } of this.memory.list(context)) {
      const keys = events.flatMap((event) =>
        event.key === undefined ? [] : [{ key: event.key, version: event.version ?? 'none that is known' }],
      )
      yield { keys, ...(version === undefined ? {} : { version }) }
    }
  }
}

interface World<S> {
  readonly clock: VirtualClock
  readonly source: S
  readonly informer: Informer<Item>
  readonly errors: SourceError[]
}

async function synced<S extends ListerWatcher<Item>>(
  source: S,
  options: Pick<InformerOptions<Item, object>, 'audit' | 'transform'> = {},
): Promise<World<S>> {
  const clock = new VirtualClock()
  const informer = createInformer<Item, object>({ ...options, source, clock, random: new SeededRandom(1) })
  const errors: SourceError[] = []
  informer.on('error', (error) => errors.push(error))
  onTestFinished(() => assertCleanStop(informer, clock))
  await informer.start().synced()
  await clock.advance(10)
  return { clock, source, informer, errors }
}

const three: readonly (readonly [string, Item])[] = [
  ['a', { n: 1 }],
  ['b', { n: 2 }],
  ['c', { n: 3 }],
]

/** Writes whose events the watch loses. */
const breaches: readonly (readonly [string, (source: Lossy) => void])[] = [
  ['a lost put', ({ memory }) => memory.put('a', { n: 9 })],
  ['a lost add', ({ memory }) => memory.put('x', { n: 9 })],
  ['a lost delete', ({ memory }) => memory.delete('b')],
]

describe.each([
  ['of keys and versions, on by default if the source can list them', LossyVersioned, {}],
  ['of contents, on request', Lossy, { audit: {} }],
] as const)('an audit %s', (_what, Source, options) => {
  test.each(breaches)(
    '[I16] %s is found within a period, reported, and repaired by one relist',
    async (_breach, breach) => {
      const { clock, source, informer, errors } = await synced(new Source(three), options)
      for (const key of ['a', 'b', 'x']) source.lost.add(key)
      breach(source)
      await clock.advance(1_000)
      expect(errors).toEqual([])
      await clock.advance(PERIOD_MS)
      expect(errors.map(({ code }) => code)).toEqual(['PROTOCOL'])
      expect(errors[0]?.message).toMatch(
        /the audit of lossy found a difference at the key "[abx]"; the source is read again/,
      )
      await clock.advance(2_000)
      expect(new Map(informer.entries())).toEqual(await contentsOf(source))
      expect(informer.status.relists).toBe(1)
    },
  )

  test('[I16] finds no difference in a correct mirror, also during continuous writes', async () => {
    const { clock, source, informer, errors } = await synced(new Source(three), options)
    for (let i = 0; i < 200; i++) {
      source.memory.put(`k${i % 7}`, { n: i })
      if (i % 3 === 0) source.memory.delete(`k${(i + 1) % 7}`)
      await clock.advance(10_000)
    }
    expect([errors, informer.status.relists]).toEqual([[], 0])
  })

  test('ignores invalid objects and objects that transform leaves out', async () => {
    const transform = (item: Item): Item | undefined => (item.n === 2 ? undefined : item)
    const { clock, source, informer, errors } = await synced(new Source(three), { ...options, transform })
    source.memory.corrupt('c', new Error('broken'))
    await clock.advance(3 * PERIOD_MS)
    expect(errors.map(({ key }) => key)).toEqual(['c'])
    expect([informer.status.relists, [...informer.keys()]]).toEqual([0, ['a', 'c']])
  })

  test('finds objects that were left out or invalid before, and are valid now', async () => {
    const transform = (item: Item): Item | undefined => (item.n === 2 ? undefined : item)
    const { clock, source, informer, errors } = await synced(new Source(three), { ...options, transform })
    source.memory.corrupt('c', new Error('broken'))
    await clock.advance(10)
    expect([informer.has('b'), informer.invalid.has('c')]).toEqual([false, true])
    for (const key of ['b', 'c']) source.lost.add(key)
    source.memory.put('b', { n: 5 })
    source.memory.put('c', { n: 3 })
    await clock.advance(PERIOD_MS + 2_000)
    expect([informer.get('b'), informer.get('c'), informer.invalid.size]).toEqual([{ n: 5 }, { n: 3 }, 0])
    expect([errors.map(({ code }) => code), informer.status.relists]).toEqual([['DECODE', 'PROTOCOL'], 1])
    await clock.advance(3 * PERIOD_MS)
    expect(informer.status.relists).toBe(1)
  })

  test('finds no difference if an object that transform left out has been stored since', async () => {
    const transform = (item: Item): Item | undefined => (item.n === 2 ? undefined : item)
    const { clock, source, informer, errors } = await synced(new Source(three), { ...options, transform })
    source.memory.put('a', { n: 2 })
    await clock.advance(10)
    expect([...informer.keys()]).toEqual(['c'])
    source.memory.put('b', { n: 5 })
    source.memory.put('a', { n: 6 })
    await clock.advance(10)
    expect([informer.get('a'), informer.get('b')]).toEqual([{ n: 6 }, { n: 5 }])
    await clock.advance(3 * PERIOD_MS)
    expect([errors, informer.status.relists]).toEqual([[], 0])
  })

  test('leaves no timer after stop, also in the middle of a period', async () => {
    const { clock, informer } = await synced(new Source(three), options)
    await clock.advance(PERIOD_MS / 2)
    await assertCleanStop(informer, clock)
  })
})

async function contentsOf({ memory }: Lossy): Promise<ReadonlyMap<string, Item>> {
  const contents = new Map<string, Item>()
  const { signal } = new AbortController()
  for await (const { events } of memory.list({
    signal,
    clock: new VirtualClock(),
    random: { next: () => 0 },
    pageSize: 100,
  })) {
    for (const event of events) if (event.type === 'put') contents.set(event.key, event.object)
  }
  return contents
}

describe('an audit', () => {
  test('of contents repairs also an object with the right version and the wrong content', async () => {
    const { clock, source, informer } = await synced(new Lossy(three), { audit: {} })
    source.mangled.add('a')
    source.memory.put('a', { n: 9 })
    await clock.advance(10)
    expect(informer.get('a')).toEqual({ n: -1 })
    await clock.advance(PERIOD_MS + 2_000)
    expect(informer.get('a')).toEqual({ n: 9 })
  })

  test('of contents finds an object that has become invalid', async () => {
    const { clock, source, informer, errors } = await synced(new Lossy(three), { audit: {} })
    source.lost.add('c')
    source.memory.corrupt('c', new Error('broken'))
    await clock.advance(PERIOD_MS + 2_000)
    expect([[...informer.invalid.keys()], informer.get('c')]).toEqual([['c'], { n: 3 }])
    await clock.advance(3 * PERIOD_MS)
    expect([errors.map(({ code }) => code), informer.status.relists]).toEqual([['PROTOCOL', 'DECODE'], 1])
  })

  test('against a stale list is reported, changes nothing and is retried', async () => {
    const { clock, source, errors, informer } = await synced(new LossyVersioned(three))
    const honest = source.versions.bind(source)
    source.versions = async function* () {
      yield { keys: [], version: first }
    }
    const first = informer.version ?? ''
    source.memory.put('a', { n: 5 })
    await clock.advance(PERIOD_MS)
    expect(errors.map(({ code, message }) => [code, message])).toEqual([
      [
        'STALE_LIST',
        expect.stringContaining(
          'the audit of lossy could not be done: the snapshot of the source is older than the store',
        ),
      ],
    ])
    expect([informer.size, informer.status.relists]).toEqual([3, 0])
    source.versions = honest
    await clock.advance(2 * PERIOD_MS)
    expect(errors).toHaveLength(1)
  })

  test('that receives no page for 30 s fails, and is retried', async () => {
    const { clock, source, errors } = await synced(new LossyVersioned(three))
    source.stallMs = 1e9
    await clock.advance(PERIOD_MS + 31_000)
    expect(errors.map(({ code }) => code)).toEqual(['UNAVAILABLE'])
    source.stallMs = 0
    // After an attempt of 30 s the next one starts a hundred times 30 s later at the earliest.
    await clock.advance(2_000_000)
    const { reads } = source
    await clock.advance(1_100_000)
    expect(source.reads).toBeGreaterThan(reads)
  })

  test('[C4] a read that calls alive may take longer than 30 s for a page', async () => {
    const { clock, source, errors } = await synced(new LossyVersioned(three))
    source.isAlive = true
    source.stallMs = 100_000
    source.lost.add('a')
    source.memory.put('a', { n: 5 })
    await clock.advance(PERIOD_MS + 110_000)
    expect(errors.map(({ code, message }) => [code, message])).toEqual([
      ['PROTOCOL', expect.stringContaining('a difference at the key "a"')],
    ])
  })

  test('[I15] reads nothing after stop() has settled', async () => {
    const entries = Array.from({ length: 100 }, (_, n) => [`k${n}`, { n }] as const)
    let calls = 0
    const late: Item[] = []
    let isStopped = false
    const stop = async (): Promise<void> => {
      await informer.stop()
      isStopped = true
    }
    const transform = (item: Item): Item => {
      if (isStopped) late.push(item)
      if (++calls === entries.length + 5) queueMicrotask(() => void stop())
      return item
    }
    const { clock, informer } = await synced(new Lossy(entries), { audit: {}, transform })
    await clock.advance(PERIOD_MS)
    expect([isStopped, late]).toEqual([true, []])
  })

  test('[I15] ends, and stop() settles, once the source has closed the iterator', async () => {
    const source = new LossyVersioned(three)
    const { promise: closed, resolve } = deferred()
    source.versions = async function* ({ signal }: ListContext): AsyncGenerator<VersionPage> {
      this.reads++
      await new Promise<void>((aborted) => signal.addEventListener('abort', () => aborted(), { once: true }))
      await closed
    }
    const { clock, informer } = await synced(source)
    while (source.reads === 0) await clock.advance(1_000)
    const stopped = informer.stop()
    expect(await outcomeOf(stopped, clock)).toBe('pending')
    resolve()
    expect(await outcomeOf(stopped, clock)).toBe('resolved')
  })

  test('of contents that name a key twice compares the later object', async () => {
    const source = scripted<Item>({
      heartbeatMs: 10 * PERIOD_MS,
      hasReached: numbered,
      onList: (list, nth) => list.answer([...(nth === 1 ? [] : [put('a', { n: 1 })]), put('a', { n: 2 })], '5'),
    })
    const { clock, informer, errors } = await synced(source, { audit: {} })
    await clock.advance(PERIOD_MS)
    expect(source.lists.length).toBeGreaterThan(1)
    expect([errors, informer.status.relists]).toEqual([[], 0])
  })

  test('of contents finds an object that the list names and deletes', async () => {
    const twice = [put('a', { n: 1 }), put('b', { n: 2 })]
    const source = scripted<Item>({
      heartbeatMs: 10 * PERIOD_MS,
      hasReached: numbered,
      onList: (list, nth) => list.answer(nth === 1 ? twice : [...twice, { type: 'delete', key: 'a' }], '5'),
    })
    const { clock, informer, errors } = await synced(source, { audit: {} })
    await clock.advance(PERIOD_MS)
    expect(errors.map(({ key }) => key)).toEqual(['a'])
    await clock.advance(1_000)
    expect([...informer.keys()]).toEqual(['b'])
  })

  test('finds nothing if the source lists in another order, and each missing key in any order', async () => {
    const source = new LossyVersioned(three)
    const { clock, informer, errors } = await synced(source)
    const list = source.memory.list.bind(source.memory)
    source.memory.list = async function* (context) {
      for await (const page of list(context)) yield { ...page, events: page.events.toReversed() }
    }
    await clock.advance(2 * PERIOD_MS)
    expect([errors, informer.status.relists]).toEqual([[], 0])
    source.lost.add('b')
    source.memory.delete('b')
    await clock.advance(PERIOD_MS)
    expect(errors.map(({ key }) => key)).toEqual(['b'])
  })

  test('runs every half to whole period, and not while the watch is broken', async () => {
    const { clock, source } = await synced(new LossyVersioned(three), { audit: { periodMs: 1_000 } })
    await clock.advance(60_000)
    expect([source.reads >= 60, source.reads <= 121]).toEqual([true, true])
    source.memory.fail(new SourceError('gone', { code: 'UNAVAILABLE' }), 1e9)
    source.memory.disconnect()
    await clock.advance(100)
    const { reads } = source
    await clock.advance(60_000)
    expect(source.reads).toBe(reads)
  })

  test('[I16] runs once within 10 s of a request of the source', async () => {
    const { clock, source, informer, errors } = await synced(new LossyVersioned(three))
    source.lost.add('b')
    source.memory.delete('b')
    await clock.advance(20_000)
    expect([source.reads, informer.has('b')]).toEqual([0, true])
    source.requestAudit?.('it looks strange')
    source.requestAudit?.('very strange')
    await clock.advance(12_000)
    expect([source.reads, informer.has('b'), errors.map(({ code }) => code)]).toEqual([1, false, ['PROTOCOL']])
    await clock.advance(PERIOD_MS / 3)
    expect(source.reads).toBe(1)
  })

  test('that the source requested is retried until it succeeds', async () => {
    const { clock, source, informer } = await synced(new LossyVersioned(three))
    source.stallMs = 1e9
    source.lost.add('b')
    source.memory.delete('b')
    source.requestAudit?.('it looks strange')
    await clock.advance(60_000)
    expect([source.reads > 1, informer.has('b')]).toEqual([true, true])
    source.stallMs = 0
    await clock.advance(60_000)
    expect(informer.has('b')).toBe(false)
  })

  test('that the source requested and that fails is retried at growing intervals', async () => {
    const { clock, source } = await synced(new LossyVersioned(three))
    source.stallMs = 1e9
    source.requestAudit?.('it looks strange')
    await clock.advance(3_600_000)
    // Without a request one audit runs in five minutes at most.
    expect(source.reads).toBeLessThan(30)
    expect(source.reads).toBeGreaterThan(10)
  })

  test('runs within 10 s of a request after a success, however many audits failed before', async () => {
    const { clock, source } = await synced(new LossyVersioned(three))
    source.stallMs = 1e9
    source.requestAudit?.('it looks strange')
    await clock.advance(3_600_000)
    source.stallMs = 0
    await clock.advance(600_000)
    for (let round = 0; round < 5; round++) {
      const before = source.reads
      source.requestAudit?.('it looks strange')
      await clock.advance(12_000)
      expect(source.reads).toBe(before + 1)
    }
  })

  test('finds an object that was deleted while it was invalid', async () => {
    const { clock, source, informer } = await synced(new LossyVersioned(three))
    source.memory.corrupt('b', new Error('no JSON'))
    await clock.advance(10)
    expect([...informer.invalid.keys()]).toEqual(['b'])
    source.lost.add('b')
    source.memory.delete('b')
    await clock.advance(2 * PERIOD_MS)
    expect([...informer.invalid.keys()]).toEqual([])
  })

  test('does not report an invalid object that still exists', async () => {
    const { clock, source, errors } = await synced(new LossyVersioned(three))
    source.memory.corrupt('b', new Error('no JSON'))
    source.memory.corrupt('never valid', new Error('no JSON'))
    await clock.advance(3 * PERIOD_MS)
    expect(source.reads).toBeGreaterThan(1)
    expect(errors.map(({ code }) => code)).toEqual(['DECODE', 'DECODE'])
  })

  test('finds an object that is valid again at the version before it was invalid', async () => {
    const { clock, source, informer, errors } = await synced(new LossyVersioned(three))
    const { version } = informer.entry('b') ?? {}
    source.memory.corrupt('b', new Error('no JSON'))
    await clock.advance(10)
    expect(informer.entry('b')?.version).toBe(version)
    const versions = source.versions.bind(source)
    source.versions = async function* (context) {
      for await (const page of versions(context))
        yield {
          ...page,
          keys: page.keys.map((each) => (each.key === 'b' ? { key: 'b', version: String(version) } : each)),
        }
    }
    await clock.advance(PERIOD_MS + 2_000)
    expect(errors.map(({ code }) => code).slice(0, 2)).toEqual(['DECODE', 'PROTOCOL'])
  })

  test('does not run on a request of the source if audits are off', async () => {
    const { clock, source } = await synced(new LossyVersioned(three), { audit: false })
    source.requestAudit?.('it looks strange')
    await clock.advance(60_000)
    expect(source.reads).toBe(0)
  })

  test('is off with `audit: false`, and by default if it needs a list', async () => {
    const off = await synced(new LossyVersioned(three), { audit: false })
    await off.clock.advance(2 * PERIOD_MS)
    expect(off.source.reads).toBe(0)
    const plain = await synced(new Lossy(three))
    plain.source.lost.add('a')
    plain.source.memory.put('a', { n: 9 })
    await plain.clock.advance(2 * PERIOD_MS)
    expect(plain.informer.get('a')).toEqual({ n: 1 })
  })

  test.each<[string, object, string]>([
    ['true', { audit: true }, 'createInformer: option "audit" must be false or an object'],
    [
      'a period of 0',
      { audit: { periodMs: 0 } },
      'createInformer: audit: option "periodMs" must be a finite number above 0',
    ],
    ['an unknown option', { audit: { everyMs: 5 } }, 'createInformer: audit: unknown option "everyMs"'],
  ])('%s is a TypeError', (_what, options, message) => {
    expect(() => createInformer({ source: new Lossy(three), ...options })).toThrow(message)
  })

  /** An audit has read version 2, which has an object `x`. Then the store continues from version 1. */
  async function betweenVersions(proceed: (source: ScriptedSource<Item>, clock: VirtualClock) => Promise<void>) {
    const source = scripted<Item>({
      hasReached: numbered,
      onList: (call, nth) => nth === 1 && call.answer([put('a', { n: 1 }, '1')], '1'),
    })
    const { clock, informer, errors } = await synced(source, { audit: {} })
    while (source.lists.length === 1) {
      source.watches[0]?.batch([], '1')
      await clock.advance(10_000)
    }
    source.lists[1]?.answer([put('a', { n: 1 }, '1'), put('x', { n: 2 }, '2')], '2')
    await clock.advance(0)
    await proceed(source, clock)
    await clock.advance(1_000)
    expect(informer.version).toBe('3')
    return errors.filter(({ message }) => message.includes('difference'))
  }

  test('finds no difference if a relist skips an object that was added and deleted meanwhile', async () => {
    const differences = await betweenVersions(async ({ lists, watches }, clock) => {
      watches[0]?.fail(new SourceError('the history is gone', { code: 'VERSION_EXPIRED' }))
      await clock.advance(1_000)
      lists[2]?.answer([put('a', { n: 1 }, '1')], '3')
    })
    expect(differences).toEqual([])
  })

  test('finds no difference if a replace skips an object that was added and deleted meanwhile', async () => {
    const differences = await betweenVersions(async ({ watches }) => {
      watches[0]?.batch([{ type: 'replace', entries: [put('a', { n: 1 }, '1')] }], '3')
    })
    expect(differences).toEqual([])
  })

  test('finds an object that a watch has skipped', async () => {
    const differences = await betweenVersions(async ({ watches }) => watches[0]?.batch([], '3'))
    expect(differences.map(({ key }) => key)).toEqual(['x'])
  })

  test.each<[string, object]>([
    ['without a key', { type: 'invalid', error: new Error('unreadable') }],
    ['with a key that is not a string', { type: 'put', key: 42, object: { n: 2 } }],
    ['of an unknown type', { type: 'patch', key: 'b' }],
    ['that is null', null as never],
  ])('does not report a missing object if the list has an event %s', async (_what, event) => {
    const source = new Lossy(three)
    const { clock, errors, informer } = await synced(source, { audit: {} })
    source.list = async function* (context) {
      for await (const page of source.memory.list(context)) {
        const events = page.events.filter((each) => each.key !== 'b')
        yield { ...page, events: [...events, event as never] }
      }
    }
    await clock.advance(2 * PERIOD_MS)
    expect(errors).toEqual([])
    expect(informer.status.relists).toBe(0)
  })

  test('[O9] derives the time to the next audit from its reads, not from its waits', async () => {
    const { clock, source, informer, errors } = await synced(new LossyVersioned(three))
    const honest = source.versions.bind(source)
    // The audit reads a version that the watch does not deliver. The watch is reopened after 25 s.
    source.versions = (context) => {
      source.versions = honest
      source.memory.stall()
      source.memory.put('a', { n: 9 })
      return honest(context)
    }
    while (source.reads === 0) await clock.advance(1_000)
    await clock.advance(60_000)
    expect([informer.get('a'), errors.map(({ phase }) => phase)]).toEqual([{ n: 9 }, ['watch']])
    source.lost.add('a')
    source.memory.put('a', { n: 10 })
    await clock.advance(PERIOD_MS + 2_000)
    expect(informer.get('a')).toEqual({ n: 10 })
  })

  test('[O9] does not count the sleep of the machine in the time to the next audit', async () => {
    const virtual = new VirtualClock()
    let sleptMs = 0
    const clock = {
      now: () => virtual.now() + sleptMs,
      sleep: (ms: number, signal?: AbortSignal) => virtual.sleep(ms, signal),
    }
    const source = new LossyVersioned(three)
    const informer = createInformer<Item, object>({ source, clock, random: new SeededRandom(1) })
    informer.on('error', () => {})
    onTestFinished(() => assertCleanStop(informer, virtual))
    await informer.start().synced()
    source.stallMs = 20_000
    while (source.reads === 0) await virtual.advance(1_000)
    sleptMs = 8 * 3_600_000
    source.stallMs = 0
    await virtual.advance(3_100_000)
    expect(source.reads).toBeGreaterThan(1)
  })

  test.each<readonly [title: string, cpuMs: number | undefined, leastMs: number]>([
    ['unchanged while the server takes 400 ms to read, if that uses little CPU of this process', 40, 5_000],
    ['100 times as long as the CPU time', 200, 20_000],
    ['100 times as long as the read if the clock has no CPU time', undefined, 40_000],
    ['without the CPU time of other threads beyond the time of the read', 60_000, 40_000],
  ])('[O9] derives its period from the CPU time: %s', async (_title, cpuMs, leastMs) => {
    const virtual = new VirtualClock()
    const source = new LossyVersioned(three)
    const began: number[] = []
    const honest = source.versions.bind(source)
    let usedMs = 0
    source.versions = async function* (context) {
      began.push(virtual.now())
      usedMs += cpuMs ?? 0
      yield* honest(context)
    }
    const clock = {
      now: () => virtual.now(),
      cpuMs: () => (cpuMs === undefined ? undefined : usedMs),
      sleep: (ms: number, signal?: AbortSignal) => virtual.sleep(ms, signal),
    }
    const audit = { periodMs: 10_000 }
    const informer = createInformer<Item, object>({ source, clock, random: new SeededRandom(1), audit })
    onTestFinished(() => assertCleanStop(informer, virtual))
    await informer.start().synced()
    source.stallMs = 400
    await virtual.advance(400_000)
    const rests = began.slice(1).map((at, i) => at - (began[i] ?? 0) - 400)
    expect(Math.min(...rests)).toBeGreaterThanOrEqual(leastMs)
    expect(Math.max(...rests)).toBeLessThanOrEqual(Math.max(leastMs, 10_000) + 500)
  })

  test('[O9] rests 10 times as long as its read, in which the server works', async () => {
    const virtual = new VirtualClock()
    const clock = {
      now: () => virtual.now(),
      cpuMs: () => 0,
      sleep: (ms: number, signal?: AbortSignal) => virtual.sleep(ms, signal),
    }
    const source = new LossyVersioned(three)
    const audit = { periodMs: 10_000 }
    const informer = createInformer<Item, object>({ source, clock, random: new SeededRandom(1), audit })
    onTestFinished(() => assertCleanStop(informer, virtual))
    await informer.start().synced()
    source.stallMs = 15_000
    // The first read begins after 5 to 10 s.
    await virtual.advance(5_000 + 15_000 + 149_000)
    expect(source.reads).toBe(1)
    await virtual.advance(7_000)
    expect(source.reads).toBe(2)
  })

  test('of a source that cannot compare versions is a TypeError', () => {
    const memory = memorySource<Item>()
    const plain: ListerWatcher<Item> = {
      name: 'plain',
      list: (context) => memory.list(context),
      watch: (context) => memory.watch(context),
    }
    expect(() => createInformer({ source: plain, audit: {} })).toThrow(
      'createInformer: the source "plain" cannot be audited: it cannot compare versions',
    )
  })
})

describe('the comparison of a large store', () => {
  /** Compares 100 keys that the source does not have. Each read of the clock is 5 ms later than the one before. */
  async function comparing() {
    const real = new VirtualClock()
    let looks = 0
    const clock = {
      now: () => real.now() + 5 * looks++,
      sleep: (ms: number, signal?: AbortSignal) => real.sleep(ms, signal),
    }
    const indexer = new Indexer<number>({}, { onCommit: () => {} })
    const part = indexer.whole
    const list = part.replace()
    await list.page(Array.from({ length: 100 }, (_, i) => put(`k${i}`, i)))
    await list.commit('1')
    const source: ListerWatcher<number> = {
      ...scripted<number>({ hasReached: numbered }),
      async *versions() {
        yield { keys: [], version: '1' }
      },
    }
    const reported: SourceError[] = []
    const included = Promise.withResolvers<void>()
    const audit = new Audit<number, number>(
      {
        source,
        part,
        clock,
        random: { next: () => 0 },
        isLive: () => true,
        waitFor: () => included.promise,
        reflector: { proven: () => true, relist: () => {} },
        proof: { audited: () => {}, auditFailed: () => {} },
        events: { report: (error) => reported.push(error), warning: () => {} },
      },
      1_000,
    )
    const control = new AbortController()
    const running = audit.run(control.signal)
    onTestFinished(async () => {
      control.abort()
      await running
    })
    await real.advance(1_000)
    included.resolve()
    for (let i = 0; i < 10_000; i++) await Promise.resolve()
    expect(reported).toEqual([])
    return { real, part, reported, control }
  }

  test('yields to the event loop', async () => {
    const { real, reported } = await comparing()
    for (let turn = 0; turn < 200; turn++) await real.advance(0)
    expect(reported.map(({ message }) => message)).toEqual([
      expect.stringContaining('found a difference at the key "k0" and 99 more'),
    ])
  })

  test('leaves out keys that are written between two yields', async () => {
    const { real, part, reported } = await comparing()
    void part.apply({ events: [put('k98', 0), { type: 'delete', key: 'k99' }, put('new', 1)], version: '2' })
    for (let turn = 0; turn < 200; turn++) await real.advance(0)
    expect(reported.map(({ message }) => message)).toEqual([expect.stringContaining('"k0" and 97 more')])
  })

  test('ends if a replace is applied between two yields', async () => {
    const { real, part, reported } = await comparing()
    void part.apply({ events: [{ type: 'replace', entries: [{ key: 'k99', object: 99 }] }], version: '2' })
    for (let turn = 0; turn < 200; turn++) await real.advance(0)
    expect(reported.map(({ message }) => message)).toEqual([expect.not.stringContaining('99 more')])
  })

  test('ends on stop', async () => {
    const { real, reported, control } = await comparing()
    control.abort()
    for (let turn = 0; turn < 200; turn++) await real.advance(0)
    expect([reported, real.sleeping]).toEqual([[], 0])
  })
})
