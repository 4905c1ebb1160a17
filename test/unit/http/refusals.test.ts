import { expect, test } from 'vitest'
import { httpSource } from '../../../adapters/http/index.js'
import { createInformer } from '../../../src/index.js'
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
