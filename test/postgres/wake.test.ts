import { Client } from 'pg'
import { describe, expect, test } from 'vitest'
import type { ChangeLogOptions } from '../../adapters/postgres/index.js'
import { WAKE_BLOCK } from '../../adapters/postgres/schema/wake-sql.js'
import { describePostgres } from '../servers/index.js'
import { waitUntil } from '../servers/wait-until.js'
import { type Database, expectMirrorEqualsTable, expectMirrored, type Mirror, mirror, useServer } from './support.js'

const TABLE = 'CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t VALUES (1, 1), (2, 2)'
/** So long that whatever arrives in the time of a test was announced. */
const NEVER_MS = 600_000
const LOCKS = `SELECT count(*)::int AS locks FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()`

async function notes(db: Database): Promise<string[]> {
  const heard: string[] = []
  const client = await db.connect()
  client.on('notification', ({ payload = '' }) => heard.push(payload))
  await client.query('LISTEN listwatch')
  return heard
}

/** The wake-ups that some SQL leads to. */
async function heardOf(db: Database, sql: string): Promise<string[]> {
  const heard = await notes(db)
  await db.sql(sql)
  await db.sql('NOTIFY listwatch, $$end$$')
  await waitUntil('the end', () => heard.at(-1) === 'end')
  return heard.slice(0, -1)
}

describePostgres('waking', (postgres) => {
  const at = useServer(postgres)

  describe('a writer', () => {
    /** Statements in one transaction, each in a time bucket of its own. Returns the number of advisory locks at its end. */
    async function locksOf(db: Database, statement: string): Promise<number> {
      const client = await db.connect()
      await client.query('BEGIN')
      for (let n = 0; n < 5; n++) await client.query(`${statement}; SELECT pg_sleep(0.026)`)
      const { rows } = await client.query(LOCKS)
      await client.query('COMMIT')
      return rows[0].locks
    }

    test('[P6] that takes a lock in each time bucket ends with as many locks as it had buckets; ours has none', async () => {
      const db = await at.installed(`${TABLE}; CREATE TABLE naive (id int); INSERT INTO naive VALUES (1);
      CREATE FUNCTION naive() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF pg_try_advisory_xact_lock(1, ((extract(epoch FROM clock_timestamp()) * 40.0)::int8 & 2147483647)::int4) THEN PERFORM pg_notify('naive', ''); END IF;
        RETURN NULL; END $$;
      CREATE TRIGGER naive AFTER UPDATE ON naive FOR EACH STATEMENT EXECUTE FUNCTION naive()`)
      expect(await locksOf(db, 'UPDATE naive SET id = id')).toBeGreaterThan(3)
      expect(await locksOf(db, 'UPDATE t SET n = n')).toBe(0)
    })

    const cases: readonly (readonly [string, string, string[], Partial<ChangeLogOptions>?])[] = [
      [
        'wakes readers once for each transaction',
        'BEGIN; UPDATE t SET n = 1; UPDATE t SET n = 2; DELETE FROM t; COMMIT',
        [''],
      ],
      [
        'wakes readers although the clock was set back after the last wake-up',
        `SELECT setval('listwatch.announced', ((extract(epoch FROM clock_timestamp()) + 3600.0) * 1000.0)::int8); UPDATE t SET n = 1`,
        [''],
      ],
      [
        'wakes readers even if a savepoint rolled the first wake-up back',
        'BEGIN; SAVEPOINT s; UPDATE t SET n = 1; ROLLBACK TO s; UPDATE t SET n = 2; COMMIT',
        [''],
      ],
      ['wakes no reader if it changes no row', 'UPDATE t SET n = 1 WHERE false', []],
      [`with wake: 'none' wakes no reader`, 'UPDATE t SET n = 1', [], { wake: 'none' }],
    ]

    test.for(cases)('%s', async ([, sql, expected, options]) => {
      expect(await heardOf(await at.installed(TABLE, options), sql)).toEqual(expected)
    })

    test.each([1, 8])('[P6] wakes readers at most 40 times a second, however many write: %i', async (writers) => {
      const db = await at.installed(`${TABLE}; INSERT INTO t SELECT g, 0 FROM generate_series(3, 100) g`)
      const heard = await notes(db)
      const began = performance.now()
      let commits = 0
      await Promise.all(
        Array.from({ length: writers }, async (_, writer) => {
          const client = await db.connect()
          while (performance.now() - began < 2_000) {
            await client.query(`UPDATE t SET n = n + 1 WHERE id = ${writer + 1}`)
            commits++
          }
        }),
      )
      const seconds = (performance.now() - began) / 1_000
      expect(heard.length).toBeGreaterThan(0)
      // Each of the first transactions that run at the same time may notify: none of them has committed yet.
      expect(heard.length).toBeLessThanOrEqual(40 * seconds + 2 * writers)
      expect(commits / seconds).toBeGreaterThan(50)
    })

    test('wakes readers although another transaction that woke them was rolled back', async () => {
      const db = await at.installed(TABLE)
      for (let n = 0; n < 20; n++) {
        expect(await heardOf(db, 'BEGIN; UPDATE t SET n = 1; ROLLBACK; UPDATE t SET n = 2')).toContain('')
        await db.sql('SELECT pg_sleep(0.3)')
      }
    })

    test('wakes readers although the last claim, of a restored dump, is of a transaction that does not exist yet', async () => {
      const db = await at.installed(TABLE)
      const claim = `((extract(epoch FROM clock_timestamp()) * 1000.0)::int8 & 16777215) << 39
        | 274877906944 | pg_current_xact_id()::text::int8 + 1000`
      for (let n = 0; n < 5; n++) {
        const sql = `DO $$ BEGIN PERFORM setval('listwatch.claimed', ${claim}); UPDATE t SET n = n + 1; END $$`
        expect(await heardOf(db, sql)).toEqual([''])
      }
    })

    test.each([
      ['wakes readers too, if they may be asleep', 274877906944, ['']],
      ['relies on it if readers are awake', 0, []],
    ])('whose claim comes at the same moment as another one %s', async (_what, first, expected) => {
      const db = await at.installed(TABLE)
      const late = WAKE_BLOCK.replace(/(?<=claim pg_catalog\.int8 := )[^;]+/, '0')
      expect(late).not.toBe(WAKE_BLOCK)
      await db.sql(`SELECT setval('listwatch.claimed', ${first + 5})`)
      // The search path of the trigger functions.
      const sql = `SET LOCAL search_path = pg_catalog, pg_temp; DO $$ BEGIN ${late} END $$`
      expect(await heardOf(db, sql)).toEqual(expected)
      expect(Number(await db.value('SELECT last_value FROM listwatch.claimed'))).toBe(first + 5)
    })

    test('is not held up by another that woke readers and has not committed', async () => {
      const db = await at.installed(TABLE)
      const heard = await notes(db)
      const slow = await db.connect()
      await slow.query('BEGIN; UPDATE t SET n = 1 WHERE id = 1')
      await waitUntil('another time bucket, and the wake-up', async () => {
        await db.sql('UPDATE t SET n = 2 WHERE id = 2')
        return heard.length > 0
      })
      await slow.query('ROLLBACK')
    })

    test(`with wake: 'each' wakes readers in every transaction`, async () => {
      const db = await at.installed(TABLE, { wake: 'each' })
      const heard = await notes(db)
      for (let n = 0; n < 5; n++) await db.sql(`UPDATE t SET n = ${n}`)
      await waitUntil('all', () => heard.length === 5)
    })

    test('needs no right on the schema of listwatch', async () => {
      const db = await at.installed((name) => `${TABLE}; CREATE ROLE ${name}_writer; GRANT ALL ON t TO ${name}_writer`)
      const rows = await mirror(db, { table: 't' })
      await db.sql(
        `SET ROLE ${db.name}_writer; INSERT INTO t VALUES (3, 3); UPDATE t SET n = 9; DELETE FROM t WHERE id = 1; RESET ROLE`,
      )
      await expectMirrorEqualsTable(rows)
    })

    test('may have another search path', async () => {
      const db =
        await at.installed(`${TABLE}; CREATE SCHEMA trap; CREATE FUNCTION trap.pg_notify(text, text) RETURNS void LANGUAGE plpgsql AS $$ BEGIN RAISE 'trapped'; END $$;
      CREATE FUNCTION trap.clock_timestamp() RETURNS timestamptz LANGUAGE plpgsql AS $$ BEGIN RAISE 'trapped'; END $$`)
      const rows = await mirror(db, { table: 't' })
      await expectMirrored(rows, 'SET search_path = trap, pg_catalog; UPDATE public.t SET n = 9; RESET search_path')
    })
  })

  describe('a reader', () => {
    async function awake(db: Database, pollIntervalMs: number): Promise<Mirror> {
      const rows = await mirror(db, { table: 't', pollIntervalMs })
      await waitUntil('the self-test', () => rows.source.waking === 'notify')
      return rows
    }

    test('is woken by a commit', async () => {
      const db = await at.installed(TABLE)
      const rows = await awake(db, NEVER_MS)
      await db.sql('UPDATE t SET n = 42 WHERE id = 1')
      await rows.informer.until('1', (row) => row?.['n'] === 42, { timeoutMs: 60_000 })
    })

    test('receives a commit without its own wake-up soon after the one with it', async () => {
      const db = await at.installed(TABLE)
      const rows = await awake(db, 1_000)
      const [one, two] = [await db.connect(), await db.connect()]
      await Promise.all([
        one.query('BEGIN; UPDATE t SET n = 42 WHERE id = 1'),
        two.query('BEGIN; UPDATE t SET n = 42 WHERE id = 2'),
      ])
      await one.query('COMMIT')
      await two.query('COMMIT')
      await rows.informer.until('1', (row) => row?.['n'] === 42, { timeoutMs: 60_000 })
      await rows.informer.until('2', (row) => row?.['n'] === 42, { timeoutMs: 60_000 })
    })

    test('[P7] sees the last change before quiet soon, however it was written', async () => {
      const db = await at.installed(TABLE)
      const rows = await awake(db, NEVER_MS)
      const writers = await Promise.all(Array.from({ length: 4 }, () => db.connect()))
      for (let burst = 1; burst <= 20; burst++) {
        await Promise.all(
          writers.map(async (writer, id) => {
            for (let n = 0; n < burst; n++) {
              await writer.query(
                `BEGIN; UPDATE t SET n = n + 1 WHERE id = ${(id % 2) + 1}; ${n % 3 === 0 ? 'ROLLBACK' : 'COMMIT'}`,
              )
            }
            await writer.query(`UPDATE t SET n = ${burst} WHERE id = ${(id % 2) + 1}`)
          }),
        )
        for (const id of ['1', '2']) await rows.informer.until(id, (row) => row?.['n'] === burst, { timeoutMs: 5_000 })
      }
    })

    test(`with wake: 'poll' never listens, and sees a commit when it looks the next time`, async () => {
      const db = await at.installed(TABLE)
      const said: string[] = []
      const rows = await mirror(db, {
        table: 't',
        wake: 'poll',
        pollIntervalMs: 100,
        connect: () => overheard(db, said),
      })
      await db.sql('UPDATE t SET n = 42 WHERE id = 1')
      await rows.informer.until('1', (row) => row?.['n'] === 42, { timeoutMs: 60_000 })
      expect([rows.source.waking, said.filter((each) => /LISTEN|notify/i.test(each))]).toEqual(['poll', []])
    })

    test('whom no notification reaches stops to listen, and looks by itself', async () => {
      const db = await at.installed(TABLE)
      const said: string[] = []
      const client = (): Client => {
        const deaf = overheard(db, said)
        const { on } = deaf
        deaf.on = (event: string, listener: (...args: never[]) => void) =>
          event === 'notification' ? deaf : Reflect.apply(on, deaf, [event, listener])
        return deaf
      }
      const rows = await mirror(db, { table: 't', pollIntervalMs: 100, connect: client })
      await waitUntil('the end of listening', () => said.includes('UNLISTEN listwatch'))
      await db.sql('UPDATE t SET n = 42 WHERE id = 1')
      await rows.informer.until('1', (row) => row?.['n'] === 42, { timeoutMs: 60_000 })
      expect(rows.source.waking).toBe('poll')
    })

    test('ignores notifications of other programs', async () => {
      const db = await at.installed(TABLE)
      const rows = await mirror(db, { table: 't' })
      await db.sql(
        `SELECT pg_notify('listwatch', x) FROM (VALUES ('test:1'), ('{"op":"delete","id":1}'), (repeat('x', 7999))) v(x)`,
      )
      await expectMirrorEqualsTable(rows)
      expect([rows.fold.changes.length, rows.errors]).toEqual([2, []])
    })

    test('says undefined while no watch is open', async () => {
      const db = await at.installed(TABLE)
      const rows = await mirror(db, { table: 't' })
      await rows.informer.stop()
      await waitUntil('the end of the watch', () => rows.source.waking === undefined)
    })
  })
})

/** A client that records its statements. */
function overheard(db: Database, said: string[]): Client {
  const client = new Client(db.config())
  const { query } = client
  client.query = ((...args: readonly unknown[]) => {
    const [config] = args
    said.push(typeof config === 'string' ? config : String(Object(config).text))
    return Reflect.apply(query, client, args)
  }) as typeof client.query
  return client
}
