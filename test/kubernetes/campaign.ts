import { setTimeout as sleep } from 'node:timers/promises'
import { SeededRandom } from '../../testing/seeded-random.js'
import type { KubernetesPrograms } from '../servers/index.js'
import type { KubeObject } from '../servers/kube-client.js'
import { type Kubernetes, startKubernetes } from '../servers/kubernetes.js'
import type { Follower } from '../support/follower.js'
import { CONFIGMAPS, PODS, type Resource, Stage, type StageOptions } from './stage.js'
import { createWidgets, setSpecOfWidgets, WIDGETS } from './widgets.js'

export interface CampaignOptions {
  readonly server: KubernetesPrograms
  readonly seed: number
  /** How often the mirror is compared with the server. */
  readonly checks: number
  /** Whether backups are restored, too. Default true. */
  readonly restores?: boolean
  readonly instead?: StageOptions['instead']
  /** How long a mirror may take to be right again, in milliseconds. Default two minutes. */
  readonly healingMs?: number
}

export interface Outcome {
  /** What was wrong, each with the number of its check. */
  readonly divergences: readonly string[]
  readonly writes: number
  /** How many waits for versions, and for what was there at a moment, were fulfilled. */
  readonly fulfilled: number
  /** Faults that never happened, although there were enough rounds for each. */
  readonly missing: readonly string[]
}

/** The keys: few, so that each is written, deleted and recreated. */
const NAMES = 100
/** Faults before each check; they overlap. */
const FAULTS = 3
/** The longest wait for a version, in a mirror's milliseconds. */
const WAIT_MS = 60_000
/** How long any of them lasts at most, in milliseconds. */
const LONGEST_MS = 600
/** An audit rests a hundred times as long as it has read, which on a busy machine is long. */
const HEALING_MS = 120_000
const RESOURCES: readonly Resource[] = [CONFIGMAPS, PODS, WIDGETS]
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

/**
 * Two mirrors of one configuration, behind a network and a server with every kind of fault, while several writers write
 * and wait for their writes. Again and again the writers pause and the faults end: the mirrors must then equal the
 * server. A seed determines the sequence of faults and writes.
 */
export async function campaign(options: CampaignOptions): Promise<Outcome> {
  const { server, seed, checks, restores = true, instead, healingMs = HEALING_MS } = options
  await using kubernetes = await startKubernetes({ server })
  const random = new SeededRandom(seed)
  const resource = instead === undefined ? random.pick(RESOURCES) : CONFIGMAPS
  if (resource === WIDGETS) await createWidgets(kubernetes)
  await using stage = await Stage.open({
    kubernetes,
    resource,
    speed: 20,
    // A server that takes up another schema answers after seconds on a busy machine, and time runs 20 times as fast here.
    ...(resource === WIDGETS ? { source: { stallMs: 100_000 } } : {}),
    // Only an audit can detect a restored history that has got past us. It waits for a bookmark, which takes the server
    // seconds.
    ...(restores ? { audit: { periodMs: 100_000 } } : {}),
    ...(instead === undefined ? {} : { instead }),
  })
  const followers: Follower<KubeObject>[] = instead === undefined ? [stage, stage.second()] : [stage]
  const run = new Campaign(kubernetes, stage, followers, random, restores)
  const divergences: string[] = []
  await stage.fill(40)
  await Promise.all(followers.map((each) => each.live()))
  for (let check = 1; check <= checks; check++) {
    await run.round()
    for (const each of followers) {
      await each.healed(healingMs).catch((error: unknown) => {
        divergences.push(`check ${check}: ${String(error)} [${run.story.slice(-6).join(', ')}]`)
      })
    }
    // From what is wrong already nothing is learned.
    if (divergences.length > 0) break
  }
  return { divergences, writes: run.writes, fulfilled: run.fulfilled, missing: run.missing }
}

/** Resolves with `false` if the fault was impossible. */
type Fault = readonly [name: string, weight: number, run: () => Promise<unknown>]

class Campaign {
  writes = 0
  fulfilled = 0
  readonly story: string[] = []
  readonly #kubernetes: Kubernetes
  readonly #stage: Stage
  readonly #followers: readonly Follower<KubeObject>[]
  readonly #random: SeededRandom
  readonly #kinds: readonly Fault[]
  /** What is still to be drawn: each fault as often as it weighs, then all of them again. */
  readonly #deck: Fault[] = []
  readonly #happened = new Set<string>()
  #decks = 0
  /** What happens to the server itself happens one at a time. */
  #server: Promise<unknown> = Promise.resolve()

  constructor(
    kubernetes: Kubernetes,
    stage: Stage,
    followers: readonly Follower<KubeObject>[],
    random: SeededRandom,
    restores: boolean,
  ) {
    this.#kubernetes = kubernetes
    this.#stage = stage
    this.#followers = followers
    this.#random = random
    const { proxy } = stage
    this.#kinds = [
      ['cut', 4, async () => proxy.reset()],
      ['cut after some bytes', 4, async () => void proxy.cutAfter(200 + random.below(60_000), 'toClient')],
      ['refuse', 3, () => this.#refused(() => this.#moment())],
      ['hold', 3, () => this.#held()],
      ['half open', 2, async () => proxy.halfOpen()],
      ['chop', 2, () => this.#chopped()],
      ['pause', 2, () => this.#paused()],
      ['compact', 2, () => this.#compact()],
      ['compact while away', 3, () => this.#refused(() => this.#compact())],
      ['delete many', 2, () => this.#deleteMany()],
      ['cut while catching up', 3, () => this.#cutWhileCatchingUp()],
      // These cost seconds.
      ['kill', 1, () => this.#alone(() => this.#restarted())],
      ...(restores ? [['restore', 1, () => this.#alone(() => this.#restored())] as const] : []),
      ...(restores
        ? [['restore while a list is due', 1, () => this.#alone(() => this.#restoredWhileListIsDue())] as const]
        : []),
      ...(stage.resource === WIDGETS ? [['change the schema', 3, () => this.#changeSchema()] as const] : []),
    ]
  }

  /** Some faults during writes, then a pause without both. */
  async round(): Promise<void> {
    const over = new AbortController()
    const writers = [1, 2, 3].map(() => this.#write(new SeededRandom(this.#random.below(2 ** 31)), over.signal))
    const running: Promise<unknown>[] = []
    for (let at = 0; at < FAULTS; at++) {
      const [name, , run] = this.#draw()
      this.story.push(name)
      const fault = run().then((isDone) => {
        if (isDone !== false) this.#happened.add(name)
      })
      running.push(fault)
      // Every second fault continues while the next one begins.
      if (this.#random.chance(0.5)) await fault
      else await sleep(this.#random.below(200))
    }
    await Promise.all(running)
    over.abort()
    await Promise.all(writers)
    this.#stage.proxy.pass()
  }

  /** Which faults never happened, although a whole deck was drawn. */
  get missing(): string[] {
    const isComplete = this.#decks > 1 || (this.#decks === 1 && this.#deck.length === 0)
    return isComplete ? this.#kinds.map(([name]) => name).filter((name) => !this.#happened.has(name)) : []
  }

  #draw(): Fault {
    if (this.#deck.length === 0) {
      for (const kind of this.#kinds) for (let n = 0; n < kind[1]; n++) this.#deck.push(kind)
      this.#decks++
    }
    const [fault] = this.#deck.splice(this.#random.below(this.#deck.length), 1)
    if (fault === undefined) throw new Error('there is no fault')
    return fault
  }

  async #write(random: SeededRandom, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const name = `k${random.below(NAMES)}`
      try {
        const writing = random.chance(0.7) ? this.#stage.put(name, this.writes) : this.#stage.remove(name)
        if (random.chance(0.1)) void this.#wait(random, writing)
        await Promise.race([writing.then(() => {}), sleep(1_000)])
        this.writes++
      } catch {
        await sleep(50) // The server is down.
      }
      await sleep(random.below(10))
    }
  }

  /** For what was written, or for what is there now: faults may break that, and nothing that it does may harm the mirror. */
  async #wait(random: SeededRandom, writing: Promise<unknown>): Promise<void> {
    const { informer } = random.pick(this.#followers)
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

  #moment(): Promise<void> {
    return sleep(this.#random.below(LONGEST_MS))
  }

  async #refused<V>(during: () => Promise<V>): Promise<V> {
    const { proxy } = this.#stage
    proxy.reset()
    proxy.refuse()
    // `reset` lets new connections pass.
    proxy.refuse()
    const result = await during()
    proxy.pass()
    return result
  }

  async #held(): Promise<void> {
    this.#stage.proxy.hold()
    await this.#moment()
    this.#stage.proxy.pass()
  }

  async #chopped(): Promise<void> {
    this.#stage.proxy.chop(1 + this.#random.below(100))
    await this.#moment()
    this.#stage.proxy.chop(0)
  }

  async #deleteMany(): Promise<boolean> {
    const selector = `half=${this.#random.below(2)}`
    return await isDone(this.#kubernetes.admin.deleteCollection(this.#stage.path, selector))
  }

  async #cutWhileCatchingUp(): Promise<void> {
    await this.#refused(() => sleep(200 + this.#random.below(300)))
    const cut = this.#stage.proxy.cutAfter(100 + this.#random.below(20_000), 'toClient')
    await Promise.race([cut, sleep(LONGEST_MS)]) // Another fault that ends may call it off.
  }

  async #paused(): Promise<void> {
    await this.#alone(async () => {
      this.#kubernetes.api.signal('SIGSTOP')
      await this.#moment()
      this.#kubernetes.api.signal('SIGCONT')
    })
  }

  #compact(): Promise<boolean> {
    return this.#alone(() => Promise.race([isDone(this.#kubernetes.compact()), sleep(1_000, false)]))
  }

  async #restarted(): Promise<void> {
    await this.#kubernetes.api.kill()
    await this.#moment()
    await this.#kubernetes.api.start(this.#random.pick(FLAGS))
  }

  async #restored(): Promise<void> {
    const backup = await this.#kubernetes.etcd.backup(`backup-${this.writes}.db`)
    await this.#moment()
    const isAway = this.#random.chance(0.5)
    if (isAway) this.#stage.proxy.refuse()
    await this.#kubernetes.restore(backup)
    await this.#moment()
    if (isAway) this.#stage.proxy.pass()
  }

  /** Writers continue meanwhile, so that the restored history may get past the one that the mirrors know. */
  async #restoredWhileListIsDue(): Promise<void> {
    const { proxy } = this.#stage
    const backup = await this.#kubernetes.etcd.backup(`backup-${this.writes}.db`)
    await this.#moment()
    await this.#refused(async () => {
      for (const { informer } of this.#followers) void informer.relist({ timeoutMs: WAIT_MS }).catch(() => {})
      await this.#kubernetes.restore(backup)
      // Another fault that ends lets connections pass.
      proxy.refuse()
      await sleep(this.#random.below(3 * LONGEST_MS))
    })
  }

  #changeSchema(): Promise<boolean> {
    const properties = { n: { type: 'integer' }, ...this.#random.pick(FIELDS) }
    const isSet = (): Promise<boolean> => isDone(setSpecOfWidgets(this.#kubernetes, properties))
    return this.#alone(() => Promise.race([isSet(), sleep(PUBLISHED_MS, false)]))
  }

  #alone<V>(work: () => Promise<V>): Promise<V> {
    const done = this.#server.then(work)
    this.#server = done
    return done
  }
}

function isDone(work: Promise<unknown>): Promise<boolean> {
  return work.then(
    () => true,
    () => false,
  )
}
