import { describe, expect, test } from 'vitest'
import type { ListContext, VersionPage } from '../../../src/adapter.js'
import { createInformer, SourceError } from '../../../src/index.js'
import { VirtualClock } from '../../../testing/virtual-clock.js'
import { outcomeOf } from '../../support/informers.js'
import { type Item, Lossy, LossyVersioned, synced, three } from '../../support/lossy-source.js'
import { numbered, put, type ScriptedSource, scripted } from '../../support/scripted-source.js'

const PERIOD_MS = 5 * 60_000

/** Writes whose events the watch loses, and what the source has then. */
const breaches: readonly (readonly [string, (source: Lossy) => unknown, Readonly<Record<string, number>>])[] = [
  ['a lost put', ({ memory }) => memory.put('a', { n: 9 }), { a: 9, b: 2, c: 3 }],
  ['a lost add', ({ memory }) => memory.put('x', { n: 9 }), { a: 1, b: 2, c: 3, x: 9 }],
  ['a lost delete', ({ memory }) => memory.delete('b'), { a: 1, c: 3 }],
]

describe.each([
  ['of keys and versions, on by default if the source can list them', LossyVersioned, {}],
  ['of contents, on request', Lossy, { audit: {} }],
] as const)('an audit %s', (_what, Source, options) => {
  test.each(breaches)(
    '[I16] %s is found within a period, reported, and repaired by one relist',
    async (_breach, breach, expected) => {
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
      expect(Object.fromEntries(Array.from(informer.entries(), ([key, { n }]) => [key, n]))).toEqual(expected)
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

  test('ignores invalid objects and objects that transform leaves out, until they are valid or stored', async () => {
    const transform = (item: Item): Item | undefined => (item.n === 2 ? undefined : item)
    const { clock, source, informer, errors } = await synced(new Source(three), { ...options, transform })
    source.memory.corrupt('c', new Error('broken'))
    await clock.advance(3 * PERIOD_MS)
    expect(errors.map(({ key }) => key)).toEqual(['c'])
    expect([informer.status.relists, [...informer.keys()], informer.invalid.size]).toEqual([0, ['a', 'c'], 1])
    for (const key of ['b', 'c']) source.lost.add(key)
    source.memory.put('b', { n: 5 })
    source.memory.put('c', { n: 3 })
    await clock.advance(PERIOD_MS + 2_000)
    expect([informer.get('b'), informer.get('c'), informer.invalid.size]).toEqual([{ n: 5 }, { n: 3 }, 0])
    expect([errors.map(({ code }) => code), informer.status.relists]).toEqual([['DECODE', 'PROTOCOL'], 1])
    source.memory.put('a', { n: 2 })
    await clock.advance(10)
    expect(informer.has('a')).toBe(false)
    source.memory.put('a', { n: 6 })
    await clock.advance(3 * PERIOD_MS)
    expect([informer.get('a'), errors.length, informer.status.relists]).toEqual([{ n: 6 }, 2, 1])
  })
})

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

  test('against a stale list is reported, changes nothing and is retried', async () => {
    const { clock, source, errors, informer } = await synced(new LossyVersioned(three))
    const honest = source.versions.bind(source)
    const { version: first = '' } = informer
    source.versions = async function* () {
      yield { keys: [], version: first }
    }
    source.memory.put('a', { n: 5 })
    await clock.advance(PERIOD_MS)
    const reason = 'the audit of lossy could not be done: the snapshot of the source is older than the store'
    expect(errors).toMatchObject([{ code: 'STALE_LIST', message: expect.stringContaining(reason) }])
    expect([informer.size, informer.status.relists]).toEqual([3, 0])
    source.versions = honest
    await clock.advance(2 * PERIOD_MS)
    expect(errors).toHaveLength(1)
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
    let [calls, isStopped] = [0, false]
    const late: Item[] = []
    const stop = () => informer.stop().then(() => (isStopped = true))
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
    const { promise: closed, resolve } = Promise.withResolvers<void>()
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

  test('[I16] that the source requested and that fails is retried at growing intervals, and runs at once after a success', async () => {
    const { clock, source } = await synced(new LossyVersioned(three))
    source.stallMs = 1e9
    source.requestAudit?.('it looks strange')
    await clock.advance(3_600_000)
    // Without a request one audit runs in five minutes at most.
    expect(source.reads).toBeLessThan(30)
    expect(source.reads).toBeGreaterThan(10)
    source.stallMs = 0
    await clock.advance(600_000)
    for (let round = 0; round < 5; round++) {
      const before = source.reads
      source.requestAudit?.('it looks strange')
      await clock.advance(12_000)
      expect(source.reads).toBe(before + 1)
    }
  })

  test('finds an object that is valid again at the version before it was invalid', async () => {
    const { clock, source, informer, errors } = await synced(new LossyVersioned(three))
    const { version = '' } = informer.entry('b') ?? {}
    source.memory.corrupt('b', new Error('no JSON'))
    await clock.advance(10)
    expect(informer.entry('b')?.version).toBe(version)
    const versions = source.versions.bind(source)
    source.versions = async function* (context) {
      for await (const page of versions(context))
        yield { ...page, keys: page.keys.map((each) => (each.key === 'b' ? { key: 'b', version } : each)) }
    }
    await clock.advance(PERIOD_MS + 2_000)
    expect(errors.map(({ code }) => code).slice(0, 2)).toEqual(['DECODE', 'PROTOCOL'])
  })

  test('is off with `audit: false`, also if the source requests one, and by default if it needs a list', async () => {
    const off = await synced(new LossyVersioned(three), { audit: false })
    off.source.requestAudit?.('it looks strange')
    await off.clock.advance(2 * PERIOD_MS)
    expect(off.source.reads).toBe(0)
    const plain = await synced(new Lossy(three))
    plain.source.lost.add('a')
    plain.source.memory.put('a', { n: 9 })
    await plain.clock.advance(2 * PERIOD_MS)
    expect(plain.informer.get('a')).toEqual({ n: 1 })
  })

  test.each<[string, object, string]>([
    ['true', { audit: true }, 'option "audit" must be false or an object'],
    ['a period of 0', { audit: { periodMs: 0 } }, 'audit: option "periodMs" must be a finite number above 0'],
    ['an unknown option', { audit: { everyMs: 5 } }, 'audit: unknown option "everyMs"'],
    [
      'a source that cannot compare versions',
      { source: { ...scripted<Item>(), name: 'plain' }, audit: {} },
      'the source "plain" cannot be audited: it cannot compare versions',
    ],
  ])('%s is a TypeError', (_what, options, message) => {
    expect(() => createInformer({ source: new Lossy(three), ...options })).toThrow(`createInformer: ${message}`)
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

  test('finds an object that a watch has skipped, and none that a relist or a replace skips', async () => {
    const watch = await betweenVersions(async ({ watches }) => watches[0]?.batch([], '3'))
    const list = await betweenVersions(async ({ lists, watches }, clock) => {
      watches[0]?.fail(new SourceError('the history is gone', { code: 'VERSION_EXPIRED' }))
      await clock.advance(1_000)
      lists[2]?.answer([put('a', { n: 1 }, '1')], '3')
    })
    const replace = await betweenVersions(async ({ watches }) => {
      watches[0]?.batch([{ type: 'replace', entries: [put('a', { n: 1 }, '1')] }], '3')
    })
    expect([watch, list, replace].map((errors) => errors.map(({ key }) => key))).toEqual([['x'], [], []])
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
    expect([errors, informer.status.relists]).toEqual([[], 0])
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
    const clock = new VirtualClock()
    const now = clock.now.bind(clock)
    let sleptMs = 0
    clock.now = () => now() + sleptMs
    const { source } = await synced(new LossyVersioned(three), { clock })
    source.stallMs = 20_000
    while (source.reads === 0) await clock.advance(1_000)
    sleptMs = 8 * 3_600_000
    source.stallMs = 0
    await clock.advance(3_100_000)
    expect(source.reads).toBeGreaterThan(1)
  })

  test.each<readonly [title: string, cpuMs: number | undefined, leastMs: number]>([
    ['unchanged while the server takes 400 ms to read, if that uses little CPU of this process', 40, 5_000],
    ['100 times as long as the CPU time', 200, 20_000],
    ['100 times as long as the read if the clock has no CPU time', undefined, 40_000],
    ['without the CPU time of other threads beyond the time of the read', 60_000, 40_000],
  ])('[O9] derives its period from the CPU time: %s', async (_title, cpuMs, leastMs) => {
    const began: number[] = []
    let usedMs = 0
    const clock = Object.assign(new VirtualClock(), { cpuMs: () => (cpuMs === undefined ? undefined : usedMs) })
    const lossy = new LossyVersioned(three)
    const honest = lossy.versions.bind(lossy)
    lossy.versions = async function* (context) {
      began.push(clock.now())
      usedMs += cpuMs ?? 0
      yield* honest(context)
    }
    const { source } = await synced(lossy, { clock, audit: { periodMs: 10_000 } })
    source.stallMs = 400
    await clock.advance(400_000)
    const rests = began.slice(1).map((at, i) => at - (began[i] ?? 0) - 400)
    expect(Math.min(...rests)).toBeGreaterThanOrEqual(leastMs)
    expect(Math.max(...rests)).toBeLessThanOrEqual(Math.max(leastMs, 10_000) + 500)
  })

  test('[O9] rests 10 times as long as its read, in which the server works', async () => {
    const clock = Object.assign(new VirtualClock(), { cpuMs: () => 0 })
    const { source } = await synced(new LossyVersioned(three), { clock, audit: { periodMs: 10_000 } })
    source.stallMs = 15_000
    // The first read begins after 5 to 10 s.
    await clock.advance(5_000 + 15_000 + 149_000)
    expect(source.reads).toBe(1)
    await clock.advance(7_000)
    expect(source.reads).toBe(2)
  })
})
