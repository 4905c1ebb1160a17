import { describe, expect, onTestFinished, test } from 'vitest'
import { type MemorySource, memorySource } from '../../../adapters/memory/index.js'
import { SourceError } from '../../../src/contract/errors.js'
import type { ListerWatcher } from '../../../src/contract/source.js'
import { createInformer } from '../../../src/informer/create-informer.js'
import { groupInformers } from '../../../src/informer/informer-group.js'
import type { Informer } from '../../../src/informer/informer-types.js'
import { type SourceSet, sourceSet } from '../../../src/informer/source-set.js'
import { SeededRandom } from '../../../testing/seeded-random.js'
import { VirtualClock } from '../../../testing/virtual-clock.js'
import { Fold } from '../../support/fold.js'
import { assertCleanStop, outcomeOf } from '../../support/informers.js'
import { put, type Script, type ScriptedSource, scripted } from '../../support/scripted-source.js'

function mirrorOf(set: SourceSet<string>, clock: VirtualClock, errors: SourceError[] = []): Informer<string> {
  const informer = createInformer({ source: set, clock, random: new SeededRandom(1) })
  return informer.on('error', (error) => errors.push(error))
}

/** Stops the informers at the end of the test. No timer may be left (I15). */
function stopsClean(clock: VirtualClock, ...informers: readonly Informer<string>[]): void {
  onTestFinished(() => assertCleanStop(groupInformers(informers), clock))
}

const contents = (informer: Informer<string>): Record<string, string> => Object.fromEntries(informer.entries())

describe('a key that two sources provide while both are being listed', () => {
  async function both(): Promise<{
    clock: VirtualClock
    errors: SourceError[]
    informer: Informer<string>
    eu: MemorySource<string>
    us: MemorySource<string>
  }> {
    const clock = new VirtualClock()
    const errors: SourceError[] = []
    const memory = {
      eu: memorySource({ name: 'eu', entries: [['k', 'of eu']] }),
      us: memorySource({ name: 'us', entries: [['k', 'of us']] }),
    }
    const delayed = (source: MemorySource<string>, ms: number): ListerWatcher<string> => ({
      name: source.name,
      hasReached: (at, mark) => source.hasReached(at, mark),
      watch: (context) => source.watch(context),
      async *list(context) {
        for await (const { version, ...page } of source.list(context)) {
          yield page
          await context.clock.sleep(ms, context.signal)
          yield { events: [], ...(version === undefined ? {} : { version }) }
        }
      },
    })
    const informer = mirrorOf(sourceSet({ eu: delayed(memory.eu, 100), us: delayed(memory.us, 200) }), clock, errors)
    stopsClean(clock, informer)
    const synced = informer.start().synced()
    await clock.advance(300)
    await synced
    return { clock, errors, informer, ...memory }
  }

  test('a shared key stays with the source whose list was complete first, and is reported', async () => {
    const { informer, errors } = await both()
    expect(contents(informer)).toEqual({ k: 'of eu' })
    expect(errors.map(({ code, key }) => [code, key])).toEqual([['PROTOCOL', 'k']])
  })

  test('a shared key moves to the other source when the first deletes it', async () => {
    const { informer, eu, us, clock } = await both()
    us.delete('k')
    us.put('k', 'of us, later')
    eu.delete('k')
    await clock.advance(5_000)
    expect(contents(informer)).toEqual({ k: 'of us, later' })
  })
})

describe('one source under two names', () => {
  test('a source under two names is mirrored once, and stays when one of the names is removed', async () => {
    const clock = new VirtualClock()
    const errors: SourceError[] = []
    const source = memorySource<string>({
      entries: [
        ['a', '1'],
        ['b', '1'],
      ],
    })
    const set = sourceSet({ one: source, two: source })
    const informer = mirrorOf(set, clock, errors)
    stopsClean(clock, informer)
    const fold = new Fold<string>()
    informer.subscribe(fold.handlers)
    await informer.start().synced()
    await clock.advance(10)
    source.put('a', '2')
    await clock.advance(10)
    expect(contents(informer)).toEqual({ a: '2', b: '1' })
    set.remove('one')
    await clock.advance(5_000)
    expect(contents(informer)).toEqual({ a: '2', b: '1' })
    expect(Object.fromEntries(fold.objects)).toEqual({ a: '2', b: '1' })
    expect(errors.map(({ code }) => code)).toEqual(['PROTOCOL'])
  })
})

describe('[M7] a set that changes inside a listener', () => {
  function world(): { clock: VirtualClock; set: SourceSet<string>; first: Informer<string>; second: Informer<string> } {
    const clock = new VirtualClock()
    const set = sourceSet({ eu: memorySource({ name: 'eu', entries: [['a', 'eu']] }) })
    const [first, second] = [mirrorOf(set, clock), mirrorOf(set, clock)]
    stopsClean(clock, first, second)
    return { clock, set, first, second }
  }
  const us = (): MemorySource<string> => memorySource({ name: 'us', entries: [['c', 'us']] })

  test('a source that is added while the informer starts is mirrored like any other', async () => {
    const { clock, set, first } = world()
    first.on('status', () => {
      if (!set.sources.has('us')) set.add('us', us())
    })
    first.start()
    await clock.advance(10)
    expect(contents(first)).toEqual({ a: 'eu', c: 'us' })
  })

  test('an informer that starts while a source is added has the same sources', async () => {
    const { clock, set, first } = world()
    first.start()
    await clock.advance(10)
    let late: Informer<string> | undefined
    first.on('status', () => {
      late ??= mirrorOf(set, clock).start()
    })
    set.add('us', us())
    await clock.advance(10)
    expect([contents(first), late && contents(late)]).toEqual([
      { a: 'eu', c: 'us' },
      { a: 'eu', c: 'us' },
    ])
    await late?.stop()
  })

  test('a source that is removed while the informer starts is not mirrored', async () => {
    const { clock, set, first } = world()
    set.add('us', us())
    first.on('status', () => {
      if (set.sources.has('us')) set.remove('us')
    })
    first.start()
    await clock.advance(10)
    expect(contents(first)).toEqual({ a: 'eu' })
    expect(Object.keys(first.status.sources ?? {})).toEqual(['eu'])
  })

  test('a source that is removed right after it was added is removed from every informer', async () => {
    const { clock, set, first, second } = world()
    first.start()
    second.start()
    await clock.advance(10)
    first.on('status', () => {
      if (set.sources.has('us')) set.remove('us')
    })
    set.add('us', us())
    await clock.advance(10)
    expect([contents(first), contents(second)]).toEqual([{ a: 'eu' }, { a: 'eu' }])
    expect(Object.keys(second.status.sources ?? {})).toEqual(['eu'])
  })

  test('a source that is replaced during its removal is replaced in every informer', async () => {
    const { clock, set, first, second } = world()
    first.start()
    second.start()
    await clock.advance(10)
    first.on('status', () => {
      if (!set.sources.has('eu')) set.add('eu', memorySource({ name: 'eu', entries: [['b', 'new']] }))
    })
    set.remove('eu')
    await clock.advance(5_000)
    expect([contents(first), contents(second)]).toEqual([{ b: 'new' }, { b: 'new' }])
  })

  test('a source that is removed before the start does not count as listed', async () => {
    const { clock, set, first } = world()
    set.remove('eu')
    const late = us()
    late.fail(new SourceError('not now', { code: 'UNAVAILABLE' }))
    set.add('us', late)
    const synced = first.start().synced()
    expect(await outcomeOf(synced, clock)).toBe('pending')
    await clock.advance(5_000)
    expect(await outcomeOf(synced, clock)).toBe('resolved')
  })

  test('the deletes of a source that a listener removes are delivered after the change that caused the removal', async () => {
    const { clock, set, first } = world()
    const source = memorySource<string>({ name: 'us', entries: [['c', '1']] })
    set.add('us', source)
    await first.start().synced()
    const behind = first.changes({ capacity: 1, onOverflow: 'fail' })
    const fold = new Fold<string>('the changes of the other subscription')
    first.subscribe(fold.handlers)
    await clock.advance(10)
    first.on('error', () => set.remove('us'))
    source.transaction((tx) => {
      tx.put('c', '2')
      tx.put('d', '2')
    })
    await clock.advance(10)
    expect(Object.fromEntries(fold.objects)).toEqual({ a: 'eu' })
    expect(behind.backlog.keys).toBe(0)
  })

  test('[M7] a source that a listener removes because it failed reports no error of its own', async () => {
    const clock = new VirtualClock()
    const errors: SourceError[] = []
    const eu = { ...scripted<string>({ onList: (list) => list.answer([put('k', 'of eu')], '1') }), name: 'eu' }
    const set = sourceSet<string>({ eu, us: memorySource({ name: 'us', entries: [['k', 'of us']] }) })
    const informer = createInformer({ source: set, clock, random: new SeededRandom(1), onAccessLost: 'clear' })
    informer.on('error', (error) => errors.push(error))
    stopsClean(clock, informer)
    informer.on('status', () => {
      if (informer.status.sources?.['eu']?.state === 'failed') set.remove('eu')
    })
    informer.start()
    await clock.advance(0)
    expect(contents(informer)).toEqual({ k: 'of eu' })
    // The deletion of the shared key causes a list of the other source, before the error is reported.
    eu.watches[0]?.fail(new SourceError('not for you', { code: 'UNAUTHORIZED' }))
    await clock.advance(10_000)
    expect(contents(informer)).toEqual({ k: 'of us' })
    expect(errors.map(({ code, phase }) => [code, phase])).toEqual([['PROTOCOL', 'apply']])
  })

  test('fresh rejects with STOPPED if a source is removed during its request for the head', async () => {
    const { clock, set, first } = world()
    const asked = us()
    const head = Promise.withResolvers<string>()
    asked.head = () => head.promise
    set.add('us', asked)
    await first.start().synced()
    const fresh = first.fresh()
    fresh.catch(() => {})
    set.remove('us')
    head.resolve(asked.put('c', 'never'))
    await clock.advance(1_000)
    expect(await outcomeOf(fresh, clock)).toMatchObject({ rejected: { code: 'STOPPED' } })
  })
})

describe('a source that is removed at any moment', () => {
  /** Removes a source when `act` was followed by that number of promise callbacks. Returns the keys that are left. */
  async function keysAfterRemoval(
    callbacks: number,
    script: Script<string>,
    act: (eu: ScriptedSource<string>) => void,
  ): Promise<string[]> {
    const clock = new VirtualClock()
    const eu = { ...scripted(script), name: 'eu' }
    const set = sourceSet<string>({ eu, us: memorySource({ name: 'us', entries: [['u', 'of us']] }) })
    const informer = mirrorOf(set, clock)
    informer.start()
    await clock.advance(0)
    act(eu)
    for (let i = 0; i < callbacks; i++) await Promise.resolve()
    set.remove('eu')
    await clock.advance(10_000)
    const keys = [...informer.keys()]
    await assertCleanStop(informer, clock)
    return keys
  }

  test('[M2] of its first list leaves no object', async () => {
    for (let callbacks = 0; callbacks < 40; callbacks++) {
      const keys = await keysAfterRemoval(callbacks, {}, ({ lists: [list] }) => list?.answer([put('e', '1')], '1'))
      expect(keys, `${callbacks} callbacks`).toEqual(['u'])
    }
  })

  test('[M2] of a large batch leaves no object', async () => {
    const large = Array.from({ length: 300 }, (_, i) => put(`e${i}`, '1'))
    const script: Script<string> = { onList: (list) => list.answer([], '1') }
    for (let callbacks = 0; callbacks < 40; callbacks++) {
      const keys = await keysAfterRemoval(callbacks, script, ({ watches: [watch] }) => watch?.batch(large, '2'))
      expect(keys, `${callbacks} callbacks`).toEqual(['u'])
    }
  })
})
