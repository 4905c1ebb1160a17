import { describe, expect, test } from 'vitest'
import { memorySource } from '../../../adapters/memory/index.js'
import { SourceError, type SourceSet, sourceSet } from '../../../src/index.js'
import { informerOf } from '../../support/informers.js'
import { LossyVersioned, synced, three } from '../../support/lossy-source.js'
import { listed, running } from '../../support/running.js'
import { put, scripted } from '../../support/scripted-source.js'

const PERIOD_MS = 60_000
const audited = () => synced(new LossyVersioned(three), { audit: { periodMs: PERIOD_MS } })

describe('the proof in the status', () => {
  test('[O1] is undefined before the first list, and then has the time at which the read of that list began', async () => {
    const { clock, source, informer } = informerOf(scripted<number>())
    expect(informer.status.proof).toBeUndefined()
    const at = clock.now()
    informer.start()
    await clock.advance(20_000)
    source.lists[0]?.answer([put('a', 1)], '1')
    await clock.advance(0)
    expect(informer.status.proof).toEqual({ version: '1', at, by: 'list', foundDrift: 0 })
  })

  test('[O1] is renewed by an audit that finds no difference', async () => {
    const { clock, source, informer } = await audited()
    const first = informer.status.proof
    source.memory.put('a', { n: 5 })
    await clock.advance(PERIOD_MS + 1_000)
    const second = informer.status.proof
    expect(second).toMatchObject({ version: informer.version, by: 'audit', foundDrift: 0 })
    expect(second?.at).toBeGreaterThan((first?.at ?? Infinity) + PERIOD_MS / 2 - 1)
  })

  test('[O2] ages after a silent loss of events until an audit finds it, which says how many keys differ', async () => {
    const { clock, source, informer } = await audited()
    await clock.advance(PERIOD_MS + 1_000)
    const before = informer.status.proof
    for (const key of ['a', 'b']) source.lost.add(key)
    source.memory.put('a', { n: 5 })
    source.memory.delete('b')
    await clock.advance(100)
    expect(informer.status).toMatchObject({ state: 'live', silentMs: expect.any(Number), proof: before })
    let atDrift = informer.status
    informer.on('error', () => (atDrift = informer.status))
    await clock.advance(PERIOD_MS)
    expect(atDrift.proof).toEqual({ ...before, foundDrift: 2 })
    // The relist repairs the store. The drift stays visible until the next audit.
    await clock.advance(2_000)
    expect(informer.status.proof).toMatchObject({ by: 'list', version: informer.version, foundDrift: 2 })
    await clock.advance(PERIOD_MS)
    expect(informer.status.proof).toMatchObject({ by: 'audit', foundDrift: 0 })
  })

  test('[O3] is not renewed by an audit that fails', async () => {
    const { clock, source, informer } = await audited()
    const before = informer.status.proof
    source.stallMs = 1e9
    await clock.advance(3 * PERIOD_MS)
    expect([source.reads > 0, informer.status.proof]).toEqual([true, before])
  })

  test('[O3] is not renewed by an audit during which the source was listed again', async () => {
    const { clock, source, informer } = await audited()
    source.stallMs = 20_000
    while (source.reads === 0) await clock.advance(1_000)
    source.stallMs = 0
    void informer.relist()
    await clock.advance(20_000)
    expect([source.reads, informer.status.relists]).toEqual([1, 1])
    expect(informer.status.proof).toMatchObject({ by: 'list', version: informer.version })
  })

  test('[O3] is not renewed by a list with an event that has no key', async () => {
    const keyless = { type: 'invalid', error: new Error('garbage') } as const
    const { informer } = informerOf(listed<number>([put('a', 1), keyless], '1'))
    await informer.start().synced()
    expect(informer.status.proof).toBeUndefined()
  })

  test('[O4] of a set is the oldest of its sources, and undefined until each has one', async () => {
    const [eu, us] = [memorySource<number>({ name: 'eu' }), memorySource<number>({ name: 'us' })]
    us.fail(new SourceError('not now', { code: 'UNAVAILABLE' }))
    const { clock, informer } = await running(informerOf<number, object, SourceSet<number>>(sourceSet({ eu, us })))
    expect(informer.status.sources?.['eu']?.proof).toMatchObject({ by: 'list' })
    expect(informer.status.proof).toBeUndefined()
    await clock.advance(30_000)
    const { proof, sources } = informer.status
    expect(proof).toEqual(sources?.['eu']?.proof)
    expect(sources?.['us']?.proof?.at).toBeGreaterThan(proof?.at ?? Infinity)
  })
})
