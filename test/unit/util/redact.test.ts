import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import { redact, redactError } from '../../../src/util/redact.js'

describe('redact', () => {
  test.each([
    ['postgres://app:hunter2@db:5432/shop', 'postgres://app:***@db:5432/shop'],
    ['redis://:hunter2@cache/0', 'redis://:***@cache/0'],
    ['connect ECONNREFUSED HTTPS://a:hunter2@b/c failed', 'connect ECONNREFUSED HTTPS://a:***@b/c failed'],
    ['postgres://app:hun@ter2@db/shop', 'postgres://app:***@db/shop'],
    ['redis://app:a#hunter2@cache/0', 'redis://app:***@cache/0'],
    ['redis://app:a?hunter2@cache/0', 'redis://app:***@cache/0'],
    ['redis://app:a/hunter2@cache/0', 'redis://app:***@cache/0'],
    [
      'postgres://u@h/db?password=hunter2: connect ECONNREFUSED',
      'postgres://u@h/db?password=***: connect ECONNREFUSED',
    ],
    ['http://u:hunter2@a, http://v:hunter2@b', 'http://u:***@a, http://v:***@b'],
    ['host=db password=hunter2 user=app', 'host=db password=*** user=app'],
    ["host=db password='hunter2 and more' user=app", 'host=db password=*** user=app'],
    ['PGPASSWORD=hunter2 psql', 'PGPASSWORD=*** psql'],
    ['https://api/?token=hunter2&page=2', 'https://api/?token=***&page=2'],
    ['https://api/?access_token=hunter2&page=2', 'https://api/?access_token=***&page=2'],
    ['client_secret=hunter2;scope=all', 'client_secret=***;scope=all'],
    ['{"user":"app","password":"hunter2","port":1}', '{"user":"app","password":***,"port":1}'],
    ['x-api-key: hunter2', 'x-api-key: ***'],
    ['Authorization: Bearer hunter2', 'Authorization: ***'],
    ['authorization: Basic aHVudGVyMg==, accept: */*', 'authorization: ***, accept: */*'],
    ['Authorization: Token hunter2', 'Authorization: ***'],
    ['Cookie: sid=hunter2', 'Cookie: ***'],
    ['Cookie: theme=dark; sid=hunter2', 'Cookie: ***'],
    ['sslpassword=hunter2 sslkey=hunter2', 'sslpassword=*** sslkey=***'],
    ['token eyJhbGciOi.eyJzdWIiOi.c2lnbmF0dXJl was refused', 'token *** was refused'],
    ['key: -----BEGIN EC PRIVATE KEY-----\nMHcC\n-----END EC PRIVATE KEY-----', 'key: *** (EC PRIVATE KEY)'],
  ])('%s', (text, safe) => expect(redact(text)).toBe(safe))

  test.each([
    'watch of etcd /jobs/ ended: no data for 30 s; reconnecting from 8812 in 1.6 s',
    'https://example.com:8443/path',
    'https://example.com:8443/path?to=user@example.com',
    'postgres://u@h/db?password=***: connect ECONNREFUSED',
    'the token bucket is empty',
    'password authentication failed for user "app"',
    'user@example.com',
    '',
  ])('nothing changes in: %s', (text) => expect(redact(text)).toBe(text))

  test.each([
    ['letters', 'a'.repeat(200_000)],
    ['schemes', 'a://'.repeat(50_000)],
    ['colons', `a://${'a:'.repeat(100_000)}`],
    ['users', 'a://b:c'.repeat(30_000)],
    ['names', 'password'.repeat(25_000)],
    ['spaces', `password${' '.repeat(200_000)}`],
    ['bearers', 'authorization: bearer '.repeat(10_000)],
  ])('a hostile text of 200 000 characters (%s) is redacted in linear time', (_, text) => {
    const begun = performance.now()
    redact(text)
    expect(performance.now() - begun).toBeLessThan(1_000)
  })
})

test.each([
  'hunter2',
  'hunter2 '.repeat(20),
  '{"data":hunter2}',
  `{"a":${'1'.repeat(50)} hunter2}`,
  '"',
  'ℌhunter2',
  '\n',
])('[B35] redact removes the quotation of %j from the message of JSON.parse', (text) => {
  const safe = redact(`no credentials: ${thrownBy(() => JSON.parse(text)).message} (check the plugin)`)
  expect(safe).toMatch(/^no credentials: .*JSON.* \(check the plugin\)$/)
  expect(safe).not.toMatch(/hunter|ℌ|"/)
})

test('[B33][B34] redactError copies an error and its causes without secrets, with name, code and stack', () => {
  const cause = Object.assign(new TypeError('password=hunter2'), { stderr: 'hunter2', code: 'ENOENT' })
  const safe = redactError(new Error('token: hunter2', { cause }))
  expect([safe.message, safe.name, (safe.cause as Error).name]).toEqual(['token: ***', 'Error', 'TypeError'])
  expect(safe.cause).toMatchObject({ message: 'password=***', code: 'ENOENT' })
  expect((safe.cause as Error).stack).toMatch(/^TypeError: password=\*\*\*\n {4}at /)
  expect(inspect(safe, { depth: Infinity, showHidden: true })).not.toContain('hunter2')
})

test('[B33][B34] redactError makes an error from any other value', () => {
  expect(redactError('token: hunter2').message).toBe('token: ***')
  expect(redactError(Object.create(null)).message).toBe('an object')
})

test('[B33][B34] redactError ends if an error is its own cause', () => {
  const error = new Error('round')
  error.cause = error
  expect(redactError(error).message).toBe('round')
})

function thrownBy(act: () => unknown): Error {
  try {
    act()
  } catch (error) {
    return error as Error
  }
  throw new Error('nothing was thrown')
}
