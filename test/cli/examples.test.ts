import { Agent, createServer, request } from 'node:http'
import { join } from 'node:path'
import { chromium, type Page } from 'playwright-core'
import { expect, onTestFinished, test } from 'vitest'
import { useServer } from '../postgres/support.js'
import { useRedis } from '../redis/support.js'
import { describeServer } from '../servers/index.js'
import { Nginx, type NginxOptions } from '../servers/nginx.js'
import { waitUntil } from '../servers/wait-until.js'
import type { Child } from '../support/child.js'
import { blocksOf } from '../support/documents.js'
import { portOf } from '../support/listening.js'
import { filesUnder, textOf } from '../support/sources.js'
import { example, expectEnd, urlOf } from './support.js'

const isOperator = (path: string): boolean => path.startsWith('examples/site-operator/')

test.each([...filesUnder(['examples'], '.ts'), ...filesUnder(['examples'], '.tsx')])(
  '%s is short, and says first what it is',
  (path) => {
    const lines = textOf(path).trimEnd().split('\n')
    // An adapter has a contract to keep, and an operator has all parts of a program that is deployed.
    const most = isOperator(path) ? 120 : path.endsWith('folder-source.ts') ? 80 : 60
    expect(lines.length).toBeLessThanOrEqual(most)
    expect(lines[0]).toMatch(/^\/\/ /)
  },
)

test('examples/controller.ts keeps as many workers running as there should be, whatever happens in between', async () => {
  const child = example('controller.ts')
  await expectEnd(child)
  expect([child.errors, child.lines[0]]).toEqual(['', 'shop: 2 workers'])
  expect(child.lines).toContainEqual(expect.stringContaining('there is no room for 9 workers'))
  expect(child.lines.slice(-3, -1).sort()).toEqual(['blog: 1 workers', 'shop: 0 workers'])
  expect(child.lines.at(-1)).toBe('running { blog: 1 }')
})

test('[X20] examples/views.ts prints what follows from each change in the commit of that change', async () => {
  const child = example('views.ts')
  await expectEnd(child)
  expect(child.errors).toBe('')
  expect(child.lines.join(' ').replace(/\s+/g, ' ')).toBe(
    'countries { de: { count: 4, total: 180, best: 90 }, us: { count: 4, total: 220, best: 100 }, ' +
      'unknown: { count: 4, total: 260, best: 110 } } gone unknown changed de { count: 8, total: 440, best: 110 } ' +
      'changed de { count: 7, total: 440, best: 110 } changed us { count: 5, total: 1219, best: 999 } ' +
      'largest o0 o10 o11',
  )
})

test('[Q2] examples/collections.ts shows no transfer by half', async () => {
  const child = example('collections.ts')
  await expectEnd(child)
  expect(child.lines).toEqual(['savings 100 totals that were seen 100'])
})

test('examples/polled-source.ts follows the list of an endpoint, and parses it again only if its ETag has changed', async () => {
  let countries = [
    { code: 'ch', name: 'Switzerland' },
    { code: 'su', name: 'Soviet Union' },
  ]
  let version = 1
  let unchanged = 0
  let isDown = false
  const server = createServer((request, response) => {
    if (isDown) response.writeHead(503, { 'retry-after': '1' }).end()
    else if (request.headers['if-none-match'] === `"${version}"`) {
      unchanged++
      response.writeHead(304).end()
    } else response.setHeader('etag', `"${version}"`).end(JSON.stringify(countries))
  })
  const child = example('polled-source.ts', [`http://127.0.0.1:${await portOf(server)}/countries`])
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
  await expectEnd(child, 'SIGINT')
})

const ORDERS = `CREATE TABLE orders (id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY, tenant text NOT NULL,
  status text NOT NULL, updated_at timestamptz NOT NULL DEFAULT clock_timestamp())`
type Sent = { readonly method: string; readonly path: string; readonly headers: Readonly<Record<string, string>> }
const writing: Sent = { method: 'POST', path: '/orders', headers: { 'content-type': 'application/json' } }
const reading: Sent = { method: 'GET', path: '/tenants/acme/orders', headers: {} }

/** Clients that send one request after the other, each over a connection that is kept open, until the server refuses. */
class KeepAliveLoad {
  readonly statuses = new Map<number, number>()
  readonly failures = new Set<string>()
  readonly #agent = new Agent({ keepAlive: true })
  readonly #port: number
  count = 0
  isOver = false

  constructor(port: number) {
    this.#port = port
  }

  async run(what: Sent): Promise<void> {
    const deadline = Date.now() + 30_000
    for (let isRefused = false; !isRefused && !this.isOver && Date.now() < deadline; ) {
      try {
        const status = await this.#send(what)
        this.statuses.set(status, 1 + (this.statuses.get(status) ?? 0))
        this.count++
      } catch (error) {
        const code = String(Object(error).code ?? error)
        this.failures.add(code)
        isRefused = code === 'ECONNREFUSED' || code === 'TIMEOUT'
      }
    }
  }

  end(): void {
    this.#agent.destroy()
  }

  #send({ method, path, headers }: Sent): Promise<number> {
    return new Promise((resolve, reject) => {
      const sent = request({ agent: this.#agent, host: '127.0.0.1', port: this.#port, method, path, headers })
      sent.setTimeout(5_000, () => sent.destroy(Object.assign(new Error('hung'), { code: 'TIMEOUT' })))
      sent.on('error', reject)
      sent.on('response', (response) => {
        response.resume()
        response.on('error', reject)
        response.on('end', () => resolve(response.statusCode ?? 0))
      })
      sent.end(method === 'POST' ? JSON.stringify({ tenant: 'acme' }) : undefined)
    })
  }
}

/** The port at which the program listens. */
async function portSaidBy(child: Child): Promise<number> {
  await child.until(() => /port: \d+/.test(child.output), 'it to listen')
  return Number(/port: (\d+)/.exec(child.output)?.[1])
}

describeServer('chromium', 'examples/browser', ({ binDir, env }) => {
  const args = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--disable-dev-shm-usage']

  test('shows a join and sums in two browsers, through a restart of the server, and ends on request', async () => {
    const start = (PORT: string): Child => example('browser/server.ts', [], { PORT })
    const first = start('0')
    const port = await portSaidBy(first)
    const variables = { ...process.env, ...env } as Record<string, string>
    const browser = await chromium.launch({ executablePath: join(binDir, 'chromium'), args, env: variables })
    onTestFinished(() => browser.close())
    const shows = (page: Page, text: string): Promise<void> =>
      expect.poll(() => page.textContent('h1'), { timeout: 20_000 }).toBe(text)
    const open = async (): Promise<Page> => {
      const page = await browser.newPage({ viewport: { width: 640, height: 480 } })
      page.on('pageerror', ({ message }) => problems.push(message))
      await page.goto(`http://127.0.0.1:${port}/`)
      await shows(page, 'acme: 10 open orders, 495 EUR (live)')
      return page
    }
    const problems: string[] = []
    const [one, other] = [await open(), await open()]
    const cells = (nth: number): Promise<string[]> => one.locator(`td:nth-child(${nth})`).allTextContents()
    // The newest first, and what the head says is the sum of the table.
    expect(await cells(1)).toEqual(['28', '25', '22', '19', '16', '13', '10', '7', '4', '1'])
    expect((await cells(2)).slice(0, 3)).toEqual(['Cleo', 'Eve', 'Ben'])
    expect((await cells(3)).reduce((sum, total) => sum + Number.parseInt(total, 10), 0)).toBe(495)
    await one.click('#order-4 input')
    for (const page of [one, other]) await shows(page, 'acme: 9 open orders, 495 EUR (live)')
    expect(await other.textContent('#order-4')).toContain('paid')
    await other.selectOption('select', 'birch')
    await shows(other, 'birch: 10 open orders, 465 EUR (live)')
    await expectEnd(first, 'SIGTERM')
    // The table stays while the server is away. Its memory begins again, so that every order is open.
    await shows(one, 'acme: 9 open orders, 495 EUR (backing-off)')
    const second = start(`${port}`)
    await shows(one, 'acme: 10 open orders, 495 EUR (live)')
    await expectEnd(second, 'SIGTERM')
    expect(problems).toEqual([])
  })
})

describeServer('postgres 18', 'examples/orders-api.ts', useServer, (at) => {
  test('answers every request that it accepted under keep-alive load during its shutdown', async () => {
    const db = await at.installed(ORDERS, 'orders')
    const child = example('orders-api.ts', [], { DATABASE_URL: urlOf(db), PORT: '0', SHUTDOWN_DELAY_MS: '0' })
    const load = new KeepAliveLoad(await portSaidBy(child))
    onTestFinished(() => load.end())
    const clients = Array.from({ length: 24 }, (_, nth) => load.run(nth % 2 === 0 ? writing : reading))
    await waitUntil('load', () => load.count > 500)
    const before = load.count
    child.kill('SIGTERM')
    await Promise.all(clients)
    await expectEnd(child)
    expect(load.count).toBeGreaterThanOrEqual(before)
    expect(new Set(load.statuses.keys())).toEqual(new Set([200, 201]))
    // A new connection is refused; one that was idle may be closed just as its next request is sent.
    expect([...load.failures].filter((code) => !['ECONNREFUSED', 'ECONNRESET', 'EPIPE'].includes(code))).toEqual([])
  })

  describeServer('nginx', 'behind nginx', (nginx) => {
    /** Two replicas behind nginx. The first one stops under the load of these requests. */
    const stopped = async (sent: readonly Sent[], options: Partial<NginxOptions>) => {
      const db = await at.installed(ORDERS, 'orders')
      const env = { DATABASE_URL: urlOf(db), PORT: '0', SHUTDOWN_DELAY_MS: '1500' }
      const children = [example('orders-api.ts', [], env), example('orders-api.ts', [], env)]
      const ports = await Promise.all(children.map(portSaidBy))
      await using proxy = await Nginx.start({ server: nginx, targets: ports, balancing: 'keepalive 16;', ...options })
      const load = new KeepAliveLoad(Number(new URL(proxy.url).port))
      onTestFinished(() => load.end())
      const clients = Array.from({ length: 16 }, (_, nth) => load.run(sent[nth % sent.length] ?? reading))
      await waitUntil('load', () => load.count > 500)
      children[0]?.kill('SIGTERM')
      await waitUntil('not ready', async () => (await fetch(`http://127.0.0.1:${ports[0]}/ready`)).status === 503)
      const probes = setInterval(() => void fetch(`${proxy.url}/ready`).catch(() => {}), 100)
      await expectEnd(children[0])
      clearInterval(probes)
      const before = load.count
      await waitUntil('load on the other replica', () => load.count > before + 500)
      load.isOver = true
      await Promise.all(clients)
      return { load, stored: await db.value('SELECT count(*)::int FROM orders') }
    }

    test('of which a replica stops under load fails no read', async () => {
      const { load } = await stopped([reading], {})
      expect([load.statuses, load.failures]).toEqual([new Map([[200, load.count]]), new Set()])
    })

    const guide = blocksOf(['docs/how-to/stopping.md']).find(({ language }) => language === 'nginx')?.text ?? ''
    test('that probes the readiness, as in the guide, fails no write either, and writes each once', async () => {
      const { load, stored } = await stopped([writing, reading], {
        parameters: /server \S+ (.+?);/.exec(guide)?.[1] ?? '',
        balancing: guide.match(/^ {2}(?:zone|keepalive) .+?;/gm)?.join('') ?? '',
        location: /proxy_next_upstream .+;/.exec(guide)?.[0] ?? '',
      })
      expect([load.failures, load.statuses.get(201), load.statuses.size]).toEqual([new Set(), stored, 2])
    })
  })

  test('shows a writer what it wrote, is ready when it is, and ends on request', async () => {
    const db = await at.installed(ORDERS, 'orders')
    const child = example('orders-api.ts', [], { DATABASE_URL: urlOf(db), PORT: '0', SHUTDOWN_DELAY_MS: '0' })
    const address = `http://127.0.0.1:${await portSaidBy(child)}`
    const post = (order: object): Promise<Response> => {
      const headers = { 'content-type': 'application/json' }
      return fetch(`${address}/orders`, { method: 'POST', headers, body: JSON.stringify(order) })
    }
    expect((await fetch(`${address}/ready`)).status).toBe(200)
    for (let round = 1; round <= 20; round++) {
      const posted = await post({ tenant: 'acme' })
      expect(posted.status).toBe(201)
      const { id } = (await posted.json()) as { id: string }
      const headers = { 'x-version': posted.headers.get('x-version') ?? '' }
      const read = await fetch(`${address}/tenants/acme/orders`, { headers })
      expect(((await read.json()) as unknown[])[0]).toMatchObject({ id, tenant: 'acme', status: 'open' })
    }
    expect((await post({})).status).toBe(500)
    const malformed = await fetch(`${address}/tenants/acme/orders`, { headers: { 'x-version': 'no mark' } })
    expect(malformed.status).toBe(400)
    await at.server.halt()
    const late = await fetch(`${address}/tenants/acme/orders`)
    expect(((await late.json()) as unknown[]).length).toBe(20)
    await at.server.restart()
    await expectEnd(child, 'SIGTERM')
  })
})

describeServer('postgres 18', 'examples/relay.ts', useServer, (at) => {
  describeServer('redis 7.0', 'behind Redis', useRedis, (own) => {
    test('publishes a table, and another process follows it; a second relay continues', async () => {
      const db = await at.installed(
        `CREATE TABLE orders (id text PRIMARY KEY, status text); INSERT INTO orders VALUES ('1', 'new')`,
        'orders',
      )
      const env = { DATABASE_URL: urlOf(db), REDIS_URL: own.redis.url }
      const relay = example('relay.ts', ['publish'], env)
      await relay.until(() => relay.lines.includes('publishing 1 orders'), 'the relay')
      const follower = example('relay.ts', ['follow'], env)
      await follower.until(() => follower.lines.includes('following 1 orders'), 'the follower')
      await db.sql(`UPDATE orders SET status = 'paid'`)
      await follower.until(() => follower.lines.includes('update 1 paid'), 'the update')
      await expectEnd(relay, 'SIGTERM')
      const second = example('relay.ts', ['publish'], env)
      await db.sql('DELETE FROM orders')
      await follower.until(() => follower.lines.includes('delete 1'), 'the delete')
      for (const child of [second, follower]) child.kill('SIGTERM')
      await expectEnd(follower)
      expect([relay.errors, follower.errors]).toEqual(['', ''])
      await second.ended
    })
  })
})
