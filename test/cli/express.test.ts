import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { useServer } from '../postgres/support.js'
import { describeServer } from '../servers/index.js'
import { ensureBuilt } from '../support/build.js'
import { Program } from '../support/programs.js'

beforeAll(ensureBuilt)

const ORDERS = `CREATE TABLE orders (id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY, tenant text NOT NULL, region text,
  tags text[] NOT NULL DEFAULT '{}', created_at timestamptz NOT NULL DEFAULT clock_timestamp())`

describeServer('postgres 18', 'API program 01: an HTTP API over a real Postgres', useServer, (at) => {
  test('a writer reads its own writes, even in another process; the newest of a tenant come first', async () => {
    const db = await at.installed(`${ORDERS}; INSERT INTO orders (tenant) VALUES ('acme'), ('other')`, 'orders')
    const { host = '', port, user = '', database = '' } = db.config()
    const env = { PGHOST: String(host), PGPORT: String(port), PGUSER: String(user), PGDATABASE: String(database) }
    const programs = ['writer', 'reader'].map(() => {
      const program = new Program('01-express', { setup: '01-express.ts', env })
      onTestFinished(() => program[Symbol.asyncDispose]())
      return program
    })
    const [writer = '', reader = ''] = await Promise.all(
      programs.map(async (program) => `http://127.0.0.1:${await program.port(3_000)}`),
    )

    for (let round = 1; round <= 20; round++) {
      const posted = await fetch(`${writer}/orders`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ tenant: 'acme' }),
      })
      const { id } = (await posted.json()) as { id: string }
      const mark = posted.headers.get('x-version') ?? ''
      const read = await fetch(`${reader}/orders/${id}`, { headers: { 'x-version': mark } })
      expect([read.status, await read.json()]).toEqual([200, expect.objectContaining({ id, tenant: 'acme', tags: [] })])
    }

    expect((await fetch(`${reader}/orders/999`)).status).toBe(404)
    const latest = (await (await fetch(`${reader}/tenants/acme/latest`)).json()) as { id: string }[]
    expect(latest.map(({ id }) => Number(id))).toEqual(Array.from({ length: 20 }, (_, place) => 22 - place))
    expect((await fetch(`${writer}/orders`, { method: 'POST' })).status).toBe(500)
    for (const program of programs) {
      program.kill('SIGTERM')
      expect(await program.ended).toEqual({ code: 0, signal: null })
    }
  })
})
