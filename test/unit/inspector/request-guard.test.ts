import type { IncomingMessage } from 'node:http'
import { expect, test, vi } from 'vitest'

const { timingSafeEqual } = vi.hoisted(() => ({ timingSafeEqual: vi.fn() }))
vi.mock('node:crypto', async (original) => {
  const actual = await original<typeof import('node:crypto')>()
  timingSafeEqual.mockImplementation(actual.timingSafeEqual)
  return { ...actual, timingSafeEqual }
})

test('a token is compared in constant time, so that the time of a response does not reveal it', async () => {
  // Without isolation, another file may have loaded the module with the real function.
  vi.resetModules()
  const { RequestGuard } = await import('../../../inspector/request-guard.js')
  const token = '0123456789abcdef'
  const guard = new RequestGuard(token, ['127.0.0.1:80'], 80)
  const isAuthorized = (headers: IncomingMessage['headers']): boolean =>
    guard.isAuthorized({ headers } as IncomingMessage)
  for (const given of ['f'.repeat(16), '0123456789abcdeX']) {
    expect(isAuthorized({ authorization: `Bearer ${given}` })).toBe(false)
    expect(isAuthorized({ cookie: `listwatch-80=${given}` })).toBe(false)
  }
  expect(timingSafeEqual).toHaveBeenCalledTimes(4)
  expect(isAuthorized({ authorization: `Bearer ${token}` })).toBe(true)
  expect(timingSafeEqual).toHaveBeenCalledTimes(5)
})
