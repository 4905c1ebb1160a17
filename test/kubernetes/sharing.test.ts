import type { KubeConfig } from '@kubernetes/client-node'
import { describe, expect, test } from 'vitest'
import { type KubernetesSourceOptions, kubernetesSource } from '../../adapters/kubernetes/index.js'
import { systemClock } from '../../src/adapter.js'
import { createInformer, type Informer } from '../../src/index.js'
import { waitUntil } from '../servers/wait-until.js'
import { FakeKubernetes } from './fake.js'
import type { FakeObject } from './fake-collection.js'

/** Two informers over one fake, in real time. */
class Pair implements AsyncDisposable {
  readonly fake: FakeKubernetes
  readonly informers: Informer<FakeObject>[] = []

  constructor(fake: FakeKubernetes) {
    this.fake = fake
  }

  static async with(act: (pair: Pair) => Promise<void>): Promise<void> {
    const fake = await FakeKubernetes.start()
    fake.collection.fill(3)
    await using pair = new Pair(fake)
    await act(pair)
  }

  async add(kubeConfig: KubeConfig, options: Partial<KubernetesSourceOptions> = {}): Promise<Informer<FakeObject>> {
    const source = kubernetesSource<FakeObject>({ kubeConfig, kind: 'ConfigMap', namespace: 'default', ...options })
    const informer = createInformer({ source, audit: false })
    this.informers.push(informer)
    await informer.start().synced({ timeoutMs: 60_000 })
    await waitUntil('its watch', () => informer.status.state === 'live')
    return informer
  }

  get opened(): number {
    return this.fake.watches.length
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.informers.map((informer) => informer.stop()))
    await this.fake[Symbol.asyncDispose]()
  }
}

const nOf = (object: FakeObject | undefined): unknown => (object?.data as { readonly n: string } | undefined)?.n

test('of two watches that share a connection the slower one receives every event, even if it is megabytes behind', async () => {
  await using fake = await FakeKubernetes.start()
  fake.collection.fill(1)
  const options = { kubeConfig: fake.config(), apiVersion: 'v1', kind: 'ConfigMap', namespace: 'default' }
  const source = kubernetesSource<FakeObject>({ ...options, probeMs: false })
  const stop = new AbortController()
  const context = { signal: stop.signal, clock: systemClock, random: { next: () => 0.5 } }
  let after = ''
  for await (const page of source.list({ ...context, pageSize: 100 })) after = page.version ?? after
  const watch = () => source.watch({ ...context, after, onProgressRequest: () => {} })[Symbol.asyncIterator]()
  /** Reads until this value was delivered. */
  const delivered = async (of: ReturnType<typeof watch>, value: string): Promise<void> => {
    for (let isTold = false; !isTold; ) {
      const { value: batch } = await of.next()
      isTold = JSON.stringify(batch.events).includes(value)
    }
  }
  const [fast, slow] = [watch(), watch()]
  const both = Promise.all([delivered(fast, 'first'), delivered(slow, 'first')])
  await waitUntil('the watch to be open', () => fake.collection.watching.length === 1)
  fake.collection.put('k0', 'first')
  await both
  for (let n = 0; n < 6; n++) {
    fake.collection.put('k0', `${n}`.repeat(400_000))
    await delivered(fast, `${n}`.repeat(400_000))
  }
  for (let n = 0; n < 6; n++) await delivered(slow, `${n}`.repeat(400_000))
  expect(fake.watches).toHaveLength(1)
  stop.abort()
})

describe('two informers of the same objects', () => {
  test('share one watch, and each has objects of its own', () =>
    Pair.with(async (pair) => {
      const config = pair.fake.config()
      const [one, two] = [await pair.add(config), await pair.add(config)]
      pair.fake.collection.put('k1', 'changed')
      for (const informer of [one, two])
        await waitUntil('the change', () => nOf(informer.get('default/k1')) === 'changed')
      expect(pair.opened).toBe(1)
      expect(one.get('default/k1')).not.toBe(two.get('default/k1'))
    }))

  test('continue when one of them stops, and leave nothing open when both have', () =>
    Pair.with(async (pair) => {
      const config = pair.fake.config()
      const [one, two] = [await pair.add(config), await pair.add(config)]
      await one.stop()
      pair.fake.collection.delete('k2')
      await waitUntil('the delete', () => !two.has('default/k2'))
      const opened = pair.opened
      await two.stop()
      await waitUntil('nothing to be open', () => pair.fake.connections === 0)
      expect(opened).toBe(1)
    }))

  test.each([
    ['other labels', { labelSelector: 'a=b' }],
    ['other fields', { fieldSelector: 'metadata.name=k1' }],
    ['nothing but metadata', { metadataOnly: true }],
    ['a shorter life', { maxWatchMs: 60_000 }],
  ])('share nothing if one wants %s', (_what, options) =>
    Pair.with(async (pair) => {
      const config = pair.fake.config()
      await pair.add(config)
      await pair.add(config, options)
      expect(pair.opened).toBe(2)
    }),
  )

  test('share nothing if they have two configurations', () =>
    Pair.with(async (pair) => {
      await pair.add(pair.fake.config())
      await pair.add(pair.fake.config())
      expect(pair.opened).toBe(2)
    }))
})
