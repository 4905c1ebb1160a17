import { setTimeout as sleep } from 'node:timers/promises'
import { Kvm } from '@nats-io/kv'
import type { NatsConnection } from '@nats-io/transport-node'
import { afterEach, describe, expect, type TestContext, test } from 'vitest'
import { type MemoryLeases, type MemorySource, memoryLeases, memorySource } from '../../adapters/memory/index.js'
import { natsLeases, natsRelayStore } from '../../adapters/nats/index.js'
import { type RelayServing, relayCache, relaySource, serveRelay } from '../../serving/relay/index.js'
import { createInformer, type Informer } from '../../src/index.js'
import { startFaultProxy } from '../servers/fault-proxy.js'
import { describeServer } from '../servers/index.js'
import { NatsServer } from '../servers/nats.js'
import { NatsCluster } from '../servers/nats-cluster.js'
import { waitUntil } from '../servers/wait-until.js'
import { startForTests } from '../support/start-for-tests.js'

type Item = { readonly n: number; readonly text?: string }
type Engine = { connect(): Promise<NatsConnection>; readonly replicas: number }

const WAIT = { timeoutMs: 60_000 }
const quiet = { debug() {}, info() {}, warn() {}, error() {} }
let names = 0

/** An upstream, relays that publish its mirror, and a follower that checks that batches are whole. */
class RelayStage {
  readonly upstream: MemorySource<Item> = memorySource<Item>()
  readonly name = `relay-${++names}`
  readonly engine: Engine
  readonly #test: TestContext
  /** Batches in which the two keys of each transaction differ. */
  readonly torn: string[] = []
  n = 0

  constructor(engine: Engine, test: TestContext) {
    this.engine = engine
    this.#test = test
  }

  /** A relay with a mirror and a connection of its own, as another process has. `kill` ends its connection at once. */
  async relay(
    replicas?: MemoryLeases,
  ): Promise<{ relay: RelayServing; informer: Informer<Item>; kill(): Promise<void> }> {
    const connection = await this.engine.connect()
    const store = natsRelayStore({
      client: connection,
      relay: this.name,
      streamReplicas: this.engine.replicas,
      timeoutMs: 2_000,
    })
    const informer = createInformer({ source: this.upstream, logger: quiet, cache: relayCache(store) })
    const relay = serveRelay(informer, store, {
      logger: quiet,
      ...(replicas === undefined ? {} : { leases: replicas }),
    })
    informer.start()
    const kill = async (): Promise<void> => {
      await connection.close()
      await relay.stop()
      await informer.stop()
    }
    this.#test.onTestFinished(kill)
    return { relay, informer, kill }
  }

  async follower(connected = this.engine.connect()): Promise<Informer<Item>> {
    const connection = await connected
    const store = natsRelayStore({ client: connection, relay: this.name, heartbeatMs: 1_000, timeoutMs: 2_000 })
    const follower = createInformer({ source: relaySource<Item>({ store, upstream: this.upstream }), logger: quiet })
    const check = (): void => {
      const [a, b] = [follower.get('a')?.n, follower.get('b')?.n]
      if (a !== b) this.torn.push(`${a} and ${b}`)
    }
    follower.subscribe({ add: check, update: check, delete: check })
    this.#test.onTestFinished(async () => {
      await follower.stop()
      await connection.close()
    })
    return follower
  }

  /** Writes both keys, and another one, in one transaction. Returns the mark of the upstream. */
  write(): string {
    this.n++
    return this.upstream.transaction((tx) => {
      tx.put('a', { n: this.n })
      tx.put('b', { n: this.n })
      if (this.n % 5 === 0) tx.delete(`k${this.n % 20}`)
      else tx.put(`k${this.n % 20}`, { n: this.n })
    })
  }

  /** Writes for some time. Returns the last mark. */
  async writes(count: number): Promise<string> {
    let mark = ''
    for (let at = 0; at < count; at++) {
      mark = this.write()
      await sleep(2)
    }
    return mark
  }

  /** The follower has the last write, by its mark, and equals the upstream. */
  async agree(follower: Informer<Item>): Promise<void> {
    await follower.waitFor(this.write(), WAIT)
    const mirror = createInformer({ source: this.upstream, logger: quiet })
    await mirror.start().synced()
    expect(Object.fromEntries(follower.entries())).toEqual(Object.fromEntries(mirror.entries()))
    await mirror.stop()
    expect(this.torn).toEqual([])
  }
}

describeServer('nats 2.15', 'a relay through NATS', (server) => {
  describe.concurrent('one server', () => {
    const started = startForTests(() => NatsServer.start({ server }))
    const engine = (): Engine => ({ connect: () => started().connect(), replicas: 1 })

    /** A relay that has written the first objects, and a follower that has them. */
    async function followed(context: TestContext) {
      const stage = new RelayStage(engine(), context)
      stage.write()
      const { relay, informer, kill } = await stage.relay()
      await relay.synced(WAIT)
      const follower = await stage.follower()
      await follower.start().synced(WAIT)
      /** The relay knows that the server has its last write. */
      const confirmed = () => waitUntil('the response', () => relay.status.version === informer.version)
      /** More was written, and both have it. */
      const settled = async (): Promise<void> => {
        await stage.writes(20)
        await stage.agree(follower)
        await confirmed()
      }
      return { stage, relay, follower, kill, settled }
    }

    test('relays are killed at any moment, and others continue: the follower reads no list', async (context) => {
      let { stage, follower, kill } = await followed(context)
      for (let round = 0; round < 5; round++) {
        const writing = stage.writes(60)
        await sleep(20 + 17 * round)
        await kill()
        ;({ kill } = await stage.relay())
        await writing
      }
      await stage.agree(follower)
      expect(follower.status.relists).toBe(0)
    })

    test('of two relays with leases one writes, and the other replaces it', async (context) => {
      const stage = new RelayStage(engine(), context)
      stage.write()
      const leases = memoryLeases({ group: stage.name, mode: 'leader', leaseMs: 3_000 })
      const one = await stage.relay(leases)
      await one.relay.synced(WAIT)
      const two = await stage.relay(leases)
      const follower = await stage.follower()
      await follower.start().synced(WAIT)
      await stage.writes(50)
      await stage.agree(follower)
      expect(two.relay.status.batches).toBe(0)
      await one.kill()
      await stage.writes(50)
      await stage.agree(follower)
      await waitUntil('the second relay', () => two.relay.status.state === 'live', 60_000)
      expect(follower.status.relists).toBe(0)
    })

    test('[Y14] a relay whose leases are on a server that is away has the error and the address as its reason', async (context) => {
      const own = await NatsServer.start({ server })
      context.onTestFinished(() => own[Symbol.asyncDispose]())
      const connection = await own.connect()
      const informer = createInformer({ source: memorySource<Item>(), logger: quiet })
      await own.kill()
      const leases = natsLeases({ client: connection, group: 'away', mode: 'leader', leaseMs: 1_500 })
      const relay = serveRelay(informer, natsRelayStore({ client: connection, relay: 'away' }), {
        leases,
        logger: quiet,
      })
      context.onTestFinished(async () => {
        await relay.stop()
        await informer.stop()
      })
      await informer.start().synced(WAIT)
      await waitUntil('the failure', () => relay.status.reason.includes('because'), 10_000)
      expect(relay.status.state).toBe('standby')
      expect(relay.status.reason).toMatch(
        new RegExp(`^it has no lease, because nats leases "away": .* \\(127.0.0.1:${own.port}\\)`),
      )
    })

    test('a follower that receives a few bytes at a time shows each batch as a whole', async (context) => {
      const stage = new RelayStage(engine(), context)
      stage.write()
      const { relay } = await stage.relay()
      await relay.synced(WAIT)
      const proxy = await startFaultProxy({ targetPort: started().port })
      context.onTestFinished(() => proxy[Symbol.asyncDispose]())
      const follower = await stage.follower(started().connect({ port: proxy.port }))
      await follower.start().synced(WAIT)
      proxy.chop(40)
      // Also a busy machine does not receive a batch at once: each of its messages takes tens of milliseconds.
      proxy.throttle(20_000)
      for (let round = 0; round < 10; round++) await follower.waitFor(stage.write(), WAIT)
      await stage.agree(follower)
    })

    test('a key that is too long stops the relay, whose status names it and the remedy, until it is deleted', async (context) => {
      const { stage, relay, follower } = await followed(context)
      const key = `orders-${'x'.repeat(4_000)}`
      stage.upstream.put(key, { n: 1 })
      await waitUntil('the failure', () => relay.status.state === 'backing-off')
      expect(relay.status.reason).toMatch(/^the key "orders-x{33}…" is too long/)
      expect(relay.status.reason).toContain('delete it in the source, or exclude it from the mirror')
      expect(relay.status.lastError?.code).toBe('PROTOCOL')
      stage.upstream.delete(key)
      await stage.agree(follower)
    })

    /** Changes the configuration of a stream. Returns a function that restores it. */
    async function configure(stream: string, change: object): Promise<() => Promise<unknown>> {
      const { config } = await started().ask<{ config: object }>(`STREAM.INFO.${stream}`)
      await started().ask(`STREAM.UPDATE.${stream}`, { ...config, ...change })
      return () => started().ask(`STREAM.UPDATE.${stream}`, config)
    }

    const removing: [string, object][] = [
      ['max_age is 3600 s', { max_age: 3_600_000_000_000 }],
      ['max_bytes is 1000000, and discard is not "new"', { max_bytes: 1_000_000, discard: 'old' }],
      ['max_msgs is 1000, and discard is not "new"', { max_msgs: 1_000, discard: 'old' }],
    ]
    test.for(removing)('[J12] a bucket that removes keys, as its %s, stops it', async ([limit, config], context) => {
      const { stage, relay, follower } = await followed(context)
      const stream = `KV_relay-${stage.name}`
      const undo = await configure(stream, config)
      await waitUntil('the failure', () => relay.status.state === 'backing-off')
      expect(relay.status.reason).toContain(
        `${stream.slice(3)} removes keys by itself, because its ${limit}; change it`,
      )
      expect(relay.status.lastError?.code).toBe('PROTOCOL')
      const late = await stage.follower()
      await expect(late.start().synced(WAIT)).rejects.toThrow(`because its ${limit}`)
      await undo()
      await stage.agree(follower)
    })

    test('[J13] an object that is larger than a message of the bucket stops the relay, whose status names it', async (context) => {
      const { stage, relay, follower } = await followed(context)
      const stream = `KV_relay-${stage.name}`
      const undo = await configure(stream, { max_msg_size: 2_000 })
      stage.upstream.transaction((tx) => {
        for (let at = 0; at < 10; at++) tx.put(`order-${at}`, { n: 1, text: 'x'.repeat(at === 5 ? 3_000 : 1) })
      })
      await waitUntil('the failure', () => relay.status.state === 'backing-off')
      expect(relay.status.reason).toMatch(
        /^the message of the key "order-5" has 3\d{3} bytes, and the bucket relay-relay-/,
      )
      expect(relay.status.reason).toContain('takes 2000 (max_msg_size); raise the limit')
      await undo()
      await stage.agree(follower)
    })

    async function joins(stage: RelayStage, relay: RelayServing): Promise<void> {
      const late = await stage.follower()
      await late.start().synced(WAIT)
      await stage.agree(late)
      expect(relay.status.state).toBe('live')
    }

    test('[Y8] a bucket that is purged, which leaves its sequence, is written again at the next write', async (context) => {
      const { stage, relay, follower, settled } = await followed(context)
      await settled()
      await started().ask(`STREAM.PURGE.KV_relay-${stage.name}`)
      stage.write()
      await joins(stage, relay)
      await waitUntil('the bucket', () => follower.get('a')?.n === stage.n, 60_000)
      await stage.agree(follower)
    })

    const purged: [string, string][] = Object.entries({ 'all messages': '>', 'the header': '=00relay' })
    test.for(purged)('[Y8] after a purge of %s the bucket is written without a change', async ([, keys], context) => {
      const { stage, relay, follower, settled } = await followed(context)
      await settled()
      await started().ask(`STREAM.PURGE.KV_relay-${stage.name}`, { filter: `$KV.relay-${stage.name}.${keys}` })
      await joins(stage, relay)
      await stage.agree(follower)
    })

    test('a purge of the header alone, which a write follows at once, loses nothing: new followers read a list', async (context) => {
      const { stage, relay, follower, settled } = await followed(context)
      await settled()
      await started().ask(`STREAM.PURGE.KV_relay-${stage.name}`, { filter: `$KV.relay-${stage.name}.=00relay` })
      stage.write()
      await joins(stage, relay)
      await stage.agree(follower)
    })

    test('[Y8] a key that another client deletes is written again', async (context) => {
      const { stage, relay, follower, settled } = await followed(context)
      await settled()
      const connection = await started().connect()
      context.onTestFinished(() => connection.close())
      await (await new Kvm(connection).open(`relay-${stage.name}`)).delete('a')
      await waitUntil('the delete', () => follower.get('a') === undefined, 60_000)
      await waitUntil('the key', () => follower.get('a')?.n === stage.n, 60_000)
      stage.torn.length = 0 // The other client has torn the pair.
      await joins(stage, relay)
      await stage.agree(follower)
    })

    test('[J14] a follower that is back after its missed deletes have expired never shows a deleted object', async (context) => {
      const { stage, follower: other } = await followed(context)
      const proxy = await startFaultProxy({ targetPort: started().port })
      context.onTestFinished(() => proxy[Symbol.asyncDispose]())
      const follower = await stage.follower(started().connect({ port: proxy.port }))
      stage.upstream.put('deleted', { n: 0 })
      await follower.start().synced(WAIT)
      const shown: string[] = []
      const before = stage.n
      const check = (): void => {
        if ((follower.get('a')?.n ?? 0) > before && follower.get('deleted') !== undefined) shown.push(`${stage.n}`)
      }
      await follower.waitFor(stage.upstream.put('deleted', { n: 1 }), WAIT)
      follower.subscribe({ add: check, update: check, delete: check })
      await waitUntil('the watch', () => follower.status.state === 'live', 60_000)
      proxy.reset()
      proxy.refuse()
      await waitUntil('the end of the connection', () => follower.status.state === 'backing-off', 60_000)
      stage.upstream.delete('deleted')
      const mark = stage.write()
      await other.waitFor(mark, WAIT)
      // As the server does when the marker is older than an hour.
      await started().ask(`STREAM.PURGE.KV_relay-${stage.name}`, { filter: `$KV.relay-${stage.name}.deleted` })
      proxy.pass()
      await follower.waitFor(mark, WAIT)
      expect(follower.get('deleted')).toBeUndefined()
      expect(shown).toEqual([])
      await stage.agree(follower)
    })

    test('a bucket that is removed is written again', async (context) => {
      const { stage, follower } = await followed(context)
      await started().ask(`STREAM.DELETE.KV_relay-${stage.name}`)
      await stage.writes(20)
      await waitUntil('the bucket', () => follower.get('a')?.n === stage.n, 60_000)
      await stage.agree(follower)
    })
  })

  describe('three servers', () => {
    const started = startForTests(() => NatsCluster.start(server))
    const engine = (): Engine => ({ connect: () => started().connect(), replicas: 3 })
    afterEach(() => started().mend())

    test('the leader of the bucket is killed again and again: batches stay whole, and nothing is lost', async (context) => {
      const stage = new RelayStage(engine(), context)
      stage.write()
      const { relay } = await stage.relay()
      await relay.synced(WAIT)
      const follower = await stage.follower()
      await follower.start().synced(WAIT)
      for (let round = 0; round < 2; round++) {
        const leader = await started().leaderOf(`KV_relay-${stage.name}`)
        const writing = stage.writes(200)
        await started().members[leader]?.kill()
        await writing
        await stage.agree(follower)
        await started().mend()
      }
      expect(follower.status.relists).toBe(0)
    })
  })
})
