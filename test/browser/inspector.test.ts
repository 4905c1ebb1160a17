import { once } from 'node:events'
import { mkdir } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { type Browser, chromium as launcher, type Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { describeServer, type FoundServer } from '../servers/index.js'
import { ensureBuilt } from '../support/build.js'
import { root } from '../support/sources.js'

interface Order {
  readonly tenant: string
  readonly status: string
  readonly note: string
}

const SCRIPT = '<img src=x onerror="window.attacked = true"><script>window.attacked = true</script>'
/** With this variable the pictures of README are written again. */
const isTakingPictures = process.env['LISTWATCH_PICTURES'] === '1'

function orderOf(n: number): Order {
  return { tenant: ['acme', 'birch', 'cedar'][n % 3] ?? '', status: n % 2 === 0 ? 'open' : 'paid', note: `note ${n}` }
}

/** A program with a mirror of 100 000 objects and its inspector, built as a user has them. */
async function program() {
  await ensureBuilt()
  const { createInformer } = await import('listwatch')
  const { memorySource } = await import('listwatch/memory')
  const { serveInspector } = await import('listwatch/inspector')
  const hostile = { tenant: SCRIPT, status: 'open', note: SCRIPT }
  const entries = Array.from({ length: 100_000 }, (_, n): [string, Order] => [String(n).padStart(6, '0'), orderOf(n)])
  const source = memorySource<Order>({ entries: [...entries, [SCRIPT, hostile]] })
  const orders = createInformer({
    name: 'orders',
    source,
    indexes: (ix) => ({ tenant: ix.equal((order) => order.tenant), status: ix.equal((order) => order.status) }),
  })
  orders.on('error', () => {})
  const failing = async (key: string): Promise<void> => {
    if (key.endsWith('77')) throw new Error(`the payment service is not available ${SCRIPT}`)
  }
  orders.reconcile(failing, { name: 'billing', where: { tenant: 'birch' } })
  const inspector = await serveInspector([orders])
  await orders.start().synced()
  return { source, orders, inspector }
}

const ATTACKS = ['fetch', 'fetch with the cookie', 'form', 'script', 'image', 'events', 'socket']

/** Runs in the page of an attacker. Returns `failed` for each attack that received nothing. */
async function attack(origin: string): Promise<Record<string, string>> {
  const url = `${origin}/api/informers`
  // The types of the tests are those of Node.
  const browser = globalThis as unknown as Record<string, new (...of: unknown[]) => EventTarget> & {
    document: {
      createElement(name: string): EventTarget & Record<string, unknown>
      body: { append(of: unknown): void }
    }
  }
  const outcome = (target: EventTarget | undefined, good: string): Promise<string> =>
    new Promise((resolve) => {
      target?.addEventListener(good, () => resolve(good))
      target?.addEventListener('error', () => resolve('failed'))
    })
  const element = (name: string, path: string): Promise<string> => {
    const made = browser.document.createElement(name)
    made['src'] = `${origin}${path}`
    browser.document.body.append(made)
    return outcome(made, 'load')
  }
  const fetched = (init: object): Promise<string> =>
    fetch(url, init).then(
      (response) => (response.status >= 400 ? 'failed' : `${response.type} ${response.status}`),
      () => 'failed',
    )
  const { EventSource, WebSocket } = browser
  return {
    fetch: await fetched({}),
    'fetch with the cookie': await fetched({ credentials: 'include' }),
    form: await fetched({ method: 'POST', body: 'a=b', credentials: 'include' }),
    script: await element('script', '/page.js'),
    image: await element('img', '/icon.svg'),
    events: await outcome(
      EventSource && new EventSource(`${origin}/api/changes`, { withCredentials: true }),
      'message',
    ),
    socket: await outcome(WebSocket && new WebSocket(url.replace('http', 'ws')), 'open'),
  }
}

function launch({ binDir, env }: FoundServer): Promise<Browser> {
  const args = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--disable-dev-shm-usage']
  // An attacker has a domain, and lets its name mean this machine: DNS rebinding.
  args.push('--host-resolver-rules=MAP evil.example 127.0.0.1')
  const variables = { ...process.env, ...env } as Record<string, string>
  return launcher.launch({ executablePath: join(binDir, 'chromium'), args, env: variables })
}

describeServer('chromium', 'the page of the inspector in Chromium', (chromium) => {
  let world: Awaited<ReturnType<typeof program>>
  let browser: Browser
  let page: Page
  const problems: string[] = []

  beforeAll(async () => {
    world = await program()
    browser = await launch(chromium)
    const context = await browser.newContext({ viewport: { width: 1280, height: 760 }, colorScheme: 'light' })
    page = await context.newPage()
    page.on('pageerror', ({ message }) => problems.push(message))
    page.on('console', (message) => {
      if (message.type() === 'error') problems.push(message.text())
    })
    await page.goto(world.inspector.url)
    await page.waitForSelector('.row .preview:not(:empty)')
  })
  afterAll(async () => {
    await browser?.close()
    await world?.inspector.close()
    await world?.orders.stop()
  })

  const totalIs = (total: string): Promise<unknown> => page.waitForSelector(`#total:text-is(${JSON.stringify(total)})`)
  /** Presses a key that no field receives. */
  const press = async (key: string): Promise<void> => {
    await page.keyboard.press('Escape')
    await page.keyboard.press(key)
  }
  const picture = async (name: string): Promise<void> => {
    if (!isTakingPictures) return
    await mkdir(join(root, 'docs/images'), { recursive: true })
    await page.screenshot({ path: join(root, `docs/images/${name}.jpg`), type: 'jpeg', quality: 72 })
  }

  test('removes the token from the address', async () => {
    expect(page.url()).toBe(`${world.inspector.origin}/`)
    expect(await page.evaluate('document.cookie')).toBe('')
  })

  test('lists objects, and scrolls to the last of 100 001 with few elements', async () => {
    await totalIs('100,001 objects')
    expect(await page.textContent('.row')).toContain('000000')
    await page.$eval('.list', (list) => list.scrollTo(0, list.scrollHeight))
    await page.waitForSelector('.row b:text("<img")')
    expect(await page.locator('.row').count()).toBeLessThan(100)
    await page.$eval('.list', (list) => list.scrollTo(0, 0))
    await page.waitForSelector('.row b:text("000000")')
  })

  test('shows hostile texts as texts', async () => {
    await page.fill('#search', 'window.attacked')
    await totalIs('1 objects')
    await page.click('.row b')
    await page.waitForSelector('.details pre:has-text("window.attacked")')
    await page.keyboard.press('Escape')
    await page.fill('#search', '')
    await totalIs('100,001 objects')
    expect(await page.evaluate('"attacked" in window')).toBe(false)
  })

  test('selects by facets and by the keyboard', async ({ task }) => {
    // An attempt that failed may have left facets selected.
    if ((task.result?.retryCount ?? 0) > 0) await page.reload()
    await page.click('.facet:has-text("acme")')
    await totalIs('33,334 objects')
    await page.click('.facet:has-text("paid")')
    await totalIs('16,667 objects')
    await press('j')
    await page.waitForSelector('.details h2:text("000003")')
    await page.keyboard.press('ArrowDown')
    await page.waitForSelector('.details h2:text("000009")')
    await page.click('.facet:has-text("acme")')
    await page.click('.facet:has-text("paid")')
    await page.keyboard.press('/')
    await page.keyboard.type('note 4242')
    await totalIs('11 objects')
    await page.fill('#search', '')
  })

  test('shows a change at the object and in the list of changes', async () => {
    world.source.put('000009', { ...orderOf(9), note: 'changed' })
    await page.waitForSelector('.details .difference:has-text("changed")')
    expect(await page.textContent('.details .difference')).toBe('note "note 9" → "changed"')
    await picture('inspector-light')
    await press('2')
    await page.waitForSelector('.tape .update .key:text("000009")')
    await page.click('.tape .key:text("000009")')
    await page.waitForSelector('.details h2:text("000009")')
  })

  test('shows graphs, subscriptions, controllers and failing keys, dark and light', async () => {
    const writing = setInterval(() => world.source.put('000001', { ...orderOf(1), note: `at ${Date.now()}` }), 50)
    await press('3')
    await page.waitForSelector('.status td:text("billing")')
    await page.waitForSelector('h3:has-text("Failing keys")')
    await page.waitForSelector('figcaption:has-text("Changes") b:not(:text("–"))')
    await press('t')
    await expect.poll(() => page.evaluate('document.documentElement.dataset.theme')).toBe('dark')
    await page.waitForTimeout(isTakingPictures ? 8_000 : 0)
    await picture('inspector-dark')
    clearInterval(writing)
    expect(await page.evaluate('getComputedStyle(document.body).backgroundColor')).toBe('rgb(17, 20, 24)')
    await press('t')
    expect(await page.evaluate('"attacked" in window')).toBe(false)
  })

  test('without the token it says what to do', async () => {
    const other = await browser.newContext()
    const stranger = await other.newPage()
    await stranger.goto(world.inspector.origin)
    await stranger.waitForSelector('.problem:has-text("needs the token")')
    await other.close()
  })

  // A site of another name, and a server of another port at the same address: the browser sends it the same cookies.
  test.each(['evil.example', '127.0.0.1'])('returns no data to a page of %s', async (host) => {
    const { origin } = world.inspector
    const server = createServer((_request, response) => {
      response.setHeader('content-type', 'text/html')
      response.end('<body></body>')
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const attacker = await page.context().newPage()
    try {
      await attacker.goto(`http://${host}:${Object(server.address()).port}/`)
      let sent = 0
      const answered: string[] = []
      attacker.on('request', () => sent++)
      attacker.on('response', (response) => {
        if (response.status() < 400) answered.push(response.url())
      })
      const results = await attacker.evaluate(attack, origin)
      expect(results).toEqual(Object.fromEntries(ATTACKS.map((name) => [name, 'failed'])))
      expect(sent).toBeGreaterThanOrEqual(6)
      expect(answered).toEqual([])
      // In a frame a click could be stolen.
      await attacker.setContent(`<iframe src="${origin}/"></iframe>`)
      await attacker.waitForTimeout(500)
      expect(await attacker.frames()[1]?.content()).not.toContain('page.js')
    } finally {
      await attacker.close()
      server.closeAllConnections()
      server.close()
    }
  })

  test('is not served under the name of another site, which DNS rebinding would bring here', async () => {
    const stranger = await page.context().newPage()
    const { port } = new URL(world.inspector.origin)
    const response = await stranger.goto(`http://evil.example:${port}/`)
    expect(response?.status()).toBe(421)
    const status = await stranger.evaluate(`fetch('/api/informers').then(({ status }) => status)`)
    expect(status).toBe(421)
    await stranger.close()
  })

  test('caused no error and no request that its policy forbids', () => {
    expect(problems).toEqual([])
  })

  test('says that the program has ended', async () => {
    await world.inspector.close()
    await page.waitForSelector('.state:has-text("disconnected")')
  })
})
