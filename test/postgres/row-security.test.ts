import { Client } from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'
import { CopyOut } from '../../adapters/postgres/connection/copy-out-stream.js'
import { createInformer } from '../../src/index.js'
import { describePostgres } from '../servers/index.js'
import { waitUntil } from '../servers/wait-until.js'
import { failure } from '../support/failure.js'
import {
  errorOf,
  expectMirrorEqualsTable,
  expectMirrored,
  mirror,
  nakedDelta,
  snapshotOf,
  type TestSourceOptions,
  useServer,
} from './support.js'

const ROWS = `CREATE TABLE t (id int PRIMARY KEY, n int, note text); INSERT INTO t VALUES (1, 10, 'one'), (2, 20, 'two')`
const SECURED = 'ALTER TABLE t ENABLE ROW LEVEL SECURITY; CREATE POLICY p ON t USING (n = 10)'

describePostgres('row security', (postgres) => {
  const at = useServer(postgres)

  /** A table, and a role that may mirror it. */
  async function readBy(setup: (reader: string) => string) {
    const db = await at.prepared((name) => `${ROWS}; CREATE ROLE ${name}_reader LOGIN; ${setup(`${name}_reader`)}`)
    const reader = `${db.name}_reader`
    await db.install('t', { grant: [reader] })
    return { db, reader }
  }

  describe('of the reader of a mirror', () => {
    /** A reader who sees the rows of the teams that it is in. */
    const secured = (policy: string): ReturnType<typeof readBy> =>
      readBy(
        (
          reader,
        ) => `CREATE TABLE membership (who text, n int); INSERT INTO membership VALUES ('${reader}', 10); GRANT SELECT ON membership TO PUBLIC;
      ALTER TABLE t ENABLE ROW LEVEL SECURITY; CREATE POLICY p ON t USING (${policy})`,
      )
    const ACROSS = 'EXISTS (SELECT FROM membership m WHERE m.who = current_user AND m.n = t.n)'

    test('a policy that reads another table takes rows away without a trace in the log: it is refused', async () => {
      const { db, reader: role } = await secured(ACROSS)
      const reader = await db.connect({ user: role })
      const snapshot = await snapshotOf(db)
      expect((await reader.query('SELECT id FROM t')).rows).toEqual([{ id: 1 }])
      await db.sql('DELETE FROM membership')
      expect((await reader.query('SELECT id FROM t')).rows).toEqual([])
      expect(await nakedDelta(db, await db.log('t'), snapshot)).toEqual([])

      const error = await errorOf(mirror(db, { table: 't', connection: { user: role } }))
      expect(error).toMatchObject(failure('UNAUTHORIZED', `rls: 'row-local'`))
      // A reader to whom it does not apply is not bothered.
      expect((await mirror(db, { table: 't' })).informer.size).toBe(2)
    })

    test(`with rls: 'row-local' the reader sees its rows, which come and go as they change, and another policy is one relist`, async () => {
      const { db, reader: role } = await secured('n = 10')
      const rows = await mirror(db, { table: 't', rls: 'row-local', connection: { user: role } })
      expect([...rows.informer.keys()]).toEqual(['1'])
      await expectMirrored(rows, 'UPDATE t SET n = 30 - n')
      expect([[...rows.informer.keys()], rows.informer.status.relists]).toEqual([['2'], 0])
      await expectMirrored(rows, 'ALTER POLICY p ON t USING (n = 20)')
      expect([[...rows.informer.keys()], rows.informer.status.relists]).toEqual([['1'], 1])
    })

    test('[P17] a function that a policy calls and that is replaced arrives by one relist', async () => {
      const visible = (n: number): string =>
        `CREATE OR REPLACE FUNCTION visible(n int) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT n = ${n}'`
      const { db, reader: role } = await readBy(
        () => `${visible(10)}; ALTER TABLE t ENABLE ROW LEVEL SECURITY; CREATE POLICY p ON t USING (visible(n))`,
      )
      const rows = await mirror(db, { table: 't', rls: 'row-local', connection: { user: role } })
      await expectMirrored(rows, visible(20))
      expect([[...rows.informer.keys()], rows.informer.status.relists]).toEqual([['2'], 1])
    })
  })

  interface Revocation {
    readonly name: string
    /** Run as superuser. `reader` sees all rows then. */
    readonly setup: (reader: string) => string
    /** After this the policy applies to `reader`. */
    readonly revoke: (reader: string) => string
    readonly restore: (reader: string) => string
  }

  const owning = (reader: string): string =>
    `${SECURED}; CREATE ROLE ${reader}_team; GRANT ${reader}_team TO ${reader}; ALTER TABLE t OWNER TO ${reader}_team`

  const revocations: readonly [Revocation, ...Revocation[]] = [
    {
      name: 'ALTER ROLE NOBYPASSRLS',
      setup: (reader) => `${SECURED}; ALTER ROLE ${reader} BYPASSRLS`,
      revoke: (reader) => `ALTER ROLE ${reader} NOBYPASSRLS`,
      restore: (reader) => `ALTER ROLE ${reader} BYPASSRLS`,
    },
    {
      name: 'ALTER TABLE OWNER TO',
      setup: owning,
      revoke: () => 'ALTER TABLE t OWNER TO postgres',
      restore: (reader) => `ALTER TABLE t OWNER TO ${reader}_team`,
    },
    {
      name: 'REVOKE of the role that owns the table',
      setup: owning,
      revoke: (reader) => `REVOKE ${reader}_team FROM ${reader}`,
      restore: (reader) => `GRANT ${reader}_team TO ${reader}`,
    },
    {
      name: 'FORCE ROW LEVEL SECURITY',
      setup: owning,
      revoke: () => 'ALTER TABLE t FORCE ROW LEVEL SECURITY',
      restore: () => 'ALTER TABLE t NO FORCE ROW LEVEL SECURITY',
    },
    {
      name: 'ENABLE ROW LEVEL SECURITY',
      setup: () => 'CREATE POLICY p ON t USING (n = 10)',
      revoke: () => 'ALTER TABLE t ENABLE ROW LEVEL SECURITY',
      restore: () => 'ALTER TABLE t DISABLE ROW LEVEL SECURITY',
    },
  ]

  describe('that begins to apply', () => {
    /** A mirror whose server process has cached the plan of its deltas while all rows were visible. */
    async function unrestricted({ setup }: Revocation, options: Partial<TestSourceOptions> = {}) {
      const { db, reader } = await readBy(setup)
      const rows = await mirror(db, { table: 't', connection: { user: reader }, ...options })
      for (let n = 3; n < 10; n++) {
        await db.sql(`INSERT INTO t VALUES (${n}, 20, 'warm')`)
        await rows.informer.fresh({ timeoutMs: 15_000 })
      }
      expect([rows.informer.size, rows.informer.status.relists]).toEqual([9, 0])
      return { ...rows, reader }
    }

    test.each(revocations)(
      '[P2] through $name makes the mirror fail with UNAUTHORIZED, and no hidden row is delivered',
      async (revocation) => {
        const { revoke, restore } = revocation
        const rows = await unrestricted(revocation)
        const { database, informer, fold, reader } = rows
        await database.sql(revoke(reader))
        await database.sql(`INSERT INTO t VALUES (100, 20, 'hidden'); UPDATE t SET note = 'hidden' WHERE id = 2`)
        await waitUntil('the failure', () => informer.status.state === 'failed')
        expect(informer.status.lastError).toMatchObject(failure('UNAUTHORIZED', `rls: 'row-local'`))
        expect([fold.objects.has('100'), informer.get('2')?.['note']]).toEqual([false, 'two'])
        await database.sql(restore(reader))
        await waitUntil('the rows to be back', () => informer.get('2')?.['note'] === 'hidden')
        await expectMirrorEqualsTable(rows)
      },
    )

    test("[C25] with onAccessLost: 'clear' deletes all rows from the mirror until access is back", async () => {
      const [revoked] = revocations
      const { revoke, restore } = revoked
      const { database, options, reader } = await unrestricted(revoked)
      const source = database.source(options)
      const informer = createInformer({ source, onAccessLost: 'clear', random: { next: () => 0 } })
      onTestFinished(() => informer.stop())
      informer.on('error', () => {})
      const deleted: string[] = []
      informer.subscribe({ delete: ({ key }) => void deleted.push(key) })
      informer.start()
      await informer.synced({ timeoutMs: 15_000 })
      await database.sql(revoke(reader))
      await database.sql(`UPDATE t SET note = 'hidden' WHERE id = 2`)
      await waitUntil('the mirror to be empty', () => informer.size === 0)
      await waitUntil('the deletes to be delivered', () => deleted.length === 9)
      await database.sql(restore(reader))
      await waitUntil('the rows to be back', () => informer.get('2')?.['note'] === 'hidden')
      expect(informer.size).toBe(9)
    })

    const ofRoleAndTable = revocations.filter(({ name }) => /^(ALTER ROLE|ENABLE)/.test(name))
    test.each(ofRoleAndTable)(
      `[P3] through $name with rls: 'row-local' takes hidden rows away by one relist, and brings them back by another`,
      async (revocation) => {
        const { revoke, restore } = revocation
        const rows = await unrestricted(revocation, { rls: 'row-local' })
        const { database, informer, fold, reader } = rows
        await database.sql(revoke(reader))
        await database.sql(`INSERT INTO t VALUES (100, 20, 'hidden'), (101, 10, 'visible')`)
        await expectMirrorEqualsTable(rows)
        expect([[...informer.keys()], informer.status.relists]).toEqual([['1', '101'], 1])
        expect(fold.objects.has('100')).toBe(false)
        await database.sql(restore(reader))
        await expectMirrorEqualsTable(rows)
        expect([informer.size, informer.status.relists]).toEqual([11, 2])
      },
    )
  })

  const unlocked = revocations.filter(({ name }) => /role/i.test(name))
  test.each(unlocked)(
    '[P2] that begins to apply through $name, between the version of a list and its rows, hides no row',
    async ({ setup, revoke }) => {
      const { db, reader } = await readBy(setup)
      let isRevoking = false
      const client = (): Client => {
        const made = new Client(db.config({ user: reader }))
        const query = made.query.bind(made) as (...args: readonly unknown[]) => unknown
        made.query = ((...args: readonly unknown[]) => {
          const isCopy = args[0] instanceof CopyOut
          if (!isCopy || !isRevoking) return query(...args)
          return db.sql(revoke(reader)).then(() => query(...args))
        }) as typeof made.query
        return made
      }
      const { informer, fold } = await mirror(db, { table: 't', connect: client })
      isRevoking = true
      const relist = informer.relist({ timeoutMs: 60_000 })
      relist.catch(() => {}) // The test ends before the right is back.
      await waitUntil('the failure', () => informer.status.state === 'failed')
      expect([informer.status.lastError?.code, informer.size, fold.objects.size]).toEqual(['UNAUTHORIZED', 2, 2])
      expect(informer.status.lastError?.message).not.toContain('--grant')
    },
  )

  test('of another policy, after the reader became a member of the role that the policy is for, leads to one relist', async () => {
    const { db, reader } = await readBy(
      (name) => `CREATE ROLE ${name}_team; ${SECURED}; CREATE POLICY team ON t TO ${name}_team USING (n = 20)`,
    )
    const rows = await mirror(db, { table: 't', rls: 'row-local', connection: { user: reader } })
    expect([...rows.informer.keys()]).toEqual(['1'])
    await expectMirrored(rows, `GRANT ${reader}_team TO ${reader}`)
    expect([rows.informer.size, rows.informer.status.relists]).toEqual([2, 1])
    await expectMirrored(rows, `REVOKE ${reader}_team FROM ${reader}`)
    expect([[...rows.informer.keys()], rows.informer.status.relists]).toEqual([['1'], 2])
  })

  test('that does not apply to the reader lets a mirror resume under another role', async () => {
    const db = await at.database()
    const roles = ['first', 'second'].map((name) => `${db.name}_${name}`)
    for (const role of roles) await db.sql(`CREATE ROLE ${role} LOGIN`)
    await db.sql(ROWS)
    await db.install('t', { grant: roles })
    let user = roles[0]
    const source = { connection: { user: '' } }
    Object.defineProperty(source.connection, 'user', { get: () => user, enumerable: true })
    const rows = await mirror(db, { table: 't', ...source })
    user = roles[1]
    await db.sql(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '${roles[0]}'`)
    await waitUntil('the reconnect', () => rows.informer.status.reconnects > 0)
    await expectMirrored(rows, 'UPDATE t SET n = n + 1')
    expect(rows.informer.status.relists).toBe(0)
  })
})
