import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'
import { installChangeLog, trimChangeLogs } from '../../adapters/postgres/index.js'
import type { Version } from '../../src/index.js'
import { runProgram } from '../../tools/postgres/run-program.js'
import { describePostgres } from '../servers/index.js'
import { Database, errorOf, expectMirrorEqualsTable, listed, mirror, resumed, useServer } from './support.js'

const TABLE = 'CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t SELECT g, 0 FROM generate_series(1, 20) g'
/** As many transactions as a cluster that has been in use is ahead of one that is new. */
const AGE = 'DO $$ BEGIN FOR i IN 1..5000 LOOP PERFORM pg_current_xact_id(); COMMIT; END LOOP; END $$'
const IS_COVERED = 'SELECT bool_and(listwatch.covers(pg_current_snapshot(), snap)) FROM listwatch.floor'

describePostgres('a database that is copied', (postgres) => {
  const at = useServer(postgres)

  describe('by a dump into another cluster', () => {
    const elsewhere = useServer(postgres)

    /** A database with a past: a floor, marks, and log rows, all in transaction ids of its own cluster. */
    async function original(): Promise<{ readonly db: Database; readonly version: Version }> {
      const db = await at.installed(TABLE)
      await db.sql(AGE)
      await db.sql('UPDATE t SET n = 1')
      await trimChangeLogs(await db.connect(), 0)
      await db.sql('UPDATE t SET n = 2')
      return { db, version: (await listed(db.source({ table: 't' }))).version }
    }

    /** What a dump carries of us, carried by hand: the rows of state, floor, marks and log, and the comment on the log. */
    async function restoredByHand(db: Database): Promise<Database> {
      const copy = await elsewhere.database()
      await copy.sql(TABLE)
      await copy.install('t')
      const log = await copy.log('t')
      await copy.sql('UPDATE t SET n = 2; TRUNCATE listwatch.state, listwatch.floor, listwatch.mark')
      await copy.sql(`TRUNCATE ${log}`)
      const comment = await db.value(`SELECT quote_literal(obj_description($1::regclass))`, [await db.log('t')])
      await copy.sql(`COMMENT ON TABLE ${log} IS ${comment}`)
      for (const [from, to] of [
        ['listwatch.state', 'listwatch.state'],
        ['listwatch.floor', 'listwatch.floor'],
        ['listwatch.mark', 'listwatch.mark'],
        [await db.log('t'), log],
      ]) {
        const rows = await db.value(`SELECT json_agg(row_to_json(x)) FROM ${from} x`)
        const into = `INSERT INTO ${to} OVERRIDING SYSTEM VALUE SELECT * FROM json_populate_recordset(NULL::${to}, $1)`
        if (rows !== null) await copy.sql(into, [JSON.stringify(rows)])
      }
      return copy
    }

    async function restoredByPgDump(db: Database): Promise<Database> {
      const { host, port, user, database } = db.config()
      const args = ['--inserts', `postgres://${user}@${host}:${port}/${database}`]
      const env = { ...process.env, ...postgres.env }
      const dump = await runProgram(join(postgres.binDir, 'pg_dump'), args, { env })
      const copy = await elsewhere.database()
      const client = await copy.connect()
      await client.query(dump.replaceAll(/^\\.*$/gm, '')) // What is meant for psql.
      return copy
    }

    async function expectUsable(copy: Database, version: Version): Promise<void> {
      expect(await copy.value(IS_COVERED), 'whether a version of now may be resumed from, by the floor that came').toBe(
        false,
      )
      const rows = await mirror(copy, { table: 'public.t' })
      await copy.sql('UPDATE public.t SET n = 3 WHERE id = 1; DELETE FROM public.t WHERE id = 2')
      await expectMirrorEqualsTable(rows)
      expect([rows.informer.status.relists, rows.errors]).toEqual([0, []])
      expect(await errorOf(resumed(copy.source({ table: 'public.t' }), version))).toMatchObject({
        code: 'EPOCH_CHANGED',
      })
    }

    test('has a floor that its own transactions have not reached; a mirror seeds it again and lists once', async () => {
      const { db, version } = await original()
      await expectUsable(await restoredByHand(db), version)
    })

    test.skipIf(!existsSync(join(postgres.binDir, 'pg_dump')))('so is one that pg_dump has written', async () => {
      const { db, version } = await original()
      await expectUsable(await restoredByPgDump(db), version)
    })

    test('is also seeded again by another installation', async () => {
      const { db } = await original()
      const copy = await restoredByHand(db)
      await copy.install('t')
      expect(await copy.value(IS_COVERED)).toBe(true)
    })

    test('keeps its state when a writer takes a mark, which the next list has reached', async () => {
      const { db } = await original()
      const copy = await restoredByHand(db)
      const source = copy.source({ table: 't' })
      const tx = await copy.connect()
      await tx.query('BEGIN')
      const mark = await source.mark(tx)
      await tx.query('COMMIT')
      expect(await copy.value(IS_COVERED)).toBe(false)
      expect(source.hasReached((await listed(source)).version, mark)).toBe(true)
    })
  })

  test('as a template has the epoch of the original, whose versions it refuses all the same', async () => {
    const name = `original_${postgres.version.split('.')[0]}`
    const admin = await at.prepared(`CREATE DATABASE ${name}`)
    const dropped = (database: string): Promise<unknown> =>
      briefly(new Database('postgres', at.server.port), (client) =>
        client.query(`DROP DATABASE ${database} WITH (FORCE)`),
      )
    onTestFinished(() => dropped(name).then(() => {}))
    const db = new Database(name, at.server.port)
    await briefly(db, async (client) => {
      await client.query(TABLE)
      await installChangeLog(client, { table: 't' })
    })
    const { version } = await listed(db.source({ table: 't' }))
    await admin.sql(`CREATE DATABASE ${name}_copy TEMPLATE ${name}`)
    onTestFinished(() => dropped(`${name}_copy`).then(() => {}))
    const copy = new Database(`${name}_copy`, at.server.port)
    const epoch = await briefly(copy, async (client) => (await client.query('SELECT epoch FROM listwatch.state')).rows)
    expect(version).toContain(epoch[0].epoch)
    expect(await errorOf(resumed(copy.source({ table: 't' }), version))).toMatchObject({ code: 'EPOCH_CHANGED' })
    const rows = await mirror(copy, { table: 't' })
    await briefly(copy, (client) => client.query('UPDATE t SET n = 3 WHERE id = 1'))
    await expectMirrorEqualsTable(rows)
    expect([rows.informer.status.relists, rows.errors]).toEqual([0, []])
  })
})

/** A short connection: a template must have none. */
async function briefly<V>(database: Database, work: (client: Client) => Promise<V>): Promise<V> {
  const client = new Client(database.config())
  await client.connect()
  await using _ = { [Symbol.asyncDispose]: () => client.end() }
  return await work(client)
}
