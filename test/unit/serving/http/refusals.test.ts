import { describe, expect, test } from 'vitest'
import { httpSource, httpStatus } from '../../../../serving/http/index.js'
import { createInformer, SourceError } from '../../../../src/index.js'
import { VirtualClock } from '../../../../testing/index.js'
import { failure } from '../../../support/failure.js'
import { fetchFrom, servedAccounts } from './mirror.js'

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
  ['a long text that refuses is shortened', 'x'.repeat(1_000), 'text/plain', 401, /status 401: x{200} \(check/],
  ['a page of HTML that refuses a request is not', '<h1>Login</h1>', 'text/html', 401, /status 401 \(check/],
  [
    'the address of a server that is not a mirror is',
    'Cannot GET /accounts/list',
    'text/plain',
    404,
    /was answered with status 404: Cannot GET \/accounts\/list; is serveHttp at http:\/\/mirror\.test\/accounts\?/,
  ],
  ['[B35] a part of JSON is not', 'data: {"a":hunter2}\n\n', 'text/event-stream', 200, /failed: it is not valid JSON/],
])('%s in the error', async (_what, text, type, status, message) => {
  const fetch = async () => new Response(text, { status, headers: { 'content-type': type } })
  const follower = createInformer({ source: httpSource({ url: 'http://mirror.test/accounts', fetch }) })
  const failed = new Promise((resolve) => follower.start().on('error', resolve))
  const code = status === 200 ? 'UNAVAILABLE' : status === 404 ? 'NOT_FOUND' : 'UNAUTHORIZED'
  expect(await failed).toMatchObject({ code, message: expect.stringMatching(message) })
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

describe('a body of a response that does not end is read up to a limit', () => {
  /** Returns responses that do not end, and counts their bytes. */
  function endless(status: number, type: string) {
    const sent = { bytes: 0, isCancelled: false }
    const respond = (): Response => {
      sent.bytes = 0
      const body = new ReadableStream<Uint8Array>({
        pull(controller) {
          if (sent.bytes > 10_000_000) controller.close()
          controller.enqueue(new TextEncoder().encode(' '.repeat(16_384)))
          sent.bytes += 16_384
        },
        cancel() {
          sent.isCancelled = true
        },
      })
      return new Response(body, { status, headers: { 'content-type': type } })
    }
    return { sent, respond }
  }

  test.each([
    ['application/json', 403],
    ['text/plain', 503],
  ])('[V27] if it refuses a request: %s, %i', async (type, status) => {
    const { sent, respond } = endless(status, type)
    const follower = createInformer({
      source: httpSource({ url: 'http://mirror.test/accounts', fetch: async () => respond() }),
    })
    follower.on('error', () => {})
    await expect(follower.start().synced({ timeoutMs: 1_000 })).rejects.toThrow(`status ${status}`)
    expect(sent.bytes).toBeLessThan(1_000_000)
    expect(sent.isCancelled).toBe(true)
    await follower.stop()
  })

  test('[V27] if it is that of a version', async () => {
    await using served = servedAccounts([])
    const { sent, respond } = endless(200, 'application/json')
    const from = fetchFrom(() => served.mirror)
    const fetch = async (url: string, init: RequestInit): Promise<Response> =>
      new URL(url).pathname.endsWith('/version') ? respond() : await from(url, init)
    const follower = await served.joined({ fetch })
    await expect(follower.fresh()).rejects.toMatchObject(
      failure('PROTOCOL', 'GET /version was answered with more than 262144 bytes'),
    )
    expect(sent.bytes).toBeLessThan(1_000_000)
  })
})
