import { setTimeout as sleep } from 'node:timers/promises'
import { createConnection } from 'mysql2'
import type { Connection } from 'mysql2/promise'
import { mysqlSource } from '../../adapters/mysql/index.js'
import type { ListContext, ListPage, WatchBatch, WatchContext, WatchEvent } from '../../src/contract/source.js'
import { SeededRandom } from '../../testing/seeded-random.js'
import { type FaultProxy, startFaultProxy } from '../servers/fault-proxy.js'
import type { FoundServer } from '../servers/index.js'
import { MysqlServer } from '../servers/mysql.js'
import { BackendStage } from '../support/backend-stage.js'
import { CheckedSource } from '../support/checked-source.js'
import { CountingClock, fastClock } from '../support/clocks.js'
import { type Fault, FaultCampaign, isDone, type Outcome } from '../support/fault-campaign.js'
import { purge } from './support.js'

interface Item {
  readonly id: string
  readonly n: number
}

const PAIRS = 100
/** The lock time-out of the server is in real time, so the mirror's time is only a little faster. */
const SPEED = 1.5
const HEALING_MS = 120_000

/** Versions never go back, and each shown state has both rows of a pair with one number, or neither. */
class PairChecker extends CheckedSource<Item> {
  #model = new Map<string, number>()

  override async *list(context: ListContext): AsyncIterable<ListPage<Item>> {
    const model = new Map<string, number>()
    for await (const page of super.list(context)) {
      for (const event of page.events) if (event.type === 'put') model.set(event.key, event.object.n)
      if (page.version !== undefined) {
        this.#model = model
        this.#check('a list', page.version)
      }
      yield page
    }
  }

  override async *watch(context: WatchContext): AsyncIterable<WatchBatch<Item>> {
    let version = context.after
    for await (const batch of super.watch(context)) {
      for (const event of batch.events) this.#apply(event)
      if (batch.events.length > 0) this.#check('a batch', batch.version)
      if (this.hasReached?.(batch.version, version) !== true) this.flaw(`${version} was before ${batch.version}`)
      version = batch.version
      yield batch
    }
  }

  #apply(event: WatchEvent<Item>): void {
    if (event.type === 'put') this.#model.set(event.key, event.object.n)
    else if (event.type === 'delete') this.#model.delete(event.key)
    else this.flaw(`an event ${event.type}`)
  }

  /** The keys of a pair differ in their first letters. Each has any case. */
  #check(what: string, version: string): void {
    const numbers = new Map<string, number[]>()
    for (const [key, n] of this.#model) {
      const pair = key.slice(1)
      numbers.set(pair, [...(numbers.get(pair) ?? []), n])
    }
    for (const [pair, [one, other, ...more]] of numbers)
      if (one !== other || more.length > 0) this.flaw(`${what} at ${version} has of the pair ${pair} ${one}, ${other}`)
  }
}

/** A table, a proxy before its server, a mirror that reads through the proxy, and writers that do not. */
class Stage extends BackendStage<Item> {
  readonly at: MysqlServer

  private constructor(at: MysqlServer, proxy: FaultProxy) {
    const connect = () => createConnection({ ...at.address, user: 'mirror', port: proxy.port }).promise()
    const source = mysqlSource<Item>({ connect, table: 'items', timeoutMs: 4_000 })
    super(proxy, source, { clock: new CountingClock(fastClock(SPEED)), checker: new PairChecker(source) })
    this.at = at
  }

  static async open(at: MysqlServer): Promise<Stage> {
    await at.sql(`CREATE TABLE items (id VARCHAR(9) COLLATE utf8mb4_general_ci PRIMARY KEY, n INT); CREATE USER mirror;
      GRANT REPLICATION SLAVE ON *.* TO mirror; GRANT SELECT ON test.* TO mirror`)
    const stage = new Stage(at, await startFaultProxy({ targetPort: at.port }))
    await at.sql(`REPLACE INTO items VALUES ${Array.from({ length: 50 }, (_, n) => pair(n, 0)).join()}`)
    await stage.live()
    return stage
  }

  protected override textOf({ id, n }: Item): string {
    return JSON.stringify([id, n])
  }

  override async truth(): Promise<ReadonlyMap<string, string>> {
    const rows = await this.at.sql('SELECT id, n FROM items')
    return new Map(rows.map(({ id, n }) => [String(id), JSON.stringify([id, n])]))
  }
}

function pair(at: number, n: number): string {
  return `('p${at}', ${n}), ('q${at}', ${n})`
}

/** Faults of one server, of its data and its binlog, and of the network before it. */
export async function campaign(server: FoundServer, seed: number, checks: number): Promise<Outcome> {
  await using at = await MysqlServer.start({
    server,
    args: ['--loose-slave-connections-needed-for-purge=0', '--innodb-lock-wait-timeout=1', '--lock-wait-timeout=3'],
  })
  await using stage = await Stage.open(at)
  const outcome = await new TableCampaign(stage, new SeededRandom(seed)).run(checks)
  await stage.run(async () => {})
  return outcome
}

class TableCampaign extends FaultCampaign<Item> {
  protected readonly faults: readonly Fault[]
  readonly #at: MysqlServer
  readonly #writers: (Connection | undefined)[] = []

  constructor(stage: Stage, random: SeededRandom) {
    super(random, stage.proxy, [stage], HEALING_MS)
    const { at } = stage
    this.#at = at
    const reset = at.isMariadb ? 'RESET MASTER' : 'RESET BINARY LOGS AND GTIDS'
    const some = (each: SeededRandom): string => pair(each.below(PAIRS), this.writes)
    const replace = (each: SeededRandom): string => `REPLACE INTO items (id, n) VALUES ${some(each)}`
    const statements = (name: string, weight: number, ...texts: readonly string[]): Fault =>
      this.fault(name, weight, (each) => this.#session(...texts, replace(each)))
    this.faults = [
      ...this.networkFaults,
      ...this.processFaults(
        () => at,
        () => at.start(),
      ),
      ...this.folderFaults(1, at, at.dataDir),
      this.fault('list', 2, async () => this.relist()),
      this.serverFault('kill its connections', 2, async () => {
        const rows = await at.sql(`SELECT id FROM information_schema.processlist WHERE user = 'mirror'`).catch(() => [])
        for (const { id } of rows) await at.sql(`KILL ${String(id)}`).catch(() => {})
      }),
      this.serverFault('rotate', 2, () => isDone(at.sql('FLUSH BINARY LOGS'), 3_000)),
      this.serverFault('purge while away', 2, () => this.away(() => isDone(purge(at), 8_000))),
      this.serverFault('reset', 2, () => isDone(at.sql(reset), 5_000)),
      this.serverFault('reset while away', 2, (each) =>
        this.away(async () => {
          const done = await isDone(at.sql(reset), 5_000)
          await this.moment(each)
          return done
        }),
      ),
      this.fault('truncate', 1, () => this.#session('TRUNCATE items')),
      this.fault('alter', 2, () => this.#session('ALTER TABLE items ADD COLUMN more INT DEFAULT 1')),
      this.fault('alter back', 2, () => this.#session('ALTER TABLE items DROP COLUMN more')),
      this.fault('rename', 1, () =>
        this.#session(
          'CREATE TABLE IF NOT EXISTS other LIKE items',
          'RENAME TABLE items TO was, other TO items',
          'RENAME TABLE was TO other',
        ),
      ),
      this.fault('change all', 2, () => this.#session('UPDATE items SET n = n + 1')),
      statements('log as a statement', 2, `SET SESSION binlog_format = 'STATEMENT'`),
      this.fault('a long transaction', 3, async (each) => {
        const end = each.chance(0.7) ? 'COMMIT' : 'ROLLBACK'
        return this.#session('BEGIN', replace(each), () => this.moment(each), replace(each), end)
      }),
      this.fault('an XA transaction', 2, async (each) => {
        const xid = `'x${this.writes}-${each.below(1e9)}'`
        const end = each.chance(0.7) ? 'COMMIT' : 'ROLLBACK'
        const change = [`XA START ${xid}`, replace(each), `XA END ${xid}`]
        return this.#session(...change, `XA PREPARE ${xid}`, () => this.moment(each), `XA ${end} ${xid}`)
      }),
      this.fault('lock the table', 1, (each) =>
        this.#session('LOCK TABLES items WRITE', replace(each), () => sleep(each.below(4_000)), 'UNLOCK TABLES'),
      ),
      ...(at.isMariadb
        ? [
            statements('another domain', 2, 'SET SESSION gtid_domain_id = 7, server_id = 99'),
            statements(
              'compressed events',
              1,
              'SET GLOBAL log_bin_compress = ON, GLOBAL log_bin_compress_min_len = 10',
            ),
          ]
        : [
            this.fault('the transaction of another server', 3, (each) => {
              const gtid = `00000000-0000-0000-0000-00000000000${each.below(3)}:${1 + each.below(500)}`
              return this.#session(`SET gtid_next = '${gtid}'`, replace(each), `SET gtid_next = AUTOMATIC`)
            }),
            statements('a compressed transaction', 1, 'SET SESSION binlog_transaction_compression = ON'),
            statements('a tag', 1, `SET gtid_next = 'AUTOMATIC:tag'`),
          ]),
    ]
  }

  protected override async write(random: SeededRandom, writer: number): Promise<void> {
    const at = random.below(random.pick([3, PAIRS]))
    const ids = `id IN ('p${at}', 'q${at}')`
    const text = random.pick([
      `REPLACE INTO items (id, n) VALUES ${pair(at, this.writes)}`,
      `INSERT INTO items (id, n) VALUES ${pair(at, 1)} ON DUPLICATE KEY UPDATE n = n + 1`,
      `UPDATE items SET n = n + 1 WHERE ${ids}`,
      `DELETE FROM items WHERE ${ids}`,
      `UPDATE items SET id = ${random.pick(['UPPER', 'LOWER'])}(id) WHERE ${ids}`,
      `BEGIN; DELETE FROM items WHERE ${ids}; REPLACE INTO items (id, n) VALUES ${pair(at, 7)}; COMMIT`,
      `BEGIN; UPDATE items SET n = n + 1 WHERE ${ids}; ROLLBACK`,
    ])
    const options = { multipleStatements: true, connectTimeout: 2_000 }
    const connection = this.#writers[writer] ?? (await this.#at.connect(options))
    this.#writers[writer] = connection
    // What a failed write has left must not be committed by the next one.
    if (await isDone(connection.query(`ROLLBACK; ${text}`), 3_000)) return
    connection.destroy()
    this.#writers[writer] = undefined
    throw new Error('a write failed')
  }

  protected override async heal(): Promise<void> {
    await super.heal()
    // The server was killed between the two phases, and their session is gone.
    const prepared = await this.#at.sql('XA RECOVER').catch(() => [])
    for (const { data } of prepared) await isDone(this.#at.sql(`XA ROLLBACK '${String(data)}'`), 5_000)
  }

  /** Runs steps over a connection of its own. Resolves with false if one of them failed. */
  async #session(...steps: readonly (string | (() => Promise<unknown>))[]): Promise<boolean> {
    const connection = await this.#at.connect({ connectTimeout: 2_000 }).catch(() => undefined)
    const run = async (): Promise<void> => {
      for (const step of steps) await (typeof step === 'string' ? connection?.query(step) : step())
    }
    const done = connection !== undefined && (await isDone(run(), 8_000))
    connection?.destroy()
    return done
  }
}
