import { setTimeout as sleep } from 'node:timers/promises'
import mysql, { type Connection } from 'mysql2/promise'
import { mysqlDatabase, mysqlSource } from '../../adapters/mysql/index.js'
import type { Version } from '../../src/contract/version.js'
import { type ConformanceChange, describeListerWatcher, type ListerWatcherHarness } from '../../testing/index.js'
import { purge, useMysql } from '../mysql/support.js'
import { describeMysql } from '../servers/index.js'
import type { MysqlServer } from '../servers/mysql.js'
import { drawn } from '../support/draw.js'

type Row = { readonly id: string; readonly value: string }

/** What a row may have; one with more cannot be decoded. */
const MAX_ROW = 2 * 1024 * 1024

/** A database of its own for each case: a table followed alone, or as one of `mysqlDatabase`. */
function harness(own: { readonly mysql: MysqlServer }, isOfDatabase = false): ListerWatcherHarness<Row> {
  let cases = 0
  return {
    unsupported: { versions: 'a row has no version' },
    async create() {
      const server = own.mysql
      const database = `case_${isOfDatabase ? 'of_database' : 'alone'}_${++cases}`
      // Trailing spaces count in this collation.
      const collation = server.isMariadb ? 'utf8mb4_nopad_bin' : 'utf8mb4_0900_bin'
      await server.sql(`CREATE DATABASE ${database}; CREATE USER ${database}; GRANT REPLICATION SLAVE ON *.* TO ${database};
        GRANT SELECT ON ${database}.* TO ${database};
        CREATE TABLE ${database}.items (id VARCHAR(700) PRIMARY KEY, value LONGTEXT NOT NULL) COLLATE ${collation}`)
      const writers: Connection[] = []
      const free: Connection[] = []
      const begin = async (changes: readonly ConformanceChange[]): Promise<() => Promise<Version>> => {
        const of = free.pop() ?? (await server.connect({ database }))
        if (!writers.includes(of)) writers.push(of)
        await of.query('BEGIN')
        for (const { key, value } of changes) {
          if (value === undefined) await of.query('DELETE FROM items WHERE id = ?', [key])
          else await of.query('REPLACE INTO items VALUES (?, ?)', [key, value])
        }
        return async () => {
          await of.query('COMMIT')
          const mark = await alone.mark(of)
          free.push(of)
          return mark
        }
      }
      const write = async (changes: readonly ConformanceChange[]): Promise<Version> => (await begin(changes))()
      const connect = () => mysql.createConnection({ ...server.address, user: database, database })
      const table = { table: 'items', maxObjectBytes: MAX_ROW }
      const alone = mysqlSource<Row>({ connect, ...table })
      const ids = async (): Promise<unknown[]> =>
        (await server.sql(`SELECT id FROM information_schema.processlist WHERE user = '${database}'`)).map(
          ({ id }) => id,
        )
      return {
        source: isOfDatabase ? mysqlDatabase({ connect }).table<Row>(table) : alone,
        read: ({ value }) => value,
        refuses: (key) => {
          if (!key.isWellFormed()) return 'a text holds only whole characters'
          return key.length > 700 ? 'the key has 700 characters' : undefined
        },
        write,
        begin,
        compact: () => purge(server),
        restore: async () => {
          await sleep(1_100) // A binlog knows the second of its creation.
          await server.sql(server.isMariadb ? 'RESET MASTER' : 'RESET BINARY LOGS AND GTIDS')
        },
        corrupt: async (key) => void (await write([{ key, value: 'x'.repeat(MAX_ROW + 1) }])),
        disconnect: async () => {
          for (const id of await ids()) await server.sql(`KILL ${String(id)}`).catch(() => {})
        },
        connections: async () => (await ids()).length,
        dispose: async () => {
          for (const writer of writers) writer.destroy()
          await server.sql(`DROP DATABASE ${database}; DROP USER ${database}`)
        },
      }
    },
  }
}

describeMysql('a table of', async (server) => {
  const own = useMysql(server, { args: ['--loose-slave-connections-needed-for-purge=0'] })
  for (const form of drawn(['the server, followed alone', 'mysqlDatabase'], 'form'))
    await describeListerWatcher(form, harness(own, form === 'mysqlDatabase'))
})
