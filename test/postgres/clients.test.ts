import { Client, Pool } from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import type { PostgresSourceOptions } from '../../adapters/postgres/index.js'
import { OptionError } from '../../src/index.js'
import { describePostgres } from '../servers/index.js'
import { waitUntil } from '../servers/wait-until.js'
import { type Database, errorOf, mirror, mirrorOf, useServer } from './support.js'

const TABLE = 'CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t VALUES (1, 1)'

describePostgres('the option connect', (postgres) => {
  const at = useServer(postgres)

  const wrong: readonly (readonly [
    string,
    (db: Database) => PostgresSourceOptions['connect'] | Promise<() => never>,
    RegExp,
  ])[] = [
    [
      'always the same client',
      (db) => {
        const client = new Client(db.config())
        return () => client
      },
      /the same client again/,
    ],
    [
      'a client that the program has connected',
      async (db) => {
        const client = await db.connect()
        return () => client as never
      },
      /connected already/,
    ],
    [
      'a client of a pool',
      (db) => {
        const pool = new Pool(db.config())
        pool.on('error', () => {})
        onTestFinished(() => pool.end())
        return async () => {
          const client = await pool.connect()
          onTestFinished(() => client.release())
          return client
        }
      },
      /connected already/,
    ],
    ['a pool', (db) => () => new Pool(db.config()), /a Pool cannot be used/],
    ['undefined', () => () => undefined as never, /it returned undefined/],
  ]

  test.each(wrong)('that returns %s makes synced() reject with an OptionError', async (_what, make, message) => {
    const db = await at.installed(TABLE)
    const { informer } = mirrorOf(db, { table: 't', connect: await make(db) })
    informer.start()
    const error = await errorOf(informer.synced({ timeoutMs: 20_000 }))
    expect(error).toBeInstanceOf(OptionError)
    expect(error).toMatchObject({ option: 'connect', message: expect.stringMatching(message) })
    expect(informer.status.state).toBe('failed')
  })

  test('that asks for values in binary form reads the same objects, in lists and changes', async () => {
    const db = await at.installed(TABLE)
    const client = (): Client => Object.assign(new Client(db.config()), { binary: true })
    const rows = await mirror(db, { table: 't', connect: client })
    expect(rows.informer.get('1')).toEqual({ id: 1, n: 1 })
    await db.sql('UPDATE t SET n = 7; INSERT INTO t VALUES (2, -2)')
    await rows.informer.fresh({ timeoutMs: 15_000 })
    expect(Object.fromEntries(rows.informer.entries())).toEqual({ 1: { id: 1, n: 7 }, 2: { id: 2, n: -2 } })
    expect(rows.errors).toEqual([])
  })

  test('that requires TLS of a server without TLS is reported with host and port', async () => {
    const db = await at.installed(TABLE)
    const config = { ...db.config(), ssl: true }
    const { informer, errors } = mirrorOf(db, { table: 't', connect: () => new Client(config) })
    informer.start()
    await waitUntil('the error', () => errors.length > 0)
    expect(errors[0]?.message).toContain(`(${config.host}:${config.port} has no TLS: check host and port`)
  })
})
