import { describe, expect, onTestFinished, test } from 'vitest'
import { type MemorySource, memorySource } from '../../../adapters/memory/index.js'
import type { ListContext, ListerWatcher, WatchBatch, WatchContext } from '../../../src/contract/source.js'
import { createInformer } from '../../../src/informer/create-informer.js'
import type { Informer } from '../../../src/informer/informer-types.js'
import { sourceSet } from '../../../src/informer/source-set.js'
import { SeededRandom } from '../../../testing/seeded-random.js'
import { VirtualClock } from '../../../testing/virtual-clock.js'
import { assertCleanStop, informerOf, mirrorOf } from '../../support/informers.js'
import { put, scripted } from '../../support/scripted-source.js'

const PERIOD_MS = 60_000

/** A source whose watch loses all events while `isDeaf`. Its version increases all the same. */
class Deaf implements ListerWatcher<number> {
  readonly name: string
  readonly memory: MemorySource<number> = memorySource<number>({
    entries: [
      ['a', 1],
      ['b', 2],
    ],
  })
  isDeaf = false
  isBroken = false
  /** How long the next read takes. The later ones take no time. */
  nextReadMs = 0
  reads = 0

  constructor(name = 'deaf') {
    this.name = name
  }

  async *list(context: ListContext): ReturnType<ListerWatcher<number>['list']> {
    if (this.isBroken) throw new Error('the list is refused')
    this.reads++
    const delayMs = this.nextReadMs
    this.nextReadMs = 0
    for await (const page of this.memory.list(context)) {
      if (delayMs > 0) await context.clock.sleep(delayMs, context.signal)
      yield page
    }
  }

  async *watch(context: WatchContext): AsyncGenerator<WatchBatch<number>> {
    for await (const batch of this.memory.watch(context)) yield this.isDeaf ? { ...batch, events: [] } : batch
  }

  hasReached(at: string, mark: string): boolean {
    return this.memory.hasReached(at, mark)
  }
}

interface World {
  readonly clock: VirtualClock
  readonly source: Deaf
  readonly informer: Informer<number>
}

async function audited(): Promise<World> {
  const clock = new VirtualClock()
  const source = new Deaf()
  const random = new SeededRandom(1)
  const informer = createInformer<number, object>({ source, clock, random, audit: { periodMs: PERIOD_MS } })
  informer.on('error', () => {})
  onTestFinished(() => assertCleanStop(informer, clock))
  await informer.start().synced()
  await clock.advance(10)
  return { clock, source, informer }
}

describe('the proof in the status', () => {
  test('[O1] is undefined before the first list, and then that list', async () => {
    const { clock, informer } = mirrorOf<number, object>([['a', 1]])
    expect(informer.status.proof).toBeUndefined()
    const at = clock.now()
    await informer.start().synced()
    expect(informer.status.proof).toEqual({ version: informer.version, at, by: 'list', foundDrift: 0 })
  })

  test('[O1] has the time at which the read began, not the time at which it ended', async () => {
    const { clock, source, informer } = informerOf(scripted<number>())
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
    source.memory.put('a', 5)
    await clock.advance(PERIOD_MS + 1_000)
    const second = informer.status.proof
    expect(second).toMatchObject({ version: informer.version, by: 'audit', foundDrift: 0 })
    expect(second?.at).toBeGreaterThan((first?.at ?? Infinity) + PERIOD_MS / 2 - 1)
  })

  test('[O2] ages after a silent loss of events until an audit finds it, which says how many keys differ', async () => {
    const { clock, source, informer } = await audited()
    await clock.advance(PERIOD_MS + 1_000)
    const before = informer.status.proof
    source.isDeaf = true
    source.memory.put('a', 5)
    source.memory.delete('b')
    await clock.advance(100)
    expect(informer.status).toMatchObject({ state: 'live', staleMs: expect.any(Number), proof: before })
    let atDrift = informer.status
    informer.on('error', () => {
      atDrift = informer.status
    })
    await clock.advance(PERIOD_MS)
    expect(atDrift.proof).toEqual({ ...before, foundDrift: 2 })
    // The relist repairs the store. The drift stays visible until the next audit.
    await clock.advance(2_000)
    expect(informer.status.proof).toMatchObject({ by: 'list', version: informer.version, foundDrift: 2 })
    source.isDeaf = false
    await clock.advance(PERIOD_MS)
    expect(informer.status.proof).toMatchObject({ by: 'audit', foundDrift: 0 })
  })

  test('[O3] is not renewed by an audit that fails', async () => {
    const { clock, source, informer } = await audited()
    const before = informer.status.proof
    source.isBroken = true
    await clock.advance(3 * PERIOD_MS)
    expect(informer.status.proof).toEqual(before)
  })

  test('[O3] is not renewed by an audit during which the source was listed again', async () => {
    const { clock, source, informer } = await audited()
    source.nextReadMs = 20_000
    while (source.reads === 1) await clock.advance(1_000)
    void informer.relist()
    await clock.advance(20_000)
    expect(source.reads).toBe(3)
    expect(informer.status.proof).toMatchObject({ by: 'list', version: informer.version })
  })

  test('[O3] is not renewed by a list with an event that has no key', async () => {
    const keyless = { type: 'invalid', error: new Error('garbage') } as const
    const { informer } = informerOf(scripted<number>({ onList: (list) => list.answer([put('a', 1), keyless], '1') }))
    await informer.start().synced()
    expect(informer.status.proof).toBeUndefined()
  })

  test('[O4] of a set is the oldest of its sources, and undefined until each has one', async () => {
    const clock = new VirtualClock()
    const [eu, us] = [new Deaf('eu'), new Deaf('us')]
    us.isBroken = true
    const informer = createInformer<number, object>({ source: sourceSet({ eu, us }), clock })
    informer.on('error', () => {})
    onTestFinished(() => assertCleanStop(informer, clock))
    informer.start()
    await clock.advance(100)
    expect(informer.status.sources?.['eu']?.proof).toMatchObject({ by: 'list' })
    expect(informer.status.proof).toBeUndefined()
    us.isBroken = false
    await clock.advance(30_000)
    const { proof, sources } = informer.status
    expect(proof).toEqual(sources?.['eu']?.proof)
    expect(sources?.['us']?.proof?.at).toBeGreaterThan(proof?.at ?? Infinity)
  })
})
