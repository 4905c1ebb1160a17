import { setTimeout as sleep } from 'node:timers/promises'
import { SeededRandom } from '../../testing/seeded-random.js'
import { EtcdServer } from '../servers/etcd.js'
import type { FoundServer } from '../servers/index.js'
import { type Fault, FaultCampaign, isDone, type Outcome } from '../support/fault-campaign.js'
import { type Item, Stage, type StageOptions } from './stage.js'

export interface CampaignOptions {
  readonly server: FoundServer
  readonly seed: number
  /** How often the mirror is compared with the server. */
  readonly checks: number
  /** Whether backups are restored, too. Default true. */
  readonly restores?: boolean
  readonly instead?: StageOptions['instead']
}

const KEYS = 300

export async function campaign({ server, seed, checks, restores = true, instead }: CampaignOptions): Promise<Outcome> {
  await using etcd = await EtcdServer.start({ server })
  const random = new SeededRandom(seed)
  const form = instead === undefined && random.chance(0.25) ? 'client' : 'endpoints'
  await using proxies = new AsyncDisposableStack()
  const newProxy = async (): Promise<EtcdServer> => proxies.use(await EtcdServer.startProxy(etcd))
  // Of two successive seeds, one reads through the grpc-proxy of etcd, so that every run has both.
  const via = instead === undefined && seed % 2 === 0 ? await newProxy() : undefined
  await using stage = await Stage.open({
    etcd,
    form,
    ...(via === undefined ? {} : { via }),
    ...(instead === undefined ? {} : { instead }),
  })
  await stage.fill(50)
  await stage.live()
  return await new EtcdCampaign(stage, random, restores, via, newProxy).run(checks)
}

class EtcdCampaign extends FaultCampaign<Item> {
  protected readonly faults: readonly Fault[]
  readonly #stage: Stage
  readonly #newProxy: () => Promise<EtcdServer>
  #via: EtcdServer | undefined

  constructor(
    stage: Stage,
    random: SeededRandom,
    restores: boolean,
    via: EtcdServer | undefined,
    newProxy: () => Promise<EtcdServer>,
  ) {
    super(random, stage.proxy, [stage])
    this.#stage = stage
    this.#via = via
    this.#newProxy = newProxy
    const { etcd } = stage
    const compact = (): Promise<boolean> => isDone(stage.compact(), 1_000)
    const restore = async (backup: string): Promise<void> => {
      await etcd.restore(backup)
      await etcd.start()
    }
    this.faults = [
      ...this.networkFaults,
      ...this.processFaults(
        () => etcd,
        () => etcd.start(),
      ),
      ...(restores ? this.restoreFaults(2, (name) => etcd.backup(name), restore) : []),
      this.fault('list', 2, async () => this.relist()),
      this.serverFault('compact', 2, compact),
      this.serverFault('compact while away', 2, () => this.away(compact)),
    ]
  }

  protected override async write(random: SeededRandom): Promise<void> {
    const name = (): string => `k${random.below(KEYS)}`
    const kind = random.next()
    const several = [...new Set([name(), name(), name(), name()])]
    const changes =
      kind < 0.6
        ? [[name(), this.writes] as const]
        : kind < 0.8
          ? [[name(), undefined] as const]
          : several.map((each, at) => [each, at === 3 ? undefined : this.writes] as const)
    await Promise.race([this.#stage.put(...changes), sleep(500)])
  }

  protected override async compare(): Promise<readonly string[]> {
    let isOver = false
    const comparing = super.compare().finally(() => {
      isOver = true
    })
    // The grpc-proxy may end when its server does, also a moment later.
    while (this.#via !== undefined && !isOver) {
      if (!this.#via.isRunning) {
        this.#via = await this.#newProxy()
        this.proxy.retarget(this.#via.port)
      }
      await Promise.race([comparing, sleep(200)])
    }
    return await comparing
  }
}
