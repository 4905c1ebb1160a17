import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { SeededRandom } from '../../testing/seeded-random.js'
import { type FaultProxy, startFaultProxy } from '../servers/fault-proxy.js'
import type { KubeConfigOptions } from '../servers/kubernetes.js'
import { waitUntil } from '../servers/wait-until.js'
import { binary } from '../support/build.js'
import { root } from '../support/sources.js'
import { flawsOf, type Note } from './judge.js'
import type { Backend, LeasesOfProcess } from './leases.js'

export interface FencedWrite {
  readonly run: number
  readonly key: string
  readonly value: number
  readonly fence: number
}

/** A message to a replica: the objects that have changed, or whether its write was accepted. */
export type Told = { readonly values: Readonly<Record<string, number>> } | { readonly run: number; isAccepted: boolean }

/** A table in the process of the test, which no fault reaches. It refuses a write with a smaller fence than before. */
class FencedTable {
  readonly values = new Map<string, number>()
  readonly #fences = new Map<string, number>()
  refused = 0

  write({ key, value, fence }: FencedWrite): boolean {
    const isAccepted = fence >= (this.#fences.get(key) ?? -1)
    if (!isAccepted) this.refused++
    else {
      this.#fences.set(key, fence)
      this.values.set(key, value)
    }
    return isAccepted
  }
}

export interface ReplicaOptions extends LeasesOfProcess {
  readonly name: string
  readonly log: string
  readonly values: Readonly<Record<string, number>>
}

export interface CampaignOptions {
  readonly backend: Backend
  readonly leasesPort: number
  /** The configuration for a way through this port. */
  readonly kubeConfig?: (port: number) => KubeConfigOptions
  readonly random: SeededRandom
}

const LEASE_MS = 1_000
const REPLICAS = 3
const KEYS = 30
const CHANGE_MS = 5
/** The longest time from the end of a drain to the end of the process. */
const EXIT_MS = 20_000

/** A replica, and the proxy between it and the lease store. */
class Replica implements AsyncDisposable {
  readonly name: string
  readonly proxy: FaultProxy
  readonly #process: ChildProcess
  readonly exited: Promise<number | null>
  output = ''
  isSynced = false
  isDisturbed = false

  constructor(proxy: FaultProxy, options: ReplicaOptions, table: FencedTable) {
    this.name = options.name
    this.proxy = proxy
    const path = join(root, 'test/replicas/replica.ts')
    this.#process = spawn(binary('node'), [path, JSON.stringify(options)], { stdio: ['ignore', 'pipe', 'pipe', 'ipc'] })
    for (const stream of [this.#process.stdout, this.#process.stderr])
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.output += text
      })
    this.#process.on('message', (message: 'synced' | FencedWrite) => {
      if (message === 'synced') this.isSynced = true
      else this.tell({ run: message.run, isAccepted: table.write(message) })
    })
    this.exited = new Promise((resolve) => this.#process.on('close', resolve))
  }

  get hasExited(): boolean {
    return this.#process.exitCode !== null || this.#process.signalCode !== null
  }

  signal(name: NodeJS.Signals): void {
    this.#process.kill(name)
  }

  tell(told: Told): void {
    if (this.#process.connected) this.#process.send(told, () => {})
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.hasExited) this.signal('SIGKILL')
    await this.exited
    await this.proxy[Symbol.asyncDispose]()
  }
}

type Fault = (replica: Replica) => Promise<void>

/**
 * Three replicas as processes, which are killed, stopped, cut off from their lease store and ended. Objects change all the
 * time. A seed determines the faults.
 */
export class ReplicaCampaign implements AsyncDisposable {
  readonly #options: CampaignOptions
  readonly #table = new FencedTable()
  readonly #folder: string = mkdtempSync(join(tmpdir(), 'listwatch-replicas-'))
  readonly #values: Record<string, number> = {}
  readonly #replicas = new Set<Replica>()
  readonly #faults: Readonly<Record<string, Fault>>
  readonly #deck: string[] = []
  #started = 0
  readonly happened: Record<string, number> = {}
  /** The violations that the notes do not show. */
  readonly flaws: string[] = []

  private constructor(options: CampaignOptions) {
    this.#options = options
    for (let at = 0; at < KEYS; at++) this.#values[`order-${at}`] = 0
    this.#faults = {
      kill: (replica) => this.#kill(replica),
      drain: (replica) => this.#drain(replica),
      stop: (replica) => this.#stop(replica),
      'cut off': (replica) => this.#cutOff(replica),
    }
  }

  static async start(options: CampaignOptions): Promise<ReplicaCampaign> {
    const campaign = new ReplicaCampaign(options)
    await Promise.all(Array.from({ length: REPLICAS }, () => campaign.#join()))
    return campaign
  }

  get leaseMs(): number {
    return LEASE_MS
  }

  get notes(): readonly Note[] {
    const lines = readFileSync(this.#log, 'utf8').trimEnd().split('\n')
    return lines.map((line) => JSON.parse(line))
  }

  get output(): string {
    return Array.from(this.#replicas, ({ name, output }) => `${name}:\n${output}`).join('')
  }

  /** Faults for this time, two of them at once, and each followed by a pause. */
  async disturb(ms: number): Promise<void> {
    const over = new AbortController()
    const changing = this.#keepChanging(over.signal)
    const until = performance.now() + ms
    const disturbing = async (): Promise<void> => {
      while (performance.now() < until) {
        const free = [...this.#replicas].filter(({ isDisturbed }) => !isDisturbed)
        const replica = this.#options.random.pick(free)
        const name = this.#draw()
        replica.isDisturbed = true
        await this.#faults[name]?.(replica)
        replica.isDisturbed = false
        this.happened[name] = (this.happened[name] ?? 0) + 1
        await sleep(this.#options.random.below(LEASE_MS))
      }
    }
    await Promise.all([disturbing(), disturbing()])
    over.abort()
    await changing
  }

  /** Changes all objects. Returns the time in milliseconds until the table has their last states. */
  async settle(deadlineMs: number): Promise<number> {
    const began = performance.now()
    for (const key of Object.keys(this.#values)) this.#values[key] = (this.#values[key] ?? 0) + 1
    this.#tell(this.#values)
    const isWritten = (): boolean =>
      Object.entries(this.#values).every(([key, value]) => this.#table.values.get(key) === value)
    await waitUntil('the last state of each key', isWritten, deadlineMs)
    return performance.now() - began
  }

  /** Returns the violations, and the number of refused writes. */
  judge(): { readonly flaws: readonly string[]; readonly refused: number; readonly runs: number } {
    const { notes } = this
    const runs = notes.filter(({ type }) => type === 'start').length
    return { flaws: [...this.flaws, ...flawsOf(notes)], refused: this.#table.refused, runs }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(Array.from(this.#replicas, (replica) => replica[Symbol.asyncDispose]()))
    rmSync(this.#folder, { recursive: true })
  }

  get #log(): string {
    return join(this.#folder, 'notes')
  }

  async #join(): Promise<void> {
    const { backend, leasesPort, kubeConfig } = this.#options
    const proxy = await startFaultProxy({ targetPort: leasesPort })
    const leases = { backend, leaseMs: LEASE_MS, leasesPort: proxy.port, kubeConfig: kubeConfig?.(proxy.port) }
    const options = { ...leases, name: `replica ${++this.#started}`, log: this.#log, values: this.#values }
    const replica = new Replica(proxy, options, this.#table)
    this.#replicas.add(replica)
    replica.isDisturbed = true
    await waitUntil('a replica to have its objects', () => replica.isSynced || replica.hasExited)
    if (replica.hasExited) throw new Error(`${replica.name} has ended: ${replica.output}`)
    replica.tell({ values: this.#values })
    replica.isDisturbed = false
  }

  async #kill(replica: Replica): Promise<void> {
    replica.signal('SIGKILL')
    await this.#replace(replica)
  }

  async #drain(replica: Replica): Promise<void> {
    replica.signal('SIGTERM')
    const code = await Promise.race([replica.exited, sleep(EXIT_MS, 'never', { ref: false })])
    if (code !== 0) this.flaws.push(`${replica.name} ended after SIGTERM: ${code}; ${replica.output}`)
    await this.#replace(replica)
  }

  async #stop(replica: Replica): Promise<void> {
    replica.signal('SIGSTOP')
    await sleep(LEASE_MS * (1 + this.#options.random.next()))
    replica.signal('SIGCONT')
  }

  async #cutOff({ proxy }: Replica): Promise<void> {
    const { random } = this.#options
    if (random.chance(0.5)) proxy.hold()
    else proxy.halfOpen({ newConnections: true })
    await sleep(LEASE_MS * 2 * random.next())
    proxy.pass()
  }

  async #replace(replica: Replica): Promise<void> {
    await replica[Symbol.asyncDispose]()
    this.#replicas.delete(replica)
    await this.#join()
  }

  #draw(): string {
    if (this.#deck.length === 0) this.#deck.push(...Object.keys(this.#faults))
    const [name = ''] = this.#deck.splice(this.#options.random.below(this.#deck.length), 1)
    return name
  }

  async #keepChanging(signal: AbortSignal): Promise<void> {
    const keys = Object.keys(this.#values)
    while (!signal.aborted) {
      const key = this.#options.random.pick(keys)
      const value = (this.#values[key] ?? 0) + 1
      this.#values[key] = value
      this.#tell({ [key]: value })
      await sleep(CHANGE_MS)
    }
  }

  #tell(values: Readonly<Record<string, number>>): void {
    for (const replica of this.#replicas) replica.tell({ values })
  }
}
