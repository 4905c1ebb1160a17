import { mysqlSource } from 'listwatch/mysql'
import mysql from 'mysql2/promise'
import { foundServer } from '../found-server.ts'
import { type Engine, ROWS, type Row } from './engine.ts'

/** A procedure commits each transaction: a client would wait for the answer of each. */
const SETUP = `SET SESSION cte_max_recursion_depth = ${ROWS};
CREATE TABLE bench (id INT PRIMARY KEY, tenant VARCHAR(20) NOT NULL, shelf INT NOT NULL, quantity INT NOT NULL, note VARCHAR(100) NOT NULL, sent DOUBLE NOT NULL, micros BIGINT NOT NULL);
INSERT INTO bench SELECT n, CONCAT('tenant-', n % 1000), n % 97, n % 10000, REPEAT('x', 100), 0, 0
  FROM (WITH RECURSIVE r AS (SELECT 0 AS n UNION ALL SELECT n + 1 FROM r WHERE n < ${ROWS - 1}) SELECT n FROM r) AS numbers;
CREATE PROCEDURE write_rows(first INT, total INT, together INT)
BEGIN
  DECLARE at INT DEFAULT first;
  WHILE at < first + total DO
    UPDATE bench SET shelf = (shelf + 31) % 97, quantity = (quantity + 7919) % 10000,
      micros = UNIX_TIMESTAMP(SYSDATE(6)) * 1000000, sent = micros / 1000
     WHERE id >= at AND id < at + together;
    SET at = at + together;
  END WHILE;
END`

export const mysqlTable: Engine = {
  together: [1, 100],
  mostLatency: 2,
  lanes: 4,
  async start() {
    const server = await foundServer('mysql 9.7')
    const { MysqlServer } = await import('../../test/servers/mysql.ts')
    const running = await MysqlServer.start({ server, args: ['--innodb-buffer-pool-size=256M'] })
    const client = await running.connect({ multipleStatements: true })
    await client.query(SETUP)
    return { address: running.url, [Symbol.asyncDispose]: () => running[Symbol.asyncDispose]() }
  },
  async connectWriter(address) {
    const client = await mysql.createConnection(address)
    return async (first, count, together) => {
      await client.query('CALL write_rows(?, ?, ?)', [first, count, together])
    }
  },
  source: (address) => mysqlSource<Row>({ connect: () => mysql.createConnection(address), table: 'bench' }),
  /** The reader of the binlog alone. The time of an update is part of what it takes for the key. */
  async follow(address, onRow) {
    const [{ openBinlog }, { TransactionReader }, { parseGtidSet }, { coreOf }, { systemClock }] = await Promise.all([
      import('../../dist/adapters/mysql/binlog/binlog-stream.js'),
      import('../../dist/adapters/mysql/binlog/transaction-reader.js'),
      import('../../dist/adapters/mysql/gtid.js'),
      import('../../dist/adapters/mysql/connection/mysql-client.js'),
      import('listwatch/adapter'),
    ])
    const client = await mysql.createConnection(address)
    const [rows] = await client.query<mysql.RowDataPacket[]>('SELECT @@global.gtid_executed AS gtids')
    const core = coreOf(client)
    if (core === undefined) throw new Error('mysql2 has another connection')
    const reader = new TransactionReader()
    const kind = { type: 'integer', isUnsigned: false } as const
    const key = [0, 6].map((ordinal) => ({ ordinal, kind }))
    reader.watch({ database: 'test', table: 'bench', columnCount: 7, key })
    const stream = openBinlog(core, {
      from: { after: parseGtidSet(String(rows[0]?.['gtids'])) ?? new Map() },
      reader,
      serverId: 4_000_000_000,
      heartbeatTimeoutMs: 10_000,
      signal: new AbortController().signal,
      clock: systemClock,
    })
    const row = { tenant: '', shelf: 0, quantity: 0, note: '' }
    void (async () => {
      for await (const items of stream)
        for (const item of items) {
          if (item.type !== 'transaction') continue
          for (const touched of item.tables.values()) {
            if (!('keys' in touched)) continue
            let isAfter = true
            for (const both of touched.keys) {
              // Each row has its key before the update and after it.
              isAfter = !isAfter
              if (isAfter) onRow({ ...row, sent: Number(both.slice(both.indexOf('/') + 1)) / 1_000 })
            }
          }
        }
    })()
  },
}
