import { describe, expect, test, vi } from 'vitest'
import { memorySource } from '../../../adapters/memory/index.js'
import { type IndexBuilder, type Informer, SourceError, type SourceSet } from '../../../src/index.js'
import { EqualIndex } from '../../../src/store/indexes/hash-index.js'
import { mirrorOf, outcomeOf } from '../../support/informers.js'
import { heard, running, setOf } from '../../support/running.js'

type Pod = { readonly node: string }

const pod = (node: string): Pod => ({ node })
const indexes = (ix: IndexBuilder<Pod>) => ({ node: ix.equal((p) => p.node) })

function world() {
  const eu = memorySource({ name: 'eu', entries: Object.entries({ a: pod('n1'), b: pod('n2') }) })
  const us = memorySource({ name: 'us', entries: [['c', pod('n1')]] })
  return setOf({ eu, us }, { indexes })
}

type World = ReturnType<typeof world>

async function synced() {
  const made = world()
  await made.informer.start().synced()
  return made
}

const keysOf = (informer: Informer<Pod>): readonly string[] => [...informer.keys()].sort()

const telling = (informer: Informer<Pod>): string[] =>
  heard(informer, ({ type, key, origin }) => `${type} ${key} ${origin}`)

test('[M5] an informer of a set is synced when each source has been listed, and not before', async () => {
  const { informer, us, clock } = world()
  us.fail(new SourceError('not now', { code: 'UNAVAILABLE' }))
  const whole = informer.start().synced()
  expect(await outcomeOf(whole, clock)).toBe('pending')
  expect(informer.health().isReady).toBe(false)
  await clock.advance(2_000)
  expect(await outcomeOf(whole, clock)).toBe('resolved')
  expect(informer.health().isReady).toBe(true)
})

test('synced rejects with the name of the source, if one source of the set fails with NOT_FOUND', async () => {
  const { clock, set, informer } = world()
  const gone = memorySource<Pod>({ name: 'gone' })
  gone.fail(new SourceError('no such table', { code: 'NOT_FOUND' }))
  set.add('gone', gone)
  const whole = informer.start().synced()
  whole.catch(() => {})
  await clock.advance(10)
  expect(await outcomeOf(whole, clock)).toMatchObject({ rejected: { code: 'NOT_FOUND', source: 'gone' } })
})

test('an informer of a set without sources is synced at once, and empty', async () => {
  const { clock, set, informer } = setOf<Pod, object, Readonly<Record<string, never>>>({})
  await informer.start().synced()
  expect([informer.size, informer.status.reason, informer.health().isReady]).toEqual([0, 'there are no sources', true])
  set.add('late', memorySource<Pod>({ entries: [['x', pod('n')]] }))
  await clock.advance(10)
  expect(keysOf(informer)).toEqual(['x'])
})

test('an informer of a set delivers the changes of all sources, in batches that name their source', async () => {
  const { informer, eu, us, clock } = await synced()
  const batches: unknown[] = []
  const reading = (async () => {
    for await (const { source, version, changes } of informer.changes())
      if (source !== undefined && changes.length > 0)
        batches.push([source, version, changes.map(({ type, key }) => `${type} ${key}`)])
  })()
  await clock.advance(0)
  eu.put('a', pod('n9'))
  us.transaction((tx) => {
    tx.put('c', pod('n9'))
    tx.put('d', pod('n9'))
  })
  await clock.advance(0)
  await informer.stop()
  await reading
  expect(batches).toEqual([
    ['eu', undefined, ['update a']],
    ['us', undefined, ['update c', 'add d']],
  ])
})

test('an informer of a set has a version and a status of each source, and the state and reason of the worst one', async () => {
  const { informer, eu, us, clock } = await synced()
  const version = eu.put('a', pod('n3'))
  await informer.waitFor(version, { source: 'eu' })
  expect([informer.version, informer.status.version]).toEqual([undefined, undefined])
  expect([[...informer.versions.keys()], informer.versions.get('eu')]).toEqual([['eu', 'us'], version])
  us.disconnect()
  await clock.advance(0)
  const { state, reason, sources = {} } = informer.status
  expect([state, reason]).toEqual(['backing-off', expect.stringMatching(/^us: /)])
  expect(Object.values(sources).map((each) => each.state)).toEqual(['live', 'backing-off'])
})

test('[M4] a relist of one source does not affect the others', async () => {
  const { informer, us, eu, clock } = await synced()
  const told = telling(informer)
  await clock.advance(0)
  us.disconnect()
  us.delete('c')
  us.put('e', pod('n5'))
  us.compact()
  eu.put('b', pod('n8'))
  await clock.advance(5_000)
  expect(told.slice(3).sort()).toEqual(['add e relist', 'delete c relist', 'update b watch'])
  expect([informer.status.sources?.['us']?.relists, informer.status.sources?.['eu']?.relists]).toEqual([1, 0])
})

test('fresh and relist of a set wait for each source', async () => {
  const { informer, eu, us, clock } = await synced()
  eu.put('a', pod('n5'))
  us.put('c', pod('n6'))
  await informer.fresh()
  expect([informer.get('a'), informer.get('c')]).toEqual([pod('n5'), pod('n6')])
  const relists = (): number => informer.status.relists
  const relisted = informer.relist()
  await clock.advance(2_000)
  expect([await outcomeOf(relisted, clock), relists()]).toEqual(['resolved', 2])
})

test('[M8][M9] a wait of a subscription resolves when it has handled the change of the source', async () => {
  const { informer, eu, clock } = await synced()
  const handled: string[] = []
  const sub = informer.subscribe({
    update: async ({ key }) => {
      await clock.sleep(1_000)
      handled.push(key)
    },
  })
  await sub.synced()
  const waited = sub.waitFor(eu.put('a', pod('n5')), { source: 'eu' })
  await clock.advance(500)
  expect([await outcomeOf(waited, clock), informer.get('a')]).toEqual(['pending', pod('n5')])
  await clock.advance(500)
  expect([await outcomeOf(waited, clock), handled]).toEqual(['resolved', ['a']])
  expect(sub.version).toBeUndefined()
})

test('waitFor without a source, or of an unknown one, rejects with a TypeError', async () => {
  const { informer } = await synced()
  const which = new TypeError('waitFor: over several sources the option "source" must say which of eu, us')
  await expect(informer.waitFor('1')).rejects.toThrow(which)
  await expect(informer.subscribe({}).waitFor('1')).rejects.toThrow('the option "source" must say which of eu, us')
  const unknown = new TypeError('waitFor: there is no source "ap"; there are eu, us')
  await expect(informer.waitFor('1', { source: 'ap' })).rejects.toThrow(unknown)
})

test('waitFor of a single source accepts its name', async () => {
  const { source, informer } = await running(mirrorOf<Pod, object>([]))
  await informer.waitFor(source.put('a', pod('n')), { source: 'memory' })
  await expect(informer.waitFor('1', { source: 'other' })).rejects.toThrow(
    'waitFor: there is no source "other"; there are memory',
  )
})

describe('added and removed sources', () => {
  test.each<[string, (set: SourceSet<Pod>) => void, string]>([
    ['a name that is taken', (set) => set.add('eu', memorySource<Pod>()), 'there is a source "eu" already'],
    ['a name that is empty', (set) => set.add('', memorySource<Pod>()), 'must be a string that is not empty'],
    ['an invalid source', (set) => set.add('x', {} as never), 'the source must have a name'],
    ['removing an unknown source', (set) => set.remove('x'), 'there is no source "x"'],
  ])('%s is a TypeError', (_what, change, message) => {
    const { set } = world()
    expect(() => change(set)).toThrow(TypeError)
    expect(() => change(set)).toThrow(message)
  })
})

test('[M6] a shared key stays with the first source, and is reported once, with the source of the object', async () => {
  const { informer, us, errors, clock } = await synced()
  await informer.waitFor(us.put('a', pod('other')), { source: 'us' })
  await informer.waitFor(us.put('a', pod('again')), { source: 'us' })
  us.put('x', pod('n'))
  us.corrupt('x', new Error('broken'))
  await clock.advance(0)
  expect(informer.get('a')).toEqual(pod('n1'))
  expect(errors.map(({ code, key, source }) => ({ code, key, source }))).toEqual([
    { code: 'PROTOCOL', key: 'a', source: 'us' },
    { code: 'DECODE', key: 'x', source: 'us' },
  ])
  expect(errors[0]?.message).toContain(
    'another source of the set has the key "a" already; the events of "us" for it are ignored',
  )
  expect(errors[1]?.message).toBe('the object "x" of us is invalid: broken')
})

test.each([
  ['deletes it', ({ eu }: World) => eu.delete('a'), ['delete a watch', 'add a relist']],
  ['is removed', ({ set }: World) => set.remove('eu'), ['delete a relist', 'delete b relist', 'add a relist']],
] as const)('[M6] a shared key moves to the other source when the first %s', async (_what, release, told) => {
  const world = await synced()
  await world.informer.waitFor(world.us.put('a', pod('other')), { source: 'us' })
  const lines = telling(world.informer)
  await world.clock.advance(0)
  release(world)
  await world.clock.advance(5_000)
  expect([world.informer.get('a'), lines.slice(3)]).toEqual([pod('other'), told])
})

test('[M6] a shared key stays with the first source while its object is invalid', async () => {
  const { informer, eu, us, clock } = await synced()
  eu.put('x', pod('n'))
  eu.corrupt('x', new Error('broken'))
  await clock.advance(0)
  await informer.waitFor(us.put('x', pod('other')), { source: 'us' })
  expect(informer.get('x')).not.toEqual(pod('other'))
  eu.delete('x')
  await clock.advance(5_000)
  expect(informer.get('x')).toEqual(pod('other'))
})

test.each([1, 3])(
  'a source whose objects cannot be deleted at once, because an index throws, is deleted later, with %d errors, and a source added under its name is listed after that',
  async (times) => {
    const { clock, set, informer, errors } = await synced()
    const told = telling(informer)
    await clock.advance(10)
    using spy = vi.spyOn(EqualIndex.prototype, 'delete')
    const injected = (): never => {
      throw new Error('injected')
    }
    for (let i = 0; i < times; i++) spy.mockImplementationOnce(injected)
    set.remove('eu')
    expect(keysOf(informer)).toEqual(['a', 'b', 'c'])
    set.add('eu', memorySource<Pod>({ name: 'eu again', entries: [['d', pod('n1')]] }))
    await clock.advance(60_000)
    expect([keysOf(informer), informer.by.node('n1').length, informer.by.node('n2').length]).toEqual([['c', 'd'], 2, 0])
    expect(errors.map(({ message, phase }) => [message, phase])).toEqual(Array(times).fill(['injected', 'apply']))
    expect(told.filter((line) => line.startsWith('delete')).length).toBe(2)
  },
)
