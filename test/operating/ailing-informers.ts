import { type MemorySource, memorySource } from '../../adapters/memory/index.js'
import { SourceError, type SourceErrorCode } from '../../src/contract/errors.js'
import type { ListerWatcher } from '../../src/contract/source.js'
import { createInformer } from '../../src/informer/create-informer.js'
import type { Informer, InformerOptions } from '../../src/informer/informer-types.js'
import { SeededRandom } from '../../testing/seeded-random.js'
import { VirtualClock } from '../../testing/virtual-clock.js'

/** An informer with a problem. Its time is virtual, so that thresholds of minutes are reached at once. */
export interface AilingInformer extends Ailment {
  stop(): Promise<void>
}

interface Ailment {
  readonly informer: Informer<number>
  /** Repeats the problem. Called after each scrape. */
  readonly worsen?: () => Promise<void>
}

interface Parts {
  readonly clock: VirtualClock
  readonly source: MemorySource<number>
  /** Creates the informer, if not of another source of `source`. */
  create(options?: Partial<InformerOptions<number, object, number>>): Informer<number>
}

/** The condition of each alert, by the name of the alert. It is the name of the informer too. */
const ailments: Readonly<Record<string, (parts: Parts) => Promise<Ailment>>> = {
  async ListwatchFailed({ clock, source, create }) {
    const informer = create()
    await synced(informer, clock)
    breakSource(source, 'UNAUTHORIZED')
    await clock.advance(30_000)
    return { informer }
  },

  async ListwatchStale({ clock, source, create }) {
    const informer = create()
    await synced(informer, clock)
    breakSource(source, 'UNAVAILABLE')
    await clock.advance(150_000)
    return { informer }
  },

  async ListwatchNotSynced({ clock, source, create }) {
    const informer = create()
    breakSource(source, 'UNAVAILABLE')
    informer.start()
    await clock.advance(10_000)
    return { informer }
  },

  async ListwatchDrift({ clock, source, create }) {
    const deaf: ListerWatcher<number> = {
      ...partsOf(source),
      async *watch(context) {
        for await (const batch of source.watch(context)) yield { ...batch, events: [] }
      },
    }
    const informer = create({ source: deaf, audit: { periodMs: 60_000 } })
    await synced(informer, clock)
    source.put('a', 2)
    while ((informer.status.proof?.foundDrift ?? 0) === 0) await clock.advance(1_000)
    return { informer }
  },

  async ListwatchUnproven({ clock, source, create }) {
    let lists = 0
    const unlisted: ListerWatcher<number> = {
      ...partsOf(source),
      async *list(context) {
        if (++lists > 1) throw new SourceError('no list', { code: 'UNAVAILABLE' })
        yield* source.list(context)
      },
    }
    const informer = create({ source: unlisted, audit: { periodMs: 60_000 } })
    await synced(informer, clock)
    await clock.advance(1_900_000)
    return { informer }
  },

  async ListwatchRelistStorm({ clock, create }) {
    const informer = create()
    await synced(informer, clock)
    const worsen = async (): Promise<void> => {
      const listed = informer.relist()
      await clock.advance(1_000)
      await listed
    }
    return { informer, worsen }
  },

  async ListwatchReconnectStorm({ clock, source, create }) {
    const informer = create()
    await synced(informer, clock)
    const worsen = async (): Promise<void> => {
      for (let at = 0; at < 10; at++) {
        source.disconnect()
        await clock.advance(60_000)
      }
    }
    return { informer, worsen }
  },

  async ListwatchLag({ clock, source, create }) {
    const late: ListerWatcher<number> = {
      ...partsOf(source),
      async *watch(context) {
        for await (const batch of source.watch(context)) yield { ...batch, committedAt: clock.now() - 31_000 }
      },
    }
    const informer = create({ source: late })
    await synced(informer, clock)
    source.put('a', 2)
    await clock.advance(1_000)
    return { informer }
  },

  async ListwatchStuckHandler({ clock, create }) {
    const informer = create()
    informer.subscribe({ add: () => new Promise<void>(() => {}) }, { name: 'view' })
    await synced(informer, clock)
    await clock.advance(125_000)
    return { informer }
  },

  async ListwatchStuckRun({ clock, create }) {
    const informer = create()
    informer.reconcile(() => new Promise<void>(() => {}), { name: 'ledger' })
    await synced(informer, clock)
    await clock.advance(310_000)
    return { informer }
  },

  async ListwatchGrowingBacklog({ clock, source, create }) {
    const informer = create()
    informer.subscribe({ add: () => new Promise<void>(() => {}) }, { name: 'view' })
    source.put('b', 1)
    await synced(informer, clock)
    await clock.advance(70_000)
    let added = 0
    const worsen = async (): Promise<void> => {
      source.put(`more-${++added}`, 1)
      await clock.advance(0)
    }
    return { informer, worsen }
  },

  async ListwatchControllerBacklog({ clock, source, create }) {
    const informer = create()
    for (const key of ['b', 'c', 'd']) source.put(key, 1)
    informer.reconcile(() => clock.sleep(200_000), { name: 'ledger', concurrency: 1 })
    await synced(informer, clock)
    await clock.advance(350_000)
    return { informer }
  },

  async ListwatchFailingKeys({ clock, create }) {
    const informer = create()
    informer.reconcile(() => Promise.reject(new Error('no')), { name: 'ledger' })
    await synced(informer, clock)
    await clock.advance(1_000)
    return { informer }
  },

  async ListwatchInvalidObjects({ clock, source, create }) {
    const informer = create()
    await synced(informer, clock)
    source.corrupt('a', new Error('not a number'))
    await clock.advance(1_000)
    return { informer }
  },
}

/** The alerts for which `ailingInformer` has an informer. */
export const ailingAlerts: readonly string[] = Object.keys(ailments)

/** Returns an informer for which the condition of this alert is true. */
export async function ailingInformer(alert: string): Promise<AilingInformer> {
  const ail = ailments[alert]
  if (ail === undefined) throw new Error(`there is no informer for ${alert}`)
  const clock = new VirtualClock()
  const source = memorySource<number>({ entries: [['a', 1]] })
  const create: Parts['create'] = (options = {}) => {
    const random = new SeededRandom(1)
    const informer = createInformer<number, object, number>({ source, clock, random, name: alert, ...options })
    informer.on('error', () => {}) // Else they are printed.
    return informer
  }
  const ailment = await ail({ clock, source, create })
  const stop = async (): Promise<void> => {
    const stopped = ailment.informer.stop()
    await clock.advance(1_000)
    await stopped
  }
  return { ...ailment, stop }
}

async function synced(informer: Informer<number>, clock: VirtualClock): Promise<void> {
  informer.start()
  await clock.advance(1_000)
  await informer.synced()
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
