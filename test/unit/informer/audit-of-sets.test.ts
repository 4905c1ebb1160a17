import { describe, expect, test } from 'vitest'
import { memorySource } from '../../../adapters/memory/index.js'
import type { ListerWatcher } from '../../../src/contract/source.js'
import { DEFAULT_SLICES, type Slices } from '../../../src/util/steps.js'
import { VirtualClock } from '../../../testing/virtual-clock.js'
import { setOf } from '../../support/running.js'
import { SliceClock, sliceEachStep } from '../../support/slice-clock.js'

const PERIOD_MS = 5 * 60_000

/** A clock with which one yield to the event loop takes 5 s, after a comparison that took longer than a slice. */
class SlowTurnClock extends SliceClock {
  slowTurn = false
  #busyMs = 0

  override now(): number {
    // Each look at the clock comes later than the one before.
    if (this.slowTurn) this.#busyMs += 10
    return super.now() + this.#busyMs
  }

  override sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (!this.slowTurn || ms > 0 || signal === undefined) return super.sleep(ms, signal)
    this.slowTurn = false
    return super.sleep(5_000, signal)
  }
}

/** Two sources that are audited by contents; a list of us takes a second. */
async function synced(
  clock: VirtualClock = new VirtualClock(),
  slices: Slices = DEFAULT_SLICES,
  onComparison: () => void = () => {},
) {
  const eu = memorySource({ name: 'eu', entries: [['a', 'eu']] })
  const memory = memorySource({ name: 'us', entries: [['b', 'us']] })
  /** Keys of which no watch of us says anything. */
  const lost = new Set<string>()
  let lists = 0
  const us: ListerWatcher<string> = {
    name: 'us',
    hasReached: (at, mark) => {
      onComparison()
      return memory.hasReached(at, mark)
    },
    async *list(context) {
      lists++
      await context.clock.sleep(1_000, context.signal)
      yield* memory.list(context)
    },
    async *watch(context) {
      for await (const batch of memory.watch(context))
        yield { ...batch, events: batch.events.filter((event) => !('key' in event && lost.has(event.key ?? ''))) }
    },
  }
  const world = setOf<string, object, { eu: typeof eu; us: typeof us }>({ eu, us }, { clock, slices, audit: {} })
  world.informer.start()
  await clock.advance(1_010)
  return { ...world, eu, us: memory, lost, lists: () => lists }
}

/** A set whose source eu is being removed, in steps. The source us has the key `a` of eu too. */
async function removing(clock: SliceClock, onComparison?: () => void) {
  const synchronized = await synced(clock, sliceEachStep(1), onComparison)
  const { set, eu, us, errors } = synchronized
  us.put('a', 'us')
  for (const key of ['c', 'd', 'e']) eu.put(key, 'eu')
  await clock.advance(10)
  errors.length = 0
  clock.hold()
  set.remove('eu')
  return synchronized
}

describe('an audit of one source of several', () => {
  test('finds nothing in a key that another source has', async () => {
    const { clock, us, informer, errors } = await synced()
    us.put('a', 'us')
    await clock.advance(3 * PERIOD_MS)
    expect(errors.map(({ message }) => message.split(' already')[0])).toEqual([
      'another source of the set has the key "a"',
    ])
    expect(informer.status.relists).toBe(0)
  })

  test('[O3] finds nothing in a key that another source loses by a large write during the audit', async () => {
    const clock = new SliceClock()
    const { lists, informer, errors } = await removing(clock)
    const before = lists()
    // The key is gone from the store that is being written, and readers still see it.
    await clock.advance(PERIOD_MS)
    expect([lists() > before, informer.get('a')]).toEqual([true, 'eu'])
    await clock.release()
    await clock.advance(PERIOD_MS)
    expect([informer.get('a'), errors]).toEqual(['us', []])
  })

  test('[O3] finds nothing in a key that a list adds while the audit yields to the event loop', async () => {
    const clock = new SlowTurnClock()
    let isAuditing = false
    const { lists, informer, errors } = await removing(clock, () => {
      // The audit has read us, and searches for keys that are absent.
      if (isAuditing) clock.slowTurn = true
      isAuditing = false
    })
    const before = lists()
    for (let slice = 0; slice < 3; slice++) await clock.slice()
    while (lists() === before) await clock.advance(100)
    // The audit reads. The end of the removal releases the key, and begins a list of us.
    isAuditing = true
    await clock.release()
    await clock.advance(20_000)
    expect([clock.slowTurn, informer.get('a'), errors]).toEqual([false, 'us', []])
  })

  test('is not put off by another source that is read again and again', async () => {
    const { clock, set, us, lost, informer } = await synced()
    const polled = memorySource<string>({ name: 'polled' })
    set.add('polled', {
      name: 'polled',
      hasReached: (at, mark) => polled.hasReached(at, mark),
      list: (context) => polled.list(context),
      async *watch(context) {
        for (;;) {
          await context.clock.sleep(100, context.signal)
          yield { events: [{ type: 'replace', entries: [] }], version: polled.put('p', 'p') }
        }
      },
    })
    lost.add('x')
    us.put('x', 'us')
    await clock.advance(PERIOD_MS + 4_000)
    expect(informer.get('x')).toBe('us')
  })

  test('that cannot be audited is reported as it comes, and mirrored', async () => {
    const { clock, set, informer, errors } = await synced()
    const late = memorySource<string>({ name: 'late', entries: [['z', 'late']] })
    set.add('late', { name: 'late', list: (context) => late.list(context), watch: (context) => late.watch(context) })
    await clock.advance(10)
    expect(errors.map(({ message }) => message)).toEqual([
      'the source "late" cannot be audited: it cannot compare versions (it has no hasReached)',
    ])
    expect(informer.get('z')).toBe('late')
  })
})
