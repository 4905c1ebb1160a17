import { Pool } from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { installLeases, type PostgresLeasesOptions, postgresLeases } from '../../adapters/postgres/index.js'
import type { LeaseSession, LeaseView } from '../../src/adapter.js'
import { describePostgres } from '../servers/index.js'
import { succeeds, waitUntil } from '../servers/wait-until.js'
import { failure } from '../support/failure.js'
import { type Database, errorOf, useServer } from './support.js'

const JOIN = { member: 'member000001', renewal: 0, members: [], holds: [] }

describePostgres('leases in Postgres', (postgres) => {
  const at = useServer(postgres)

  async function installed(): Promise<Database> {
    const db = await at.database()
    await installLeases(await db.connect())
    return db
  }

  function poolOf(db: Database, options: object = {}): Pool {
    const pool = new Pool({ ...db.config(), ...options })
    pool.on('error', () => {})
    onTestFinished(() => pool.end())
    return pool
  }

  function sessionOf(pool: Pool, options: Partial<PostgresLeasesOptions> = {}): LeaseSession {
    const session = postgresLeases({ pool, group: 'g', leaseMs: 900, ...options }).open()
    onTestFinished(() => session.close())
    return session
  }

  function renew(session: LeaseSession, renewal = 0): Promise<LeaseView> {
    return session.renew({ ...JOIN, renewal }, [], new AbortController().signal)
  }

  test('a role needs the right to use a group, and sees no other group', async () => {
    const db = await at.database()
    const role = `${db.name}_worker`
    await db.sql(`CREATE ROLE ${role} LOGIN`)
    onTestFinished(async () => void (await db.sql(`DROP OWNED BY ${role}; DROP ROLE ${role}`)))
    await installLeases(await db.connect())
    const session = sessionOf(poolOf(db, { user: role }))
    const says = /permission denied .*\(run: npx listwatch pg install-leases <url> --grant <role> --group g\)$/
    expect(await errorOf(renew(session))).toMatchObject(failure('UNAUTHORIZED', says))
    await installLeases(await db.connect(), { grant: [role], groups: ['g'] })
    expect((await renew(session)).records).toHaveLength(1)
    const client = await db.connect({ user: role })
    await renew(sessionOf(poolOf(db), { group: 'another' }))
    expect((await client.query('SELECT group_name FROM listwatch.leases')).rows).toEqual([{ group_name: 'g' }])
    for (const forbidden of [
      `INSERT INTO listwatch.leases SELECT 'another', member, 9, body, written_at FROM listwatch.leases`,
      `INSERT INTO listwatch.lease_rights VALUES ('another', '${role}')`,
      'DELETE FROM listwatch.lease_groups',
    ])
      expect(await errorOf(client.query(forbidden))).toMatchObject({ code: '42501' })
    await session.leave(JOIN.member)
  })

  test('without the tables the error names the command that creates them', async () => {
    const session = sessionOf(poolOf(await at.database()))
    const missing = failure('NOT_FOUND', / \(run: npx listwatch pg install-leases <url>\)$/)
    expect(await errorOf(renew(session))).toMatchObject(missing)
  })

  test('a renewal that the server refuses leaves no listener on the client of the pool', async () => {
    const pool = poolOf(await at.database(), { max: 1 })
    const session = sessionOf(pool)
    const errorListeners = async (): Promise<number> => {
      const client = await pool.connect()
      client.release()
      return client.listenerCount('error')
    }
    const before = await errorListeners()
    for (let renewal = 0; renewal < 3; renewal++)
      expect(await errorOf(renew(session, renewal))).toMatchObject({ code: 'NOT_FOUND' })
    expect({ clients: pool.totalCount, listeners: await errorListeners() }).toEqual({ clients: 1, listeners: before })
  })

  test('[L15] a pool without an error listener survives the loss of its idle connections', async () => {
    const db = await installed()
    const pool = new Pool(db.config())
    onTestFinished(() => pool.end())
    const [first, second] = [sessionOf(pool), sessionOf(pool)]
    await renew(first)
    await first.close()
    await first.close()
    expect(pool.listenerCount('error')).toBe(1)
    // A server that restarts ends its connections with the same error.
    await db.sql(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid() AND state = 'idle'`)
    await waitUntil('the loss of the connection', async () => pool.totalCount === 0)
    expect((await renew(second, 1)).records).toMatchObject([{ renewal: 1 }])
    await second.close()
    expect(pool.listenerCount('error')).toBe(0)
    pool.on('error', () => {}) // Its database is dropped while it ends.
  })

  test('a role that is read-only, or has another isolation level, by default renews too', async () => {
    const db = await installed()
    const options = '-c default_transaction_read_only=on -c default_transaction_isolation=serializable'
    const sessions = Array.from({ length: 4 }, () => sessionOf(poolOf(db, { options }), { leaseMs: 1e11 }))
    const { signal } = new AbortController()
    const join = (session: LeaseSession, nth: number) => session.renew({ ...JOIN, member: `member${nth}` }, [], signal)
    const view = await Promise.all(sessions.map(join))
    expect(Math.max(...view.map(({ records }) => records.length))).toBe(4)
  })

  test('a call at another isolation level is refused, because it could miss a record', async () => {
    const client = await (await installed()).connect()
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ')
    const call = client.query(`SELECT listwatch.renew_lease('g', 'a', 0, '{}', '{}', '{}')`)
    expect(await errorOf(call)).toMatchObject({ code: '25001' })
  })

  test('a group that is locked fails a renewal in time, and the client is returned to the pool', async () => {
    const db = await installed()
    const pool = poolOf(db, { max: 1 })
    const session = sessionOf(pool)
    await renew(session)
    const holder = await db.connect()
    await holder.query(`BEGIN; SELECT FROM listwatch.lease_groups FOR UPDATE`)
    expect(await errorOf(renew(session, 1))).toMatchObject({ code: 'UNAVAILABLE' })
    await holder.query('ROLLBACK')
    await waitUntil('the next renewal', () => succeeds(renew(session, 2)))
    expect(pool.totalCount).toBe(1)
  })

  test('a renewal that is aborted closes its client, and the next one has another', async () => {
    const db = await installed()
    const pool = poolOf(db, { max: 1 })
    const session = sessionOf(pool, { leaseMs: 60_000 })
    await renew(session)
    const holder = await db.connect()
    await holder.query(`BEGIN; SELECT FROM listwatch.lease_groups FOR UPDATE`)
    const abort = new AbortController()
    const renewing = session.renew({ ...JOIN, renewal: 1 }, [], abort.signal)
    await waitUntil('the wait for the lock', async () => {
      const waiting = `SELECT count(*)::int FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`
      return (await db.value(waiting)) === 1
    })
    abort.abort(new Error('no longer wanted'))
    expect(await errorOf(renewing)).toMatchObject({ message: 'no longer wanted' })
    await waitUntil('the client to be closed', async () => pool.totalCount === 0)
    await holder.query('ROLLBACK')
    expect((await renew(session, 5)).records).toMatchObject([{ renewal: 5 }])
  })

  test('renewals that change nothing else send no notification', async () => {
    const db = await installed()
    const session = sessionOf(poolOf(db))
    const heard: (string | undefined)[] = []
    const listener = await db.connect()
    listener.on('notification', ({ payload }) => heard.push(payload))
    await listener.query('LISTEN listwatch_leases')
    for (let renewal = 0; renewal < 5; renewal++) await renew(session, renewal)
    await session.leave(JOIN.member)
    await waitUntil('the notification of the end', async () => heard.length >= 2)
    expect(heard).toEqual(['g member000001', 'g member000001'])
  })

  test.each(['off', 'local', 'remote_write', 'remote_apply', 'on'])(
    '[L10] a renewal is committed durably, and before its member leaves, also with synchronous_commit = %s',
    async (setting) => {
      const db = await installed()
      const client = await db.connect()
      await client.query('SELECT listwatch.epoch()')
      await client.query(`SET synchronous_commit = ${setting}`)
      await client.query(`BEGIN; SELECT listwatch.renew_lease('g', 'm', 0, '{}', '{}', '{}')`)
      const { rows } = await client.query('SHOW synchronous_commit')
      const left = sessionOf(poolOf(db), { leaseMs: 60_000 }).leave('m')
      await Promise.race([left, db.sql('SELECT pg_sleep(0.2)')])
      await client.query('COMMIT')
      await left
      expect(rows).toEqual([{ synchronous_commit: setting === 'remote_apply' ? setting : 'on' }])
      expect(await db.value('SELECT count(*)::int FROM listwatch.leases')).toBe(0)
    },
  )
})
