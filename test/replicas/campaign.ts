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
import { createTable, type FencedTable } from './tables.js'

/** What a replica gets as its argument. */
export interface ReplicaOptions extends LeasesOfProcess {
  readonly name: string
  /** The port of the fenced table, which no fault reaches. */
  readonly tablePort: number
  /** The file that gets its notes. */
  readonly log: string
  readonly values: Readonly<Record<string, number>>
}

export interface CampaignOptions {
  readonly backend: Backend
  readonly leasesPort: number
  readonly tablePort: number
  /** The configuration for a way through this port. */
  readonly kubeConfig?: (port: number) => KubeConfigOptions
  readonly random: SeededRandom
}

const LEASE_MS = 1_000
const REPLICAS = 3
const KEYS = 30
/** Time between two changes. */
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
  /** Whether a fault is under way. */
  isDisturbed = false

  constructor(proxy: FaultProxy, options: ReplicaOptions) {
    this.name = options.name
    this.proxy = proxy
    const path = join(root, 'test/replicas/replica.ts')
    this.#process = spawn(binary('node'), [path, JSON.stringify(options)], { stdio: ['ignore', 'pipe', 'pipe', 'ipc'] })
    for (const stream of [this.#process.stdout, this.#process.stderr])
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.output += text
      })
    this.#process.on('message', () => (this.isSynced = true))
    this.exited = new Promise((resolve) => this.#process.on('close', resolve))
  }

  get hasExited(): boolean {
    return this.#process.exitCode !== null || this.#process.signalCode !== null
  }

  signal(name: NodeJS.Signals): void {
    this.#process.kill(name)
  }

  tell(values: Readonly<Record<string, number>>): void {
    if (this.#process.connected) this.#process.send(values, () => {})
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
  readonly #table: FencedTable
  readonly #folder: string = mkdtempSync(join(tmpdir(), 'listwatch-replicas-'))
  readonly #values: Record<string, number> = {}
  readonly #replicas = new Set<Replica>()
  readonly #faults: Readonly<Record<string, Fault>>
  readonly #deck: string[] = []
  #started = 0
  readonly happened: Record<string, number> = {}
  /** The violations that the notes do not show. */
  readonly flaws: string[] = []

  private constructor(options: CampaignOptions, table: FencedTable) {
    this.#options = options
    this.#table = table
    for (let at = 0; at < KEYS; at++) this.#values[`order-${at}`] = 0
    this.#faults = {
      kill: (replica) => this.#kill(replica),
      drain: (replica) => this.#drain(replica),
      stop: (replica) => this.#stop(replica),
      'cut off': (replica) => this.#cutOff(replica),
    }
  }

  static async start(options: CampaignOptions): Promise<ReplicaCampaign> {
    const campaign = new ReplicaCampaign(options, await createTable(options.backend, options.tablePort))
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
    const last = async (): Promise<Map<string, number>> => {
      await sleep(50)
      const accepted = (await this.#table.writes()).filter(({ isAccepted }) => isAccepted)
      return new Map(accepted.map(({ key, value }) => [key, value]))
    }
    const isWritten = async (): Promise<boolean> => {
      const written = await last()
      return Object.entries(this.#values).every(([key, value]) => written.get(key) === value)
    }
    await waitUntil('the last state of each key', isWritten, deadlineMs)
    return performance.now() - began
  }

  /** Returns the violations, and the number of refused writes. */
  async judge(): Promise<{ readonly flaws: readonly string[]; readonly refused: number; readonly runs: number }> {
    const writes = await this.#table.writes()
    const flaws = [...this.flaws, ...flawsOf(this.notes)]
    const fences = new Map<string, number>()
    for (const { key, fence, isAccepted } of writes) {
      const known = fences.get(key) ?? -1
      if (isAccepted !== fence >= known) flaws.push(`${key}: a write with fence ${fence} after ${known}`)
      fences.set(key, Math.max(known, fence))
    }
    const refused = writes.filter(({ isAccepted }) => !isAccepted).length
    return { flaws, refused, runs: this.notes.filter(({ type }) => type === 'start').length }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(Array.from(this.#replicas, (replica) => replica[Symbol.asyncDispose]()))
    await this.#table.close()
    rmSync(this.#folder, { recursive: true })
  }

  get #log(): string {
    return join(this.#folder, 'notes')
  }

  async #join(): Promise<void> {
    const { backend, leasesPort, tablePort, kubeConfig } = this.#options
    const proxy = await startFaultProxy({ targetPort: leasesPort })
    const replica = new Replica(proxy, {
      name: `replica ${++this.#started}`,
      backend,
      leaseMs: LEASE_MS,
      leasesPort: proxy.port,
      kubeConfig: kubeConfig?.(proxy.port),
      tablePort,
      log: this.#log,
      values: this.#values,
    })
    this.#replicas.add(replica)
    replica.isDisturbed = true
    await waitUntil('a replica to have its objects', () => replica.isSynced || replica.hasExited)
    if (replica.hasExited) throw new Error(`${replica.name} has ended: ${replica.output}`)
    replica.tell(this.#values)
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

  /** Longer than its lease. */
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
    for (const replica of this.#replicas) replica.tell(values)
  }
}
