import { setTimeout as sleep } from 'node:timers/promises'
import type { ListerWatcher } from '../../src/contract/source.js'
import { SeededRandom } from '../../testing/seeded-random.js'
import { type FaultProxy, startFaultProxy } from '../servers/fault-proxy.js'
import type { FoundServer } from '../servers/index.js'
import { waitUntil } from '../servers/wait-until.js'
import { COLLECTION, followersAt, type KindFollower, STREAM, STREAM_AT, STREAM_TRUTH } from './followers.js'
import type { Item } from './mirror.js'
import { Pair } from './pair.js'
import { FuzzWriter } from './writers.js'

export interface CampaignOptions {
  readonly server: FoundServer
  readonly seed: number
  /** How often the mirrors are compared with the server. */
  readonly checks: number
  /** How long a mirror may take to become right, in milliseconds. Default 40 000. */
  readonly patienceMs?: number
  /** Another source than ours for the collection, at this port; then it is the only one. */
  readonly instead?: (port: number) => ListerWatcher<Item>
}

export interface Outcome {
  /** How many comparisons were made. */
  readonly checks: number
  /** What was wrong, with the number of its check. */
  readonly divergences: readonly string[]
  readonly writes: number
  /** How often a mirror had to list again. */
  readonly relists: number
}

/** Faults before each check; they overlap. */
const FAULTS = 3
/** How long any of them lasts at most, in milliseconds. */
const LONGEST_MS = 700

/**
 * Mirrors of each kind behind a network and servers that fail in every way there is, while several write; again and again
 * the writers pause, the faults end, and the mirrors must become what the server has. One seed, one sequence of faults and writes.
 */
export async function campaign(options: CampaignOptions): Promise<Outcome> {
  const { server, seed, checks, patienceMs = 40_000, instead } = options
  await using pair = await Pair.start(server)
  await using proxy = await startFaultProxy({ targetPort: pair.master.port })
  await using writersProxy = await startFaultProxy({ targetPort: pair.master.port })
  const followers = followersAt(pair, proxy.port, instead)
  const writers = [1, 2, 3].map(() => new FuzzWriter(writersProxy.port))
  await using _ = {
    [Symbol.asyncDispose]: async () => {
      for (const each of [...followers, ...writers]) await each[Symbol.asyncDispose]()
    },
  }
  const relist = (): void => {
    for (const { informer } of followers) informer.relist().catch(() => {})
  }
  const run = new Campaign(pair, { proxy, writersProxy, relist }, writers, new SeededRandom(seed))
  for (const { informer } of followers) informer.start()
  const divergences: string[] = []
  let done = 0
  // From what is wrong already nothing is learned.
  while (done < checks && divergences.length === 0) {
    await run.round()
    done++
    divergences.push(...(await judged(followers, patienceMs)).map((what) => `check ${done}: ${what} [${run.end}]`))
  }
  const relists = followers.reduce((sum, { informer }) => sum + informer.status.relists, 0)
  return { checks: done, divergences, writes: run.writes, relists }
}

async function judged(followers: readonly KindFollower[], patienceMs: number): Promise<string[]> {
  const outcomes = await Promise.allSettled(followers.map((each) => each.healed(patienceMs)))
  return outcomes.flatMap((each) => (each.status === 'rejected' ? [String(each.reason)] : []))
}

interface Reach {
  /** Before the mirrors. */
  readonly proxy: FaultProxy
  readonly writersProxy: FaultProxy
  /** Requests a list of each mirror. */
  relist(): void
}

class Campaign {
  readonly #story: string[] = []
  readonly #pair: Pair
  readonly #proxy: FaultProxy
  readonly #writersProxy: FaultProxy
  readonly #relist: () => void
  readonly #writers: readonly FuzzWriter[]
  readonly #random: SeededRandom
  readonly #kinds: readonly (readonly [name: string, run: (random: SeededRandom) => Promise<unknown>])[]
  #isBusy = false

  constructor(
    pair: Pair,
    { proxy, writersProxy, relist }: Reach,
    writers: readonly FuzzWriter[],
    random: SeededRandom,
  ) {
    this.#pair = pair
    this.#proxy = proxy
    this.#writersProxy = writersProxy
    this.#relist = relist
    this.#writers = writers
    this.#random = random
    this.#kinds = [
      ['cut', async () => proxy.reset()],
      ['cut after some bytes', async (random) => void proxy.cutAfter(100 + random.below(20_000), 'toClient')],
      ['refuse', (random) => this.#away(() => moment(random))],
      ['hold', (random) => this.#held(random)],
      ['slow line', async (random) => proxy.throttle(5_000 + random.below(200_000))],
      ['small output buffers', (random) => this.#alone(() => this.#smallBuffers(random))],
      ['lose the tail while a list is due', (random) => this.#alone(() => this.#loseTailWhileListIsDue(random))],
      ['half open', async () => proxy.halfOpen()],
      ['cut a writer', async (random) => void writersProxy.cutAfter(1 + random.below(2_000), 'toClient')],
      ['cut all writers', async () => writersProxy.reset()],
      ['kill', (random) => this.#alone(() => this.#killed(random))],
      ['pause', (random) => this.#alone(() => this.#paused(random))],
      ['trim', (random) => this.#alone(() => this.#trim(random))],
      ['trim while away', (random) => this.#alone(() => this.#away(() => this.#trim(random)))],
      ['delete', (random) => this.#alone(() => this.#delete(random))],
      ['flush', () => this.#alone(() => pair.client.flushall())],
      ['forget scripts', () => this.#alone(() => pair.client.script('FLUSH'))],
      ['end all clients', () => this.#alone(() => pair.client.call('CLIENT', 'KILL', 'TYPE', 'normal'))],
      ['lose the tail', (random) => this.#alone(() => this.#maybeAway(random, () => this.#loseTail(random)))],
      ['fail over', () => this.#alone(() => pair.failOver(() => this.#move()))],
      ['fail over with loss', (random) => this.#alone(() => this.#failOverWithLoss(random))],
      ['change places', (random) => this.#alone(() => pair.changePlaces(() => this.#move(), random.below(LONGEST_MS)))],
    ]
  }

  get writes(): number {
    return this.#writers.reduce((sum, { writes }) => sum + writes, 0)
  }

  /** What happened last. */
  get end(): string {
    return this.#story.slice(-6).join(', ')
  }

  /** Some faults during writes. Afterwards all faults are healed, and the writes have stopped. */
  async round(): Promise<void> {
    const over = new AbortController()
    const writing = this.#writers.map((each) => each.run(new SeededRandom(this.#random.below(2 ** 31)), over.signal))
    const running: Promise<unknown>[] = [moment(this.#random)]
    for (let at = 0; at < FAULTS; at++) {
      const [name, run] = this.#random.pick(this.#kinds)
      this.#story.push(name)
      const fault = run(new SeededRandom(this.#random.below(2 ** 31)))
      running.push(fault)
      // Every second fault continues while the next one begins.
      if (this.#random.chance(0.5)) await fault
      else await sleep(this.#random.below(200))
    }
    await Promise.all(running)
    over.abort()
    await Promise.all(writing)
    this.#proxy.pass()
    this.#writersProxy.pass()
    await this.#begin()
  }

  /** What is there is a collection, unless nothing is: without its meta a mirror rightly waits for a writer. */
  async #begin(): Promise<void> {
    const isWhole = async (): Promise<boolean> => {
      await this.#writers[0]?.begin().catch(() => {})
      return (await this.#pair.client.exists(`{${COLLECTION}}:m`)) === 1
    }
    if ((await this.#pair.client.exists(`{${COLLECTION}}:h`)) === 1)
      await waitUntil('a writer to be heard', isWhole, 20_000)
  }

  /** These are led to the master, by new connections. */
  #move(proxies: readonly FaultProxy[] = [this.#proxy, this.#writersProxy]): void {
    for (const each of proxies) {
      each.retarget(this.#pair.master.port)
      each.reset()
    }
  }

  async #away(during: () => Promise<unknown>): Promise<void> {
    this.#proxy.reset()
    this.#proxy.refuse()
    await during()
    this.#proxy.pass()
  }

  async #maybeAway(random: SeededRandom, during: () => Promise<unknown>): Promise<void> {
    if (random.chance(0.5)) await this.#away(during)
    else await during()
  }

  async #held(random: SeededRandom): Promise<void> {
    this.#proxy.hold()
    await moment(random)
    this.#proxy.pass()
  }

  async #killed(random: SeededRandom): Promise<void> {
    await this.#pair.master.kill()
    await moment(random)
    await this.#pair.master.start()
  }

  async #paused(random: SeededRandom): Promise<void> {
    this.#pair.master.signal('SIGSTOP')
    await moment(random)
    this.#pair.master.signal('SIGCONT')
  }

  /** While the mirrors are away, more entries may be written again than were lost. */
  async #loseTail(random: SeededRandom): Promise<void> {
    await this.#pair.cutTail(() => moment(random))
    await moment(random)
  }

  /** The mirrors are away, and list when they are back: by then the history is another, behind or past them. */
  async #loseTailWhileListIsDue(random: SeededRandom): Promise<void> {
    await this.#away(async () => {
      await moment(random)
      this.#relist()
      await this.#loseTail(random)
    })
  }

  /** The server closes connections that have little more than nothing to read. */
  async #smallBuffers(random: SeededRandom): Promise<void> {
    const limit = (bytes: number): Promise<unknown> =>
      this.#pair.client.config('SET', 'client-output-buffer-limit', `normal ${bytes} 0 0`)
    await limit(1_000 + random.below(20_000))
    this.#relist()
    await moment(random)
    await limit(0)
  }

  /** The writers find the new master first: it may have got past the mirrors. */
  async #failOverWithLoss(random: SeededRandom): Promise<void> {
    const moved = async (): Promise<void> => {
      this.#move([this.#writersProxy])
      await moment(random)
      this.#move()
    }
    await this.#pair.failOverWithLoss(() => moment(random), moved)
  }

  /** Both histories lose most of what they have, or all. */
  async #trim(random: SeededRandom): Promise<void> {
    const { client } = this.#pair
    await moment(random)
    for (const key of [`{${COLLECTION}}:s`, STREAM]) await client.xtrim(key, 'MAXLEN', random.below(4))
  }

  async #delete(random: SeededRandom): Promise<void> {
    const { client } = this.#pair
    const parts = random.pick(['hsm', 'hm', 'sm', 'm', 's'])
    await client.del([...parts].map((part) => `{${COLLECTION}}:${part}`))
    if (random.chance(0.5)) await client.del(STREAM, STREAM_TRUTH, STREAM_AT)
  }

  /** What happens to the servers happens one at a time. */
  async #alone(work: () => Promise<unknown>): Promise<void> {
    if (this.#isBusy) return
    this.#isBusy = true
    try {
      await work()
    } finally {
      this.#isBusy = false
    }
  }
}

function moment(random: SeededRandom): Promise<void> {
  return sleep(random.below(LONGEST_MS))
}
