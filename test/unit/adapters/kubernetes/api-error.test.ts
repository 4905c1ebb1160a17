import { describe, expect, test } from 'vitest'
import { apiError, connectionError, isTooLarge, statusOf } from '../../../../adapters/kubernetes/http/api-error.js'

const requested = { verb: 'list', group: 'apps', plural: 'deployments', namespace: 'shop' } as const

describe('what the API server refuses', () => {
  test.each([
    [400, 'PROTOCOL'],
    [401, 'UNAUTHORIZED'],
    [403, 'UNAUTHORIZED'],
    [404, 'NOT_FOUND'],
    [405, 'PROTOCOL'],
    [410, 'VERSION_EXPIRED'],
    [413, 'PROTOCOL'],
    [422, 'PROTOCOL'],
    [429, 'UNAVAILABLE'],
    [500, 'UNAVAILABLE'],
    [503, 'UNAVAILABLE'],
    [504, 'UNAVAILABLE'],
    [418, 'UNAVAILABLE'],
    [500, 'VERSION_EXPIRED', 'Expired'],
  ])('with %d is %s', (code, expected, reason?: string) => {
    expect(apiError(statusOf({ code, message: 'no', reason }), requested).code).toBe(expected)
  })

  test.each([
    ['by a cause', { code: 504, details: { causes: [{ reason: 'ResourceVersionTooLarge', message: 'x' }] } }],
    ['by the message of a cause', { code: 504, details: { causes: [{ message: 'Too large resource version' }] } }],
    ['by its message', { code: 504, message: 'Too large resource version: 9, current: 5' }],
    ['with a code that says otherwise', { code: 410, message: 'Too large resource version: 9' }],
  ])('as a version too large, %s, is waited for', (_how, body) => {
    const status = statusOf({ reason: 'Timeout', ...body })
    expect([isTooLarge(status), apiError(status, requested).code]).toEqual([true, 'UNAVAILABLE'])
  })

  test('for missing rights names the rule, and the command that makes it', () => {
    const { message } = apiError(statusOf({ code: 403, message: 'forbidden' }), requested)
    expect(message).toContain('apiGroups: ["apps"], resources: ["deployments"], verbs: ["list", "watch"]')
    expect(message).toContain(
      'kubectl create role deployments-reader --verb=list,watch --resource=deployments.apps -n shop',
    )
  })

  test('for missing rights in all namespaces wants a clusterrole', () => {
    const { message } = apiError(statusOf({ code: 403 }), { ...requested, namespace: undefined })
    expect(message).toContain('kubectl create clusterrole deployments-reader')
  })

  test.each([
    ['pods "a" is forbidden: exceeded quota: few, requested: pods=1, used: pods=1, limited: pods=1', false],
    ['pods "a" is forbidden: violates PodSecurity "restricted:latest": runAsNonRoot != true', false],
    ['pods "a" is forbidden: unable to create new content in namespace shop because it is being terminated', false],
    ['admission webhook "policy.example.com" denied the request: no', false],
    ['pods "a" is forbidden: User "me" cannot create resource "pods" in API group "" in the namespace "shop"', true],
  ])('a refused write advises a role only if a right is missing: %s', (message, isAdvised) => {
    const target = { verb: 'create', group: '', plural: 'pods', namespace: 'shop', verbs: ['create'] } as const
    expect(apiError(statusOf({ code: 403, message }), target).message.includes('kubectl create role')).toBe(isAdvised)
  })

  test('for missing rights to discovery names the paths, and the role that has them', () => {
    const { message } = apiError(statusOf({ code: 403, message: 'forbidden' }), { verb: 'get' })
    expect(message).toBe(
      'forbidden (the missing RBAC rule: nonResourceURLs: ["/api", "/api/*", "/apis", "/apis/*"], verbs: ["get"]; the ClusterRole system:discovery has it: bind that)',
    )
  })

  test('carries Retry-After', () => {
    const status = statusOf({ code: 429, details: { retryAfterSeconds: 7 } })
    expect(apiError(status, requested).retryAfterMs).toBe(7_000)
  })

  test('contains no secret', () => {
    expect(apiError(statusOf({ code: 500, message: 'Authorization: Bearer abc' }), requested).message).not.toContain(
      'abc',
    )
  })

  test.each([undefined, null, 7, 'text', [], { code: 'x', details: 7 }, { details: { causes: {} } }])(
    'as %j is an error all the same',
    (body) => expect(apiError(statusOf(body, 500), requested).message).toBe('HTTP status 500'),
  )
})

test.each([
  ['connect ECONNREFUSED 127.0.0.1:6443', 'no server listens at host:6443'],
  ['getaddrinfo ENOTFOUND host', 'no such host'],
  ['self-signed certificate in certificate chain', 'certificate-authority-data'],
  ["Hostname/IP does not match certificate's altnames", 'tls-server-name'],
  ['write EPROTO wrong version number', 'check the scheme'],
  ['aborted', 'the connection was closed in the middle of the answer'],
])('the error of a failed connection says what to check %s', (message, says) => {
  const error = connectionError(new Error(message), 'host:6443')
  expect([error.code, error.message]).toEqual(['UNAVAILABLE', expect.stringContaining(says)])
})

describe('[K18] a client certificate that has expired', () => {
  const flaw = 'the client certificate CN=alice expired'
  const alert = (what: string): string => `error:0A000415:SSL routines:ssl3_read_bytes:${what}:SSL alert number 45`

  test.each([401, 400])('is named instead of a hint by the error of status %i', (code) => {
    const status = statusOf({ code, message: 'No', reason: '' })
    expect(apiError(status, requested, flaw).message).toBe(`No (${flaw})`)
  })

  test.each([
    ['socket hang up', flaw],
    [alert('ssl/tls alert certificate expired'), flaw],
    ['self-signed certificate in certificate chain', 'certificate-authority-data'],
    ['connect ECONNREFUSED 127.0.0.1:6443', 'no server listens at host:6443'],
  ])('is named by the error of a failed connection if it may be the cause: %s', (message, says) => {
    const error = connectionError(new Error(message), 'host:6443', undefined, flaw)
    expect(error.message.slice(message.length)).toContain(says)
  })

  test('is named beside the proxy by the error of a connection that was closed', () => {
    const { message } = connectionError(new Error('socket hang up'), 'host:6443', 'http://proxy:3128', flaw)
    expect(message).toBe(`the proxy http://proxy:3128 failed: socket hang up (check proxy-url of the cluster; ${flaw})`)
  })

  test.each(['tlsv1 alert unknown ca', 'tlsv13 alert certificate required', 'ssl/tls alert bad certificate'])(
    'is not blamed for the alert of a server that refuses a valid one: %s',
    (what) => {
      const { message } = connectionError(new Error(alert(what)), 'host:6443')
      expect(message).toContain('the server refuses the client certificate')
    },
  )
})
