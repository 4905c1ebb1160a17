import { setTimeout as sleep } from 'node:timers/promises'
import type { ListerWatcher } from '../../src/contract/source.js'
import { SeededRandom } from '../../testing/seeded-random.js'
import { EtcdServer } from '../servers/etcd.js'
import type { FoundServer } from '../servers/index.js'
import { type Item, Stage } from './stage.js'

export interface CampaignOptions {
  readonly server: FoundServer
  readonly seed: number
  /** How often the mirror is compared with the server. */
  readonly checks: number
  /** Whether backups are restored, too. Default true. */
  readonly restores?: boolean
  readonly instead?: (hosts: string, prefix: string) => ListerWatcher<Item>
}

export interface Outcome {
  readonly checks: number
  /** What was wrong, each with the number of its check. */
  readonly divergences: readonly string[]
  readonly writes: number
  readonly faults: ReadonlyMap<string, number>
}

/** The written keys: few, so that each is written, deleted and created again. */
const KEYS = 300
/** Faults before each check; they overlap. */
const FAULTS = 3
/** How long any of them lasts at most, in milliseconds. */
const LONGEST_MS = 900

/**
 * A mirror behind a network and a server that fail in every way there is, while several write; again and again the writers
 * pause, the faults end, and the mirror must become what the server has. One seed, one sequence of faults and writes.
 */
export async function campaign({ server, seed, checks, restores = true, instead }: CampaignOptions): Promise<Outcome> {
  await using etcd = await EtcdServer.start({ server })
  const random = new SeededRandom(seed)
  const form = instead === undefined && random.chance(0.25) ? 'client' : 'endpoints'
  // Half of the campaigns go through the grpc-proxy of etcd.
  await using proxies = new AsyncDisposableStack()
  let via = instead === undefined && random.chance(0.5) ? proxies.use(await EtcdServer.startProxy(etcd)) : undefined
  await using stage = await Stage.open({
    etcd,
    form,
    ...(via === undefined ? {} : { via }),
    ...(instead === undefined ? {} : { instead }),
  })
  const run = new Campaign(etcd, stage, random, restores)
  const divergences: string[] = []
  await stage.fill(50)
  await stage.live()
  for (let check = 1; check <= checks; check++) {
    await run.round()
    const healed = stage.healed().catch((error: unknown) => {
      divergences.push(`check ${check}: ${String(error)} [${run.story.slice(-6).join(', ')}]`)
    })
    // The grpc-proxy may end when its server does, also a moment later.
    for (let isOver = false; via !== undefined && !isOver; ) {
      if (!via.isRunning) {
        via = proxies.use(await EtcdServer.startProxy(etcd))
        stage.proxy.retarget(via.port)
      }
      isOver = await Promise.race([healed.then(() => true), sleep(200, false)])
    }
    await healed
    // From what is wrong already nothing is learned.
    if (divergences.length > 0) break
  }
  return { checks, divergences, writes: run.writes, faults: run.faults }
}

class Campaign {
  writes = 0
  readonly faults = new Map<string, number>()
  readonly story: string[] = []
  readonly #etcd: EtcdServer
  readonly #stage: Stage
  readonly #random: SeededRandom
  readonly #kinds: readonly (readonly [name: string, run: () => Promise<void>])[]
  #isDown = false

  constructor(etcd: EtcdServer, stage: Stage, random: SeededRandom, restores: boolean) {
    this.#etcd = etcd
    this.#stage = stage
    this.#random = random
    const { proxy } = stage
    this.#kinds = [
      ['cut', async () => proxy.reset()],
      ['cut after some bytes', async () => void proxy.cutAfter(200 + random.below(60_000), 'toClient')],
      ['refuse', () => this.#refused(async () => await this.#moment())],
      ['hold', () => this.#held()],
      ['half open', async () => proxy.halfOpen()],
      ['kill', () => this.#alone(async () => this.#restarted(() => etcd.kill()))],
      ['pause', () => this.#paused()],
      ['compact', () => this.#compact()],
      ['compact while away', () => this.#refused(() => this.#compact())],
      ['cut while catching up', () => this.#cutWhileCatchingUp()],
      ['slow line', () => this.#slow()],
      ['list', async () => this.#list()],
      ...(restores
        ? [
            ['restore', () => this.#alone(() => this.#restored())] as const,
            ['restore while a list is due', () => this.#alone(() => this.#restoredBeforeList())] as const,
          ]
        : []),
    ]
  }

  /** Some faults during writes. Afterwards all faults are healed, and the writes have stopped. */
  async round(): Promise<void> {
    const over = new AbortController()
    const writers = [1, 2, 3].map(() => this.#write(new SeededRandom(this.#random.below(2 ** 31)), over.signal))
    const running: Promise<void>[] = []
    for (let at = 0; at < FAULTS; at++) {
      const [name, run] = this.#random.pick(this.#kinds)
      this.story.push(name)
      this.faults.set(name, (this.faults.get(name) ?? 0) + 1)
      const fault = run()
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

  async #write(random: SeededRandom, signal: AbortSignal): Promise<void> {
    const name = (): string => `k${random.below(KEYS)}`
    while (!signal.aborted) {
      const kind = random.next()
      const several = [...new Set([name(), name(), name(), name()])]
      const changes =
        kind < 0.6
          ? [[name(), this.writes] as const]
          : kind < 0.8
            ? [[name(), undefined] as const]
            : several.map((each, at) => [each, at === 3 ? undefined : this.writes] as const)
      try {
        await Promise.race([this.#stage.put(...changes), sleep(500)])
        this.writes++
      } catch {
        await sleep(50) // The server is down.
      }
      await sleep(random.below(4))
    }
  }

  #moment(): Promise<void> {
    return sleep(this.#random.below(LONGEST_MS))
  }

  async #refused(during: () => Promise<void>): Promise<void> {
    this.#stage.proxy.refuse()
    this.#resetKept()
    await during()
    this.#stage.proxy.pass()
  }

  /** `reset` lets new connections pass. */
  #resetKept(): void {
    this.#stage.proxy.reset()
    this.#stage.proxy.refuse()
  }

  async #held(): Promise<void> {
    this.#stage.proxy.hold()
    await this.#moment()
    this.#stage.proxy.pass()
  }

  async #cutWhileCatchingUp(): Promise<void> {
    await this.#refused(() => sleep(300 + this.#random.below(300)))
    const cut = this.#stage.proxy.cutAfter(100 + this.#random.below(20_000), 'toClient')
    await Promise.race([cut, sleep(LONGEST_MS)]) // Another fault that ends may call it off.
  }

  async #paused(): Promise<void> {
    await this.#alone(async () => {
      this.#etcd.signal('SIGSTOP')
      await this.#moment()
      this.#etcd.signal('SIGCONT')
    })
  }

  async #compact(): Promise<void> {
    await this.#alone(async () => {
      await Promise.race([this.#stage.compact().catch(() => {}), sleep(1_000)])
    })
  }

  async #restarted(end: () => Promise<void>): Promise<void> {
    await end()
    await this.#moment()
    await this.#etcd.start()
  }

  async #restored(): Promise<void> {
    const backup = await this.#etcd.backup(`backup-${this.writes}.db`)
    await this.#moment()
    const isAway = this.#random.chance(0.5)
    if (isAway) this.#stage.proxy.refuse()
    await this.#etcd.restore(backup)
    await this.#etcd.start()
    await this.#moment()
    if (isAway) this.#stage.proxy.pass()
  }

  /** The list cannot begin before the backup is restored. */
  async #restoredBeforeList(): Promise<void> {
    const backup = await this.#etcd.backup(`backup-${this.writes}.db`)
    await this.#moment()
    this.#resetKept()
    this.#list()
    await this.#etcd.restore(backup)
    await this.#etcd.start()
    await this.#moment()
    this.#stage.proxy.pass()
  }

  #list(): void {
    this.#stage.informer.relist({ timeoutMs: 60_000 }).catch(() => {}) // Only that it is due matters.
  }

  async #slow(): Promise<void> {
    this.#stage.proxy.throttle(20_000 + this.#random.below(200_000))
    await this.#moment()
    this.#stage.proxy.throttle(0)
  }

  /** What happens to the server itself happens one at a time. */
  async #alone(work: () => Promise<void>): Promise<void> {
    if (this.#isDown) return
    this.#isDown = true
    try {
      await work()
    } finally {
      this.#isDown = false
    }
  }
}
