import { type MemorySource, memorySource } from '../../adapters/memory/index.js'
import { createInformer, type Informer } from '../../src/informer.js'
import { SeededRandom } from '../../src/testing/seeded-random.js'
import { VirtualClock } from '../../src/testing/virtual-clock.js'
import { slope, usedHeap } from './heap.js'

/** How much of each is pushed through. */
export interface SoakSize {
  readonly events: number
  readonly relists: number
  readonly reconnects: number
  readonly joins: number
  /** Changes behind a handler that is stuck. */
  readonly behindStuck: number
}

export interface SoakFigure {
  readonly what: 'event' | 'relist' | 'reconnect' | 'join' | 'change behind a stuck handler'
  readonly count: number
  /** By how much the heap grows with each. */
  readonly bytesPerUnit: number
  /** By how much it is larger at the end than after the first tenths. */
  readonly grownBytes: number
  readonly limit: string
  readonly holds: boolean
}

export interface SoakReport {
  readonly figures: readonly SoakFigure[]
  /** What is still there after `stop()` that was not there before: timers, listeners, handles. */
  readonly left: readonly string[]
}

interface Item {
  readonly n: number
  readonly tenant: string
  readonly text: string
}

const KEYS = 1_000
const BATCH = 500
/** A slope is taken over so many points; the first ones are warm-up. */
const POINTS = 10
const WARM_UP = 2
/** Two looks at the same heap differ by as much as this; what grows by less does not grow. */
const NOISE_BYTES = 100_000
/** What grew is looked at so many times: a leak grows again, code that was compiled meanwhile does not. */
const ROUNDS = 3

const item = (n: number): Item => ({ n, tenant: `t${n % 20}`, text: `text ${n}` })

/** A mirror under load in virtual time: everything but the source is what users run. */
class Soak {
  readonly clock = new VirtualClock()
  readonly source: MemorySource<Item> = memorySource<Item>({
    entries: Array.from({ length: KEYS }, (_, i) => [`k${i}`, item(i)] as const),
    history: 5,
  })
  readonly informer: Informer<Item, object>
  #n = 0

  constructor() {
    this.informer = createInformer({
      source: this.source,
      indexes: (ix) => ({ tenant: ix.equal((o) => o.tenant), n: ix.ordered((o) => o.n) }),
      clock: this.clock,
      random: new SeededRandom(1),
      freeze: false,
    })
    this.informer.on('error', () => {})
  }

  /** One transaction, and its way to everybody. */
  async events(count: number): Promise<void> {
    this.source.transaction((tx) => {
      for (let i = 0; i < count; i++) {
        const n = this.#n++
        const key = `k${(n * 7) % KEYS}`
        if (n % 50 === 0) tx.delete(key)
        else tx.put(key, item(n))
      }
    })
    await this.clock.advance(0)
  }

  async reconnect(): Promise<void> {
    this.source.disconnect()
    await this.clock.advance(2_000)
  }

  async relist(): Promise<void> {
    this.source.disconnect()
    await this.events(10)
    this.source.compact()
    await this.clock.advance(2_000)
  }

  async join(): Promise<void> {
    const subs = [
      this.informer.subscribe({ update: () => {} }),
      this.informer.subscribe({ update: () => {} }, { key: 'k1' }),
      this.informer.changes({ filter: ({ n }) => n % 2 === 0 }),
      this.informer.reconcile(async () => {}),
    ]
    await this.events(10)
    for (const sub of subs) await sub.close()
    this.informer.snapshot()[Symbol.dispose]()
    await this.informer.waitFor(this.informer.version ?? '')
  }
}

/** Pushes much through a mirror, and says what of it stays in the heap. */
export async function runSoak(size: SoakSize, progress: (text: string) => void = () => {}): Promise<SoakReport> {
  const before = resources()
  const soak = new Soak()
  await soak.informer.start().synced()
  soak.informer.subscribe({ add: () => {}, update: () => {}, delete: () => {} })
  soak.informer.subscribe({ update: () => {} }, { where: { tenant: 't1' }, delivery: 'latest' })
  soak.informer.reconcile(async () => {}, { concurrency: 4 })
  const figures: SoakFigure[] = []
  const measure = async (
    what: SoakFigure['what'],
    count: number,
    limit: { readonly bytesPerUnit?: number; readonly grownBytes?: number },
    units: number,
    step: () => Promise<void>,
  ): Promise<void> => {
    const { bytesPerUnit: perUnit = Infinity, grownBytes: grown = Infinity } = limit
    for (let round = 1, holds = false; !holds && round <= ROUNDS; round++) {
      const points: [number, number][] = []
      for (let point = 1; point <= POINTS; point++) {
        for (let done = 0; done < count / POINTS; done += units) await step()
        points.push([(count / POINTS) * point, await usedHeap()])
        progress(`${what}${round === 1 ? '' : `, again`}: ${Math.round((point / POINTS) * 100)} %`)
      }
      const steady = points.slice(WARM_UP)
      const bytesPerUnit = slope(steady)
      const grownBytes = (steady.at(-1)?.[1] ?? 0) - (steady[0]?.[1] ?? 0)
      holds = grownBytes < NOISE_BYTES || (bytesPerUnit < perUnit && grownBytes < grown)
      const allowed = perUnit === Infinity ? `${grown / 1e6} MB in all` : `${perUnit} bytes each`
      if (holds || round === ROUNDS) figures.push({ what, count, bytesPerUnit, grownBytes, limit: allowed, holds })
    }
  }
  await measure('event', size.events, { bytesPerUnit: 1 }, BATCH, () => soak.events(BATCH))
  await measure('reconnect', size.reconnects, { bytesPerUnit: 10 }, 1, () => soak.reconnect())
  await measure('relist', size.relists, { bytesPerUnit: 10 }, 1, () => soak.relist())
  await measure('join', size.joins, { bytesPerUnit: 1_000 }, 1, () => soak.join())
  // From here on one of them is stuck for good.
  soak.informer.subscribe({ update: () => new Promise(() => {}) }, { delivery: 'latest' })
  await soak.events(BATCH)
  await measure('change behind a stuck handler', size.behindStuck, { grownBytes: 1e6 }, BATCH, () => soak.events(BATCH))
  const stopped = soak.informer.stop()
  await soak.clock.advance(1_000)
  await stopped
  const left = resources().filter((kind) => !before.includes(kind))
  if (soak.clock.sleeping > 0) left.push(`${soak.clock.sleeping} timers`)
  return { figures, left }
}

function resources(): string[] {
  return process.getActiveResourcesInfo().filter((kind) => kind !== 'Immediate')
}
