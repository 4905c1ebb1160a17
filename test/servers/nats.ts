import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { connect, type NatsConnection, type NodeConnectionOptions } from '@nats-io/transport-node'
import type { FoundServer } from './locate.js'
import { placeFor, ServerProcess, started } from './server-process.js'

export interface NatsOptions {
  readonly server: FoundServer
  readonly config?: string
  /** For a member of a cluster: its name, its port, the port that it tells the others, and those at which it reaches them. */
  readonly member?: {
    readonly name: string
    readonly port: number
    readonly advertisedPort: number
    readonly routes: readonly number[]
  }
  /** Default true. */
  readonly hasJetStream?: boolean
  readonly login?: Partial<NodeConnectionOptions>
}

const START_TIMEOUT_MS = 20_000

/** One nats-server with JetStream in a temporary folder, which tests stop, kill and pause. Its port stays the same. */
export class NatsServer extends ServerProcess<NatsOptions> {
  #admin: Promise<NatsConnection> | undefined

  static async create(options: NatsOptions): Promise<NatsServer> {
    return new NatsServer(options, await placeFor('nats'))
  }

  static async start(options: NatsOptions): Promise<NatsServer> {
    return await started(await NatsServer.create(options), (nats) => nats.start())
  }

  async start(config: string = this.options.config ?? ''): Promise<void> {
    await this.launch(config)
    await this.ready()
  }

  async ready(): Promise<void> {
    await this.answering('nats-server', () => this.#accepts(), START_TIMEOUT_MS)
  }

  async launch(config: string = this.options.config ?? ''): Promise<void> {
    await writeFile(join(this.folder, 'nats.conf'), this.configWith(config))
    await this.spawn('nats-server', ['-c', join(this.folder, 'nats.conf')])
  }

  /** The text of its configuration file. */
  configWith(config: string): string {
    const { member, hasJetStream = true } = this.options
    const cluster =
      member === undefined
        ? ''
        : `cluster { name: tests, listen: "127.0.0.1:${member.port}", advertise: "127.0.0.1:${member.advertisedPort}", routes: [${member.routes
            .map((port) => `"nats://127.0.0.1:${port}"`)
            .join(', ')}] }`
    return `
server_name: ${member?.name ?? 'only'}
listen: "127.0.0.1:${this.port}"
max_payload: 8MB
${hasJetStream ? `jetstream { store_dir: ${JSON.stringify(join(this.folder, 'data'))} }` : ''}
${cluster}
${config}
`
  }

  async #accepts(): Promise<boolean> {
    const options = { port: this.port, reconnect: false, timeout: 1_000, ...this.options.login }
    const connection = await connect(options).catch(() => undefined)
    await connection?.close()
    return connection !== undefined
  }

  /** A connection of its own for the test; closed at the end. */
  async connect(options: NodeConnectionOptions = {}): Promise<NatsConnection> {
    const connection = await connect({
      ...(options.servers === undefined ? { port: this.port } : {}),
      reconnectTimeWait: 50,
      maxReconnectAttempts: -1,
      // A connection without a server is noticed within seconds, as docs/reference/nats.md recommends.
      pingInterval: 1_000,
      maxPingOut: 2,
      // If the server is killed, the connection waits for it instead of moving to another member.
      ignoreClusterUpdates: true,
      ...this.options.login,
      ...options,
    })
    this.atEnd(() => connection.close())
    return connection
  }

  /** The response of JetStream to one request. */
  async ask<R>(subject: string, body: object = {}): Promise<R> {
    this.#admin ??= this.connect()
    const connection = await this.#admin
    return (await connection.request(`$JS.API.${subject}`, JSON.stringify(body), { timeout: 2_000 })).json<R>()
  }
}
