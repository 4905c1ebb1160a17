import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type RequestListener } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { FoundServer } from '../servers/index.js'
import { waitUntil } from '../servers/wait-until.js'
import { Child } from '../support/child.js'
import { listening } from '../support/listening.js'

/** No window, no account, nothing that reaches for the network. */
const FLAGS = [
  ...'--headless --no-sandbox --disable-gpu --disable-quic --disable-dev-shm-usage --no-first-run'.split(' '),
  ...'--disable-background-networking --disable-component-update --disable-sync'.split(' '),
]

const DEADLINE_MS = 90_000

/** Posts an error that nothing in the script catches. */
const PAGE = `<!doctype html>
<script>addEventListener('error', ({ message }) => fetch('/seen', { method: 'POST', body: JSON.stringify({ error: message }) }))</script>
<script type="module" src="/page.js"></script>`

/**
 * Runs a script in a new Chromium, and returns the body that the script posts to `/seen`. Requests for other paths than the page's are
 * passed to `others`.
 */
export async function postedBy(
  { binDir, env }: FoundServer,
  script: string,
  others?: RequestListener,
): Promise<string> {
  let posted: string | undefined
  const server = createServer((request, response) => {
    if (request.url === '/seen') {
      void text(request).then((body) => {
        posted = body
        response.end()
      })
    } else if (request.url === '/page.js') response.setHeader('content-type', 'text/javascript').end(script)
    else if (others !== undefined && request.url !== '/') others(request, response)
    else response.setHeader('content-type', 'text/html').end(PAGE)
  })
  const url = await listening(server)
  const profile = await mkdtemp(join(tmpdir(), 'listwatch-chromium-'))
  const flags = [...FLAGS, `--user-data-dir=${profile}`]
  const browser = new Child(join(binDir, 'chromium'), [...flags, url], { env: { ...process.env, ...env } })
  try {
    await waitUntil('the page to post', () => posted !== undefined, DEADLINE_MS).catch((error: unknown) => {
      throw new Error(`chromium printed:\n${browser.errors}`, { cause: error })
    })
    return posted ?? ''
  } finally {
    browser.kill('SIGTERM') // It ends its own processes; killed at once, it would leave them writing into the profile.
    await Promise.race([browser.ended, waitUntil('the browser to end', () => false, 5_000).catch(() => {})])
    await browser[Symbol.asyncDispose]()
    server.closeAllConnections()
    server.close()
    await rm(profile, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 })
  }
}
