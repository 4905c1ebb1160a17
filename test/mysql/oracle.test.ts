import { randomInt } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import mysql, { type Connection } from 'mysql2/promise'
import { expect, test } from 'vitest'
import { propertiesOf } from '../../adapters/common/properties.js'
import { mysqlDatabase } from '../../adapters/mysql/index.js'
import { systemClock } from '../../src/contract/clock.js'
import type { CollectionBatch, SharedHistory } from '../../src/contract/shared-history.js'
import { SeededRandom } from '../../testing/index.js'
import { describeMysql } from '../servers/index.js'
import { useMysql } from './support.js'

const SECONDS = Number(process.env['LISTWATCH_ORACLE_SECONDS'] ?? 8)
const SEED = Number(process.env['LISTWATCH_ORACLE_SEED'] ?? randomInt(1_000_000))
/** The number of rows that each table has besides. Of few rows all are compared in each snapshot. */
const ROWS = Number(process.env['LISTWATCH_ORACLE_ROWS'] ?? 0)
const WHOLE_EVERY = ROWS === 0 ? 1 : 100
const WRITERS = 6
const KEYS = 60
const HOT = Array.from({ length: KEYS }, (_, n) => [`k${n}`, `K${n}`]).flat()
/** The other keys begin with it. */
const COLD = 'r'
/** The part of the writes to other keys. */
const COLD_PART = ROWS === 0 ? 0 : 0.2

type Contents = Map<string, string>
interface Snapshot {
  readonly tables: readonly Contents[]
  /** Whether it has all rows, or those with hot keys. */
  readonly isWhole: boolean
}
type Query = (options: { readonly sql: string }, done: (error: unknown, rows?: unknown) => void) => unknown

/** Passes on how to read both tables in a snapshot of the source, before the source ends the snapshot. */
function spied(connection: Connection, onSnapshot: (read: () => Promise<Snapshot>) => void): Connection {
  const core: { query: Query } = Object(propertiesOf(connection)['connection'])
  const query = core.query.bind(core)
  let snapshots = 0
  const read = async (): Promise<Snapshot> => {
    const isWhole = ++snapshots % WHOLE_EVERY === 0
    const contentsOf = (table: string): Promise<Contents> =>
      new Promise((resolve) => {
        query({ sql: `SELECT id, v FROM ${table}${isWhole ? '' : ` WHERE id < '${COLD}'`}` }, (_, rows) => {
          const all: { id: string; v: number }[] = Array.isArray(rows) ? rows : []
          resolve(new Map(all.map(({ id, v }) => [id, String(v)])))
        })
      })
    return { tables: await Promise.all(['a', 'b'].map(contentsOf)), isWhole }
  }
  core.query = (options, done) => {
    if (options.sql.includes('START')) onSnapshot(read)
    return query(options, done)
  }
  return connection
}

/** The number of keys of which two maps have different values. */
function differences(expected: Contents, shown: Contents, keys: Iterable<string>): number {
  let count = 0
  for (const key of keys) if (expected.get(key) !== shown.get(key)) count++
  return count
}

describeMysql('the tables of', (server) => {
  const own = useMysql(server, { args: ['--innodb-lock-wait-timeout=1'] })

  test(
    '[MY2] are in each batch what the whole tables are in the same snapshot, beside long transactions, rollbacks and changed keys',
    async ({ onTestFinished }) => {
      const random = new SeededRandom(SEED)
      const { mysql: at } = own
      const database = 'oracle'
      process.stdout.write(`mysql oracle: LISTWATCH_ORACLE_SEED=${SEED}\n`)
      await at.sql(`CREATE DATABASE ${database}; USE ${database}; CREATE TABLE a (id VARCHAR(20) COLLATE utf8mb4_general_ci PRIMARY KEY, v INT, u INT UNIQUE);
        CREATE TABLE b LIKE a`)
      for (let n = 0; n < ROWS; n += 10_000) {
        const rows = Array.from({ length: 10_000 }, (_, i) => `('${COLD}${n + i}', 0, NULL)`).join()
        for (const table of ['a', 'b']) await at.sql(`INSERT INTO ${database}.${table} VALUES ${rows}`)
      }
      let readSnapshot = async (): Promise<Snapshot> => ({ tables: [], isWhole: false })
      const shop = mysqlDatabase({
        connect: async () =>
          spied(await mysql.createConnection({ ...at.address, database }), (read) => {
            readSnapshot = read
          }),
      })
      const sources = ['a', 'b'].map((table) => shop.table<{ id: string; v: number }>({ table }))
      const stop = new AbortController()
      const context = { signal: stop.signal, clock: systemClock, random }
      const model: Contents[] = [new Map(), new Map()]
      const positions = new Map<string, string>()
      for (const [n, source] of sources.entries()) {
        for await (const page of source.list({ ...context, pageSize: 1_000 })) {
          for (const event of page.events) if (event.type === 'put') model[n]?.set(event.key, String(event.object.v))
          if (page.version !== undefined) positions.set(n === 0 ? 'a' : 'b', page.version)
        }
      }
      const counts = { batches: 0, whole: 0, rows: 0, different: 0, lists: 0, writes: 0 }
      const history: SharedHistory = Object(sources[0]).history
      const apply = async ({ parts, lost = new Map() }: CollectionBatch): Promise<void> => {
        counts.lists += lost.size
        if (parts.size === 0) return
        for (const [n, name] of ['a', 'b'].entries())
          for (const event of parts.get(name) ?? []) {
            if (event.type === 'put') model[n]?.set(event.key, String(propertiesOf(event.object)['v']))
            else if (event.type === 'delete') model[n]?.delete(event.key)
          }
        counts.batches++
        const { tables, isWhole } = await readSnapshot()
        if (isWhole) counts.whole++
        for (const [n, expected] of tables.entries()) {
          const shown: Contents = model[n] ?? new Map()
          counts.rows += expected.size
          counts.different += differences(
            expected,
            shown,
            isWhole ? new Set([...expected.keys(), ...shown.keys()]) : HOT,
          )
        }
      }
      const watching = (async () => {
        for await (const batch of history.watch({ ...context, positions, onProgressRequest: () => {} }))
          await apply(batch)
      })().catch((error: unknown) => {
        if (!stop.signal.aborted) throw error
      })
      onTestFinished(async () => {
        stop.abort()
        await watching
        await at.sql(`DROP DATABASE ${database}`)
      })
      let isOver = false
      const key = (): string =>
        random.next() < COLD_PART
          ? COLD + Math.floor(random.next() * ROWS)
          : (HOT[Math.floor(random.next() * 2 * KEYS)] ?? '')
      const statement = (): string => {
        const table = random.next() < 0.5 ? 'a' : 'b'
        const [v, u] = [Math.floor(random.next() * 1e6), Math.floor(random.next() * KEYS)]
        return (
          [
            `REPLACE INTO ${table} VALUES ('${key()}', ${v}, ${u})`,
            `UPDATE ${table} SET v = ${v} WHERE id = '${key()}'`,
            `UPDATE IGNORE ${table} SET id = '${key()}' WHERE id = '${key()}'`,
            `DELETE FROM ${table} WHERE id = '${key()}'`,
            `INSERT INTO ${table} VALUES ('${key()}', ${v}, ${u}) ON DUPLICATE KEY UPDATE v = ${v}`,
            `UPDATE ${table} SET v = v + 1 WHERE u < ${u}`,
          ][Math.floor(random.next() * 6)] ?? ''
        )
      }
      const write = async (): Promise<void> => {
        const writer = await at.connect({ database })
        while (!isOver) {
          try {
            await writer.query('BEGIN')
            for (let n = Math.floor(random.next() * 5); n >= 0; n--) await writer.query(statement())
            if (random.next() < 0.1) await sleep(100)
            await writer.query(random.next() < 0.15 ? 'ROLLBACK' : 'COMMIT')
            counts.writes++
          } catch {
            await writer.query('ROLLBACK').catch(() => {}) // A deadlock.
          }
        }
      }
      const rotate = async (): Promise<void> => {
        for (; !isOver; await sleep(300)) await at.sql('FLUSH BINARY LOGS')
      }
      const running = Promise.all([...Array.from({ length: WRITERS }, write), rotate()])
      await Promise.race([sleep(SECONDS * 1_000), watching])
      isOver = true
      await running
      await expect
        .poll(
          async () => {
            const rows = await at.sql(`SELECT id, v FROM ${database}.a`)
            const expected = new Map(rows.map(({ id, v }) => [String(id), String(v)]))
            const shown: Contents = model[0] ?? new Map()
            return differences(expected, shown, new Set([...expected.keys(), ...shown.keys()]))
          },
          { timeout: 60_000 },
        )
        .toBe(0)
      process.stdout.write(`mysql oracle: ${server.name}: ${JSON.stringify(counts)}\n`)
      expect([counts.different, counts.lists]).toEqual([0, 0])
      expect(Math.min(counts.batches, counts.writes)).toBeGreaterThan(50)
    },
    SECONDS * 1_000 + 60_000 + ROWS,
  )
})
