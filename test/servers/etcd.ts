import { createWriteStream } from 'node:fs'
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { Etcd3, type IOptions } from 'etcd3'
import { freePort } from '../../tools/postgres/free-port.js'
import { runProgram } from '../../tools/postgres/run-program.js'
import type { FoundServer } from './locate.js'
import { type Place, placeFor, ServerProcess, started } from './server-process.js'
import { succeeds, waitUntil } from './wait-until.js'

export interface EtcdOptions {
  readonly server: FoundServer
  readonly args?: readonly string[]
  /** For a member of a cluster: its name, its peers, and its address for the peers. */
  readonly member?: {
    readonly name: string
    readonly cluster: string
    readonly peerPort: number
    readonly advertisedPeerPort: number
  }
  /** Whether it listens with TLS, under a certificate that it makes itself. Default false. */
  readonly hasTls?: boolean
}

export interface RestoreOptions {
  /** Another token makes another cluster id, as etcd's documentation asks for. Default: the same. */
  readonly token?: string
  /** More flags of `snapshot restore`. */
  readonly args?: readonly string[]
}

const START_TIMEOUT_MS = 20_000

/** One etcd in a temporary folder, which tests stop, kill, pause and restore. Its port stays the same. */
export class EtcdServer extends ServerProcess<EtcdOptions> {
  readonly peerPort: number
  #token = 'listwatch'

  private constructor(options: EtcdOptions, place: Place, peerPort: number) {
    super(options, place)
    this.peerPort = peerPort
  }

  static async create(options: EtcdOptions): Promise<EtcdServer> {
    return new EtcdServer(options, await placeFor('etcd'), options.member?.peerPort ?? (await freePort()))
  }

  static async start(options: EtcdOptions): Promise<EtcdServer> {
    return await started(await EtcdServer.create(options), (etcd) => etcd.start())
  }

  static async startProxy(target: EtcdServer): Promise<EtcdServer> {
    const proxy = new EtcdServer({ server: target.server }, await placeFor('etcd'), 0)
    const flags = ['grpc-proxy', 'start', '--endpoints', target.endpoint, '--listen-addr', proxy.endpoint]
    await proxy.spawn('etcd', [...flags, '--data-dir', join(proxy.folder, 'data')])
    await waitUntil('the proxy to answer', () => succeeds(proxy.client().get('x').exec()), START_TIMEOUT_MS)
    return proxy
  }

  get endpoint(): string {
    return `127.0.0.1:${this.port}`
  }

  get url(): string {
    return `${this.options.hasTls === true ? 'https' : 'http'}://${this.endpoint}`
  }

  get #dataFolder(): string {
    return join(this.folder, 'data')
  }

  async start(): Promise<void> {
    await this.launch()
    await this.ready()
  }

  async launch(): Promise<void> {
    const { args = [], hasTls = false } = this.options
    const flags = [
      ...this.#memberFlags(),
      ...['--listen-client-urls', this.url, '--advertise-client-urls', this.url],
      ...['--log-level', 'error', '--max-txn-ops', '10000'],
      // Tests are about what is told, not about surviving a loss of power.
      '--unsafe-no-fsync',
      ...(hasTls ? ['--auto-tls'] : []),
      ...args,
    ]
    await this.spawn('etcd', this.#known(flags))
  }

  /** 3.4 does not know every flag. */
  #known(flags: readonly string[]): readonly string[] {
    return this.server.name === 'etcd 3.4' ? flags.filter((flag) => flag !== '--unsafe-no-fsync') : flags
  }

  #memberFlags(): readonly string[] {
    const { member } = this.options
    const peer = `http://127.0.0.1:${this.peerPort}`
    const name = member?.name ?? 'only'
    const advertised = member === undefined ? peer : `http://127.0.0.1:${member.advertisedPeerPort}`
    return [
      ...['--name', name, '--data-dir', this.#dataFolder],
      ...['--listen-peer-urls', peer, '--initial-advertise-peer-urls', advertised],
      // Members hear each other through this process, which may be busy.
      ...(member === undefined ? [] : ['--heartbeat-interval', '300', '--election-timeout', '3000']),
      ...['--initial-cluster', member?.cluster ?? `${name}=${peer}`, '--initial-cluster-token', this.#token],
    ]
  }

  async ready(): Promise<void> {
    await this.answering('etcd', () => this.isHealthy(), START_TIMEOUT_MS)
  }

  /** Whether it answers a read that asks all members. */
  async isHealthy(): Promise<boolean> {
    if (this.options.hasTls === true) return await this.#listens()
    try {
      const answer = await fetch(`${this.url}/v3/kv/range`, {
        method: 'POST',
        body: JSON.stringify({ key: 'AA==' }),
        signal: AbortSignal.timeout(1_000),
      })
      const text = await answer.text()
      return answer.ok || /user name is empty|permission denied/.test(text)
    } catch {
      return false
    }
  }

  async certificate(): Promise<Buffer> {
    return await readFile(join(this.#dataFolder, 'fixtures/client/cert.pem'))
  }

  async #listens(): Promise<boolean> {
    const rootCertificate = await this.certificate().catch(() => undefined)
    if (rootCertificate === undefined) return false
    const client = new Etcd3({ hosts: this.url, credentials: { rootCertificate } })
    return await succeeds(client.get('x').string()).finally(() => client.close())
  }

  /** A client of its own for the test; closed at the end. */
  client(options: Partial<IOptions> = {}): Etcd3 {
    const client = new Etcd3({ hosts: this.url, grpcOptions: { 'grpc.max_receive_message_length': -1 }, ...options })
    this.atEnd(() => client.close())
    return client
  }

  /** Saves a snapshot of its database, and resolves with its path. */
  async backup(name = 'backup.db'): Promise<string> {
    const path = join(this.folder, name)
    const pieces: unknown = await this.client().maintenance.snapshot() // A stream of objects, whatever its type says.
    await pipeline(pieces as Readable, blobs, createWriteStream(path))
    return path
  }

  /** Replaces what it has by a backup, as the tool of its version does; it is stopped before, and not started after. */
  async restore(backup: string, options: RestoreOptions = {}): Promise<void> {
    await this.kill()
    await rm(this.#dataFolder, { recursive: true, force: true })
    this.#token = options.token ?? this.#token
    const peer = `http://127.0.0.1:${this.peerPort}`
    const flags = [
      ...['--name', 'only', '--data-dir', this.#dataFolder],
      ...['--initial-cluster', `only=${peer}`, '--initial-cluster-token', this.#token],
      ...['--initial-advertise-peer-urls', peer],
    ]
    const tool = this.server.name === 'etcd 3.4' ? 'etcdctl' : 'etcdutl'
    await runProgram(
      join(this.server.binDir, tool),
      ['snapshot', 'restore', backup, ...flags, ...(options.args ?? [])],
      { env: { ...process.env, ...this.server.env, ETCDCTL_API: '3' } },
    )
  }

  /** Everything is gone; not started after. */
  async wipe(token: string): Promise<void> {
    await this.kill()
    await rm(this.#dataFolder, { recursive: true, force: true })
    this.#token = token
  }
}

async function* blobs(pieces: AsyncIterable<{ readonly blob: Buffer }>): AsyncGenerator<Buffer> {
  for await (const { blob } of pieces) yield blob
}
