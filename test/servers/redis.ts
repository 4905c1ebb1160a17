import { readdir, stat, truncate } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { Redis, type RedisOptions } from 'ioredis'
import type { FoundServer } from './locate.js'
import { placeFor, ServerProcess, started } from './server-process.js'
import { waitUntil } from './wait-until.js'

export interface RedisServerOptions {
  readonly server: FoundServer
  readonly args?: readonly string[]
  /** Whether what is written outlives a kill: the append-only file, written at every command. Default false. */
  readonly isDurable?: boolean
}

const START_TIMEOUT_MS = 20_000

/** One Redis or Valkey in a temporary folder, which tests stop, kill, pause and promote. Its port stays the same. */
export class RedisServer extends ServerProcess<RedisServerOptions> {
  #admin: Redis | undefined

  static async create(options: RedisServerOptions): Promise<RedisServer> {
    return new RedisServer(options, await placeFor('redis'))
  }

  static async start(options: RedisServerOptions): Promise<RedisServer> {
    return await started(await RedisServer.create(options), (redis) => redis.start())
  }

  /** `127.0.0.1:port` */
  get endpoint(): string {
    return `127.0.0.1:${this.port}`
  }

  get url(): string {
    return `redis://${this.endpoint}`
  }

  /** Starts it, and waits until it answers. */
  async start(): Promise<void> {
    const { args = [], isDurable = false } = this.options
    const flags = [
      ...['--port', String(this.port), '--bind', '127.0.0.1', '--dir', this.folder, '--daemonize', 'no'],
      ...['--save', '', '--repl-diskless-sync-delay', '0', '--enable-debug-command', 'local'],
      ...(isDurable ? ['--appendonly', 'yes', '--appendfsync', 'always'] : []),
      ...args,
    ]
    await this.run(flags)
  }

  /** Starts its program with these arguments, and waits until it answers. */
  async run(args: readonly string[]): Promise<void> {
    const program = this.server.name.startsWith('valkey') ? 'valkey-server' : 'redis-server'
    await this.spawn(program, args, { cwd: this.folder })
    const answers = async (): Promise<boolean> => /^(\+PONG|-NOAUTH|-DENIED)/.test(await ping(this.port))
    await this.answering('Redis', answers, START_TIMEOUT_MS)
  }

  client(options: RedisOptions = {}): Redis {
    const client = new Redis({ ...options, port: this.port, host: '127.0.0.1', replyMapping: 'legacy' })
    client.on('error', () => {})
    this.atEnd(() => client.disconnect())
    return client
  }

  /** The client of requests that are repeated until a condition is met: a client for each would exhaust `maxclients`. */
  get admin(): Redis {
    this.#admin ??= this.client({ retryStrategy: () => 50 })
    return this.#admin
  }

  /** Waits until this server has all that its master has. */
  async follow(master: RedisServer): Promise<void> {
    await this.client().replicaof('127.0.0.1', master.port)
    await this.linked()
    await master.client().wait(1, 10_000)
  }

  /** Waits until this server, a replica, hears of all that its master writes. */
  async linked(): Promise<void> {
    await waitUntil('the replica to be linked', async () => {
      const facts = await this.admin.info('replication').catch(String)
      return /master_link_status:up/.test(facts) && /master_sync_in_progress:0/.test(facts)
    })
  }

  /** From now on a master of its own. */
  async promote(): Promise<void> {
    await this.client().replicaof('NO', 'ONE')
  }

  /** How long its append-only file is: what `cutTo` later cuts it to. */
  async written(): Promise<number> {
    return (await stat(await this.#log())).size
  }

  /** As if the disk had lost what was written last; it is killed before, and not started after. */
  async cutTo(bytes: number): Promise<void> {
    await this.kill()
    await truncate(await this.#log(), bytes)
  }

  /** The newest part of its append-only file: a server that became a replica has begun another. */
  async #log(): Promise<string> {
    const folder = join(this.folder, 'appendonlydir')
    const numbers = (await readdir(folder)).map((name) => Number(/\.(\d+)\.incr\.aof$/.exec(name)?.[1] ?? 0))
    return join(folder, `appendonly.aof.${Math.max(...numbers)}.incr.aof`)
  }
}

/** The server's response to PING; empty if there is no response. */
function ping(port: number): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' })
    const settle = (answer: string): void => {
      socket.destroy()
      resolve(answer)
    }
    socket.setTimeout(1_000, () => settle(''))
    socket.once('error', () => settle(''))
    socket.once('data', (data) => settle(data.toString('latin1')))
    socket.write('PING\r\n')
  })
}
