import { setTimeout as sleep } from 'node:timers/promises'
import { Client, type ClientConfig } from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ERROR_DELAY_MS } from '../../src/reflector/reflector-state.js'
import { type PostgresServer, startPostgres } from '../../tools/postgres/postgres-server.js'
import { describePostgres } from '../servers/index.js'
import { waitUntil } from '../servers/wait-until.js'
import { followRotations } from '../support/load.js'
import { Stage } from './stage.js'

/** Commits an update of row 1, and resolves once the mirror has it. */
async function written(stage: Stage, n: number): Promise<void> {
  const mark = await stage.ask(async (client) => {
    await client.query(`BEGIN; UPDATE items SET n = ${n} WHERE id = 1`)
    const taken = await stage.source.mark(client)
    await client.query('COMMIT')
    return taken
  })
  await stage.informer.waitFor(mark, { timeoutMs: 20_000 })
  expect(stage.informer.get('1')).toMatchObject({ n })
}

describePostgres('a burst of breaks', ({ binDir, env }) => {
  let server: PostgresServer
  beforeAll(async () => {
    server = await startPostgres({ binDir, env, settings: { fsync: 'off', synchronous_commit: 'off' } })
  })
  afterAll(() => server.stop('immediate'))

  test('[R11] of eight ALTERs two seconds apart does not delay the lists: each is read within two error delays', () =>
    Stage.live({ server }, async (stage) => {
      const delays: number[] = []
      stage.informer.on('error', () => delays.push(stage.informer.status.retryInMs ?? Infinity))
      for (let n = 1; n <= 8; n++) {
        await stage.query(`ALTER TABLE items ADD COLUMN c${n} int`)
        const isListed = (): boolean => delays.length >= n && stage.state === 'live'
        // A busy machine may take longer to list. A watch that was live for a second ends the burst.
        const settled = waitUntil(`the list after ALTER ${n}`, isListed).then(() => sleep(1_000))
        await Promise.all([sleep(2_000), settled])
      }
      await written(stage, 8)
      expect(Math.max(...delays)).toBeLessThanOrEqual(2 * ERROR_DELAY_MS)
    }))

  test('of ended sessions and a trimmed log does not delay the reconnects after the mirror was live again', () =>
    Stage.live({ server }, async (stage) => {
      const ended = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = '${stage.database}' AND application_name = 'mirror'`
      for (let n = 1; n <= 12; n++) {
        await stage.query(ended)
        await sleep(100)
      }
      await stage.query(`UPDATE listwatch.floor SET snap = pg_current_snapshot()`)
      await stage.query(`UPDATE items SET n = 1 WHERE id = 1`)
      await stage.healed()
      await written(stage, 2)
      await sleep(1_200)
      const delays: number[] = []
      stage.informer.on('error', () => delays.push(stage.informer.status.retryInMs ?? Infinity))
      await stage.query(ended)
      await written(stage, 3)
      expect(Math.max(...delays)).toBeLessThanOrEqual(ERROR_DELAY_MS)
    }))

  /** A server that lets the role `reader` in with its password only. */
  const lockedServer = async (password: string): Promise<PostgresServer> => {
    const locked = await startPostgres({ binDir, env, settings: { fsync: 'off' } })
    const admin = new Client({ connectionString: locked.url })
    await admin.connect()
    await using _ = { [Symbol.asyncDispose]: () => admin.end() }
    await admin.query(`CREATE ROLE reader LOGIN PASSWORD '${password}'`)
    // COPY empties the file before its query would read it.
    await admin.query(`DO $$ DECLARE rules text := pg_read_file(current_setting('hba_file')); BEGIN
        EXECUTE format($f$ COPY (SELECT 'host all reader all scram-sha-256'
          UNION ALL SELECT unnest(string_to_array(%L, chr(10)))) TO %L $f$, rules, current_setting('hba_file'));
        PERFORM pg_reload_conf();
      END $$`)
    return locked
  }
  /** The server requires this password, and has ended the sessions of the role. */
  const demand = async (stage: Stage, password: string): Promise<void> => {
    await stage.query(`ALTER ROLE reader PASSWORD '${password}'`)
    await stage.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'reader'`)
  }

  test('[A7] by a password that is replaced twice while a writer writes is followed with a function `password`', async () => {
    const passwords = ['first', 'second', 'third']
    await using locked = await lockedServer(passwords[0] ?? '')
    let current = passwords[0]
    const client = (config: ClientConfig): Client =>
      new Client({ ...config, user: 'reader', password: async () => current ?? '' })
    await Stage.with({ server: locked, client, install: { grant: ['reader'] } }, async (stage) => {
      await followRotations(stage, {
        write: (n) =>
          stage.query(
            n % 3 === 0
              ? `DELETE FROM items WHERE id = ${n % 7}`
              : `INSERT INTO items VALUES (${n % 7}, ${n}, 'loaded') ON CONFLICT (id) DO UPDATE SET n = excluded.n`,
          ),
        rotate: (number) => demand(stage, passwords[number] ?? ''),
        adopt: (number) => (current = passwords[number]),
      })
    })
  })

  test('[R4] of refused passwords ends soon after the program has the new password of its role', async () => {
    await using locked = await lockedServer('old')
    let password = 'old'
    const client = (config: ClientConfig): Client => new Client({ ...config, user: 'reader', password })
    await Stage.with({ server: locked, client, install: { grant: ['reader'] } }, async (stage) => {
      await stage.live()
      const refused: string[] = []
      const delays: number[] = []
      stage.informer.on('error', ({ code }) => {
        refused.push(code)
        delays.push(stage.informer.status.retryInMs ?? Infinity)
      })
      await demand(stage, 'new')
      await waitUntil('three refused passwords', () => refused.filter((code) => code === 'UNAUTHORIZED').length >= 3)
      password = 'new'
      await written(stage, 1)
      // After three failures the delay has doubled twice.
      expect(Math.max(...delays)).toBeLessThanOrEqual(8 * ERROR_DELAY_MS)
    })
  })
})
