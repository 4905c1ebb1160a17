import { describe, expect, onTestFinished, test } from 'vitest'
import { type MemorySource, memorySource } from '../../../adapters/memory/index.js'
import { SourceError } from '../../../src/contract/errors.js'
import type { ListerWatcher } from '../../../src/contract/source.js'
import { createInformer } from '../../../src/informer/create-informer.js'
import { groupInformers } from '../../../src/informer/informer-group.js'
import type { Informer } from '../../../src/informer/informer-types.js'
import { type SourceSet, sourceSet } from '../../../src/informer/sources/source-set.js'
import { SeededRandom } from '../../../testing/seeded-random.js'
import { VirtualClock } from '../../../testing/virtual-clock.js'
import { Fold } from '../../support/fold.js'
import { assertCleanStop, outcomeOf } from '../../support/informers.js'
import { listed, running, setOf } from '../../support/running.js'
import { put, type Script, type ScriptedSource, scripted } from '../../support/scripted-source.js'

const contents = (informer: Informer<string>): Record<string, string> => Object.fromEntries(informer.entries())

test('[M6] a key that two sources provide while both are being listed stays with the list that was complete first', async () => {
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
  const eu = memorySource({ name: 'eu', entries: [['k', 'of eu']] })
  const us = memorySource({ name: 'us', entries: [['k', 'of us']] })
  const { clock, informer, errors } = await running(setOf({ eu: delayed(eu, 100), us: delayed(us, 200) }))
  await clock.advance(300)
  expect(contents(informer)).toEqual({ k: 'of eu' })
  expect(errors.map(({ code, key }) => [code, key])).toEqual([['PROTOCOL', 'k']])
  us.delete('k')
  us.put('k', 'of us, later')
  eu.delete('k')
  await clock.advance(5_000)
  expect(contents(informer)).toEqual({ k: 'of us, later' })
})

describe('[M7] a set that changes inside a listener', () => {
  function world() {
    const clock = new VirtualClock()
    const source = sourceSet({ eu: memorySource({ name: 'eu', entries: [['a', 'eu']] }) })
    const make = () => createInformer({ source, clock, random: new SeededRandom(1) }).on('error', () => {})
    const [first, second] = [make(), make()]
    onTestFinished(() => assertCleanStop(groupInformers([first, second]), clock))
    return { clock, set: source, first, second }
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
    const { clock, set, first, second } = world()
    await running({ clock, informer: first })
    first.on('status', () => second.start())
    set.add('us', us())
    await clock.advance(10)
    expect([first, second].map(contents)).toEqual(Array(2).fill({ a: 'eu', c: 'us' }))
  })

  test.each<[string, Record<string, string>, (set: SourceSet<string>) => void]>([
    ['removed right after it was added', { a: 'eu' }, (set) => set.add('us', us())],
    ['replaced during its removal', { b: 'new' }, (set) => set.remove('eu')],
  ])('a source that is %s is so in every informer', async (_what, expected, change) => {
    const { clock, set, first, second } = world()
    for (const informer of [first, second]) await running({ clock, informer })
    first.on('status', () => {
      if (set.sources.has('us')) set.remove('us')
      if (!set.sources.has('eu')) set.add('eu', memorySource({ name: 'eu', entries: [['b', 'new']] }))
    })
    change(set)
    await clock.advance(5_000)
    expect([first, second].map(contents)).toEqual([expected, expected])
    expect(Object.keys(second.status.sources ?? {})).toEqual(['eu'])
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
    expect([Object.fromEntries(fold.objects), behind.backlog.keys]).toEqual([{ a: 'eu' }, 0])
  })

  test('[M7] a source that a listener removes because it failed reports no error of its own', async () => {
    const eu = { ...listed([put('k', 'of eu')], '1'), name: 'eu' }
    const us = memorySource({ name: 'us', entries: [['k', 'of us']] })
    const { clock, set, informer, errors } = setOf({ eu, us }, { onAccessLost: 'clear' })
    informer.on('status', () => {
      if (informer.status.sources?.['eu']?.state === 'failed') set.remove('eu')
    })
    await running({ clock, informer })
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
  async function keysAfterRemoval(
    callbacks: number,
    script: Script<string>,
    act: (eu: ScriptedSource<string>) => void,
  ): Promise<string[]> {
    const eu = { ...scripted(script), name: 'eu' }
    const us = memorySource({ name: 'us', entries: [['u', 'of us']] })
    const { clock, set, informer } = await running(setOf({ eu, us }))
    act(eu)
    for (let i = 0; i < callbacks; i++) await Promise.resolve()
    set.remove('eu')
    await clock.advance(10_000)
    await assertCleanStop(informer, clock)
    return [...informer.keys()]
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
