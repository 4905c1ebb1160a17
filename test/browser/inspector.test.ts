import { mkdir } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { type Browser, chromium as launcher, type Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { ListerWatcher } from '../../src/contract/source.js'
import { describeServer, type FoundServer } from '../servers/index.js'
import { ensureBuilt } from '../support/build.js'
import { portOf } from '../support/listening.js'
import { root } from '../support/sources.js'

interface Order {
  readonly tenant: string
  readonly status: string
  readonly total: number
  readonly created: Date
  readonly customer: { readonly name: string; readonly city: string }
  readonly note: string
}

const SCRIPT = '<img src=x onerror="window.attacked = true"><script>window.attacked = true</script>'
/** With this variable the pictures of README are written again. */
const isTakingPictures = process.env['LISTWATCH_PICTURES'] === '1'
const CITIES = ['Berlin', 'Kraków', 'Lagos', 'Montréal', 'Oslo', 'Porto']
const NAMES = 'Ada Eze, Bruno Almeida, Chiara Jensen, Elif García, Farid Haddad, Grace Chen, Ingrid Dubois'.split(', ')

function orderOf(n: number): Order {
  return {
    tenant: ['acme', 'birch', 'cedar'][n % 3] ?? '',
    status: n % 2 === 0 ? 'open' : 'paid',
    total: ((n * 7_919) % 99_991) / 100,
    created: new Date(Date.UTC(2026, 0, 5) + n * 61_003),
    customer: { name: NAMES[n % NAMES.length] ?? '', city: CITIES[n % CITIES.length] ?? '' },
    note: `note ${n}`,
  }
}

/** A program with a mirror of 100 000 objects and its inspector, built as a user has them. */
async function program() {
  await ensureBuilt()
  const { createInformer } = await import('listwatch')
  const { memorySource } = await import('listwatch/memory')
  const { serveInspector } = await import('listwatch/inspector')
  const hostile = { ...orderOf(0), tenant: isTakingPictures ? 'dunes' : SCRIPT, note: SCRIPT }
  const entries = Array.from({ length: 100_000 }, (_, n): [string, Order] => [String(n).padStart(6, '0'), orderOf(n)])
  const memory = memorySource<Order>({ entries: [...entries, [SCRIPT, hostile]] })
  // A source with the times of commits, so that there is a lag.
  const source: ListerWatcher<Order> = {
    name: 'memory',
    heartbeatMs: 10_000,
    list: (context) => memory.list(context),
    async *watch(context) {
      for await (const batch of memory.watch(context)) yield { ...batch, committedAt: Date.now() - 1 }
    },
  }
  const orders = createInformer({
    name: 'orders',
    source,
    indexes: (ix) => ({
      tenant: ix.equal((order) => order.tenant),
      status: ix.equal((order) => order.status),
      total: ix.equal((order) => order.total),
      latest: ix.compound((order) => [order.tenant, order.created]),
    }),
  })
  orders.on('error', () => {})
  const failing = async (key: string): Promise<void> => {
    if (key.endsWith('77')) throw new Error(`the payment service is not available${isTakingPictures ? '' : SCRIPT}`)
  }
  orders.reconcile(failing, { name: 'billing', where: { tenant: 'birch' } })
  const inspector = await serveInspector([orders])
  await orders.start().synced()
  return { source: memory, orders, inspector }
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
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, colorScheme: 'light' })
    page = await context.newPage()
    page.on('pageerror', ({ message }) => problems.push(message))
    page.on('console', (message) => {
      if (message.type() === 'error') problems.push(message.text())
    })
    await page.goto(world.inspector.url)
    await page.waitForSelector('tbody .key:text("000000")')
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
  /** Changes some objects of the first rows, so that there is something to see. */
  const writeFor = async (ms: number): Promise<void> => {
    const until = Date.now() + ms
    for (let n = 0; Date.now() < until; n++) {
      const id = (n * 7) % 25
      const status = ['open', 'paid'][n % 2] ?? ''
      world.source.put(String(id).padStart(6, '0'), {
        ...orderOf(id),
        status,
        note: id === 9 ? 'changed' : `note ${id}`,
      })
      await page.waitForTimeout(20 + 60 * Math.abs(Math.sin(n / 90)))
    }
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
    const cells = await page.locator('tbody tr:first-child td').allInnerTexts()
    const first = '000000 | acme | open | 0 | 2026-01-05T00:00:00.000Z | Ada Eze | note 0'
    expect(cells.map((text) => text.trim()).join(' | ')).toBe(first)
    await page.$eval('.list', (list) => list.scrollTo(0, list.scrollHeight))
    await page.waitForSelector('tbody .key:text("<img")')
    expect(await page.locator('.row').count()).toBeLessThan(100)
    await page.$eval('.list', (list) => list.scrollTo(0, 0))
    await page.waitForSelector('tbody .key:text("000000")')
  })

  test('sorts by a field at a click on its column, and in the other direction at the next one', async () => {
    await page.click('th button:text-is("total")')
    await page.waitForSelector('th[aria-sort="ascending"] button:text("total")')
    await page.waitForSelector('tbody tr:nth-child(3) .key:text("<img")')
    expect(await page.$eval('tbody .key', (cell) => cell.scrollWidth - cell.clientWidth)).toBe(0)
    // A long value does not make its column wide.
    expect(await page.$eval('.list', (list) => list.scrollWidth)).toBeLessThan(1_500)
    await page.click('th button:text-is("total")')
    await page.waitForSelector('th[aria-sort="descending"] button:text("total")')
    await page.waitForSelector('tbody tr:first-child td:text-is("999.9")')
    await page.click('th button:text-is("total")')
    await page.waitForSelector('th[aria-sort="ascending"] button:text("key")')
    await page.waitForSelector('tbody tr:first-child .key:text("000000")')
  })

  test('has the columns that the user has chosen, also after a reload', async () => {
    await page.click('summary')
    await page.click('.menu label:text-is("customer.city")')
    await page.click('.menu label:text-is("created")')
    await page.keyboard.press('Escape')
    await page.reload()
    await page.waitForSelector('tbody td:text("Berlin")')
    expect(await page.locator('th').allTextContents()).toEqual(
      'key tenant status total customer.name note customer.city'.split(' '),
    )
    await page.click('summary')
    await page.click('.menu button')
    await page.keyboard.press('Escape')
    await page.waitForSelector('th:has-text("created")')
  })

  test('lists the values of an index if they are few, and has a field for a value if they are many', async () => {
    expect(await page.locator('.facets .facet').count()).toBe(6)
    await page.fill('.facets [aria-label="value of total"]', '79.19')
    await page.keyboard.press('Enter')
    await totalIs('2 objects')
    await page.click('.chip:text("total: 79.19")')
    await page.fill('.facets [aria-label="value of latest"]', 'birch, 2026-01-05T00:01:01.003Z')
    await page.keyboard.press('Enter')
    await totalIs('1 object')
    await page.waitForSelector('tbody tr:first-child .key:text("000001")')
    await page.click('.chip')
    await totalIs('100,001 objects')
  })

  test('says that nothing matches, and shows all again', async () => {
    await page.fill('#search', 'no such text')
    await totalIs('0 objects')
    await page.click('.empty button')
    await totalIs('100,001 objects')
  })

  test('shows hostile texts as texts', async () => {
    await page.fill('#search', 'window.attacked')
    await totalIs('1 object')
    await page.click('tbody .key')
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
    await page.keyboard.press('End')
    await page.waitForSelector('.details h2:text("099999")')
    await page.keyboard.press('Home')
    await page.waitForSelector('.details h2:text("000003")')
    await page.keyboard.press('ArrowDown')
    await page.click('.facet:has-text("acme")')
    await page.click('.facet:has-text("paid")')
    await page.keyboard.press('/')
    await page.keyboard.type('note 4242')
    await totalIs('11 objects')
    await page.fill('#search', '')
    await totalIs('100,001 objects')
  })

  test('shows a change at the object and in the list of changes, and a delete in the number of objects', async () => {
    world.source.put('000009', { ...orderOf(9), note: 'changed' })
    await page.waitForSelector('.details .difference:has-text("changed")')
    expect(await page.textContent('.details .difference')).toBe('note "note 9" → "changed"')
    world.source.delete('000002')
    await totalIs('100,000 objects')
    world.source.put('000002', orderOf(2))
    expect(await page.textContent('.details .marked')).toContain('"note": "changed"')
    await page.waitForSelector('dl div:has-text("lag") svg')
    await page.mouse.move(640, 108)
    await page.evaluate('document.activeElement.blur()')
    if (isTakingPictures) await writeFor(60_000)
    await picture('inspector-light')
    await press('2')
    await page.waitForSelector('.tape .update .open:text("000009")')
    await page.click('.tape .open:text("000009")')
    await page.waitForSelector('.details h2:text("000009")')
  })

  test('shows graphs, subscriptions, controllers and failing keys, dark and light', async () => {
    const writing = setInterval(() => world.source.put('000001', { ...orderOf(1), note: `at ${Date.now()}` }), 50)
    await press('3')
    await page.waitForSelector('.status td:text("billing")')
    await page.waitForSelector('h3:has-text("Failing keys")')
    await page.waitForSelector('figcaption:has-text("Lag") b:not(:text("–"))')
    await press('t')
    await expect.poll(() => page.evaluate('document.documentElement.dataset.theme')).toBe('dark')
    await picture('inspector-dark')
    clearInterval(writing)
    expect(await page.evaluate('getComputedStyle(document.body).backgroundColor')).toBe('rgb(17, 20, 24)')
    await press('t')
    expect(await page.evaluate('"attacked" in window')).toBe(false)
  })

  test('shows the newest status, although each response takes longer than the time between two samples', async () => {
    await page.route('**/api/status*', async (route) => {
      await page.waitForTimeout(1_500)
      await route.continue()
    })
    await press('1')
    await press('3')
    await page.waitForSelector('.status td:text("billing")')
    const later = world.orders.subscribe({ update() {} }, { name: 'later' })
    await page.waitForSelector('.status td:text("later")')
    await later.close()
    await page.unrouteAll({ behavior: 'wait' })
  })

  test('fits a phone: nothing but the table is wider than the window, and filters and the object are one touch away', async () => {
    await page.setViewportSize({ width: 390, height: 844 })
    await press('1')
    await page.keyboard.press('Escape')
    await page.waitForSelector('tbody .key:text("000000")')
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390)
    await page.$eval('.list', (list) => list.scrollTo(300, 3_000))
    await page.waitForSelector('tbody .key:text("000101")')
    expect(await page.locator('.row').count()).toBeLessThan(100)
    await page.$eval('.list', (list) => list.scrollTo(0, 0))
    expect(await page.isVisible('.facets')).toBe(false)
    await page.click('button:text("Filters")')
    await page.click('.facet:has-text("birch")')
    await totalIs('33,333 objects')
    await page.click('.chip')
    await page.click('button:text("Filters")')
    await totalIs('100,001 objects')
    await picture('inspector-phone')
    await page.click('tbody .key:text("000001")')
    await page.waitForSelector('.details pre:has-text("birch")')
    await page.click('.details [aria-label="close"]')
    await page.setViewportSize({ width: 1280, height: 800 })
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
    })
    const port = await portOf(server)
    const attacker = await page.context().newPage()
    try {
      await attacker.goto(`http://${host}:${port}/`)
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

  test('caused no error and no request that its policy forbids', () => expect(problems).toEqual([]))

  test('says that the program has ended', async () => {
    await world.inspector.close()
    await page.waitForSelector('.state:has-text("disconnected")')
  })
})
