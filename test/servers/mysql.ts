import { access, constants, cp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import mysql, { type Connection, type ConnectionOptions, type Pool } from 'mysql2/promise'
import { serverUser } from '../../tools/postgres/platform.js'
import { runProgram } from '../../tools/postgres/run-program.js'
import { keepInCache } from './cache.js'
import type { FoundServer } from './locate.js'
import { placeFor, ServerProcess, started } from './server-process.js'
import { succeeds } from './wait-until.js'

export interface MysqlServerOptions {
  readonly server: FoundServer
  /** More options of the server; of two with the same name the last one counts. */
  readonly args?: readonly string[]
  /** A data folder to begin with a copy of, of a server that was stopped or killed. Default: one with an empty database `test`. */
  readonly data?: string
}

const START_TIMEOUT_MS = 60_000
const INITIAL_TIMEOUT_MS = 120_000
/** Changes with the content of an initial data folder. */
const DATA_VERSION = 1

/**
 * One MariaDB or MySQL in a temporary folder, which tests stop, kill and pause. Its port stays the same. A commit
 * outlives a kill of the server, but not one of the machine. Its binary log has rows.
 */
export class MysqlServer extends ServerProcess<MysqlServerOptions> {
  #admin: Pool | undefined

  static async create(options: MysqlServerOptions): Promise<MysqlServer> {
    return new MysqlServer(options, await placeFor('mysql'))
  }

  static async start(options: MysqlServerOptions): Promise<MysqlServer> {
    return await started(await MysqlServer.create(options), (server) => server.start())
  }

  get isMariadb(): boolean {
    return isMariadb(this.server)
  }

  /** The folder with its tables and its binary log. */
  get dataDir(): string {
    return join(this.folder, 'data')
  }

  /** What mysql2 connects with: an administrator without a password. */
  get address(): { readonly host: string; readonly port: number; readonly user: string; readonly database: string } {
    return { host: '127.0.0.1', port: this.port, user: 'root', database: 'test' }
  }

  get url(): string {
    return `mysql://root@127.0.0.1:${this.port}/test`
  }

  /** Starts it, also after a stop or a kill, and waits until it answers. */
  async start(args: readonly string[] = this.options.args ?? []): Promise<void> {
    if (!(await succeeds(access(this.dataDir)))) {
      const data = this.options.data ?? (await initialData(this.server))
      await cp(data, this.dataDir, { recursive: true, mode: constants.COPYFILE_FICLONE })
      // Two servers must not have the same id.
      await rm(join(this.dataDir, 'auto.cnf'), { force: true })
    }
    await this.spawn(programOf(this.server), [
      ...(await commonFlags(this.server, this.dataDir)),
      ...[`--port=${this.port}`, '--bind-address=127.0.0.1', `--pid-file=${join(this.folder, 'pid')}`],
      // Two servers in one folder delete each other's temporary tables.
      `--tmpdir=${this.folder}`,
      // Without a Unix socket: its lock file survives a kill, and prevents the next start.
      ...['--socket=', '--skip-name-resolve', '--secure-file-priv=', '--local-infile=ON'],
      ...[`--server-id=${this.port}`, '--log-bin=binlog', '--character-set-server=utf8mb4'],
      ...(this.isMariadb
        ? ['--binlog-format=ROW']
        : // Its performance schema would take half of its memory and a third of its start.
          ['--gtid-mode=ON', '--enforce-gtid-consistency=ON', '--mysqlx=OFF', '--performance-schema=OFF']),
      // A write survives a kill of the server, although the server does not flush the disk.
      ...['--sync-binlog=0', '--innodb-flush-log-at-trx-commit=2'],
      ...args,
    ])
    await this.answering(this.server.name, () => succeeds(this.sql('SELECT 1')), START_TIMEOUT_MS)
  }

  /** The rows of a statement; of several statements a list for each. */
  async sql(text: string, values: readonly unknown[] = []): Promise<Record<string, unknown>[]> {
    this.#admin ??= mysql.createPool({ ...this.address, connectionLimit: 4, multipleStatements: true })
    const [rows] = await this.#admin.query(text, [...values])
    return Array.isArray(rows) ? rows.map((row) => ({ ...row })) : []
  }

  /** A connection of its own for the test; closed at the end. */
  async connect(options: ConnectionOptions = {}): Promise<Connection> {
    const connection = await mysql.createConnection({ ...this.address, ...options })
    connection.on('error', () => {})
    this.atEnd(() => connection.destroy())
    return connection
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    await this.#admin?.end()
    await super[Symbol.asyncDispose]()
  }
}

const isMariadb = (server: FoundServer): boolean => server.name.startsWith('mariadb')

function programOf(server: FoundServer): string {
  return isMariadb(server) ? 'mariadbd' : 'mysqld'
}

/** The folder of its messages, character sets and scripts, beside that of its programs. */
async function shareOf({ binDir }: FoundServer): Promise<string> {
  for (const name of ['mariadb', 'mysql']) {
    const share = join(dirname(binDir), 'share', name)
    if (await succeeds(access(join(share, 'charsets')))) return share
  }
  throw new Error(`there is no folder with character sets beside ${binDir}`)
}

async function commonFlags(server: FoundServer, data: string): Promise<string[]> {
  const share = await shareOf(server)
  return [
    ...['--no-defaults', `--datadir=${data}`, `--basedir=${dirname(server.binDir)}`],
    ...[`--lc-messages-dir=${share}`, `--character-sets-dir=${join(share, 'charsets')}`],
    // A server that starts removes the temporary tables in this folder. In a common one it makes other servers fail.
    `--tmpdir=${dirname(data)}`,
    // Root needs an explicit permission.
    ...(serverUser() === undefined ? [] : ['--user=root']),
    // A kernel offers few asynchronous accesses, and containers forbid some of them.
    ...['--innodb-use-native-aio=0', '--innodb-buffer-pool-size=64M'],
  ]
}

/** A data folder that servers begin with a copy of. Its creation takes seconds, once on this machine. */
function initialData(server: FoundServer): Promise<string> {
  return keepInCache(`${server.name.split(' ')[0]} ${server.version} data ${DATA_VERSION}`, async (folder) => {
    const script = `${folder}.sql`
    await writeFile(script, isMariadb(server) ? await mariadbTables(server) : MYSQL_ADMINISTRATOR)
    const flags = [...(await commonFlags(server, folder)), '--skip-log-bin']
    const mode = isMariadb(server) ? ['--bootstrap'] : ['--initialize-insecure', `--init-file=${script}`]
    // MariaDB reads the script from its standard input.
    const args = ['-c', 'exec "$@" <"$0"', script, join(server.binDir, programOf(server)), ...flags, ...mode]
    try {
      await runProgram('/bin/sh', args, { env: { ...process.env, ...server.env }, timeoutMs: INITIAL_TIMEOUT_MS })
    } finally {
      await rm(script, { force: true })
    }
  })
}

/** MySQL has only one for a Unix socket. */
const MYSQL_ADMINISTRATOR = `CREATE USER root@127.0.0.1;
GRANT ALL ON *.* TO root@127.0.0.1 WITH GRANT OPTION;
CREATE DATABASE test;
`

/** As the script mariadb-install-db has them, whose package also starts a service. It has an administrator without a password. */
async function mariadbTables(server: FoundServer): Promise<string> {
  const share = await shareOf(server)
  const files = await readdir(share)
  const scripts = ['system_tables', 'performance_tables', 'system_tables_data', 'add_gis_sp_bootstrap', 'sys_schema']
  const texts = scripts.map((script) => {
    const file = files.find((name) => new RegExp(`^(mysql|mariadb|maria)_${script}\\.sql$`).test(name))
    if (file === undefined) throw new Error(`${share} has no script for ${script}`)
    return readFile(join(share, file), 'utf8')
  })
  const head = ['CREATE DATABASE mysql;', 'USE mysql;', 'SET @auth_root_socket = NULL;']
  return [...head, ...(await Promise.all(texts)), 'CREATE DATABASE test;', ''].join('\n')
}
