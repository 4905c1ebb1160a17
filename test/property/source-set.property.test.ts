import { expect, test } from 'vitest'
import { type MemorySource, memorySource } from '../../adapters/memory/index.js'
import { SourceError } from '../../src/contract/errors.js'
import type { ListerWatcher } from '../../src/contract/source.js'
import { createInformer } from '../../src/informer/create-informer.js'
import type { Informer } from '../../src/informer/informer-types.js'
import { type SourceSet, sourceSet } from '../../src/informer/source-set.js'
import { DEFAULT_SLICES, type Slices } from '../../src/util/steps.js'
import { SeededRandom } from '../../testing/seeded-random.js'
import { VirtualClock } from '../../testing/virtual-clock.js'
import { Fold } from '../support/fold.js'
import { sliceEachStep } from '../support/slice-clock.js'

/** How many schedules; `LISTWATCH_RUNS` multiplies them, `LISTWATCH_SEED` runs one again. */
const { LISTWATCH_RUNS: factor = '1', LISTWATCH_SEED: one } = process.env
const SEEDS = Math.ceil(60 * Number(factor))
const STEPS = 60
const KEYS = ['a', 'b', 'c', '__proto__', '', '\ud800']
const NAMES = ['eu', 'us', 'ap']

interface Item {
  readonly tenant: string
  readonly n: number
}

/** One of the sources, and what it has. */
interface Member {
  readonly source: MemorySource<Item>
  readonly objects: Map<string, Item>
  readonly corrupted: Set<string>
}

interface Follower {
  readonly fold: Fold<Item>
  readonly isIn: (item: Item) => boolean
}

/** What is stored of an object. */
const isWanted = ({ n }: Item): boolean => n % 5 !== 0

/** The same, whose lists take a while for each object. */
function slow(memory: MemorySource<Item>): ListerWatcher<Item> {
  return {
    name: memory.name,
    hasReached: (at, mark) => memory.hasReached(at, mark),
    watch: (context) => memory.watch(context),
    async *list(context) {
      for await (const page of memory.list({ ...context, pageSize: 1 })) {
        await context.clock.sleep(400, context.signal)
        yield page
      }
    },
  }
}

/** A clock with which the turns of the event loop between slices take a while, so that other things happen meanwhile. */
class SlicedClock extends VirtualClock {
  readonly #random: SeededRandom

  constructor(seed: number) {
    super()
    this.#random = new SeededRandom(seed)
  }

  override sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return super.sleep(ms > 0 ? ms : this.#random.pick([0, 0, 1, 20, 300]), signal)
  }
}

/** One schedule: sources whose keys collide, that come and go, and two informers that mirror them all. */
class World {
  readonly random: SeededRandom
  readonly clock: VirtualClock
  readonly slices: Slices
  readonly set: SourceSet<Item> = sourceSet<Item>({})
  readonly members = new Map<string, Member>()
  readonly informers: readonly Informer<Item>[]
  readonly followers: (readonly [Informer<Item>, Follower])[] = []
  /** Differences that an audit found, though nothing is ever lost. */
  readonly alarms: string[] = []
  #count = 0

  constructor(seed: number) {
    this.random = new SeededRandom(seed)
    const isSliced = seed % 2 === 1
    this.clock = isSliced ? new SlicedClock(seed) : new VirtualClock()
    this.slices = isSliced ? sliceEachStep(1) : DEFAULT_SLICES
    for (const name of NAMES) this.#add(name)
    const onInvalid = this.random.pick(['omit', 'keep-previous'] as const)
    this.informers = [1, 2].map((nth) => this.#mirror(seed + nth, onInvalid))
  }

  #mirror(seed: number, onInvalid: 'omit' | 'keep-previous'): Informer<Item> {
    const { clock, set, slices } = this
    const informer = createInformer({
      source: set,
      clock,
      slices,
      random: new SeededRandom(seed),
      indexes: (ix) => ({ tenant: ix.equal((item: Item) => item.tenant) }),
      transform: (item) => (isWanted(item) ? item : undefined),
      audit: { periodMs: 20_000 },
      onInvalid,
    })
    informer.on('error', ({ message }) => {
      if (message.includes('found a difference')) this.alarms.push(message)
    })
    const tell = (isIn: Follower['isIn'], options: Parameters<typeof informer.subscribe>[1]): void => {
      const fold = new Fold<Item>()
      informer.subscribe(fold.handlers, options)
      this.followers.push([informer, { fold, isIn }])
    }
    tell(() => true, {})
    tell(() => true, { delivery: 'latest', resyncMs: 3_000, concurrency: 2 })
    tell(({ tenant }) => tenant === 't1', { where: { tenant: 't1' }, resyncMs: 1_000 })
    return informer.start()
  }

  #item(): Item {
    return { tenant: this.random.pick(['t0', 't1']), n: ++this.#count }
  }

  #add(name: string): void {
    const objects = new Map(KEYS.filter(() => this.random.chance(0.3)).map((key) => [key, this.#item()]))
    const source = memorySource<Item>({ name, entries: objects, history: this.random.pick([4, 1_000]) })
    this.members.set(name, { source, objects, corrupted: new Set() })
    this.set.add(name, this.random.chance(0.5) ? source : slow(source))
  }

  #write({ source, objects, corrupted }: Member): void {
    const key = this.random.pick(KEYS)
    corrupted.delete(key)
    if (this.random.chance(0.6)) {
      const item = this.#item()
      objects.set(key, item)
      source.put(key, item)
    } else if (this.random.chance(0.2) && objects.has(key)) {
      corrupted.add(key)
      source.corrupt(key, new Error('broken'))
    } else {
      objects.delete(key)
      source.delete(key)
    }
  }

  #strike(name: string, { source, objects, corrupted }: Member): void {
    const { random } = this
    const code = random.pick(['UNAVAILABLE', 'NOT_FOUND'] as const)
    random.pick([
      () => {
        this.set.remove(name)
        this.members.delete(name)
        if (random.chance(0.3)) this.#add(name)
      },
      () => source.disconnect(),
      () => source.stall(),
      () => source.compact(),
      () => {
        corrupted.clear()
        source.restore(objects)
      },
      () => source.fail(new SourceError('not now', { code })),
      () => void this.informers[0]?.relist().catch(() => {}),
    ])()
  }

  async step(): Promise<void> {
    const { random, clock } = this
    const name = random.pick(NAMES)
    const member = this.members.get(name)
    if (member === undefined) this.#add(name)
    else if (random.chance(0.7)) this.#write(member)
    else this.#strike(name, member)
    await clock.advance(random.pick([0, 0, 0, 1, 100, 1_000, 30_000]))
  }

  /** What is wrong when all is at rest. */
  flaws(): readonly string[] {
    const flaws = [...this.alarms]
    for (const informer of this.informers) {
      for (const key of KEYS) flaws.push(...this.#flawsAt(key, informer.get(key)))
      if (informer.size > KEYS.length) flaws.push('there are keys that no source has')
    }
    for (const [informer, { fold, isIn }] of this.followers) {
      const due = new Map(informer.entries().filter(([, item]) => isIn(item)))
      for (const key of KEYS) if (due.get(key) !== fold.objects.get(key)) flaws.push(`a follower differs at "${key}"`)
    }
    return flaws
  }

  #flawsAt(key: string, shown: Item | undefined): readonly string[] {
    const members = [...this.members.values()]
    // The last good object of one that is invalid may stay, or not.
    if (members.some(({ corrupted }) => corrupted.has(key))) return []
    const wanted = members.flatMap(({ objects }) => objects.get(key) ?? []).filter(isWanted)
    const isRight = shown === undefined ? wanted.length === 0 : wanted.some(({ n }) => n === shown.n)
    return isRight ? [] : [`"${key}" is ${JSON.stringify(shown)}, and the sources have ${JSON.stringify(wanted)}`]
  }
}

async function run(seed: number): Promise<readonly string[]> {
  const world = new World(seed)
  for (let step = 0; step < STEPS; step++) await world.step()
  await world.clock.advance(10 * 60_000)
  const flaws = world.flaws()
  const stopped = Promise.all(world.informers.map((informer) => informer.stop()))
  await world.clock.advance(5_000)
  await stopped
  return world.clock.sleeping === 0 ? flaws : [...flaws, `${world.clock.sleeping} timers are left`]
}

test('[M7] whatever comes and goes, in the end a set is mirrored whole, each key by one who has it', async () => {
  const seeds = one === undefined ? Array.from({ length: SEEDS }, (_, i) => i) : [Number(one)]
  for (const seed of seeds) expect(await run(seed), `seed ${seed}`).toEqual([])
})
