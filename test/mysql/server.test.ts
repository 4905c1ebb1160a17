import { expect, test } from 'vitest'
import { describeMysql } from '../servers/index.js'
import { MysqlServer } from '../servers/mysql.js'
import { useMysql } from './support.js'

describeMysql('a MariaDB or MySQL of our own', (server) => {
  const own = useMysql(server)
  const idOf = (mysql: MysqlServer) => mysql.sql(`SELECT @@${mysql.isMariadb ? 'server_uid' : 'server_uuid'} AS id`)

  test('is of the version asked for, has rows in its binary log, and listens on 127.0.0.1 only', async () => {
    const facts = `SELECT version() AS version, @@log_bin AS log, @@binlog_format AS format, @@bind_address AS address`
    expect(await own.mysql.sql(facts)).toEqual([
      { version: expect.stringContaining(server.version), log: 1, format: 'ROW', address: '127.0.0.1' },
    ])
  })

  test('has its committed rows, its id and its binary log after a kill and after a stop', async () => {
    const { mysql } = own
    await mysql.sql('CREATE TABLE kept (n INT PRIMARY KEY); INSERT INTO kept VALUES (42)')
    const id = await idOf(mysql)
    for (const end of ['kill', 'stop'] as const) {
      const connection = await mysql.connect()
      await connection.beginTransaction()
      await connection.query('INSERT INTO kept VALUES (1)')
      await mysql[end]()
      await expect(mysql.sql('SELECT 1')).rejects.toMatchObject({ code: 'ECONNREFUSED' })
      await mysql.start()
      expect(await mysql.sql('SELECT n FROM kept')).toEqual([{ n: 42 }])
      expect(await idOf(mysql)).toEqual(id)
    }
    // Each start begins another file.
    expect(await mysql.sql('SHOW BINARY LOGS')).toMatchObject([1, 2, 3].map((n) => ({ Log_name: `binlog.00000${n}` })))
  })

  test('begins with the data of another one that was stopped, and with an id of its own', async () => {
    await using first = await MysqlServer.start({ server })
    await first.sql('CREATE TABLE copied AS SELECT 7 AS n')
    const id = await idOf(first)
    await first.stop()
    await using second = await MysqlServer.start({ server, data: first.dataDir })
    expect(await second.sql('SELECT n FROM copied')).toEqual([{ n: 7 }])
    expect(await idOf(second)).not.toEqual(id)
  })

  test('names an option that it does not know', async () => {
    await expect(MysqlServer.start({ server, args: ['--no-such-option=1'] })).rejects.toThrow(/no-such-option/)
  })
})
