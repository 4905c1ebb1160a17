import { expect, test } from 'vitest'
import { httpSource, httpStatus } from '../../../../adapters/http/index.js'
import { createInformer, SourceError } from '../../../../src/index.js'
import { VirtualClock } from '../../../../testing/index.js'
import { servedAccounts } from './mirror.js'

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

test.each([
  [
    'a long text that refuses a request is shortened',
    'x'.repeat(1_000),
    'text/plain',
    401,
    /status 401: x{200} \(check/,
  ],
  ['a page of HTML that refuses a request is not', '<h1>Login</h1>', 'text/html', 401, /status 401 \(check/],
  [
    'the address of a server that is not a mirror is',
    'Cannot GET /accounts/list',
    'text/plain',
    404,
    /was answered with status 404: Cannot GET \/accounts\/list; is serveMirror at http:\/\/mirror\.test\/accounts\?/,
  ],
])('%s in the error', async (_what, text, type, status, message) => {
  const fetch = async () => new Response(text, { status, headers: { 'content-type': type } })
  const follower = createInformer({ source: httpSource({ url: 'http://mirror.test/accounts', fetch }) })
  follower.on('error', () => {})
  await expect(follower.start().synced()).rejects.toMatchObject({
    code: status === 404 ? 'NOT_FOUND' : 'UNAUTHORIZED',
    message: expect.stringMatching(message),
  })
  await follower.stop()
})

test.each([
  ['INVALID_MARK', 400],
  ['EPOCH_CHANGED', 409],
  ['TIMEOUT', 504],
  ['STOPPED', 503],
] as const)('the status of a response for %s is %i, and 500 for a mistake', (code, status) => {
  expect([httpStatus(new SourceError('x', { code })), httpStatus(new TypeError('x'))]).toEqual([status, 500])
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
