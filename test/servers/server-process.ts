import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import { open, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { freePort } from '../../tools/postgres/free-port.js'
import { OrphanGuard } from '../../tools/postgres/orphan-guard.js'
import { temporaryFolder } from '../../tools/postgres/platform.js'
import { errorSummary } from '../../tools/postgres/run-program.js'
import type { FoundServer } from './locate.js'
import { waitUntil } from './wait-until.js'

/** Starts a server. If it does not start, nothing of it is left. */
export async function started<S extends AsyncDisposable>(server: S, start: (server: S) => unknown): Promise<S> {
  try {
    await start(server)
    return server
  } catch (error) {
    await server[Symbol.asyncDispose]()
    throw error
  }
}

/** The folder with the data and the configuration of a server, and its port. */
export type Place = { readonly folder: string; readonly port: number }

/** A temporary folder and a free port. */
export async function placeFor(name: string): Promise<Place> {
  return { folder: await temporaryFolder(`listwatch-${name}-`), port: await freePort() }
}

/** A server in a place of its own, which tests stop, kill, pause and start again. It does not outlive them. */
export abstract class ServerProcess<O extends { readonly server: FoundServer } = { readonly server: FoundServer }>
  implements AsyncDisposable
{
  readonly folder: string
  readonly port: number
  protected readonly options: O
  readonly #ends: (() => unknown)[] = []
  readonly #guard: OrphanGuard
  #child: ChildProcess | undefined
  #ended: Promise<unknown> = Promise.resolve()

  protected constructor(options: O, { folder, port }: Place) {
    this.options = options
    this.folder = folder
    this.port = port
    this.#guard = new OrphanGuard(folder, 'KILL')
  }

  get server(): FoundServer {
    return this.options.server
  }

  /** Closes a client before the server ends. */
  protected atEnd(close: () => unknown): void {
    this.#ends.push(close)
  }

  /** Starts a program of the server, and waits for nothing. What it says goes to its log. */
  protected async spawn(program: string, args: readonly string[], options: SpawnOptions = {}): Promise<void> {
    const log = await open(this.#log, 'a')
    const child = spawn(join(this.server.binDir, program), args, {
      cwd: '/',
      env: { ...process.env, ...this.server.env },
      stdio: ['ignore', log.fd, log.fd],
      detached: true,
      ...options,
    })
    this.#guard.guard(child.pid)
    this.#ended = child.pid === undefined ? Promise.resolve() : once(child, 'exit')
    child.on('error', () => {})
    child.unref()
    this.#child = child
    await log.close()
  }

  /** Waits until it responds. Rejects with its last output if it has ended, or takes too long. */
  protected async answering(name: string, isAnswering: () => Promise<boolean>, timeoutMs: number): Promise<void> {
    const isUp = async (): Promise<boolean> => {
      if (this.#child?.exitCode !== null || this.#child.signalCode !== null) throw new Error(`${name} has ended`)
      return await isAnswering()
    }
    await waitUntil(`${name} to answer`, isUp, timeoutMs).catch(async (error: unknown) => {
      const said = await readFile(this.#log, 'utf8').catch(() => '')
      throw new Error(`${name} did not start${errorSummary(said)}`, { cause: error })
    })
  }

  get isRunning(): boolean {
    return this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null
  }

  async kill(): Promise<void> {
    await this.#end('SIGKILL')
  }

  /** In order: all that was committed is in its files. An API server takes more than a minute if its etcd is gone. */
  async stop(): Promise<void> {
    await this.#end('SIGTERM')
  }

  signal(name: 'SIGSTOP' | 'SIGCONT' | 'SIGTERM' | 'SIGKILL' | 'SIGHUP'): void {
    this.#child?.kill(name)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const close of this.#ends) await close()
    await this.kill()
    await rm(this.folder, { recursive: true, force: true })
    this.#guard.release()
  }

  async #end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    this.#child?.ref()
    this.signal('SIGCONT')
    this.signal(signal)
    await this.#ended
  }

  get #log(): string {
    return join(this.folder, 'log')
  }
}
