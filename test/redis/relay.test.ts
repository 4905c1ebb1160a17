import { createServer } from 'node:net'
import { Redis } from 'ioredis'
import { describe, expect, type TestContext, test } from 'vitest'
import { type MemorySource, memorySource } from '../../adapters/memory/index.js'
import { redisLeases, redisRelayStore } from '../../adapters/redis/index.js'
import { type RelayServing, relaySource, serveRelay } from '../../serving/relay/index.js'
import { createInformer, type Informer } from '../../src/index.js'
import { describeRedis } from '../servers/index.js'
import type { RedisServer } from '../servers/redis.js'
import { waitUntil } from '../servers/wait-until.js'
import { portOf } from '../support/listening.js'
import { userClient } from './drivers.js'
import { useRedis } from './support.js'

interface Item {
  readonly n: number
}

const WAIT = { timeoutMs: 20_000 }
const quiet = { debug() {}, info() {}, warn() {}, error() {} }
const CONTENT = Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`k${n}`, { n }]))
/** Every delay is the shortest one. */
const random = { next: () => 0 }
let names = 0

/** A relay of 20 objects, and a follower that has them. Both stop at the end of the test. */
async function followed(redis: RedisServer, { onTestFinished }: TestContext) {
  const name = `relay-${++names}`
  const upstream: MemorySource<Item> = memorySource<Item>()
  upstream.transaction((tx) => {
    for (const [key, object] of Object.entries(CONTENT)) tx.put(key, object)
  })
  const storeOf = () => redisRelayStore({ client: userClient('ioredis 6', redis.port), relay: name, heartbeatMs: 200 })
  const informer = createInformer({ source: upstream, logger: quiet })
  const relay = serveRelay(informer, storeOf(), { logger: quiet })
  onTestFinished(async () => {
    await relay.stop()
    await informer.stop()
  })
  const codes: string[] = []
  relay.on('error', ({ code }) => codes.push(code))
  await informer.start().synced(WAIT)
  await relay.synced(WAIT)
  const follow = async (): Promise<Informer<Item>> => {
    const follower = createInformer({
      source: relaySource<Item>({ store: storeOf(), upstream }),
      logger: quiet,
      random,
    })
    onTestFinished(() => follower.stop())
    await follower.start().synced(WAIT)
    return follower
  }
  const key = (kind: 'h' | 's' | 'm'): string => `{relay:${name}}:${kind}`
  return { upstream, relay, codes, follow, follower: await follow(), key }
}

/** The follower and a new one receive the next change, and have the same objects. */
async function agree(
  { upstream, relay, follow, follower }: Awaited<ReturnType<typeof followed>>,
  content: Readonly<Record<string, Item>>,
): Promise<void> {
  await waitUntil('the relay', () => relay.status.state === 'live')
  const late = await follow()
  expect(sorted(late)).toEqual(sorted(content))
  const mark = upstream.put('last', { n: 1 })
  await late.waitFor(mark, WAIT)
  await waitUntil('the follower', () => follower.get('last')?.n === 1, 30_000)
  for (const each of [follower, late]) expect(sorted(each)).toEqual(sorted({ ...content, last: { n: 1 } }))
  expect(relay.status.state).toBe('live')
}

function sorted(content: Informer<Item> | Readonly<Record<string, Item>>): readonly (readonly [string, Item])[] {
  const entries = typeof content['entries'] === 'function' ? content.entries() : Object.entries(content)
  return Array.from(entries as Iterable<[string, Item]>).sort(([a], [b]) => (a < b ? -1 : 1))
}

describe('a relay whose leases are in a Redis that cannot be reached', () => {
  async function standby(port: number, { onTestFinished }: TestContext): Promise<RelayServing> {
    const client = new Redis({ host: '127.0.0.1', port, username: 'relay', password: 'secret', lazyConnect: true })
    onTestFinished(() => client.disconnect())
    const informer = createInformer({ source: memorySource<Item>(), logger: quiet })
    const leases = redisLeases({ client, group: 'relay:away', mode: 'leader', leaseMs: 1_500 })
    const relay = serveRelay(informer, redisRelayStore({ client, relay: 'away' }), { leases, logger: quiet })
    onTestFinished(async () => {
      await relay.stop()
      await informer.stop()
    })
    await informer.start().synced(WAIT)
    await waitUntil('the failure', () => relay.status.reason.includes('because'), 10_000)
    expect(relay.status.state).toBe('standby')
    return relay
  }

  test('[Y14] because nothing listens there, has the error and the address as its reason', async (context) => {
    const { status } = await standby(1, context)
    expect(status.reason).toMatch(
      /^it has no lease, because redis leases "relay:away": connect ECONNREFUSED 127\.0\.0\.1:1 \(/,
    )
  })

  test('[Y14] because it does not respond, has the error and the address as its reason', async (context) => {
    const port = await portOf(createServer(), context.onTestFinished)
    const { status } = await standby(port, context)
    expect(status.reason).toMatch(
      new RegExp(
        `^it has no lease, because redis leases "relay:away": no response from 127\\.0\\.0\\.1:${port} for 450 ms`,
      ),
    )
    expect(status.reason).not.toContain('secret')
  })
})

describeRedis.concurrent('a relay whose keys in Redis are removed by hand', (server) => {
  const own = useRedis(server)
  const admin = () => own.redis.admin
  type Removal = (key: (kind: 'h' | 's' | 'm') => string) => Promise<unknown>
  const removals: [string, Removal][] = [
    ['the hash is deleted', (key) => admin().del(key('h'))],
    ['the hash expires', (key) => admin().pexpire(key('h'), 1)],
    ['the field of the header is deleted', (key) => admin().hdel(key('h'), '\0relay')],
    ['some fields of the hash are deleted', (key) => admin().hdel(key('h'), 'k3', 'k7')],
    ['the position is deleted', (key) => admin().del(key('m'))],
    ['the hash and the stream are deleted', (key) => admin().del(key('h'), key('s'))],
    ['the stream and the position are deleted', (key) => admin().del(key('s'), key('m'))],
    ['the hash and the position are deleted', (key) => admin().del(key('h'), key('m'))],
  ]

  test.for(removals)('[Y8] %s, and the next write writes everything again', async ([, remove], context) => {
    const stage = await followed(own.redis, context)
    await remove(stage.key)
    await waitUntil('the removal', async () => (await admin().pttl(stage.key('h'))) < 0)
    stage.upstream.put('k1', { n: 100 })
    await agree(stage, { ...CONTENT, k1: { n: 100 } })
    expect(stage.codes).toEqual(['CONFLICT'])
  })

  test.for(removals)('[Y8] %s, and the relay writes everything again without a change', async ([, remove], context) => {
    const stage = await followed(own.redis, context)
    await remove(stage.key)
    await waitUntil('the error', () => stage.codes.length > 0, 10_000)
    await agree(stage, CONTENT)
    expect(stage.codes).toEqual(['CONFLICT'])
  })

  test('without its stream nothing is lost: no relay writes again, and followers list at most once', async (context) => {
    const stage = await followed(own.redis, context)
    const { batches } = stage.relay.status
    await admin().del(stage.key('s'))
    stage.upstream.put('k1', { n: 100 })
    await agree(stage, { ...CONTENT, k1: { n: 100 } })
    expect(stage.codes).toEqual([])
    expect(stage.relay.status.batches).toBe(batches + 2)
    expect(stage.follower.status.relists).toBeLessThanOrEqual(1)
  })
})
