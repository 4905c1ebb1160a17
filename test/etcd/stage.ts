import { Etcd3 } from 'etcd3'
import { type EtcdSourceOptions, etcdSource } from '../../adapters/etcd/index.js'
import type { SourceError } from '../../src/contract/errors.js'
import type { ListerWatcher } from '../../src/contract/source.js'
import type { Logger } from '../../src/contract/status.js'
import { createInformer } from '../../src/informer/create-informer.js'
import type { Informer } from '../../src/informer/informer-types.js'
import { CountingClock, fastClock } from '../postgres-faults/clocks.js'
import { HandlerHistory } from '../postgres-faults/handler-history.js'
import type { EtcdServer } from '../servers/etcd.js'
import { type FaultProxy, startFaultProxy } from '../servers/fault-proxy.js'
import { waitUntil } from '../servers/wait-until.js'
import { ContractChecker } from './contract-checker.js'

export interface Item {
  readonly n: number
}

export interface StageOptions {
  readonly etcd: EtcdServer
  /** A grpc-proxy between the mirror and the server. Default: none. */
  readonly via?: EtcdServer
  /** The source's form. Default `endpoints`. */
  readonly form?: 'endpoints' | 'client'
  readonly source?: Partial<EtcdSourceOptions<Item>>
  /** The client that writes. Default: a client of the stage's own. */
  readonly writer?: Etcd3
  /** Whether it is audited. Default false, so that no audit repairs a wrong state. */
  readonly isAudited?: boolean
  /** Another source than ours, at this address, for the same prefix. */
  readonly instead?: (hosts: string, prefix: string) => ListerWatcher<Item>
}

/** The factor by which the time of a mirror is faster: it requests progress after 0.4 s of silence, and fails after 2 s. */
const SPEED = 5

/** Longer than any test: an audit runs only if the source requests one. */
const PERIODIC_AUDITS_MS = 24 * 60 * 60 * 1_000

let stages = 0

/** A prefix of its own, a proxy before the server, a mirror that sees it through the proxy, and a checker between them. */
export class Stage implements AsyncDisposable {
  readonly etcd: EtcdServer
  readonly prefix = `/stage-${++stages}/`
  readonly proxy: FaultProxy
  readonly source: ListerWatcher<Item>
  readonly informer: Informer<Item>
  readonly checker: ContractChecker<Item>
  readonly told = new HandlerHistory<Item>()
  readonly errors: SourceError[] = []
  readonly clock = new CountingClock(fastClock(SPEED))
  readonly writer: Etcd3
  /** The warnings of the source. */
  readonly warnings: string[] = []
  readonly #log: Logger = { debug() {}, info() {}, warn: (message) => void this.warnings.push(message), error() {} }
  readonly #client: Etcd3 | undefined

  private constructor(options: StageOptions, proxy: FaultProxy) {
    const { etcd, form = 'endpoints', source = {}, writer = etcd.client(), instead } = options
    this.etcd = etcd
    this.proxy = proxy
    this.writer = writer
    const hosts = `127.0.0.1:${proxy.port}`
    const grpcOptions = { 'grpc.max_receive_message_length': -1, 'grpc.initial_reconnect_backoff_ms': 100 }
    this.#client = form === 'client' ? new Etcd3({ hosts, grpcOptions }) : undefined
    this.source =
      instead?.(hosts, this.prefix) ??
      etcdSource<Item>({
        ...(this.#client === undefined ? { endpoints: hosts } : { client: this.#client }),
        prefix: this.prefix,
        progressMs: 2_000,
        stallMs: 10_000,
        ...source,
      })
    this.checker = new ContractChecker(this.source)
    this.informer = createInformer({
      source: this.checker,
      clock: this.clock,
      audit: options.isAudited === true ? { periodMs: PERIODIC_AUDITS_MS } : false,
      logger: this.#log,
    })
    this.informer.on('error', (error) => this.errors.push(error))
    this.informer.subscribe(this.told.handlers)
  }

  static async open(options: StageOptions): Promise<Stage> {
    return new Stage(options, await startFaultProxy({ targetPort: (options.via ?? options.etcd).port }))
  }

  /** Runs a test on a stage of its own; at its end the mirror stops, and leaves no timer and, of its own, no connection. */
  static async with(options: StageOptions, act: (stage: Stage) => Promise<void>): Promise<void> {
    await using stage = await Stage.open(options)
    await act(stage)
    await stage.informer.stop()
    stage.proxy.pass()
    const isGone = (): boolean =>
      stage.clock.sleeping === 0 && (options.form === 'client' || stage.proxy.counts.open === 0)
    await waitUntil('nothing to be left', isGone).catch(() => {
      throw new Error(`${stage.proxy.counts.open} connections, ${stage.clock.sleeping} timers are left after the stop`)
    })
  }

  get relists(): number {
    return this.informer.status.relists
  }

  get reconnects(): number {
    return this.informer.status.reconnects
  }

  /** The revision that the mirror has reached. */
  get revision(): number {
    return Number(this.informer.version?.split('.')[3])
  }

  /** The first list is in, and the watch is open. */
  async live(): Promise<void> {
    this.informer.start()
    await this.until('the watch to be live', () => this.informer.status.state === 'live')
  }

  async until(what: string, isSo: () => boolean, ms = 90_000): Promise<void> {
    await waitUntil(what, isSo, ms).catch((error: unknown) => {
      throw new Error(this.story, { cause: error })
    })
  }

  /** Writes a key of this prefix; without a value it is deleted. Returns the mark of the write. */
  async put(...changes: readonly (readonly [name: string, n: number | undefined])[]): Promise<string> {
    const success = changes.map(([name, n]) => {
      const key = Buffer.from(this.prefix + name)
      return n === undefined
        ? { request_delete_range: { key } }
        : { request_put: { key, value: Buffer.from(JSON.stringify({ n })) } }
    })
    return (await this.writer.kv.txn({ success })).header.revision
  }

  /** Many keys, `k0` and so on, in transactions of 100. */
  async fill(count: number, n = 0): Promise<string> {
    let mark = ''
    for (let at = 0; at < count; at += 100) {
      const names = Array.from({ length: Math.min(100, count - at) }, (_, i) => [`k${at + i}`, n] as const)
      mark = await this.put(...names)
    }
    return mark
  }

  async compact(): Promise<void> {
    const { header } = await this.writer.kv.range({ key: Buffer.from(this.prefix) })
    await this.writer.kv.compact({ revision: header.revision })
  }

  /** The mirror is what the server has, and so is what the subscription knows; the watch broke none of its guarantees. */
  async healed(ms = 60_000): Promise<void> {
    let wrong: readonly string[] = []
    const isEqual = async (): Promise<boolean> => {
      wrong = await this.differences().catch((error: unknown) => [String(error)])
      return wrong.length === 0
    }
    await waitUntil('the mirror to be what the server has', isEqual, ms).catch((error: unknown) => {
      throw new Error(`${wrong.length} keys differ: ${wrong.slice(0, 5).join(' ')}; ${this.story}`, { cause: error })
    })
    const isTold = (): boolean =>
      this.told.objects.size === this.informer.size &&
      [...this.informer.entries()].every(([key, object]) => Object.is(this.told.objects.get(key), object))
    await waitUntil('the subscription to know it', isTold)
    const flaws = [...this.told.violations, ...this.checker.flaws]
    if (flaws.length > 0) throw new Error(flaws.slice(0, 10).join('; '))
  }

  /** The keys whose values differ. */
  async differences(): Promise<string[]> {
    const values = await this.writer.getAll().prefix(this.prefix).strings()
    const wanted = new Map(Object.entries(values))
    const wrong: string[] = []
    for (const [key, object] of this.informer.entries()) {
      if (wanted.get(key) !== JSON.stringify(object)) wrong.push(key)
      wanted.delete(key)
    }
    return [...wrong, ...wanted.keys()]
  }

  /** What happened, for those who must find out why. */
  get story(): string {
    const { state, reason } = this.informer.status
    const errors = this.errors.slice(-5).map(({ code, message }) => `${code} ${message}`)
    return `it is ${state} (${reason}) at ${this.informer.version}; ${errors.join('; ')}`
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.informer.stop()
    this.#client?.close()
    await this.proxy[Symbol.asyncDispose]()
  }
}
