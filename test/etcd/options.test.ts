import { rootCertificates } from 'node:tls'
import { describe, expect, test } from 'vitest'
import { type EtcdSourceOptions, etcdCluster, etcdSource } from '../../adapters/etcd/index.js'
import { hasReliableProgress, losesEvents } from '../../adapters/etcd/transport/server-version.js'

const good = { endpoints: 'localhost:2379', prefix: '/jobs/' }

import { OptionError } from '../../src/contract/errors.js'

describe('invalid options are rejected at the call, with the allowed values', () => {
  const wrong: readonly (readonly [says: string, options: object | undefined])[] = [
    ['give either "client" (an Etcd3) or "endpoints"', {}],
    ['give either "client" (an Etcd3) or "endpoints"', undefined],
    [`must not be empty; for all keys of the server say range: { from: '' }`, { ...good, prefix: '' }],
    ['must be an Etcd3 of the package etcd3 1.x', { client: {}, prefix: 'a' }],
    ['must be host:port, http://host:port or https://host:port', { ...good, endpoints: ['etcd://x'] }],
    ['must not mix https with others', { ...good, endpoints: ['https://a:1', 'b:1'] }],
    ['must be one of "json", "string", "bytes"', { ...good, codec: 'yaml' }],
    ['must be an object with username and password', { ...good, auth: { username: 'a' } }],
    ['must have a rootCertificate', { ...good, credentials: {} }],
    [
      'credentials: option "rootCertificate" must be PEM in a Buffer',
      { ...good, credentials: { rootCertificate: 'PEM' } },
    ],
    [
      'credentials: option "rootCertificate" must be a certificate in PEM, which this is not',
      { ...good, credentials: { rootCertificate: Buffer.from('nonsense') } },
    ],
    ['auth: option "username" must be a string that is not', { ...good, auth: { username: '', password: '' } }],
    [
      'or an array of these, but "etcd://x" is not one, got an array',
      { ...good, endpoints: ['a:1', 'etcd://x', 'b:1'] },
    ],
    ['or an array of these, got an array', { ...good, endpoints: [] }],
    [
      'or an array of these, but "***@host:2379" is not one, got a string',
      { ...good, endpoints: 'me:secret@host:2379' },
    ],
    ['but "http://***@host:2379" is not one', { ...good, endpoints: ['http://me:se/c@ret@host:2379'] }],
    ['must be host:port', { ...good, endpoints: 'host:99999' }],
    ['range: unknown option "end"; allowed are from, to', { endpoints: 'a:1', range: { from: 'a', end: 'b' } }],
    [
      'option "timeoutMs" must be more than heartbeatMs (5000), got 5000',
      { ...good, heartbeatMs: 5_000, timeoutMs: 5_000 },
    ],
    ['option "timeoutMs" must be more than heartbeatMs (20000), got 15000', { ...good, heartbeatMs: 20_000 }],
    ['must be a whole number of at least 1', { ...good, pageSize: 0 }],
    ['unknown option "prefx"; allowed are client, endpoints, ', { ...good, prefx: 'a' }],
  ]
  test.each(wrong)('%s', (says, options) => {
    const make = (): unknown => etcdSource(options as EtcdSourceOptions<unknown>)
    expect(make).toThrow(TypeError)
    expect(make).toThrow(says)
  })

  const client = { kv: { range() {}, txn() {} }, watchClient: { watch() {} }, maintenance: { status() {} } }
  const rootCertificate = Buffer.from(rootCertificates[0] ?? '')
  test.each([
    ['give either "client"', { prefix: 'a' }, 'client'],
    ['give either "client"', { ...good, client }, 'client'],
    ['give either "client"', { endpoints: undefined, prefix: 'a' }, 'endpoints'],
    ['give either "prefix"', { endpoints: 'a:1' }, 'prefix'],
    ['give either "prefix"', { ...good, range: { from: 'a' } }, 'prefix'],
    ['give either "prefix"', { endpoints: 'a:1', range: undefined }, 'range'],
    ['belong to', { client, prefix: 'a', auth: { username: 'a', password: '' } }, 'auth'],
    ['belong to', { client, prefix: 'a', credentials: { rootCertificate } }, 'credentials'],
    [
      '"privateKey" and "certChain" belong together',
      { ...good, credentials: { rootCertificate, privateKey: Buffer.from('key') } },
      'credentials',
    ],
    ['nothing lies between', { endpoints: 'a:1', range: { from: 'b', to: 'a' } }, 'range'],
    ['more than heartbeatMs (2), got 1', { ...good, timeoutMs: 1, heartbeatMs: 2 }, 'timeoutMs'],
  ])('%s: an OptionError that names the option', (says, options, option) => {
    const make = (): unknown => etcdSource(options as EtcdSourceOptions<unknown>)
    expect(make).toThrow(OptionError)
    expect(make).toThrow(expect.objectContaining({ option, message: expect.stringContaining(says) }))
  })

  test.each([
    [{}, 'etcdCluster: give either "client"'],
    [good, 'etcdCluster: unknown option "prefix"'],
    [{ endpoints: 'a:1', holdMs: -1 }, 'etcdCluster: option "holdMs" must be a number of at least 0, or Infinity'],
    [{ endpoints: 'a:1', heartbeatMs: 5, timeoutMs: 5 }, 'etcdCluster: option "timeoutMs" must be more than'],
  ])('a cluster with %o is an OptionError of etcdCluster', (options, message) => {
    expect(() => etcdCluster(options)).toThrow(message)
  })

  test.each([
    [{}, 'collection: give either "prefix"'],
    [good, 'collection: unknown option "endpoints"'],
    [{ range: { from: 'b', to: 'a' } }, 'collection: range: nothing lies between'],
  ])('a collection with %o is an OptionError of collection', (options, message) => {
    const { collection } = etcdCluster({ endpoints: 'a:1' })
    expect(() => collection(options)).toThrow(message)
  })

  test('a range can contain all keys of a server', () => {
    expect(etcdSource({ endpoints: 'localhost:2379', range: { from: '' } }).name).toBe('etcd:..')
  })
})

test.each([
  ['3.4.24', false],
  ['3.4.25', true],
  ['3.5.7', false],
  ['3.5.8', true],
  ['3.6.0-rc.1', true],
  ['4.0.0', true],
  ['3.3.27', false],
  ['', false],
])('progress notifications of etcd %s are reliable: %s', (version, isBelieved) => {
  expect(hasReliableProgress(version)).toBe(isBelieved)
})

test.each([
  ['3.4.36', true],
  ['3.5.23', true],
  ['3.5.24', false],
  ['3.6.5', true],
  ['3.6.6', false],
  ['3.7.0', false],
  ['4.0.0', false],
  ['3.7.0-alpha.0', false],
  ['', false],
])('etcd %s is known to lose events: %s', (version, isKnown) => {
  expect(losesEvents(version)).toBe(isKnown)
})

describe('a mark', () => {
  const source = etcdSource(good)
  const at = (cluster: string, revision: number): string => `etcd1.${cluster}.2.${revision}.1.5.0123456789abcdef.7`

  test('is the revision in the response to a write, a head, or a version', () => {
    for (const mark of ['9', 'etcdh1.ab.9', at('ab', 9)])
      expect([source.hasReached(at('ab', 8), mark), source.hasReached(at('ab', 9), mark)]).toEqual([false, true])
  })

  test('of another cluster is EPOCH_CHANGED', () => {
    for (const mark of ['etcdh1.cd.9', at('cd', 9)])
      expect(() => source.hasReached(at('ab', 9), mark)).toThrow(expect.objectContaining({ code: 'EPOCH_CHANGED' }))
  })

  test.each(['', 'x', '-1', '1e3', 'etcd1.ab.2.9', 'etcd1.zz.2.9.1.5.0123456789abcdef.7', '99999999999999999999'])(
    '%j is rejected as PROTOCOL',
    (mark) => {
      expect(() => source.hasReached(at('ab', 9), mark)).toThrow(expect.objectContaining({ code: 'PROTOCOL' }))
    },
  )
})
