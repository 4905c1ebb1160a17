import { KubeConfig } from '@kubernetes/client-node'
import { Redis } from 'ioredis'
import { expect, test } from 'vitest'
import { withKeepAliveBatches } from '../../../adapters/common/keep-alive-batches.js'
import { etcdSource } from '../../../adapters/etcd/index.js'
import { type KubernetesSourceOptions, kubernetesSource } from '../../../adapters/kubernetes/index.js'
import { memorySource } from '../../../adapters/memory/index.js'
import { postgresSource } from '../../../adapters/postgres/index.js'
import { redisCollectionSource, redisKeysSource, redisStreamSource } from '../../../adapters/redis/index.js'
import type { ListerWatcher } from '../../../src/contract/source.js'
import { SeededRandom } from '../../../testing/seeded-random.js'
import { VirtualClock } from '../../../testing/virtual-clock.js'

const kubeConfig = new KubeConfig()
kubeConfig.loadFromOptions({
  clusters: [{ name: 'c', server: 'https://127.0.0.1:1' }],
  users: [{ name: 'u' }],
  contexts: [{ name: 'x', cluster: 'c', user: 'u' }],
  currentContext: 'x',
})
const redis = new Redis({ lazyConnect: true })

function postgres(options: object): string | undefined {
  return postgresSource({ connect: () => Promise.reject(new Error('unused')), table: 'public.a', ...options }).selection
}

function kubernetes(options: Partial<KubernetesSourceOptions>): ListerWatcher<unknown> {
  return kubernetesSource({ kubeConfig, kind: 'Pod', ...options, namespaces: undefined }) as ListerWatcher<unknown>
}

/** The context of a watch of saved content. */
const resumed = () => ({
  signal: new AbortController().signal,
  clock: new VirtualClock(),
  random: new SeededRandom(1),
  isUnconfirmed: true,
  onProgressRequest() {},
})

test.each<[string, (options: object) => string | undefined, readonly object[], readonly object[]]>([
  [
    'Postgres',
    postgres,
    [{}, { columns: ['id'] }, { columns: ['id', 'n'] }, { sql: 'n > 1' }, { maxObjectBytes: 5 }],
    [{}, { pollIntervalMs: 5 }, { wake: 'poll' }],
  ],
  [
    'etcd',
    (options) => etcdSource({ endpoints: ['http://127.0.0.1:1'], ...options }).selection,
    [{ prefix: 'a' }, { prefix: 'b' }, { prefix: 'a', codec: 'string' }, { prefix: 'a', keys: 'bytes' }],
    [{ prefix: 'a' }, { prefix: 'a', pageSize: 5 }],
  ],
  [
    'a Redis collection',
    (options) => redisCollectionSource({ client: redis, collection: 'a', ...options }).selection,
    [{}, { collection: 'b' }, { codec: 'string' }, { keys: 'bytes' }],
    [{}, { heartbeatMs: 5 }],
  ],
  [
    'Redis keys',
    (options) => redisKeysSource({ client: redis, prefix: 'a', ...options }).selection,
    [{}, { codec: 'string' }, { keys: 'bytes' }],
    [{}, { heartbeatMs: 5 }],
  ],
  [
    'a Redis stream',
    (options) => redisStreamSource({ client: redis, stream: 'a', decode: () => [], ...options }).selection,
    [{}, { decode: () => [{ key: 'b' }] }, { whenTrimmed: 'fold' }],
    [{}, { heartbeatMs: 5 }],
  ],
  [
    'Kubernetes',
    (options) => kubernetes(options).selection,
    [{}, { apiVersion: 'v2' }, { labelSelector: 'a=b' }, { fieldSelector: 'a=b' }, { metadataOnly: true }],
    [{}, { pageSize: 5 }, { heartbeatMs: 5 }, { probeMs: false }],
  ],
])('[C37] the selection of %s names exactly the options that select', (_name, selection, different, equal) => {
  expect(new Set(different.map(selection)).size).toBe(different.length)
  expect(new Set(equal.map(selection)).size).toBe(1)
})

test('Secrets of Kubernetes are sensitive, other kinds are not', () => {
  expect(kubernetes({ kind: 'Secret' }).isSensitive).toBe(true)
  expect(kubernetes({ kind: 'Secret', metadataOnly: true }).isSensitive).toBe(true)
  expect(kubernetes({ kind: undefined, plural: 'secrets' } as never).isSensitive).toBe(true)
  expect(kubernetes({ kind: 'ConfigMap' }).isSensitive).toBe(false)
  expect(kubernetes({ kind: 'Secret', apiVersion: 'example.com/v1' }).isSensitive).toBe(false)
})

test('a resume state that another version of the Kubernetes source has saved leads to a list', async () => {
  const watch = kubernetes({}).watch({ ...resumed(), after: '5', resumeState: 'v2:c1' })
  await expect(watch[Symbol.asyncIterator]().next()).rejects.toMatchObject({
    code: 'VERSION_EXPIRED',
    message: 'the saved state is not one of this version of the source',
  })
})

test('[C37] a memory source does not resume from the content of another process', async () => {
  const source = memorySource({ entries: [['a', 1]] })
  const after = await source.head()
  const first = (resumeState: string | undefined): Promise<unknown> =>
    source
      .watch({ ...resumed(), after, resumeState })
      [Symbol.asyncIterator]()
      .next()
  await expect(first('another')).rejects.toMatchObject({ code: 'EPOCH_CHANGED' })
  await expect(first(undefined)).rejects.toMatchObject({ code: 'EPOCH_CHANGED' })
  await expect(first(source.resumeState?.({}))).resolves.toMatchObject({ value: { version: after } })
})

test('[C37] a slow first answer yields no keep-alive that would confirm saved content', async () => {
  const clock = new VirtualClock()
  const answer = Promise.withResolvers<void>()
  async function* steps(): AsyncGenerator<string> {
    await answer.promise
    yield 'answer'
    await new Promise(() => {})
  }
  const session = {
    get receivedAt() {
      return clock.now()
    },
    close() {},
  }
  const batches = withKeepAliveBatches(steps(), {
    session,
    clock,
    everyMs: 100,
    keepAlive: (last) => (last === undefined ? undefined : `still ${last}`),
  })
  const first = batches.next()
  await clock.advance(1_000)
  answer.resolve()
  expect(await first).toEqual({ value: 'answer', done: false })
  const second = batches.next()
  await clock.advance(100)
  expect(await second).toEqual({ value: 'still answer', done: false })
})
