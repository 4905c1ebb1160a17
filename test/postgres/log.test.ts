import { describe, expect, test } from 'vitest'
import { trimChangeLogs } from '../../adapters/postgres/index.js'
import { describePostgres } from '../servers/index.js'
import { failure } from '../support/failure.js'
import { type Database, errorOf, listed, nakedDelta, resumed, snapshotOf, useServer } from './support.js'

const TABLE = 'CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t SELECT g, 0 FROM generate_series(1, 20) g'
const AN_HOUR_LATER = `UPDATE listwatch.mark SET at = at - interval '61 minutes'`

describePostgres('the log', (postgres) => {
  const at = useServer(postgres)

  async function logged(db: Database): Promise<number> {
    return Number(await db.value(`SELECT count(*)::int FROM ${await db.log('t')}`))
  }

  describe('after a step of the clock', () => {
    /** A trim that believes the clock: the newest mark by time, and a floor that is whatever that mark says. */
    const NAIVE = `CREATE TABLE naive_mark AS SELECT at, snap FROM listwatch.mark;
      CREATE TABLE naive_state AS SELECT snap AS floor FROM listwatch.floor;
      CREATE FUNCTION naive_trim(keep interval) RETURNS void LANGUAGE plpgsql AS $$ DECLARE m naive_mark; BEGIN
        SELECT * INTO m FROM naive_mark WHERE at <= clock_timestamp() - keep ORDER BY at DESC LIMIT 1;
        UPDATE naive_state SET floor = m.snap;
        DELETE FROM naive_log WHERE pg_visible_in_snapshot(xid, m.snap);
        DELETE FROM naive_mark WHERE at < m.at; END $$`

    test('a floor that follows it goes back, and a reader resumes without an update; ours stays, and the version expires', async () => {
      const db = await at.installed(TABLE)
      const source = db.source({ table: 't' })
      // The clock of the first mark was an hour ahead of that of the second.
      await db.sql(`INSERT INTO listwatch.mark (at) VALUES (clock_timestamp() - interval '1 minute')`)
      const { version } = await listed(source)
      const snapshot = await snapshotOf(db)
      await db.sql('UPDATE t SET n = 1 WHERE id = 1')
      await db.sql(`INSERT INTO listwatch.mark (at) VALUES (clock_timestamp() - interval '61 minutes')`)
      await db.sql(`${NAIVE}; CREATE TABLE naive_log AS SELECT * FROM ${await db.log('t')}`)

      await db.sql(`SELECT naive_trim('30 minutes'); SELECT naive_trim('30 seconds')`)
      expect(await db.value('SELECT listwatch.covers($1, floor) FROM naive_state', [snapshot]), 'may resume').toBe(true)
      expect(await nakedDelta(db, 'naive_log', snapshot), 'and is reported').toEqual([])

      await trimChangeLogs(await db.connect(), 30 * 60)
      await trimChangeLogs(await db.connect(), 30)
      expect(await nakedDelta(db, await db.log('t'), snapshot)).toEqual([])
      expect(await errorOf(resumed(source, version))).toMatchObject(failure('VERSION_EXPIRED', '(trimmed)'))
    })

    test('a mark that is older than the floor leaves the floor unchanged', async () => {
      const db = await at.installed(TABLE)
      const old = await snapshotOf(db)
      await db.sql('UPDATE t SET n = 1')
      await trimChangeLogs(await db.connect(), 0)
      const floor = await db.value('SELECT array_agg(snap::text) FROM listwatch.floor')
      await db.sql(`DELETE FROM listwatch.mark; INSERT INTO listwatch.mark (at, snap) VALUES ('-infinity', '${old}')`)
      await trimChangeLogs(await db.connect(), 60)
      expect(await db.value('SELECT array_agg(snap::text) FROM listwatch.floor')).toEqual(floor)
    })
  })

  describe('trimmed', () => {
    test('keeps the changes of the last hour, and loses what is older', async () => {
      const db = await at.installed(TABLE)
      const client = await db.connect()
      await db.sql('UPDATE t SET n = 1 WHERE id <= 5')
      expect(await trimChangeLogs(client)).toBe(0)
      await db.sql(AN_HOUR_LATER)
      await db.sql('UPDATE t SET n = 2 WHERE id <= 3')
      expect(await trimChangeLogs(client)).toBe(5)
      expect(await logged(db)).toBe(3)
    })

    test('loses what others committed while a transaction is open for long, and keeps what that one writes', async () => {
      const db = await at.installed(TABLE)
      const long = await db.connect()
      await long.query('BEGIN; UPDATE t SET n = 1 WHERE id = 1')
      await db.sql('UPDATE t SET n = 2 WHERE id > 10')
      expect(await trimChangeLogs(await db.connect(), 0)).toBe(10)
      await long.query('COMMIT')
      // It was running at the place that the log is trimmed to.
      expect(await trimChangeLogs(await db.connect())).toBe(0)
      expect(await logged(db)).toBe(1)
    })

    test('keeps what a reader needs for whom a transaction was running, and no longer is', async () => {
      const db = await at.installed(TABLE)
      const source = db.source({ table: 't' })
      const long = await db.connect()
      await long.query('BEGIN; UPDATE t SET n = 1 WHERE id = 1')
      await trimChangeLogs(await db.connect(), 0)
      const { version } = await listed(source)
      await long.query('COMMIT')
      expect((await resumed(source, version)).events).toEqual([{ type: 'put', key: '1', object: { id: 1, n: 1 } }])
    })

    test('by a reader is trimmed a little at a time', async () => {
      const db = await at.installed(TABLE)
      await db.sql('INSERT INTO t SELECT g, 0 FROM generate_series(21, 15000) g')
      await trimChangeLogs(await db.connect())
      await db.sql(AN_HOUR_LATER)
      await db.sql('UPDATE t SET n = 1 WHERE id = 1')
      expect(await db.value('SELECT listwatch.tend()')).toBe('10000')
      expect(await db.value('SELECT listwatch.tend()')).toBe('4980')
    })

    test('loses rows only once, if two sessions trim it at a time', async () => {
      const db = await at.installed(TABLE)
      await db.sql('UPDATE t SET n = 1')
      const other = await db.connect()
      await other.query(`BEGIN; SELECT listwatch.trim('0 s')`)
      expect(await trimChangeLogs(await db.connect(), 0)).toBe(0)
      await other.query('ROLLBACK')
      expect(await logged(db)).toBe(20)
    })
  })

  test('that cannot be written fails the statement of its writer: no change is without a trace', async () => {
    const db = await at.installed(TABLE)
    // Stands for a disk that is full, and whatever else keeps a row from being inserted.
    await db.sql(`ALTER TABLE ${await db.log('t')} ADD CHECK (false) NOT VALID`)
    expect(await errorOf(db.sql('UPDATE t SET n = 1'))).toMatchObject({ code: '23514' })
    expect(await db.value('SELECT max(n) FROM t')).toBe(0)
  })

  describe('of a table without a mirror', () => {
    /** One statement that logs 5 000 keys of 900 characters each: 5 MB. */
    const WRITE = 'UPDATE t SET n = n + 1'
    const KEYS = 5_000

    async function written(times: number): Promise<Database> {
      const db = await at.installed(
        `CREATE TABLE t (id text PRIMARY KEY, n int); INSERT INTO t SELECT g || repeat('x', 900), 0 FROM generate_series(1, ${KEYS}) g`,
      )
      for (let n = 0; n < times; n++) await db.sql(WRITE)
      return db
    }

    test('does not grow without limit: beyond 16 MB its writers remove rows that are older than an hour', async () => {
      const db = await written(5)
      expect(await logged(db), 'all of it, as long as it is young').toBe(5 * KEYS)
      for (let hour = 1; hour <= 5; hour++) {
        await db.sql(AN_HOUR_LATER)
        await db.sql(WRITE)
        // The marks that it is trimmed up to are 10 s apart, so the last writes before an hour may stay for another one.
        expect(await logged(db), `after ${hour} hours`).toBeLessThanOrEqual(hour === 1 ? 3 * KEYS : 2 * KEYS)
      }
    })

    test('is not trimmed below 16 MB', async () => {
      const db = await written(1)
      await trimChangeLogs(await db.connect())
      await db.sql(AN_HOUR_LATER)
      await db.sql(WRITE)
      expect(await logged(db)).toBe(2 * KEYS)
    })

    test('does not fail the statement of a writer whose trim fails', async () => {
      const db = await written(4)
      await db.sql(AN_HOUR_LATER)
      const other = await db.connect()
      await other.query('BEGIN; LOCK TABLE listwatch.floor')
      await db.sql(`SET lock_timeout = '200ms'; ${WRITE}`)
      await other.query('ROLLBACK')
      expect(await db.value('SELECT max(n) FROM t')).toBe(5)
    })

    test('is not trimmed by transactions that would fail because of the changes of a trim', async () => {
      const db = await written(4)
      await db.sql(AN_HOUR_LATER)
      const writer = await db.connect()
      await writer.query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM t')
      await trimChangeLogs(await db.connect(), 0)
      await writer.query(`${WRITE}; COMMIT`)
      expect(await db.value('SELECT max(n) FROM t')).toBe(5)
    })
  })
})
