import { Etcd3 } from 'etcd3'
import { type EtcdSourceOptions, etcdSource } from '../../adapters/etcd/index.js'
import type { ListerWatcher, Logger } from '../../src/index.js'
import type { EtcdServer } from '../servers/etcd.js'
import { type FaultProxy, startFaultProxy } from '../servers/fault-proxy.js'
import { BackendStage } from '../support/backend-stage.js'
import { CountingClock, fastClock } from '../support/clocks.js'
import { ContractChecker } from './contract-checker.js'

export interface Item {
  readonly n: number
}

export interface StageOptions {
  readonly etcd: EtcdServer
  /** A grpc-proxy between the mirror and the server. Default: none. */
  readonly via?: EtcdServer
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

/** A prefix of its own, a proxy before the server, a mirror that reads through the proxy, and a checker between them. */
export class Stage extends BackendStage<Item> {
  readonly etcd: EtcdServer
  readonly prefix: string
  readonly checker: ContractChecker<Item>
  readonly writer: Etcd3
  readonly warnings: string[]
  readonly #client: Etcd3 | undefined

  private constructor(options: StageOptions, proxy: FaultProxy) {
    const { etcd, form = 'endpoints', source = {}, writer = etcd.client(), isAudited = false, instead } = options
    const prefix = `/stage-${++stages}/`
    const hosts = `127.0.0.1:${proxy.port}`
    const grpcOptions = { 'grpc.max_receive_message_length': -1, 'grpc.initial_reconnect_backoff_ms': 100 }
    const client = form === 'client' ? new Etcd3({ hosts, grpcOptions }) : undefined
    const own =
      instead?.(hosts, prefix) ??
      etcdSource<Item>({
        ...(client === undefined ? { endpoints: hosts } : { client }),
        prefix,
        heartbeatMs: 4_000,
        timeoutMs: 10_000,
        ...source,
      })
    const checker = new ContractChecker(own)
    const warnings: string[] = []
    const logger: Logger = { debug() {}, info() {}, warn: (message) => void warnings.push(message), error() {} }
    const audit = isAudited && { periodMs: PERIODIC_AUDITS_MS }
    super(proxy, own, { clock: new CountingClock(fastClock(SPEED)), checker, audit, logger })
    this.etcd = etcd
    this.prefix = prefix
    this.checker = checker
    this.writer = writer
    this.warnings = warnings
    this.#client = client
  }

  static async open(options: StageOptions): Promise<Stage> {
    return new Stage(options, await startFaultProxy({ targetPort: (options.via ?? options.etcd).port }))
  }

  /** Runs a test on a stage of its own; at its end the mirror stops, and leaves no timer and, of its own, no connection. */
  static async with(options: StageOptions, act: (stage: Stage) => Promise<void>): Promise<void> {
    await (await Stage.open(options)).run(act)
  }

  /** The connections of a client of the user's stay open. */
  protected override get connections(): number {
    return this.#client === undefined ? super.connections : 0
  }

  get revision(): number {
    return Number(this.informer.version?.split('.')[3])
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

  override async truth(): Promise<ReadonlyMap<string, string>> {
    return new Map(Object.entries(await this.writer.getAll().prefix(this.prefix).strings()))
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    await this.informer.stop()
    this.#client?.close()
    await super[Symbol.asyncDispose]()
  }
}
