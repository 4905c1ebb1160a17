import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, open, readFile, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../../tools/postgres/free-port.js'
import { OrphanGuard } from '../../tools/postgres/orphan-guard.js'
import { serverUser, temporaryFolder } from '../../tools/postgres/platform.js'
import { readableCopy } from '../../tools/postgres/readable-install.js'
import { errorSummary, runProgram } from '../../tools/postgres/run-program.js'
import { pgbouncerBinary } from './lookups.js'

export interface PgbouncerOptions {
  /** Port of the Postgres on 127.0.0.1. */
  readonly targetPort: number
  readonly poolMode: 'transaction' | 'session'
  readonly poolSize?: number
  /** More of pgbouncer.ini's section `pgbouncer`. */
  readonly settings?: Readonly<Record<string, string>>
}

export interface Pgbouncer extends AsyncDisposable {
  readonly port: number
  /** Of the database `postgres`; the admin console is the database `pgbouncer`. */
  readonly url: string
  log(): Promise<string>
  stop(): Promise<void>
}

const START_TIMEOUT_MS = 10_000

/** Starts a pgbouncer before a Postgres; it trusts every client and knows the user `postgres`. Rejects if it is missing. */
export async function startPgbouncer(options: PgbouncerOptions): Promise<Pgbouncer> {
  const found = await pgbouncerBinary()
  if (found === undefined) throw new Error('there is no pgbouncer here: run npm run servers')
  const user = serverUser()
  const at = await runProgram(found.path, ['--version'], { user, env: { ...process.env, ...found.env } }).then(
    () => found,
    () => readableCopy(found),
  )
  const folder = await temporaryFolder('listwatch-pgbouncer-')
  const guard = new OrphanGuard(folder, 'KILL')
  const port = await freePort()
  await write(join(folder, 'users.txt'), '"postgres" ""\n')
  await write(join(folder, 'pgbouncer.ini'), configuration(options, port, folder))
  const logFile = join(folder, 'log')
  const file = await open(logFile, 'a')
  const child = spawn(join(at.binDir, 'pgbouncer'), [join(folder, 'pgbouncer.ini')], {
    cwd: '/',
    env: { ...process.env, ...at.env },
    stdio: ['ignore', file.fd, file.fd],
    detached: true,
    ...user,
  })
  guard.guard(child.pid)
  child.unref()
  const ended = child.pid === undefined ? Promise.resolve() : once(child, 'exit')
  child.on('error', () => {})
  await file.close()

  const log = (): Promise<string> => readFile(logFile, 'utf8')
  const stop = async (): Promise<void> => {
    child.ref()
    child.kill('SIGKILL')
    await ended
    await rm(folder, { recursive: true, force: true })
    guard.release()
  }
  const isUp = (): boolean => child.pid !== undefined && child.exitCode === null && child.signalCode === null
  const deadline = Date.now() + START_TIMEOUT_MS
  while (!(await answers(port))) {
    if (!isUp() || Date.now() > deadline) {
      const said = errorSummary(await log())
      await stop()
      throw new Error(`pgbouncer did not start${said}`)
    }
    await sleep(10)
  }
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`
  return { port, url, log, stop, [Symbol.asyncDispose]: stop }
}

function configuration(options: PgbouncerOptions, port: number, folder: string): string {
  const settings = {
    listen_addr: '127.0.0.1',
    listen_port: String(port),
    unix_socket_dir: '',
    auth_type: 'trust',
    auth_file: join(folder, 'users.txt'),
    admin_users: 'postgres',
    pool_mode: options.poolMode,
    default_pool_size: String(options.poolSize ?? 20),
    max_client_conn: '500',
    ignore_startup_parameters: 'extra_float_digits',
    ...options.settings,
  }
  const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}`)
  const target = `host=127.0.0.1 port=${options.targetPort}`
  return ['[databases]', `* = ${target}`, '[pgbouncer]', ...lines, ''].join('\n')
}

/** Readable by the user that pgbouncer runs as, whatever our umask. */
async function write(path: string, text: string): Promise<void> {
  await writeFile(path, text)
  await chmod(path, 0o644)
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' })
    const settle = (isThere: boolean) => (): void => {
      socket.destroy()
      resolve(isThere)
    }
    socket.once('connect', settle(true))
    socket.once('error', settle(false))
  })
}
