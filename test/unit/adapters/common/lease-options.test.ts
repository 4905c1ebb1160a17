import { Redis } from 'ioredis'
import { Client, Pool } from 'pg'
import { describe, expect, test } from 'vitest'
import { etcdLeases } from '../../../../adapters/etcd/index.js'
import { kubernetesLeases } from '../../../../adapters/kubernetes/index.js'
import { memoryLeases } from '../../../../adapters/memory/index.js'
import { natsLeases } from '../../../../adapters/nats/index.js'
import { installLeasesSql, postgresLeases } from '../../../../adapters/postgres/index.js'
import { redisLeases } from '../../../../adapters/redis/index.js'
import { type Leases, OptionError } from '../../../../src/adapter.js'

const kubeConfig = {
  getCurrentContext: () => 'c',
  getCurrentCluster: () => null,
  applyToHTTPSOptions: () => Promise.resolve(),
}
const connection = {
  publish: () => {},
  subscribe: () => ({ unsubscribe: () => {} }),
  status: async function* () {},
  isClosed: () => false,
  isDraining: () => false,
}
type Make = (options: object) => Leases

const stores: readonly (readonly [call: string, make: Make])[] = [
  ['postgresLeases', (options) => postgresLeases({ pool: new Pool(), group: 'g', ...options })],
  ['redisLeases', (options) => redisLeases({ client: new Redis({ lazyConnect: true }), group: 'g', ...options })],
  ['etcdLeases', (options) => etcdLeases({ endpoints: 'localhost', group: 'g', ...options })],
  ['natsLeases', (options) => natsLeases({ client: connection, group: 'g', ...options })],
  ['kubernetesLeases', (options) => kubernetesLeases({ kubeConfig, namespace: 'n', group: 'g', ...options })],
]

describe.each(stores)('%s', (call, make) => {
  test('has the documented defaults, and a name with the group', () => {
    expect(make({})).toMatchObject({ mode: 'share', leaseMs: 10_000, renewMs: 2_000 })
    expect(make({}).name).toBe(`${call.replace('Leases', '')} leases "g"`)
    expect(make({ mode: 'leader', leaseMs: 1_000 })).toMatchObject({ mode: 'leader', leaseMs: 1_000, renewMs: 200 })
  })

  test.each([
    ['group', { group: undefined }, 'is missing'],
    ['group', { group: '' }, 'must'],
    ['group', { group: 'two words' }, 'must'],
    ['group', { group: '{x}' }, 'must'],
    ['group', { group: 'x'.repeat(201) }, 'must'],
    ['mode', { mode: 'both' }, 'must be one of "share", "leader"'],
    ['leaseMs', { leaseMs: 499 }, 'must be at least 500'],
    ['leaseMs', { leaseMs: Infinity }, 'must be a finite number'],
    ['renewMs', { renewMs: 5_001 }, 'must be at most half of leaseMs (10000), got 5001'],
    ['ttl', { ttl: 1 }, 'unknown option'],
  ])('refuses a wrong option "%s": %o', (option, options, says) => {
    const error = errorOf(() => make(options))
    expect(error).toBeInstanceOf(OptionError)
    expect(error).toMatchObject({ option })
    expect(String(error)).toContain(`${call}: `)
    expect(String(error)).toContain(says)
  })
})

test.each<[string, () => unknown, string]>([
  ['pool', () => postgresLeases({ group: 'g' } as never), 'option "pool" is missing; for example new pg.Pool(…)'],
  ['pool', () => postgresLeases({ group: 'g', pool: {} as never }), 'must be a Pool of pg 8'],
  ['pool', () => postgresLeases({ group: 'g', pool: new Client() as never }), 'must be a Pool of pg 8'],
  ['connect', () => postgresLeases({ group: 'g', pool: new Pool(), connect: {} as never }), 'must be a function'],
  ['client', () => redisLeases({ group: 'g' } as never), 'option "client" is missing'],
  ['client', () => redisLeases({ group: 'g', client: {} as never }), 'must be a Redis or Cluster of ioredis'],
  ['client', () => etcdLeases({ group: 'g' }), 'give either "client" (an Etcd3) or "endpoints"'],
  ['prefix', () => etcdLeases({ group: 'g', endpoints: 'localhost', prefix: '' }), 'a string that is not empty'],
  ['client', () => natsLeases({ group: 'g' } as never), 'option "client" is missing'],
  ['client', () => natsLeases({ group: 'g', client: {} as never }), 'must be a NatsConnection'],
  ['bucket', () => natsLeases({ group: 'g', client: connection, bucket: 'a.b' }), 'must consist of letters'],
  ['streamReplicas', () => natsLeases({ group: 'g', client: connection, streamReplicas: 0 }), 'must be'],
  ['namespace', () => kubernetesLeases({ kubeConfig, group: 'g' } as never), 'option "namespace" is missing'],
  ['group', () => kubernetesLeases({ kubeConfig, namespace: 'n', group: 'Orders' }), 'small letters'],
  ['kubeConfig', () => kubernetesLeases({ namespace: 'n', group: 'g' } as never), 'option "kubeConfig" is missing'],
  ['grant', () => installLeasesSql({ grant: 'me' as never }), 'must be an array of names'],
])('an option of one store is checked: %s', (option, make, says) => {
  const error = errorOf(make)
  expect(error).toMatchObject({ option })
  expect(String(error)).toContain(says)
})

test('a pool whose connect() returns no client that can be given back is a mistake, and no unhandled rejection', async () => {
  const pool = { connect: async () => ({ on: () => {}, off: () => {}, query: async () => [] }), query: async () => [] }
  const session = postgresLeases({ pool: pool as never, group: 'g' }).open()
  const record = { member: 'a', renewal: 0, members: [], holds: [] }
  const renewal = session.renew(record, [], new AbortController().signal)
  await expect(renewal).rejects.toThrow(
    'postgresLeases: option "pool" must be a Pool of pg 8: its connect() returned no client with release()',
  )
  await expect(renewal).rejects.toMatchObject({ option: 'pool' })
  await session.close()
})

test.each([undefined, {}])('leases in memory with the options %j need the name of their group', (options) => {
  const error = errorOf(() => memoryLeases(options as never))
  expect(error).toBeInstanceOf(OptionError)
  expect(error).toMatchObject({ option: 'group', message: expect.stringContaining('option "group" is missing') })
})

function errorOf(work: () => unknown): unknown {
  try {
    work()
  } catch (error) {
    return error
  }
  return undefined
}
