import { chmod, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { serverUser } from '../../tools/postgres/platform.js'
import { readableCopy } from '../../tools/postgres/readable-install.js'
import { runProgram } from '../../tools/postgres/run-program.js'
import { locateServer } from './locate.js'
import { placeFor, ServerProcess, started } from './server-process.js'
import { succeeds } from './wait-until.js'

export interface PgbouncerOptions {
  /** Port of the Postgres on 127.0.0.1. */
  readonly targetPort: number
  readonly poolMode: 'transaction' | 'session'
  readonly poolSize?: number
  /** More of pgbouncer.ini's section `pgbouncer`. */
  readonly settings?: Readonly<Record<string, string>>
}

const START_TIMEOUT_MS = 10_000

/** A pgbouncer before a Postgres. It trusts every client, and knows the user `postgres`. */
export class Pgbouncer extends ServerProcess {
  /** Rejects if it is missing. */
  static async start(options: PgbouncerOptions): Promise<Pgbouncer> {
    const found = await locateServer('pgbouncer')
    if (found.type === 'missing') throw new Error('there is no pgbouncer here: run npm run servers')
    const user = serverUser()
    const env = { ...process.env, ...found.env }
    const isReadable = runProgram(join(found.binDir, 'pgbouncer'), ['--version'], { user, env })
    const server = (await succeeds(isReadable)) ? found : { ...found, ...(await readableCopy(found)) }
    const pgbouncer = new Pgbouncer({ server }, await placeFor('pgbouncer'))
    return await started(pgbouncer, async ({ folder, port }) => {
      await write(join(folder, 'users.txt'), '"postgres" ""\n')
      await write(join(folder, 'pgbouncer.ini'), configuration(options, port, folder))
      await pgbouncer.spawn('pgbouncer', [join(folder, 'pgbouncer.ini')], user)
      await pgbouncer.answering('pgbouncer', () => answers(port), START_TIMEOUT_MS)
    })
  }
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
