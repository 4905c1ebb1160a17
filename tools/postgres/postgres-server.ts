import { type ChildProcess, spawn } from 'node:child_process'
import { chmod, type FileHandle, open, readFile, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { systemClock } from '../../src/contract/clock.js'
import { checkOptions, isCount, isName, isObject, isSignal } from '../../src/util/validate-options.js'
import { freePort } from './free-port.js'
import { OrphanGuard } from './orphan-guard.js'
import { descendantsOf, isRunning, temporaryFolder } from './platform.js'
import { type PostgresLocation, type PostgresPrograms, postgresPrograms } from './postgres-binaries.js'
import { ownerFor, prepareData } from './postgres-data.js'
import type { ServerUser } from './run-program.js'
import { errorSummary, runProgram } from './run-program.js'

export interface PostgresOptions extends PostgresLocation {
  /** Values for postgresql.conf, as they would be written there without quotes: `{ fsync: 'off' }`. Default: Postgres' own. */
  readonly settings?: Readonly<Record<string, string>> | undefined
  /** The folder of the data, which is created if needed and kept. Default: a temporary folder, removed on stop. */
  readonly dataDir?: string | undefined
  /** TCP port on 127.0.0.1; default: a free one. */
  readonly port?: number | undefined
  /** Stops the server at once. During the start, `startPostgres` rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined
}

/** `fast` ends sessions and writes a checkpoint. `immediate` does not, so that the next start recovers from the log. */
export type PostgresStop = 'fast' | 'immediate'

/**
 * A running Postgres. It listens only on 127.0.0.1, trusts every user, and has the superuser `postgres`. It does not keep this
 * process alive, and ends with it in any case. Calls that change its state run one after the other.
 */
export interface PostgresServer extends AsyncDisposable {
  readonly port: number
  readonly url: string
  readonly dataDir: string
  /** The version of the server: `18.4`. */
  readonly version: string
  /** Id of the postmaster; undefined while the server is down. */
  readonly pid: number | undefined
  /** Returns the server's whole log since its first start. */
  log(): Promise<string>
  /** Stops the server and keeps its data for `restart`. Does nothing if it is down. Default `fast`. */
  halt(mode?: PostgresStop): Promise<void>
  /** Kills the postmaster and all its children by SIGKILL: a crash. The data is kept for `restart`. */
  kill(): Promise<void>
  /** Starts the server again on the same data and port, after `halt(mode)` if it is up. Default `fast`. */
  restart(mode?: PostgresStop): Promise<void>
  /** Stops the server finally. The data is removed unless `dataDir` was given. Default `fast`. */
  stop(mode?: PostgresStop): Promise<void>
}

const START_TIMEOUT_MS = 60_000
/** After this time, in milliseconds, the next stronger way to stop is used: fast, immediate, SIGKILL. */
const STOP_TIMEOUT_MS = 15_000
/** The number of attempts on another port, if another process takes the free port first. */
const PORT_TRIES = 3

/** Required settings. They are on the command line, so that no file can change them. */
const FIXED_SETTINGS: Readonly<Record<string, string>> = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  logging_collector: 'off',
  log_destination: 'stderr',
  // Under the data folder, so that a crash leaves nothing in /dev/shm.
  dynamic_shared_memory_type: 'mmap',
}

/**
 * Starts a real Postgres, in less than a second if nothing has to be copied. If this process is root, the server runs as `nobody`,
 * or as the owner of `dataDir`. Rejects with a message of one line, and leaves nothing behind.
 */
export async function startPostgres(options: PostgresOptions = {}): Promise<PostgresServer> {
  checkOptions('startPostgres', options, {
    binDir: isName,
    env: isObject,
    settings: isObject,
    dataDir: isName,
    port: isCount,
    signal: isSignal,
  })
  const settings = settingsFile(options.settings ?? {})
  const { signal } = options
  signal?.throwIfAborted()
  const dataDir = options.dataDir === undefined ? undefined : resolve(options.dataDir)
  const user = await ownerFor(dataDir)
  const programs = await postgresPrograms(options, user, signal)
  const folder = await temporaryFolder('listwatch-postgres-')
  const server = new Server(programs, user, folder, dataDir)
  try {
    await server.prepare(settings, signal)
    await server.start(options.port, signal)
  } catch (error) {
    await server.stop('immediate')
    throw error
  }
  server.stopWith(signal)
  return server
}

class Server implements PostgresServer {
  readonly dataDir: string
  readonly version: string
  readonly #programs: PostgresPrograms
  readonly #user: ServerUser | undefined
  readonly #folder: string
  readonly #keepsData: boolean
  readonly #guard: OrphanGuard
  #port = 0
  /** Set while the process runs. */
  #child: ChildProcess | undefined
  /** Resolves when the process in `#child`, or the last one, has ended. */
  #ended: Promise<void> = Promise.resolve()
  #lastCall: Promise<void> = Promise.resolve()
  #isStopped = false
  #unlisten = (): void => {}

  constructor(programs: PostgresPrograms, user: ServerUser | undefined, folder: string, dataDir: string | undefined) {
    this.version = programs.version
    this.dataDir = dataDir ?? join(folder, 'data')
    this.#programs = programs
    this.#user = user
    this.#folder = folder
    this.#keepsData = dataDir !== undefined
    this.#guard = new OrphanGuard(folder, this.#keepsData ? 'INT' : 'QUIT')
  }

  get port(): number {
    return this.#port
  }

  get url(): string {
    return `postgres://postgres@127.0.0.1:${this.#port}/postgres`
  }

  get pid(): number | undefined {
    return this.#child?.pid
  }

  log(): Promise<string> {
    return readFile(this.#logFile, 'utf8')
  }

  halt(mode: PostgresStop = 'fast'): Promise<void> {
    return this.#enqueue(() => this.#halt(mode))
  }

  kill(): Promise<void> {
    return this.#enqueue(() => this.#kill())
  }

  restart(mode: PostgresStop = 'fast'): Promise<void> {
    return this.#enqueue(async () => {
      if (this.#isStopped) throw new Error('this Postgres was stopped: start a new one')
      await this.#halt(mode)
      await this.#launch(this.#port)
    })
  }

  stop(mode: PostgresStop = 'fast'): Promise<void> {
    return this.#enqueue(async () => {
      if (this.#isStopped) return
      this.#isStopped = true
      this.#unlisten()
      await this.#halt(mode)
      await this.#freeSharedMemory()
      await rm(this.#folder, { recursive: true, force: true, maxRetries: 3 })
      this.#guard.release()
    })
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop(this.#keepsData ? 'fast' : 'immediate')
  }

  /** Creates the data folder and the configuration. */
  async prepare(settings: string, signal: AbortSignal | undefined): Promise<void> {
    await writeFile(this.#configFile, `include ${quoted(join(this.dataDir, 'postgresql.conf'))}\n${settings}`)
    await chmod(this.#configFile, 0o644)
    await prepareData({
      dataDir: this.dataDir,
      programs: this.#programs,
      user: this.#user,
      isLasting: this.#keepsData,
      signal,
      started: (pid) => this.#guard.guard(pid),
    })
    this.#guard.guard(undefined)
  }

  /** Starts the server for the first time, on a free port if `port` is undefined. */
  async start(port: number | undefined, signal: AbortSignal | undefined): Promise<void> {
    for (let left = port === undefined ? PORT_TRIES : 1; ; left--) {
      this.#port = port ?? (await freePort())
      try {
        return await this.#launch(this.#port, signal)
      } catch (error) {
        if (left <= 1 || !/Address already in use/.test(await this.log())) throw error
      }
    }
  }

  stopWith(signal: AbortSignal | undefined): void {
    if (signal === undefined) return
    const abort = (): void => void this.stop('immediate').catch(() => {})
    signal.addEventListener('abort', abort, { once: true })
    this.#unlisten = () => signal.removeEventListener('abort', abort)
  }

  get #logFile(): string {
    return join(this.#folder, 'log')
  }

  get #configFile(): string {
    return join(this.#folder, 'postgresql.conf')
  }

  /** Runs one call after the other, also after one that fails. */
  #enqueue(step: () => Promise<void>): Promise<void> {
    const done = this.#lastCall.then(step)
    this.#lastCall = done.catch(() => {})
    return done
  }

  /** Starts the process and waits until it takes connections. */
  async #launch(port: number, signal?: AbortSignal): Promise<void> {
    const log = await open(this.#logFile, 'a')
    const before = (await log.stat()).size
    try {
      this.#spawn(port, log)
    } finally {
      await log.close()
    }
    const child = this.#child
    try {
      await this.#ready(before, signal)
    } catch (error) {
      await this.#kill()
      throw error
    }
    child?.unref()
  }

  #spawn(port: number, log: FileHandle): void {
    const fixed = Object.entries({ ...FIXED_SETTINGS, config_file: this.#configFile, port: String(port) })
    const args = ['-D', this.dataDir, ...fixed.flatMap(([name, value]) => ['-c', `${name}=${value}`])]
    const child = spawn(join(this.#programs.binDir, 'postgres'), args, {
      cwd: '/',
      env: this.#programs.env,
      stdio: ['ignore', log.fd, log.fd],
      // In its own session, Ctrl-C in the terminal does not reach the server.
      detached: true,
      ...this.#user,
    })
    this.#guard.guard(child.pid)
    this.#child = child
    this.#ended = new Promise((resolve) => {
      const ended = (): void => {
        if (this.#child === child) this.#child = undefined
        this.#guard.guard(undefined)
        resolve()
      }
      child.once('exit', ended)
      // An error is also emitted for a signal that could not be sent: then the process still runs.
      child.on('error', () => child.pid === undefined && ended())
    })
  }

  /** Waits for the state `ready` in the postmaster's lock file, like `pg_ctl`. */
  async #ready(logStart: number, signal: AbortSignal | undefined): Promise<void> {
    const deadline = systemClock.now() + START_TIMEOUT_MS
    for (;;) {
      signal?.throwIfAborted()
      const pid = this.pid
      if (pid === undefined || systemClock.now() > deadline) {
        const said = errorSummary((await this.log()).slice(logStart))
        throw new Error(`Postgres ${this.version} did not start${said === '' ? ' and logged nothing' : said}`)
      }
      const lines = await this.#lockFile()
      if (Number(lines[0]) === pid && lines[7]?.trim() === 'ready') return
      await systemClock.sleep(10, signal)
    }
  }

  async #halt(mode: PostgresStop): Promise<void> {
    const child = this.#child
    if (child === undefined) return
    child.ref()
    if (mode === 'fast') {
      child.kill('SIGINT')
      if (await this.#endsWithin(STOP_TIMEOUT_MS)) return
    }
    child.kill('SIGQUIT')
    if (await this.#endsWithin(STOP_TIMEOUT_MS)) return
    await this.#kill()
  }

  async #kill(): Promise<void> {
    const child = this.#child
    if (child?.pid === undefined) return
    child.ref()
    // Stopped first, so that it starts no children while they are listed.
    child.kill('SIGSTOP')
    const family = await descendantsOf(child.pid)
    for (const pid of [child.pid, ...family]) killNow(pid)
    await this.#ended
    for (const pid of family) await waitForExit(pid)
  }

  async #endsWithin(ms: number): Promise<boolean> {
    const timer = new AbortController()
    const late = systemClock.sleep(ms, timer.signal).then(
      () => false,
      () => true,
    )
    const ended = this.#ended.then(() => true)
    try {
      return await Promise.race([ended, late])
    } finally {
      timer.abort()
    }
  }

  /** Frees the System V shared memory that a crash leaves. Otherwise only a new start on this data would. */
  async #freeSharedMemory(): Promise<void> {
    const id = /^\s*\d+\s+(\d+)\s*$/.exec((await this.#lockFile())[6] ?? '')?.[1]
    if (id !== undefined && !this.#keepsData) await runProgram('ipcrm', ['-m', id]).catch(() => {})
  }

  async #lockFile(): Promise<string[]> {
    const text = await readFile(join(this.dataDir, 'postmaster.pid'), 'utf8').catch(() => '')
    return text.split('\n')
  }
}

function settingsFile(settings: Readonly<Record<string, string>>): string {
  const lines = Object.entries(settings).map(([name, value]) => {
    if (!/^[a-z_][a-z0-9_.]*$/i.test(name) || typeof value !== 'string') {
      throw new TypeError(`startPostgres: option "settings" must hold texts by setting name, got ${name}`)
    }
    if (name === 'port' || Object.hasOwn(FIXED_SETTINGS, name)) {
      throw new TypeError(`startPostgres: option "settings" must not hold "${name}": it is always set`)
    }
    return `${name} = ${quoted(value)}\n`
  })
  return lines.join('')
}

function quoted(value: string): string {
  return `'${value.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`
}

function killNow(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {}
}

async function waitForExit(pid: number): Promise<void> {
  const deadline = systemClock.now() + STOP_TIMEOUT_MS
  while ((await isRunning(pid)) && systemClock.now() < deadline) await systemClock.sleep(5)
}
