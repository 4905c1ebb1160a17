import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { useServer } from '../postgres/support.js'
import { describeServer } from '../servers/index.js'
import { waitUntil } from '../servers/wait-until.js'
import { ensureBuilt } from '../support/build.js'
import { Child } from '../support/child.js'
import { filesUnder, root, textOf } from '../support/sources.js'
import { node, urlOf } from './support.js'

beforeAll(ensureBuilt)

function example(name: string, args: readonly string[] = [], env: NodeJS.ProcessEnv = {}): Child {
  const child = new Child(node, [join('examples', name), ...args], { cwd: root, env: { ...process.env, ...env } })
  onTestFinished(() => child[Symbol.asyncDispose]())
  return child
}

test.each(filesUnder(['examples'], '.ts'))('%s is short, and says first what it is', (path) => {
  const lines = textOf(path).trimEnd().split('\n')
  // An adapter has a contract to keep.
  expect(lines.length).toBeLessThanOrEqual(path.endsWith('folder-source.ts') ? 80 : 60)
  expect(lines[0]).toMatch(/^\/\/ /)
})

describe('examples/controller.ts', () => {
  test('keeps as many workers running as there should be, whatever happens in between', async () => {
    const child = example('controller.ts')
    expect(await child.ended).toEqual({ code: 0, signal: null })
    expect(child.errors).toBe('')
    expect(child.lines[0]).toBe('shop: 2 workers')
    expect(child.lines).toContainEqual(expect.stringContaining('there is no room for 9 workers'))
    expect(child.lines.slice(-3, -1).sort()).toEqual(['blog: 1 workers', 'shop: 0 workers'])
    expect(child.lines.at(-1)).toBe('running { blog: 1 }')
  })
})

describe('examples/polled-source.ts', () => {
  test('follows a list that an endpoint gives, and reads it again only where its ETag is another', async () => {
    let countries = [
      { code: 'ch', name: 'Switzerland' },
      { code: 'su', name: 'Soviet Union' },
    ]
    let version = 1
    let unchanged = 0
    let isDown = false
    const server: Server = createServer((request, response) => {
      if (isDown) response.writeHead(503, { 'retry-after': '1' }).end()
      else if (request.headers['if-none-match'] === `"${version}"`) {
        unchanged++
        response.writeHead(304).end()
      } else response.setHeader('etag', `"${version}"`).end(JSON.stringify(countries))
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => {
      server.closeAllConnections()
      server.close()
    })
    const child = example('polled-source.ts', [`http://127.0.0.1:${(server.address() as AddressInfo).port}/countries`])
    await child.until(() => child.lines.includes('+ Soviet Union'), 'the first list')
    await waitUntil('a poll that finds nothing new', () => unchanged > 0)
    countries = [
      { code: 'ch', name: 'Schweiz' },
      { code: 'at', name: 'Austria' },
    ]
    version++
    const told = ['~ Switzerland → Schweiz', '+ Austria', '- Soviet Union']
    await child.until(() => told.every((line) => child.lines.includes(line)), 'what changed')
    isDown = true
    await child.until(() => child.errors.includes('answered 503'), 'the failure')
    isDown = false
    countries = [{ code: 'ch', name: 'Suisse' }]
    version++
    await child.until(() => child.lines.includes('~ Schweiz → Suisse'), 'what changed meanwhile')
    child.kill('SIGINT')
    expect(await child.ended).toEqual({ code: 0, signal: null })
  })
})

describeServer('postgres 18', 'examples/orders-api.ts', (postgres) => {
  const at = useServer(postgres)

  test('shows a writer what it wrote, is ready when it is, and ends when it is told to', async () => {
    const db = await at.database()
    await db.sql(`CREATE TABLE orders (id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY, tenant text NOT NULL,
      status text NOT NULL, updated_at timestamptz NOT NULL DEFAULT clock_timestamp())`)
    await db.install('orders')
    const child = example('orders-api.ts', [], { DATABASE_URL: urlOf(db), PORT: '0' })
    await child.until(() => /port: \d+/.test(child.output), 'it to listen')
    const address = `http://127.0.0.1:${/port: (\d+)/.exec(child.output)?.[1]}`
    expect((await fetch(`${address}/ready`)).status).toBe(200)
    for (let round = 1; round <= 20; round++) {
      const posted = await fetch(`${address}/orders`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ tenant: 'acme' }),
      })
      expect(posted.status).toBe(201)
      const { id } = (await posted.json()) as { id: string }
      const headers = { 'x-version': posted.headers.get('x-version') ?? '' }
      const read = await fetch(`${address}/tenants/acme/orders`, { headers })
      expect(((await read.json()) as unknown[])[0]).toMatchObject({ id, tenant: 'acme', status: 'open' })
    }
    const refused = await fetch(`${address}/orders`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{}',
    })
    expect(refused.status).toBe(500)
    await at.server.halt()
    const late = await fetch(`${address}/tenants/acme/orders`)
    expect(((await late.json()) as unknown[]).length).toBe(20)
    await at.server.restart()
    child.kill('SIGTERM')
    expect(await child.ended).toEqual({ code: 0, signal: null })
  })
})
