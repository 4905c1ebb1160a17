import type { KubeConfig } from '@kubernetes/client-node'
import { describe, expect, test } from 'vitest'
import { type KubernetesSource, kubernetesSource } from '../../adapters/kubernetes/index.js'
import { createInformer, type Informer } from '../../src/index.js'
import { waitUntil } from '../servers/wait-until.js'
import { FakeKubernetes, isAny, isAnyList, isStreamedList } from './fake.js'
import { FakeCollection, type FakeObject } from './fake-collection.js'

const METADATA = { name: 'ghost', namespace: 'default', uid: 'of a ghost' }

/** Informers with a source each, of one configuration, over a server that becomes what it was before; in real time. */
class Restored implements AsyncDisposable {
  readonly fake: FakeKubernetes
  readonly config: KubeConfig
  /** The backup: with less than the informers received, and other objects at some of the same versions. */
  readonly backup = new FakeCollection()
  readonly #informers: Informer<FakeObject>[] = []

  private constructor(fake: FakeKubernetes) {
    this.fake = fake
    this.config = fake.config()
  }

  static async with(act: (restored: Restored) => Promise<void>): Promise<void> {
    await using restored = new Restored(await FakeKubernetes.start())
    const { backup } = restored
    backup.fill(3)
    restored.fake.collection.fill(3)
    for (const name of ['new1', 'new2']) backup.put(name, 'after')
    await act(restored)
  }

  source(): KubernetesSource<FakeObject> {
    return kubernetesSource<FakeObject>({ kubeConfig: this.config, kind: 'ConfigMap', namespace: 'default' })
  }

  async informer(source: KubernetesSource<FakeObject> = this.source()): Promise<Informer<FakeObject>> {
    const informer = createInformer({ source, audit: false })
    informer.on('error', () => {})
    this.#informers.push(informer)
    await informer.start().synced({ timeoutMs: 60_000 })
    await waitUntil('its watch', () => informer.status.state === 'live')
    return informer
  }

  /** Writes objects that are not in the backup, then restores it; no connection notices. */
  async restore(...informers: readonly Informer<FakeObject>[]): Promise<void> {
    for (const name of ['ghost1', 'ghost2', 'ghost3', 'ghost4']) this.fake.collection.put(name, 'before')
    for (const informer of informers) await waitUntil('the ghosts', () => informer.has('default/ghost4'))
    this.fake.rule(isAny, (exchange) => this.backup.answer(exchange))
  }

  /** They have what the server has, and hear of what comes next. */
  async right(...informers: readonly Informer<FakeObject>[]): Promise<void> {
    await waitUntil('a watch over there', () => this.backup.watching.length > 0)
    this.backup.put('new3', 'after')
    for (const informer of informers) {
      await waitUntil('what comes next', () => informer.has('default/new3'))
      expect(keysOf(informer)).toEqual(this.backup.names.map((name) => `default/${name}`).sort())
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#informers.map((informer) => informer.stop()))
    await this.fake[Symbol.asyncDispose]()
  }
}

function keysOf(informer: Informer<FakeObject>): string[] {
  return [...informer.keys()].sort()
}

describe('beside a watch of a history that is over, and still open', () => {
  test('a new informer receives no event of that history', () =>
    Restored.with(async (restored) => {
      const before = await restored.informer()
      await restored.restore(before)
      await restored.right(await restored.informer())
    }))

  for (const when of ['later', 'during its list'])
    test(`a new informer receives no event whose beginning arrived before its list, and whose end ${when}`, () =>
      Restored.with(async (restored) => {
        const before = await restored.informer()
        const { fake, backup } = restored
        const [watch] = fake.collection.watching
        fake.collection.forget(watch)
        const object = { ...fake.collection.at()[0], metadata: { ...METADATA, resourceVersion: '1006' } }
        const line = `${JSON.stringify({ type: 'ADDED', object })}\n`
        // After the bookmark has been read, the part of the line has arrived as well.
        const bookmark = { ...object, metadata: { resourceVersion: '1004' } }
        await watch?.write(`${JSON.stringify({ type: 'BOOKMARK', object: bookmark })}\n${line.slice(0, 60)}`)
        await waitUntil('the first half', () => before.version === '1004')
        fake.rule(isAny, (exchange) => backup.answer(exchange))
        const listing = when === 'later' ? undefined : fake.taken(isAnyList)
        const joining = restored.informer()
        const list = await listing
        if (list === undefined) await joining
        await watch?.write(line.slice(60))
        await waitUntil('the ghost', () => before.has('default/ghost'))
        if (list !== undefined) backup.answer(list)
        await restored.right(await joining)
      }))

  test('the informer that detects that lists once, and so do the other followers', () =>
    Restored.with(async (restored) => {
      const [first, second] = [await restored.informer(), await restored.informer()]
      await restored.restore(first, second)
      // It retries, and resolves after the list of the restored history.
      await first.fresh()
      expect(first.has('default/ghost4')).toBe(false)
      for (const informer of [first, second])
        await waitUntil('the ghosts to be gone', () => !informer.has('default/ghost4'))
      await restored.right(first, second)
      expect([first.status.relists, second.status.relists]).toEqual([1, 1])
    }))

  test.each([
    ['the same source', true],
    ['another source', false],
  ])('its followers list once as soon as a new informer of %s has listed', (_which, isSame) =>
    Restored.with(async (restored) => {
      const source = restored.source()
      const before = await restored.informer(source)
      await restored.restore(before)
      const after = await restored.informer(isSame ? source : restored.source())
      await restored.right(after, before)
      expect([after.status.relists, before.status.relists]).toEqual([0, 1])
    }),
  )
})

test('beside a watch that is further than the list of a new informer: the informer follows another watch if its list came from a server that is behind; other followers continue', () =>
  Restored.with(async (restored) => {
    const { fake } = restored
    const behind = new FakeCollection()
    behind.fill(3)
    const before = await restored.informer()
    for (const name of ['one', 'two', 'three']) fake.collection.put(name, 'ahead')
    await waitUntil('them', () => before.has('default/three'))
    fake.next(isStreamedList, (exchange) => behind.answer(exchange))
    const after = await restored.informer()
    fake.collection.put('four', 'after')
    for (const informer of [before, after])
      await waitUntil('what comes next', () => informer.has('default/three') && informer.has('default/four'))
    expect([before.status.relists, fake.watches.length]).toEqual([0, 2])
  }))
