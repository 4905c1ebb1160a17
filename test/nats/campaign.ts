import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { NatsConnection } from '@nats-io/transport-node'
import { SeededRandom } from '../../testing/seeded-random.js'
import type { FoundServer } from '../servers/index.js'
import { NatsServer } from '../servers/nats.js'
import { NatsCluster } from '../servers/nats-cluster.js'
import { type Fault, FaultCampaign, isDone, type Outcome } from '../support/fault-campaign.js'
import { backupOf, restore } from './backups.js'
import { type Item, Stage } from './stage.js'

export interface CampaignOptions {
  readonly server: FoundServer
  readonly seed: number
  /** How often the mirror is compared with the server. */
  readonly checks: number
}

const KEYS = 300

/** On a busy machine several campaigns share a core: a response may take a second. */
const SPEED = 2
const HEALING_MS = 120_000

/** Faults of one server, of its data, and of the network before it. */
export async function campaign({ server, seed, checks }: CampaignOptions): Promise<Outcome> {
  await using nats = await NatsServer.start({ server })
  const random = new SeededRandom(seed)
  const config = { history: random.pick([1, 1, 3]) }
  // A server that is killed may have messages again that had been erased. Only an audit finds all of them.
  await using stage = await Stage.open({ nats, config, speed: SPEED, isAudited: true })
  await stage.fill(50)
  await stage.live()
  return await new ServerCampaign(stage, nats, random).run(checks)
}

/** Faults of three servers, of the network between them, and of that before them. */
export async function clusterCampaign({ server, seed, checks }: CampaignOptions): Promise<Outcome> {
  await using cluster = await NatsCluster.start(server)
  const [nats] = cluster.members
  if (nats === undefined) throw new Error('no member')
  const admin = (): Promise<NatsConnection> => cluster.connect()
  await using stage = await Stage.open({ nats, config: { replicas: 3 }, admin, speed: SPEED })
  await stage.fill(50)
  await stage.live()
  return await new ClusterCampaign(stage, cluster, new SeededRandom(seed)).run(checks)
}

abstract class BucketCampaign extends FaultCampaign<Item> {
  protected readonly stage: Stage

  constructor(stage: Stage, random: SeededRandom) {
    super(random, stage.proxy, [stage], HEALING_MS)
    this.stage = stage
  }

  protected get bucketFaults(): readonly Fault[] {
    const { stage } = this
    const purge = (random: SeededRandom): Promise<boolean> =>
      isDone(stage.ask(`STREAM.PURGE.${stage.stream}`, random.pick([{}, { filter: `$KV.${stage.bucket}.k1` }])), 1_000)
    const forget = (): Promise<boolean> => isDone(stage.kv.purgeDeletes(-1), 1_000)
    return [
      this.fault('list', 2, async () => this.relist()),
      this.serverFault('purge', 1, purge),
      this.serverFault('purge while away', 1, (random) => this.away(() => purge(random))),
      this.serverFault('forget deletes', 1, forget),
      this.serverFault('forget deletes while away', 2, () => this.away(forget)),
      // With older revisions, the one before would be the newest again.
      this.serverFault('erase messages', 2, async (random) => {
        if (stage.history > 1) return
        for (let each = 0; each < 5; each++) {
          const entry = await stage.kv.get(`k${random.below(KEYS)}`).catch(() => null)
          if (entry !== null) await isDone(stage.ask(`STREAM.MSG.DELETE.${stage.stream}`, { seq: entry.revision }), 500)
        }
      }),
    ]
  }

  protected override async write(random: SeededRandom): Promise<void> {
    const key = `k${random.below(random.pick([3, KEYS]))}`
    const kind = random.next()
    const { kv } = this.stage
    const written =
      kind < 0.7 ? kv.put(key, JSON.stringify({ n: this.writes })) : kind < 0.9 ? kv.delete(key) : kv.purge(key)
    await Promise.race([written, sleep(500)])
  }
}

class ServerCampaign extends BucketCampaign {
  protected readonly faults: readonly Fault[]

  constructor(stage: Stage, nats: NatsServer, random: SeededRandom) {
    super(stage, random)
    const restoreStream = async (random: SeededRandom): Promise<boolean> => {
      // A server that starts or is busy may not respond in time.
      const saved = await backupOf(stage.admin, stage.stream).catch(() => undefined)
      if (saved === undefined) return false
      await this.moment(random)
      await stage.ask(`STREAM.DELETE.${stage.stream}`)
      await restore(stage.admin, stage.stream, saved)
      await this.moment(random)
      return true
    }
    this.faults = [
      ...this.networkFaults,
      ...this.processFaults(
        () => nats,
        () => nats.start(),
      ),
      ...this.folderFaults(2, nats, join(nats.folder, 'data')),
      ...this.bucketFaults,
      this.serverFault('restore the stream', 1, restoreStream),
      this.serverFault('restore the stream while away', 1, (random) => this.away(() => restoreStream(random))),
    ]
  }
}

class ClusterCampaign extends BucketCampaign {
  protected readonly faults: readonly Fault[]
  readonly #cluster: NatsCluster

  constructor(stage: Stage, cluster: NatsCluster, random: SeededRandom) {
    super(stage, random)
    this.#cluster = cluster
    const member = (at: number): NatsServer => {
      const found = cluster.members[at]
      if (found === undefined) throw new Error('no such member')
      return found
    }
    const killed = async (at: number, random: SeededRandom): Promise<void> => {
      await member(at).kill()
      await sleep(random.below(8_000))
      await member(at).launch()
      await cluster.ready()
    }
    const partitioned = async (at: number, random: SeededRandom): Promise<void> => {
      cluster.cutOff(at)
      await sleep(random.below(12_000))
      cluster.join()
    }
    this.faults = [
      ...this.networkFaults,
      ...this.bucketFaults,
      this.fault('move', 4, async (random) => {
        stage.proxy.retarget(member(random.below(3)).port)
        stage.proxy.reset()
      }),
      this.serverFault('step down', 3, () => isDone(cluster.stepDown(stage.stream), 3_000)),
      this.serverFault('kill a member', 2, (random) => killed(random.below(3), random)),
      this.serverFault('kill the leader', 2, async (random) => killed(await cluster.leaderOf(stage.stream), random)),
      this.serverFault('partition a member', 2, (random) => partitioned(random.below(3), random)),
      this.serverFault('partition the leader', 2, async (random) =>
        partitioned(await cluster.leaderOf(stage.stream), random),
      ),
      this.serverFault('pause the leader', 2, async (random) => {
        const leader = member(await cluster.leaderOf(stage.stream))
        leader.signal('SIGSTOP')
        await sleep(random.below(12_000))
        leader.signal('SIGCONT')
      }),
      this.serverFault('kill all', 1, async (random) => {
        for (const each of cluster.members) await each.kill()
        await this.moment(random)
        for (const each of cluster.members) await each.launch()
        await cluster.ready()
      }),
    ]
  }

  protected override async heal(): Promise<void> {
    await super.heal()
    await this.#cluster.mend()
  }
}
