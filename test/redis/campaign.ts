import { SeededRandom } from '../../testing/seeded-random.js'
import { type FaultProxy, startFaultProxy } from '../servers/fault-proxy.js'
import type { FoundServer } from '../servers/index.js'
import { waitUntil } from '../servers/wait-until.js'
import { type Fault, FaultCampaign, type Outcome } from '../support/fault-campaign.js'
import { COLLECTION, followersAt, type KindFollower, STREAM, STREAM_AT, STREAM_TRUTH } from './followers.js'
import type { Item } from './mirror.js'
import { Pair } from './pair.js'
import { FuzzWriter } from './writers.js'

export interface CampaignOptions {
  readonly server: FoundServer
  readonly seed: number
  readonly checks: number
}

/** How long clients of a former master find its replica at most, in milliseconds. */
const LATE_MS = 700
/** How long a mirror may take to become right, in milliseconds. */
const HEALING_MS = 40_000

export async function campaign({ server, seed, checks }: CampaignOptions): Promise<Outcome> {
  await using pair = await Pair.start(server)
  await using proxy = await startFaultProxy({ targetPort: pair.master.port })
  await using writersProxy = await startFaultProxy({ targetPort: pair.master.port })
  await using started = new AsyncDisposableStack()
  const followers = followersAt(pair, proxy.port).map((each) => started.use(each))
  const writers = [1, 2, 3].map(() => started.use(new FuzzWriter(writersProxy.port)))
  for (const { informer } of followers) informer.start()
  const places = { pair, proxy, writersProxy, followers, writers }
  return await new RedisCampaign(places, new SeededRandom(seed)).run(checks)
}

interface Places {
  readonly pair: Pair
  readonly proxy: FaultProxy
  readonly writersProxy: FaultProxy
  readonly followers: readonly KindFollower[]
  readonly writers: readonly FuzzWriter[]
}

class RedisCampaign extends FaultCampaign<Item> {
  protected readonly faults: readonly Fault[]
  readonly #pair: Pair
  readonly #writersProxy: FaultProxy
  readonly #writers: readonly FuzzWriter[]

  constructor({ pair, proxy, writersProxy, followers, writers }: Places, random: SeededRandom) {
    super(random, proxy, followers, HEALING_MS)
    this.#pair = pair
    this.#writersProxy = writersProxy
    this.#writers = writers
    this.faults = [
      ...this.networkFaults,
      ...this.processFaults(
        () => pair.master,
        () => pair.master.start(),
      ),
      this.fault('slow line until the end', 2, async (random) => proxy.throttle(5_000 + random.below(200_000))),
      this.fault('cut a writer', 2, async (random) => {
        void writersProxy.cutAfter(1 + random.below(2_000), 'toClient')
      }),
      this.fault('cut all writers', 2, async () => writersProxy.reset()),
      this.serverFault('small output buffers', 2, (random) => this.#smallBuffers(random)),
      this.serverFault('lose the tail', 2, (random) => this.#maybeAway(random, () => this.#loseTail(random))),
      this.serverFault('lose the tail while a list is due', 2, (random) => this.#loseTailWhileListIsDue(random)),
      this.serverFault('trim', 2, (random) => this.#trim(random)),
      this.serverFault('trim while away', 2, (random) => this.away(() => this.#trim(random))),
      this.serverFault('delete', 2, (random) => this.#delete(random)),
      this.serverFault('flush', 1, () => pair.client.flushall()),
      this.serverFault('forget scripts', 1, () => pair.client.script('FLUSH')),
      this.serverFault('end all clients', 1, () => pair.client.call('CLIENT', 'KILL', 'TYPE', 'normal')),
      this.serverFault('fail over', 2, () => pair.failOver(() => this.#move())),
      this.serverFault('fail over with loss', 2, (random) => this.#failOverWithLoss(random)),
      this.serverFault('change places', 2, (random) => pair.changePlaces(() => this.#move(), random.below(LATE_MS))),
    ]
  }

  protected override async write(random: SeededRandom, writer: number, signal: AbortSignal): Promise<void> {
    await this.#writers[writer]?.write(random, signal)
  }

  protected override async heal(): Promise<void> {
    await super.heal()
    this.#writersProxy.pass()
    await this.#begin()
  }

  /** What is there is a collection, unless nothing is: without its meta a mirror rightly waits for a writer. */
  async #begin(): Promise<void> {
    const isWhole = async (): Promise<boolean> => {
      await this.#writers[0]?.begin().catch(() => {})
      return (await this.#pair.client.exists(`{${COLLECTION}}:m`, `{${COLLECTION}}:meta`)) === 2
    }
    if ((await this.#pair.client.exists(`{${COLLECTION}}:h`, `{${COLLECTION}}:h:a`)) > 0)
      await waitUntil('a writer to be heard', isWhole, 20_000)
  }

  /** These are led to the master, by new connections. */
  #move(proxies: readonly FaultProxy[] = [this.proxy, this.#writersProxy]): void {
    for (const each of proxies) {
      each.retarget(this.#pair.master.port)
      each.reset()
    }
  }

  async #maybeAway(random: SeededRandom, during: () => Promise<unknown>): Promise<void> {
    if (random.chance(0.5)) await this.away(during)
    else await during()
  }

  /** While the mirrors are away, more entries may be written again than were lost. */
  async #loseTail(random: SeededRandom): Promise<void> {
    await this.#pair.cutTail(() => this.moment(random))
    await this.moment(random)
  }

  /** The mirrors are away, and list when they are back: by then the history is another, behind or past them. */
  async #loseTailWhileListIsDue(random: SeededRandom): Promise<void> {
    await this.away(async () => {
      await this.moment(random)
      this.relist()
      await this.#loseTail(random)
    })
  }

  /**
   * The server closes connections with more than a few unread bytes. The client of the pair sends snapshots again after
   * each of these closes, so a command behind them may never run: the limit has a client of its own.
   */
  async #smallBuffers(random: SeededRandom): Promise<void> {
    const client = this.#pair.master.client({ maxRetriesPerRequest: null, enableReadyCheck: false })
    const limit = (bytes: number): Promise<unknown> =>
      client.config('SET', 'client-output-buffer-limit', `normal ${bytes} 0 0`)
    await limit(1_000 + random.below(20_000))
    this.relist()
    await this.moment(random)
    await limit(0)
    client.disconnect()
  }

  /** The writers find the new master first: it may have got past the mirrors. */
  async #failOverWithLoss(random: SeededRandom): Promise<void> {
    const moved = async (): Promise<void> => {
      this.#move([this.#writersProxy])
      await this.moment(random)
      this.#move()
    }
    await this.#pair.failOverWithLoss(() => this.moment(random), moved)
  }

  /** Both histories lose most of what they have, or all. */
  async #trim(random: SeededRandom): Promise<void> {
    const { client } = this.#pair
    await this.moment(random)
    for (const key of [`{${COLLECTION}}:s`, `{${COLLECTION}}:log`, STREAM])
      await client.xtrim(key, 'MAXLEN', random.below(4))
  }

  async #delete(random: SeededRandom): Promise<void> {
    const { client } = this.#pair
    const parts = random.pick(['hsm', 'hm', 'sm', 'm', 's'])
    const ofDatabase = { h: ['h:a', 'h:b'], s: ['log'], m: ['meta'] }
    const all = [...parts].flatMap((part) => [part, ...ofDatabase[part as 'h']])
    await client.del(all.map((part) => `{${COLLECTION}}:${part}`))
    if (random.chance(0.5)) await client.del(STREAM, STREAM_TRUTH, STREAM_AT)
  }
}
