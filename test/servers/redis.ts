import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { open, readFile, rm, stat, truncate } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { Redis, type RedisOptions } from 'ioredis'
import { ChildGuard } from '../../src/cli/child-guard.js'
import { freePort } from '../../src/cli/free-port.js'
import { temporaryFolder } from '../../src/cli/platform.js'
import { lastWords } from '../../src/cli/run-program.js'
import type { FoundServer } from './locate.js'
import { waitUntil } from './wait-until.js'

export interface RedisServerOptions {
  readonly server: FoundServer
  /** More of Redis' own flags. */
  readonly args?: readonly string[]
  /** Whether what is written outlives a kill: the append-only file, written at every command. Default false. */
  readonly isDurable?: boolean
}

const START_TIMEOUT_MS = 20_000

/** One Redis or Valkey in a temporary folder, which tests stop, kill, pause and promote. Its port stays the same. */
export class RedisServer implements AsyncDisposable {
  readonly port: number
  readonly server: FoundServer
  readonly #options: RedisServerOptions
  readonly #folder: string
  readonly #guard: ChildGuard
  #child: ChildProcess | undefined
  #ended: Promise<unknown> = Promise.resolve()
  readonly #clients = new Set<Redis>()

  private constructor(options: RedisServerOptions, folder: string, port: number) {
    this.#options = options
    this.server = options.server
    this.#folder = folder
    this.#guard = new ChildGuard(folder, 'KILL')
    this.port = port
  }

  static async create(options: RedisServerOptions): Promise<RedisServer> {
    return new RedisServer(options, await temporaryFolder('listwatch-redis-'), await freePort())
  }

  static async start(options: RedisServerOptions): Promise<RedisServer> {
    const redis = await RedisServer.create(options)
    try {
      await redis.start()
      return redis
    } catch (error) {
      await redis[Symbol.asyncDispose]()
      throw error
    }
  }

  /** `127.0.0.1:port` */
  get endpoint(): string {
    return `127.0.0.1:${this.port}`
  }

  get url(): string {
    return `redis://${this.endpoint}`
  }

  /** The folder with its data and its configuration. */
  get folder(): string {
    return this.#folder
  }

  /** Starts it, and waits until it answers. */
  async start(): Promise<void> {
    const { args = [], isDurable = false } = this.#options
    const flags = [
      ...['--port', String(this.port), '--bind', '127.0.0.1', '--dir', this.#folder, '--daemonize', 'no'],
      ...['--save', '', '--repl-diskless-sync-delay', '0', '--enable-debug-command', 'local'],
      ...(isDurable ? ['--appendonly', 'yes', '--appendfsync', 'always'] : []),
      ...args,
    ]
    await this.run(flags)
  }

  /** Starts its program with these arguments, and waits until it answers. */
  async run(args: readonly string[]): Promise<void> {
    const { server } = this
    const log = await open(join(this.#folder, 'log'), 'a')
    const program = server.name.startsWith('valkey') ? 'valkey-server' : 'redis-server'
    const child = spawn(join(server.binDir, program), args, {
      cwd: this.#folder,
      env: { ...process.env, ...server.env },
      stdio: ['ignore', log.fd, log.fd],
      detached: true,
    })
    this.#guard.watch(child.pid)
    this.#ended = child.pid === undefined ? Promise.resolve() : once(child, 'exit')
    child.on('error', () => {})
    child.unref()
    this.#child = child
    await log.close()
    await this.#ready()
  }

  async #ready(): Promise<void> {
    const isUp = (): boolean => this.#child?.exitCode === null && this.#child.signalCode === null
    const answers = async (): Promise<boolean> => {
      if (!isUp()) throw new Error('Redis has ended')
      return /^(\+PONG|-NOAUTH|-DENIED)/.test(await ping(this.port))
    }
    await waitUntil('Redis to answer', answers, START_TIMEOUT_MS).catch(async (error: unknown) => {
      const said = await readFile(join(this.#folder, 'log'), 'utf8').catch(() => '')
      throw new Error(`Redis did not start${lastWords(said)}`, { cause: error })
    })
  }

  /** A client of its own for the test; closed at the end. */
  client(options: RedisOptions = {}): Redis {
    const client = new Redis({ ...options, port: this.port, host: '127.0.0.1', replyMapping: 'legacy' })
    client.on('error', () => {})
    this.#clients.add(client)
    return client
  }

  /** As a crash. */
  async kill(): Promise<void> {
    await this.#end('SIGKILL')
  }

  /** In order. */
  async stop(): Promise<void> {
    await this.#end('SIGTERM')
  }

  signal(name: 'SIGSTOP' | 'SIGCONT' | 'SIGTERM' | 'SIGKILL'): void {
    this.#child?.kill(name)
  }

  async #end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    this.#child?.ref()
    this.signal('SIGCONT')
    this.signal(signal)
    await this.#ended
  }

  /** Waits until this server has all that its master has. */
  async follow(master: RedisServer): Promise<void> {
    await this.client().replicaof('127.0.0.1', master.port)
    await this.linked()
    await master.client().wait(1, 10_000)
  }

  /** Waits until this server, a replica, hears of all that its master writes. */
  async linked(): Promise<void> {
    const client = this.client()
    await waitUntil('the replica to be linked', async () => {
      const facts = await client.info('replication').catch(String)
      return /master_link_status:up/.test(facts) && /master_sync_in_progress:0/.test(facts)
    })
  }

  /** From now on a master of its own. */
  async promote(): Promise<void> {
    await this.client().replicaof('NO', 'ONE')
  }

  /** How long its append-only file is: what `cutTo` later cuts it to. */
  async written(): Promise<number> {
    return (await stat(this.#log)).size
  }

  /** As if the disk had lost what was written last; it is killed before, and not started after. */
  async cutTo(bytes: number): Promise<void> {
    await this.kill()
    await truncate(this.#log, bytes)
  }

  get #log(): string {
    return join(this.#folder, 'appendonlydir/appendonly.aof.1.incr.aof')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const client of this.#clients) client.disconnect()
    await this.kill()
    await rm(this.#folder, { recursive: true, force: true })
    this.#guard.release()
  }
}

/** What a server answers to PING; empty where it does not. */
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
