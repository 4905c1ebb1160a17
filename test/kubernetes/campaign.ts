import { setTimeout as sleep } from 'node:timers/promises'
import { SeededRandom } from '../../testing/seeded-random.js'
import type { KubernetesPrograms } from '../servers/index.js'
import type { KubeObject } from '../servers/kube-client.js'
import { startKubernetes } from '../servers/kubernetes.js'
import { type Fault, FaultCampaign, isDone, type Outcome } from '../support/fault-campaign.js'
import type { Follower } from '../support/follower.js'
import { CONFIGMAPS, PODS, type Resource, Stage } from './stage.js'
import { createWidgets, setSpecOfWidgets, WIDGETS } from './widgets.js'

export interface CampaignOptions {
  readonly server: KubernetesPrograms
  readonly seed: number
  /** How often the mirror is compared with the server. */
  readonly checks: number
}

/** The keys: few, so that each is written, deleted and recreated. */
const NAMES = 100
const WAIT_MS = 60_000
/** An audit rests a hundred times as long as it has read. On a busy machine it reads for two seconds. */
const HEALING_MS = 300_000
/** What the schema of widgets may say beside `n`: other fields are pruned, and defaults are filled in when an object is read. */
const FIELDS: readonly object[] = [
  {},
  { kept: { type: 'string' } },
  { added: { type: 'string', default: 'one' } },
  { added: { type: 'string', default: 'two' }, kept: { type: 'string', default: 'three' } },
]
/** A schema that is not published after this number of milliseconds may have been lost with its server. */
const PUBLISHED_MS = 5_000
/** What a restart may change about a server: the same mirror must do with either. */
const FLAGS: readonly (readonly string[])[] = [[], ['--watch-cache=false'], ['--feature-gates=WatchList=false']]

/** Two mirrors of one configuration, and writers that also wait for their writes. */
export async function campaign({
  server,
  seed,
  checks,
}: CampaignOptions): Promise<Outcome & { readonly fulfilled: number }> {
  await using kubernetes = await startKubernetes({ server })
  const random = new SeededRandom(seed)
  const resource = resourceOf(seed, random)
  if (resource === WIDGETS) await createWidgets(kubernetes)
  await using stage = await Stage.open({
    kubernetes,
    resource,
    speed: 20,
    // A server that takes up another schema answers after seconds on a busy machine, and time runs 20 times as fast here.
    ...(resource === WIDGETS ? { source: { timeoutMs: 100_000 } } : {}),
    // Only an audit can detect a restored history that has got past us. It waits for a bookmark, which takes the server
    // seconds.
    audit: { periodMs: 100_000 },
  })
  await using started = new AsyncDisposableStack()
  const followers: Follower<KubeObject>[] = [stage, started.use(stage.second())]
  await stage.fill(40)
  await Promise.all(followers.map((each) => each.live()))
  const run = new KubernetesCampaign(stage, followers, random)
  const outcome = await run.run(checks)
  return { ...outcome, fulfilled: run.fulfilled }
}

/** Of two successive seeds, one has custom resources, so that every run changes their schema. */
function resourceOf(seed: number, random: SeededRandom): Resource {
  return seed % 2 === 0 ? WIDGETS : random.pick([CONFIGMAPS, PODS])
}

class KubernetesCampaign extends FaultCampaign<KubeObject> {
  /** How many waits for versions, and for what was there at a moment, were fulfilled. */
  fulfilled = 0
  protected readonly faults: readonly Fault[]
  readonly #stage: Stage

  constructor(stage: Stage, followers: readonly Follower<KubeObject>[], random: SeededRandom) {
    super(random, stage.proxy, followers, HEALING_MS)
    this.#stage = stage
    const { kubernetes } = stage
    const restore = (backup: string): Promise<void> => kubernetes.restore(backup)
    const compact = (): Promise<boolean> => isDone(kubernetes.compact(), 1_000)
    const changeSchema = this.serverFault('change the schema', 3, (random) => this.#changeSchema(random))
    this.faults = [
      ...this.networkFaults,
      this.serverFault('compact', 2, compact),
      this.serverFault('compact while away', 3, () => this.away(compact)),
      this.fault('delete many', 2, (random) => this.#deleteMany(random)),
      ...(stage.resource === WIDGETS ? [changeSchema] : []),
      // These cost seconds.
      ...this.processFaults(
        () => kubernetes.api,
        (random) => kubernetes.api.start(random.pick(FLAGS)),
        1,
      ),
      ...this.restoreFaults(1, (name) => kubernetes.etcd.backup(name), restore),
    ]
  }

  protected override async write(random: SeededRandom): Promise<void> {
    const name = `k${random.below(NAMES)}`
    const writing = random.chance(0.7) ? this.#stage.put(name, this.writes) : this.#stage.remove(name)
    if (random.chance(0.1)) void this.#wait(random, writing)
    await Promise.race([writing.then(() => {}), sleep(1_000)])
  }

  /** For what was written, or for what is there now: faults may break that, and nothing that it does may harm the mirror. */
  async #wait(random: SeededRandom, writing: Promise<unknown>): Promise<void> {
    const { informer } = random.pick(this.followers)
    const isFresh = random.chance(0.5)
    try {
      const version = isFresh ? undefined : await writing
      if (typeof version === 'string') await informer.waitFor(version, { timeoutMs: WAIT_MS })
      else await informer.fresh({ timeoutMs: WAIT_MS })
      this.fulfilled++
    } catch {
      // The server, the history or the time was over.
    }
  }

  #deleteMany(random: SeededRandom): Promise<boolean> {
    const { kubernetes, path } = this.#stage
    return isDone(kubernetes.admin.deleteCollection(path, `half=${random.below(2)}`))
  }

  #changeSchema(random: SeededRandom): Promise<boolean> {
    const properties = { n: { type: 'integer' }, ...random.pick(FIELDS) }
    return isDone(setSpecOfWidgets(this.#stage.kubernetes, properties), PUBLISHED_MS)
  }
}
