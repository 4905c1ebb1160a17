import { Client, type ClientConfig } from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type PostgresServer, startPostgres } from '../../src/cli/postgres-server.js'
import { describePostgres } from '../servers/index.js'
import { Stage } from './stage.js'

describePostgres('a table that is busy', ({ binDir, env }) => {
  let server: PostgresServer
  let held: Client
  beforeAll(async () => {
    server = await startPostgres({
      binDir,
      env,
      settings: { fsync: 'off', synchronous_commit: 'off', max_connections: '200' },
    })
    // Open during all of this: a transaction that has written.
    held = new Client(server.url)
    await held.connect()
    await held.query('CREATE TABLE held (n int); BEGIN; INSERT INTO held VALUES (1)')
  })
  afterAll(async () => {
    await held.end()
    await server.stop('immediate')
  })

  describe.concurrent('is mirrored', () => {
    test('a column that is added between the look-up of a table and its lock is listed', () => {
      let isAltered = false
      return Stage.with(
        {
          server,
          client: (config) =>
            interrupted(config, async (text) => {
              if (isAltered || !text.startsWith('LOCK TABLE')) return
              isAltered = true
              await altered(config, `ALTER TABLE items ADD COLUMN extra int DEFAULT 7`)
            }),
        },
        async (stage) => {
          await stage.synced()
          expect(isAltered).toBe(true)
          await stage.healed()
          expect(stage.informer.get('1')).toEqual({ id: 1, n: 0, s: 'x'.repeat(20), extra: 7 })
        },
      )
    })
  })
})

/** A client that does something before each text that it sends. */
function interrupted(config: ClientConfig, before: (text: string) => Promise<void>): Client {
  const client = new Client(config)
  return new Proxy(client, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name)
      if (name === 'query') {
        return (sent: unknown) => {
          const send = (): unknown => Reflect.apply(target.query, target, [sent])
          const { text, submit } = Object(sent)
          return submit === undefined && typeof text === 'string' ? before(text).then(send) : send()
        }
      }
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

async function altered(config: ClientConfig, text: string): Promise<void> {
  const client = new Client(config)
  await client.connect()
  await client.query(text)
  await client.end()
}
