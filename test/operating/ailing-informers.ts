import { type MemorySource, memorySource } from '../../adapters/memory/index.js'
import { SourceError, type SourceErrorCode } from '../../src/contract/errors.js'
import type { ListerWatcher } from '../../src/contract/source.js'
import { createInformer } from '../../src/informer/create-informer.js'
import type { Informer } from '../../src/informer/informer-types.js'
import { SeededRandom } from '../../testing/seeded-random.js'
import { VirtualClock } from '../../testing/virtual-clock.js'

/** An informer with a problem. Its time is virtual, so that thresholds of minutes are reached at once. */
export interface AilingInformer {
  readonly informer: Informer<number>
  /** Repeats the problem. Called after each scrape. */
  worsen(): Promise<void>
  stop(): Promise<void>
}

interface Parts {
  readonly clock: VirtualClock
  readonly source: MemorySource<number>
  readonly informer: Informer<number>
}

/** How the condition of an alert becomes true. */
interface Ailment {
  /** What the source of the informer does in another way than the memory source. */
  readonly flaw?: (
    source: MemorySource<number>,
    clock: VirtualClock,
  ) => Pick<Partial<ListerWatcher<number>>, 'list' | 'watch'>
  readonly isAudited?: true
  /** Called before the start. */
  readonly before?: (parts: Parts) => void
  /** Called after the first list. */
  readonly listed?: (parts: Parts) => unknown
  /** The time from there, in milliseconds. */
  readonly afterMs?: number
  readonly worsen?: (parts: Parts) => Promise<void>
}

const never = (): Promise<void> => new Promise(() => {})

/** By the name of the alert. It is the name of the informer too. */
const ailments: Readonly<Record<string, Ailment>> = {
  ListwatchFailed: { listed: ({ source }) => breakSource(source, 'UNAUTHORIZED'), afterMs: 30_000 },
  ListwatchStale: { listed: ({ source }) => breakSource(source, 'UNAVAILABLE'), afterMs: 150_000 },
  ListwatchNotSynced: { before: ({ source }) => breakSource(source, 'UNAVAILABLE'), afterMs: 9_000 },
  ListwatchDrift: {
    isAudited: true,
    flaw: (source) => ({
      async *watch(context) {
        for await (const batch of source.watch(context)) yield { ...batch, events: [] }
      },
    }),
    async listed({ source, informer, clock }) {
      source.put('a', 2)
      while ((informer.status.proof?.foundDrift ?? 0) === 0) await clock.advance(1_000)
    },
  },
  ListwatchUnproven: {
    isAudited: true,
    flaw(source) {
      let lists = 0
      return {
        async *list(context) {
          if (++lists > 1) throw new SourceError('no list', { code: 'UNAVAILABLE' })
          yield* source.list(context)
        },
      }
    },
    afterMs: 1_900_000,
  },
  ListwatchRelistStorm: {
    async worsen({ informer, clock }) {
      const listed = informer.relist()
      await clock.advance(1_000)
      await listed
    },
  },
  ListwatchReconnectStorm: {
    async worsen({ source, clock }) {
      for (let at = 0; at < 10; at++) {
        source.disconnect()
        await clock.advance(60_000)
      }
    },
  },
  ListwatchLag: {
    flaw: (source, clock) => ({
      async *watch(context) {
        for await (const batch of source.watch(context)) yield { ...batch, committedAt: clock.now() - 31_000 }
      },
    }),
    listed: ({ source }) => source.put('a', 2),
    afterMs: 1_000,
  },
  ListwatchStuckHandler: {
    before: ({ informer }) => void informer.subscribe({ add: never }, { name: 'view' }),
    afterMs: 125_000,
  },
  ListwatchStuckRun: {
    before: ({ informer }) => void informer.reconcile(never, { name: 'ledger' }),
    afterMs: 310_000,
  },
  ListwatchGrowingBacklog: {
    before({ informer, source }) {
      informer.subscribe({ add: never }, { name: 'view' })
      source.put('b', 1)
    },
    afterMs: 70_000,
    async worsen({ informer, source, clock }) {
      source.put(`more-${informer.size}`, 1)
      await clock.advance(0)
    },
  },
  ListwatchControllerBacklog: {
    before({ informer, source, clock }) {
      for (const key of ['b', 'c', 'd']) source.put(key, 1)
      informer.reconcile(() => clock.sleep(200_000), { name: 'ledger', concurrency: 1 })
    },
    afterMs: 350_000,
  },
  ListwatchFailingKeys: {
    before: ({ informer }) => void informer.reconcile(() => Promise.reject(new Error('no')), { name: 'ledger' }),
    afterMs: 1_000,
  },
  ListwatchInvalidObjects: {
    listed: ({ source }) => source.corrupt('a', new Error('not a number')),
    afterMs: 1_000,
  },
}

/** The alerts for which `ailingInformer` has an informer. */
export const ailingAlerts: readonly string[] = Object.keys(ailments)

/** Returns an informer for which the condition of this alert is true. */
export async function ailingInformer(alert: string): Promise<AilingInformer> {
  const ailment = ailments[alert]
  if (ailment === undefined) throw new Error(`there is no informer for ${alert}`)
  const clock = new VirtualClock()
  const source = memorySource<number>({ entries: [['a', 1]] })
  const informer = createInformer<number, object, number>({
    source: ailment.flaw === undefined ? source : { ...partsOf(source), ...ailment.flaw(source, clock) },
    clock,
    random: new SeededRandom(1),
    name: alert,
    ...(ailment.isAudited && { audit: { periodMs: 60_000 } }),
  })
  informer.on('error', () => {}) // Else they are printed.
  const parts = { clock, source, informer }
  ailment.before?.(parts)
  informer.start()
  await clock.advance(1_000)
  await ailment.listed?.(parts)
  await clock.advance(ailment.afterMs ?? 0)
  return {
    informer,
    worsen: async () => await ailment.worsen?.(parts),
    async stop() {
      const stopped = informer.stop()
      await clock.advance(1_000)
      await stopped
    },
  }
}

function breakSource(source: MemorySource<number>, code: SourceErrorCode): void {
  source.fail(new SourceError('no', { code }), Number.POSITIVE_INFINITY)
  source.disconnect()
}

function partsOf(source: MemorySource<number>): ListerWatcher<number> {
  return {
    name: source.name,
    list: (context) => source.list(context),
    watch: (context) => source.watch(context),
    hasReached: (at, mark) => source.hasReached(at, mark),
  }
}
