import { expect, test } from 'vitest'
import { httpSource } from '../../../../adapters/http/index.js'
import { createInformer } from '../../../../src/index.js'
import { VirtualClock } from '../../../../testing/index.js'
import { servedAccounts } from './mirror.js'

async function refusal(response: () => Response): Promise<unknown> {
  const source = httpSource({ url: 'http://mirror.test/accounts', fetch: async () => response() })
  const follower = createInformer({ source })
  follower.on('error', () => {})
  const error = await follower
    .start()
    .synced()
    .then(undefined, (thrown: unknown) => thrown)
  await follower.stop()
  return error
}

test('the text with which `scope` refuses a request is in the error of the follower, with what to check', async () => {
  const scope = () => new Response('your trial has ended\n', { status: 403 })
  await using served = servedAccounts([], { scope })
  await expect(served.follow().synced()).rejects.toMatchObject({
    code: 'UNAUTHORIZED',
    message: expect.stringContaining(
      'was answered with status 403: your trial has ended (check the option headers, and "scope" of the server);',
    ),
  })
})

test('a long text that refuses a request is shortened in the error', async () => {
  const error = await refusal(() => new Response('x'.repeat(1_000), { status: 401 }))
  expect(error).toMatchObject({ message: expect.stringMatching(/status 401: x{200} \(check/) })
})

test('a page of HTML that refuses a request is not in the error', async () => {
  const headers = { 'content-type': 'text/html' }
  const error = await refusal(() => new Response('<h1>Login</h1>', { status: 401, headers }))
  expect(error).toMatchObject({ message: expect.stringMatching(/status 401 \(check/) })
})

test('the error of a follower whose address is not that of a mirror names the address', async () => {
  const error = await refusal(() => new Response('Cannot GET /accounts/list', { status: 404 }))
  expect(error).toMatchObject({
    code: 'NOT_FOUND',
    message: expect.stringContaining(
      'was answered with status 404: Cannot GET /accounts/list; is serveMirror at http://mirror.test/accounts?',
    ),
  })
})

const DATE = 'Fri, 02 Jan 2026 00:00:00 GMT'

test.each([
  ['120', 120_000],
  ['Fri, 02 Jan 2026 00:02:00 GMT', 120_000],
  ['31536000', 600_000],
  ['1e300', 600_000],
  ['Sat, 02 Jan 2027 00:00:00 GMT', 600_000],
])('[V19] a follower that is answered with the Retry-After "%s" waits %d ms', async (retryAfter, ms) => {
  const headers = { 'retry-after': retryAfter, date: DATE }
  const clock = new VirtualClock()
  const fetch = async () => new Response('busy', { status: 503, headers })
  const follower = createInformer({ source: httpSource({ url: 'http://mirror.test/accounts', fetch }), clock })
  follower.on('error', () => {})
  follower.start()
  await clock.advance(0)
  expect(follower.status).toMatchObject({ state: 'backing-off', retryInMs: ms })
  await follower.stop()
})
