import { cp, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { SeededRandom } from '../../testing/seeded-random.js'
import type { FaultProxy } from '../servers/fault-proxy.js'
import type { ServerProcess } from '../servers/server-process.js'
import { succeeds } from '../servers/wait-until.js'
import type { Follower } from './follower.js'

/** Resolves with `false` if the fault was impossible. */
type RunFault = (random: SeededRandom) => Promise<unknown>

type RestartedServer = ServerProcess & { start(): Promise<void> }

/** A deck has each fault as often as its weight. */
export type Fault = { readonly name: string; readonly weight: number; readonly run: RunFault }

export interface Outcome {
  /** The number of comparisons: as many as were requested, and more if a fault never happened until then. */
  readonly checks: number
  /** The failed comparisons, each with its number and the last faults. */
  readonly divergences: readonly string[]
  readonly writes: number
  readonly relists: number
  /** Faults that never happened, although a whole deck was drawn. */
  readonly missing: readonly string[]
}

const WRITERS = 3
/** The longest pause between two writes of a writer. */
const PAUSE_MS = 6
/** The number of faults before each comparison; they overlap. */
const FAULTS = 3
/** The greatest number of added checks, with the faults that were impossible each time that they were drawn. */
const MORE_CHECKS = 5
/** The longest duration of most faults. */
const LONGEST_MS = 700
/** The deadline of a round without its comparison. A fault or a write that does not end is named then. */
const ROUND_MS = 120_000

/**
 * Followers behind a network and a server with every kind of fault, while several writers write. Again and again the faults
 * end and the writers pause: the followers must then equal the backend. A seed determines all faults and writes.
 */
export abstract class FaultCampaign<T> {
  protected writes = 0
  /** Between the followers and the server. */
  protected readonly proxy: FaultProxy
  protected readonly followers: readonly Follower<T>[]
  readonly #random: SeededRandom
  readonly #healingMs: number
  readonly #story: string[] = []
  /** The faults that are not drawn yet. */
  readonly #deck: Fault[] = []
  /** The names of faults and writes that have not ended. */
  readonly #pending: string[] = []
  readonly #happened = new Set<string>()
  #decks = 0
  #server: Promise<unknown> = Promise.resolve()

  constructor(random: SeededRandom, proxy: FaultProxy, followers: readonly Follower<T>[], healingMs = 60_000) {
    this.proxy = proxy
    this.followers = followers
    this.#random = random
    this.#healingMs = healingMs
  }

  protected abstract readonly faults: readonly Fault[]

  /** Writes once. Rejects, or resolves early, if the server is away. */
  protected abstract write(random: SeededRandom, writer: number, signal: AbortSignal): Promise<unknown>

  async run(checks: number): Promise<Outcome> {
    const divergences: string[] = []
    let done = 0
    const isOver = (): boolean => done >= checks && (this.#missing.length === 0 || done >= checks + MORE_CHECKS)
    // A mirror that is wrong already shows nothing more.
    while (divergences.length === 0 && !isOver()) {
      if (done >= checks) this.#drawOnly(this.#missing)
      await this.#withDeadline(this.#round())
      done++
      const story = this.#lastFaults
      divergences.push(...(await this.compare()).map((wrong) => `check ${done}: ${wrong} [${story}]`))
    }
    const relists = this.followers.reduce((sum, each) => sum + each.relists, 0)
    return { checks: done, divergences, writes: this.writes, relists, missing: this.#missing }
  }

  /** Ends all faults. */
  protected async heal(): Promise<void> {
    this.proxy.pass()
  }

  /** Returns the messages of the followers that do not become equal to the backend. */
  protected async compare(): Promise<readonly string[]> {
    const wrong: string[] = []
    for (const each of this.followers)
      await each.healed(this.#healingMs).catch((error: unknown) => wrong.push(String(error)))
    return wrong
  }

  protected fault(name: string, weight: number, run: RunFault): Fault {
    return { name, weight, run }
  }

  /** Faults of the server itself happen one at a time. */
  protected serverFault(name: string, weight: number, run: RunFault): Fault {
    const runAlone = (random: SeededRandom): Promise<unknown> => {
      const done = this.#server.then(() => run(random))
      this.#server = done
      return done
    }
    return { name, weight, run: runAlone }
  }

  protected get networkFaults(): readonly Fault[] {
    const { proxy } = this
    return [
      this.fault('cut', 2, async () => proxy.reset()),
      this.fault('cut after some bytes', 3, async (random) => {
        void proxy.cutAfter(100 + random.below(random.pick([20_000, 60_000])), 'toClient')
      }),
      this.fault('refuse', 2, (random) => this.away(() => this.moment(random))),
      this.fault('hold', 2, async (random) => {
        proxy.hold()
        await this.moment(random)
        proxy.pass()
      }),
      this.fault('half open', 1, async () => proxy.halfOpen()),
      this.fault('chop', 1, async (random) => {
        proxy.chop(1 + random.below(100))
        await this.moment(random)
        proxy.chop(0)
      }),
      this.fault('slow line', 1, async (random) => {
        proxy.throttle(20_000 + random.below(200_000))
        await this.moment(random)
        proxy.throttle(0)
      }),
      this.fault('cut while catching up', 2, async (random) => {
        await this.away(() => sleep(200 + random.below(300)))
        const cut = proxy.cutAfter(100 + random.below(20_000), 'toClient')
        await Promise.race([cut, sleep(LONGEST_MS)]) // Another fault that ends may cancel it.
      }),
    ]
  }

  /** A pause and a kill. `start` starts the server again. */
  protected processFaults(
    server: () => ServerProcess,
    start: (random: SeededRandom) => Promise<void>,
    killWeight = 2,
  ): readonly Fault[] {
    return [
      this.serverFault('pause', 2, async (random) => {
        server().signal('SIGSTOP')
        await this.moment(random)
        server().signal('SIGCONT')
      }),
      this.serverFault('kill', killWeight, async (random) => {
        await server().kill()
        await this.moment(random)
        await start(random)
      }),
    ]
  }

  /** Restores of a backup. `restore` resolves when the server runs again. */
  protected restoreFaults(
    weight: number,
    backup: (name: string) => Promise<string>,
    restore: (backup: string) => Promise<unknown>,
  ): readonly Fault[] {
    const taken = async (random: SeededRandom): Promise<string> => {
      const path = await backup(`backup-${this.writes}.db`)
      await this.moment(random)
      return path
    }
    return [
      this.serverFault('restore', weight, async (random) => {
        const path = await taken(random)
        const isAway = random.chance(0.5)
        if (isAway) this.proxy.refuse()
        await restore(path)
        await this.moment(random)
        if (isAway) this.proxy.pass()
      }),
      // Writers continue meanwhile, so that the restored history may get past the one that the followers know.
      this.serverFault('restore while a list is due', weight, async (random) => {
        const path = await taken(random)
        await this.away(async () => {
          this.relist()
          await restore(path)
          this.proxy.refuse() // Another fault that ends lets connections pass.
          await sleep(random.below(3 * LONGEST_MS))
        })
      }),
    ]
  }

  /** The same with copies of a folder, which a server has while it runs. */
  protected folderFaults(weight: number, server: RestartedServer, data: string): readonly Fault[] {
    const backup = async (name: string): Promise<string> => {
      const path = join(server.folder, name)
      await server.stop()
      await cp(data, path, { recursive: true })
      await server.start()
      return path
    }
    const putBack = async (path: string): Promise<void> => {
      await server.kill()
      await rm(data, { recursive: true })
      await rename(path, data)
      await server.start()
    }
    return this.restoreFaults(weight, backup, putBack)
  }

  protected moment(random: SeededRandom): Promise<void> {
    return sleep(random.below(LONGEST_MS))
  }

  /** The followers are disconnected meanwhile. */
  protected async away<V>(during: () => Promise<V>): Promise<V> {
    this.proxy.reset() // It lets new connections pass.
    this.proxy.refuse()
    const result = await during()
    this.proxy.pass()
    return result
  }

  /** Requests a list of each follower. A fault may break it. */
  protected relist(): void {
    for (const { informer } of this.followers) informer.relist({ timeoutMs: 60_000 }).catch(() => {})
  }

  get #lastFaults(): string {
    return this.#story.slice(-2 * FAULTS).join(', ')
  }

  /** Rejects with the work that is pending if the round does not end. */
  async #withDeadline(round: Promise<void>): Promise<void> {
    const over = new AbortController()
    const late = async (): Promise<never> => {
      await sleep(ROUND_MS, undefined, { signal: over.signal })
      throw new Error(
        `after ${ROUND_MS} ms these have not ended: ${[...this.#pending].join(', ')} [${this.#lastFaults}]`,
      )
    }
    using _ = { [Symbol.dispose]: () => over.abort() }
    await Promise.race([round, late()])
  }

  /** Runs work of a round under a name. */
  async #named<V>(name: string, work: Promise<V>): Promise<V> {
    this.#pending.push(name)
    using _ = { [Symbol.dispose]: () => this.#pending.splice(this.#pending.indexOf(name), 1) }
    return await work
  }

  /** Some faults during writes. */
  async #round(): Promise<void> {
    const over = new AbortController()
    const writing = Array.from({ length: WRITERS }, (_, at) => this.#keepWriting(this.#fork(), at, over.signal))
    const running: Promise<unknown>[] = [this.moment(this.#fork())]
    try {
      for (let at = 0; at < FAULTS; at++) {
        const { name, run } = this.#draw()
        this.#story.push(name)
        const fault = this.#named(name, run(this.#fork())).then((isDone) => {
          if (isDone !== false) this.#happened.add(name)
        })
        running.push(fault)
        // Every second fault continues while the next one begins.
        if (this.#random.chance(0.5)) await fault
        else await sleep(this.#random.below(200))
      }
      await Promise.all(running)
    } finally {
      over.abort()
      await Promise.all(writing)
    }
    await this.#named('the end of all faults', this.heal())
  }

  /** Each fault and each writer has random numbers of its own: the order in which they run changes none of them. */
  #fork(): SeededRandom {
    return new SeededRandom(this.#random.below(2 ** 31))
  }

  #draw(): Fault {
    if (this.#deck.length === 0) {
      this.#deck.push(...this.faults.flatMap((fault) => Array.from({ length: fault.weight }, () => fault)))
      this.#decks++
    }
    const [fault] = this.#deck.splice(this.#random.below(this.#deck.length), 1)
    if (fault === undefined) throw new Error('there is no fault')
    return fault
  }

  #drawOnly(names: readonly string[]): void {
    this.#deck.splice(0, this.#deck.length, ...this.faults.filter(({ name }) => names.includes(name)))
    this.#decks++
  }

  get #missing(): string[] {
    const isComplete = this.#decks > 1 || this.#deck.length === 0
    return isComplete ? this.faults.map(({ name }) => name).filter((name) => !this.#happened.has(name)) : []
  }

  async #keepWriting(random: SeededRandom, writer: number, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.#named(`a write of writer ${writer}`, this.write(random, writer, signal))
        this.writes++
      } catch {
        await sleep(50) // The server is away.
      }
      await sleep(random.below(PAUSE_MS))
    }
  }
}

/** Resolves with whether the work succeeded within the time. */
export function isDone(work: Promise<unknown>, ms = 60_000): Promise<boolean> {
  return Promise.race([succeeds(work), sleep(ms, false, { ref: false })])
}
