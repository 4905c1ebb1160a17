import { Client, type ClientConfig, type types } from 'pg'
import { expect, onTestFinished, type TestContext } from 'vitest'
import {
  type ChangeLogOptions,
  installChangeLog,
  type PgConnected,
  type PostgresSource,
  type PostgresSourceOptions,
  postgresSource,
} from '../../adapters/postgres/index.js'
import type { WatchBatch } from '../../src/adapter.js'
import { createInformer, type Informer, type SourceError, type Version } from '../../src/index.js'
import { joinKey } from '../../src/util/join-key.js'
import { type PostgresServer, startPostgres } from '../../tools/postgres/postgres-server.js'
import type { PostgresVersion } from '../servers/index.js'
import { waitUntil } from '../servers/wait-until.js'
import { Fold } from '../support/fold.js'
import { context } from '../support/source-calls.js'
import { startForTests } from '../support/start-for-tests.js'

export { context as contextOf, listed } from '../support/source-calls.js'

export type Row = Readonly<Record<string, unknown>>

/** Values as the server writes them, whatever a test has registered. */
const TEXTS = { getTypeParser: () => (text: string) => text } as unknown as typeof types

/** Takes a function that runs at the end of the test. */
type AtEnd = TestContext['onTestFinished']

/** One server for all tests of a file; each gets a database of its own. */
export interface TestServer {
  readonly server: PostgresServer
  /** An empty database, removed when the test is over. A concurrent test passes the `onTestFinished` of its context. */
  database(atEnd?: AtEnd): Promise<Database>
  /** The same after some SQL. */
  prepared(setup: Setup, atEnd?: AtEnd): Promise<Database>
  /** The same, with a log of the changes of a table: of `t`, unless another is named. */
  installed(setup: Setup, log?: string | (Partial<ChangeLogOptions> & { readonly atEnd?: AtEnd })): Promise<Database>
}

/** SQL, or what makes it of the name of the database: roles are those of the whole server. */
type Setup = string | ((name: string) => string)

/** Called in the body of a `describePostgres`. */
export function useServer(
  { binDir, env }: PostgresVersion,
  settings: Readonly<Record<string, string>> = {},
): TestServer {
  const server = startForTests(() =>
    startPostgres({ binDir, env, settings: { fsync: 'off', autovacuum: 'off', ...settings } }),
  )
  let count = 0
  return {
    get server() {
      return server()
    },
    async database(atEnd) {
      return await freshDatabase(server(), `db${++count}`, atEnd)
    },
    async prepared(setup, atEnd) {
      const db = await this.database(atEnd)
      await db.sql(typeof setup === 'string' ? setup : setup(db.name))
      return db
    },
    async installed(setup, log = 't') {
      const { table = 't', atEnd, ...options } = typeof log === 'string' ? { table: log } : log
      const db = await this.prepared(setup, atEnd)
      await db.install(table, options)
      return db
    },
  }
}

export class Database {
  readonly name: string
  /** Clients and mirrors of this database end with the test. */
  readonly atEnd: AtEnd
  readonly #port: number
  #shared: Promise<Client> | undefined

  constructor(name: string, port: number, atEnd: AtEnd = onTestFinished) {
    this.name = name
    this.atEnd = atEnd
    this.#port = port
  }

  config(options: ClientConfig = {}): ClientConfig {
    return { host: '127.0.0.1', port: this.#port, user: 'postgres', database: this.name, ...options }
  }

  async connect(options: ClientConfig = {}): Promise<Client> {
    const client = new Client(this.config(options))
    client.on('error', () => {})
    await client.connect()
    this.atEnd(() => client.end())
    return client
  }

  sibling(name: string): Database {
    return new Database(name, this.#port, this.atEnd)
  }

  /** Runs SQL on a connection that the test shares, each call a transaction of its own. Returns the rows of the last result. */
  async sql(text: string, values?: unknown[]): Promise<Row[]> {
    this.#shared ??= this.connect()
    return await rowsOf(await this.#shared, text, values)
  }

  /** The first column of the first row. */
  async value(text: string, values?: unknown[]): Promise<unknown> {
    return Object.values((await this.sql(text, values))[0] ?? {})[0]
  }

  async install(table: string, options: Omit<ChangeLogOptions, 'table'> = {}): Promise<void> {
    const client = new Client(this.config())
    await client.connect()
    await using _ = { [Symbol.asyncDispose]: () => client.end() }
    await installChangeLog(client, { table, ...options })
  }

  source<T = Row>(options: TestSourceOptions): PostgresSource<T> {
    const { connection, ...rest } = options
    return postgresSource<T>({ connect: () => new Client(this.config(connection)), pollIntervalMs: 200, ...rest })
  }

  /** The name of a table's log. */
  async log(table: string): Promise<string> {
    return String(await this.value('SELECT log FROM listwatch.logs() WHERE relid = $1::regclass::oid', [table]))
  }
}

export interface TestSourceOptions extends Omit<PostgresSourceOptions, 'connect'> {
  readonly connect?: PostgresSourceOptions['connect']
  /** What a connection of the source has besides host, port, user and database. */
  readonly connection?: ClientConfig
}

export async function freshDatabase(
  server: PostgresServer,
  name: string,
  atEnd: AtEnd = onTestFinished,
): Promise<Database> {
  const admin = new Database('postgres', server.port)
  await alone(admin, `CREATE DATABASE ${name} STRATEGY FILE_COPY`)
  atEnd(async () => {
    if (server.pid !== undefined) await alone(admin, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)
  })
  return new Database(name, server.port, atEnd)
}

/** Drops roles with everything that they own, when their sessions have ended: these own temporary tables. */
export async function dropRoles(database: Database, ...roles: readonly string[]): Promise<void> {
  const sql = 'SELECT count(*)::int FROM pg_stat_activity WHERE usename::text = ANY ($1)'
  await waitUntil('the sessions of the roles to end', async () => (await database.value(sql, [roles])) === 0)
  await database.sql(`DROP OWNED BY ${roles.join()} CASCADE; DROP ROLE ${roles.join()}`)
}

/** One statement on a connection that outlives no test. */
async function alone(database: Database, text: string): Promise<void> {
  const client = new Client(database.config())
  await client.connect()
  await using _ = { [Symbol.asyncDispose]: () => client.end() }
  await client.query(text)
}

export async function rowsOf(client: Client, text: string, values?: unknown[]): Promise<Row[]> {
  const result: unknown = await client.query(text, values)
  const last: unknown = Array.isArray(result) ? result.at(-1) : result
  return (last as { readonly rows: Row[] }).rows
}

export interface Mirror<T = Row> {
  readonly database: Database
  readonly source: PostgresSource<T>
  readonly informer: Informer<T>
  readonly errors: SourceError[]
  readonly fold: Fold<T>
  readonly options: TestSourceOptions
}

/** An informer over a table, not started; stopped when the test is over. Its delays are the shortest possible. */
export function mirrorOf<T = Row>(database: Database, options: TestSourceOptions): Mirror<T> {
  const source = database.source<T>(options)
  const informer = createInformer<T, object, T>({ source, random: { next: () => 0 } })
  const errors: SourceError[] = []
  informer.on('error', (error) => errors.push(error))
  const fold = new Fold<T>()
  informer.subscribe(fold.handlers)
  database.atEnd(() => informer.stop())
  return { database, source, informer, errors, fold, options }
}

/** The same, started, its first list in, and its watch open. */
export async function mirror<T = Row>(database: Database, options: TestSourceOptions): Promise<Mirror<T>> {
  const made = mirrorOf<T>(database, options)
  made.informer.start()
  await made.informer.synced({ timeoutMs: 60_000 })
  await waitUntil('the watch', () => made.informer.status.state === 'live')
  return made
}

export interface Comparison {
  /** The key's columns. Default: `id`. */
  readonly key?: readonly string[]
  /** Whose eyes see the table. Default: the superuser's. */
  readonly role?: string
}

/**
 * Waits until the mirror has reached the database, and compares it with the table as the driver reads it. The changes that a
 * subscription received must lead to the same objects.
 */
export async function expectMirrorEqualsTable(
  { database, informer, fold, options }: Mirror<unknown>,
  { key = ['id'], role }: Comparison = {},
): Promise<void> {
  await informer.fresh({ timeoutMs: 15_000 })
  const expected = await tableContents(database, options, key, role)
  expect(new Map(informer.entries())).toEqual(expected)
  await waitUntil('the changes to be handled', () => fold.objects.size === informer.size)
  for (const [known, object] of informer.entries())
    await waitUntil(`${known} to be delivered`, () => Object.is(fold.objects.get(known), object))
}

/** Changes the database of a mirror, and compares them then. */
export async function expectMirrored(rows: Mirror<unknown>, sql: string): Promise<void> {
  await rows.database.sql(sql)
  await expectMirrorEqualsTable(rows)
}

async function tableContents(
  database: Database,
  { table, columns, sql: where, connection }: TestSourceOptions,
  key: readonly string[],
  role: string | undefined,
): Promise<Map<string, unknown>> {
  const client = new Client(database.config({ ...connection, options: '-c timezone=UTC' }))
  await client.connect()
  await using _ = { [Symbol.asyncDispose]: () => client.end() }
  if (role !== undefined) await client.query(`SET ROLE ${quoted(role)}`)
  const list = columns === undefined ? '*' : [...new Set([...columns, ...key])].map(quoted).join(', ')
  const rest = `FROM ${table}${where === undefined ? '' : ` WHERE ${where}`}`
  await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ')
  const { rows: objects } = await client.query(`SELECT ${list} ${rest} ORDER BY ${key.map(quoted).join(', ')}`)
  const { rows: keys } = await client.query({
    text: `SELECT ${key.map(quoted).join(', ')} ${rest} ORDER BY ${key.map(quoted).join(', ')}`,
    rowMode: 'array',
    types: TEXTS,
  })
  return new Map(keys.map((texts, at) => [joinKey(texts), objects[at]]))
}

export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

/** Watches a source by hand from a version: the first batch, or the error. */
export async function resumed<T>(source: PostgresSource<T>, after: Version): Promise<WatchBatch<T>> {
  const stop = new AbortController()
  using _ = { [Symbol.dispose]: () => stop.abort() }
  for await (const batch of source.watch({ ...context(stop.signal), after, onProgressRequest: () => {} })) return batch
  throw new Error('the watch ended')
}

/**
 * Returns the log rows since a snapshot by the bare rule, `xid >= xmax OR xid = ANY (xip)`: a delta without any other check.
 */
export async function nakedDelta(database: Database, log: string, snapshot: string): Promise<Row[]> {
  return await database.sql(
    `SELECT DISTINCT op, k1 FROM ${log}
      WHERE xid >= pg_snapshot_xmax($1::pg_snapshot) OR xid = ANY (ARRAY (SELECT pg_snapshot_xip($1::pg_snapshot))) ORDER BY 1, 2`,
    [snapshot],
  )
}

export async function snapshotOf(database: Database): Promise<string> {
  return String(await database.value('SELECT pg_current_snapshot()::text'))
}

/** A client with which a migration waits for a lock for `turn` at each attempt, instead of 3 s. */
export async function hasty(db: Database, turn: string): Promise<PgConnected> {
  const client = await db.connect()
  return { query: (text: string) => client.query(text.replace(`lock_timeout = '3s'`, `lock_timeout = '${turn}'`)) }
}

export async function errorOf(promise: Promise<unknown>): Promise<Error & { readonly code?: string }> {
  try {
    await promise
  } catch (error) {
    if (error instanceof Error) return error
    throw new Error(`rejected with ${String(error)}`)
  }
  throw new Error('it did not reject')
}
