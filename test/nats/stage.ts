import { type Bucket, Kvm } from '@nats-io/kv'
import type { NatsConnection } from '@nats-io/transport-node'
import { type NatsKvSource, type NatsKvSourceOptions, natsKvSource } from '../../adapters/nats/index.js'
import { startFaultProxy } from '../servers/fault-proxy.js'
import type { NatsServer } from '../servers/nats.js'
import { waitUntil } from '../servers/wait-until.js'
import { BackendStage } from '../support/backend-stage.js'
import { CountingClock, fastClock } from '../support/clocks.js'
import { ContractChecker } from './contract-checker.js'

export type Item = { readonly n: number }

export interface StageOptions {
  readonly nats: NatsServer
  readonly bucket?: string
  readonly config?: Parameters<Kvm['create']>[1]
  readonly source?: Partial<NatsKvSourceOptions<Item>>
  /** The connection of the mirror. Default: one through the proxy. */
  readonly connect?: () => Promise<NatsConnection>
  /** The time between two pings of the mirror's connection, which is stale after two without a response. Default: 1 s. */
  readonly pingMs?: number
  /** The connection of the writer. Default: one to `nats`. */
  readonly admin?: () => Promise<NatsConnection>
  /** The factor by which the time of the mirror is faster. Default 5: a response times out after 2 s. */
  readonly speed?: number
  /** Whether it is audited when the source requests that. Default false, so that no audit repairs a wrong state. */
  readonly isAudited?: boolean
}

type Message = { readonly message: { readonly hdrs?: string; readonly data?: string } }

interface StreamInfo {
  readonly state?: { readonly last_seq: number; readonly subjects?: Readonly<Record<string, number>> }
  readonly cluster?: { readonly replicas?: readonly { readonly active: number }[] }
}

/** Longer than any test: an audit runs only if the source requests one. */
const PERIODIC_AUDITS_MS = 24 * 60 * 60 * 1_000

let stages = 0

/** Creates a bucket. A cluster may need some time to place it. */
async function bucketOf(admin: NatsConnection, name: string, config: StageOptions['config']): Promise<Bucket> {
  let bucket: Bucket | undefined
  const create = async (): Promise<boolean> => {
    bucket = (await new Kvm(admin).create(name, config)) as Bucket
    return true
  }
  await waitUntil('a bucket', () => create().catch(() => false), 60_000)
  if (bucket === undefined) throw new Error('no bucket')
  return bucket
}

/** A bucket of its own, a proxy before the server, a mirror that reads through the proxy, and a writer that does not. */
export class Stage extends BackendStage<Item> {
  readonly bucket: string
  /** How many revisions of each key the bucket keeps. */
  readonly history: number
  readonly kv: Bucket
  readonly admin: NatsConnection
  readonly connection: NatsConnection
  readonly checker: ContractChecker<Item>
  readonly own: NatsKvSource<Item>

  private constructor(
    { source, config, speed = 5, isAudited = false }: StageOptions,
    places: Pick<Stage, 'proxy' | 'bucket' | 'kv' | 'admin' | 'connection'>,
  ) {
    const { bucket, connection } = places
    const times = { heartbeatMs: 2_000, timeoutMs: 10_000, verifyMs: 2_000 }
    const own = natsKvSource<Item>({ client: connection, bucket, ...times, ...source })
    const checker = new ContractChecker<Item>(own)
    const audit = isAudited && { periodMs: PERIODIC_AUDITS_MS }
    super(places.proxy, own, { clock: new CountingClock(fastClock(speed)), checker, audit })
    this.own = own
    this.bucket = bucket
    this.history = config?.history ?? 1
    this.kv = places.kv
    this.admin = places.admin
    this.connection = connection
    this.checker = checker
  }

  static async open(options: StageOptions): Promise<Stage> {
    const { nats, bucket = `stage-${++stages}`, config = {} } = options
    const proxy = await startFaultProxy({ targetPort: nats.port })
    const admin = await (options.admin?.() ?? nats.connect())
    const kv = await bucketOf(admin, bucket, config)
    const through = { port: proxy.port, ignoreClusterUpdates: true, pingInterval: options.pingMs ?? 1_000 }
    const connection = await (options.connect?.() ?? nats.connect(through))
    return new Stage(options, { proxy, bucket, kv, admin, connection })
  }

  /** Runs a test on a stage of its own; at its end the mirror stops, and leaves no timer. */
  static async with(options: StageOptions, act: (stage: Stage) => Promise<void>): Promise<void> {
    await using stage = await Stage.open(options)
    await stage.run(act)
  }

  get stream(): string {
    return `KV_${this.bucket}`
  }

  /** The connection is the program's own, and stays open. */
  protected override get connections(): number {
    return 0
  }

  /** Writes a key; without a value it is deleted. Returns the revision. Retried until the bucket accepts it. */
  async put(key: string, n?: number): Promise<number> {
    let revision = 0
    const write = async (): Promise<boolean> => {
      revision = n === undefined ? await this.#delete(key) : await this.kv.put(key, JSON.stringify({ n }))
      return true
    }
    await this.until(`a write of ${key}`, () => write().catch(() => false), 60_000)
    return revision
  }

  async fill(count: number, n = 0): Promise<void> {
    for (let at = 0; at < count; at += 50)
      await Promise.all(Array.from({ length: Math.min(50, count - at) }, (_, each) => this.put(`k${at + each}`, n)))
  }

  async ask<R>(subject: string, body: object = {}): Promise<R> {
    return (await this.admin.request(`$JS.API.${subject}`, JSON.stringify(body), { timeout: 3_000 })).json<R>()
  }

  /** Reads the last message of each subject from the leader, by a way that the source does not use. */
  override async truth(): Promise<ReadonlyMap<string, string>> {
    const info = (): Promise<StreamInfo> => this.ask(`STREAM.INFO.${this.stream}`, { subjects_filter: '>' })
    const before = await info()
    const replicas = before.cluster?.replicas ?? []
    if (replicas.length > 0 && replicas.every(({ active }) => active === 0 || active > 2e9))
      throw new Error('the leader has no followers')
    const objects = new Map<string, string>()
    await Promise.all(
      Object.keys(before.state?.subjects ?? {}).map(async (subject) => {
        const { message } = await this.ask<Message>(`STREAM.MSG.GET.${this.stream}`, { last_by_subj: subject })
        const headers = Buffer.from(message.hdrs ?? '', 'base64').toString()
        if (/KV-Operation: (DEL|PURGE)/.test(headers)) return
        const text = Buffer.from(message.data ?? '', 'base64').toString()
        objects.set(subject.slice(`$KV.${this.bucket}.`.length), text)
      }),
    )
    const after = await info()
    if (before.state === undefined || after.state?.last_seq !== before.state.last_seq) throw new Error('it has changed')
    return objects
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    await this.informer.stop()
    await this.connection.close()
    await this.admin.close()
    await super[Symbol.asyncDispose]()
  }

  async #delete(key: string): Promise<number> {
    await this.kv.delete(key)
    return 0
  }
}
