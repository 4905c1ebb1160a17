import { describe, expect, test } from 'vitest'
import { SourceError, type Version } from '../../src/index.js'
import { SeededRandom } from '../../testing/index.js'
import { waitUntil } from '../servers/wait-until.js'
import { FakeKubernetes, isAnyList, isHead, isStreamedList, isWatch } from './fake.js'
import type { Exchange } from './fake-exchange.js'
import { contentsOf, Mirror, type MirrorOptions } from './mirror.js'

interface Move {
  readonly mirror: Mirror
  readonly other: FakeKubernetes
  /** From now on the configuration leads to the other cluster, once the old credentials are refused. */
  go(): void
}

/** A mirror of a cluster whose configuration comes to lead to another one, with other objects of the same names and versions. */
async function withMove(options: MirrorOptions, act: (move: Move) => Promise<void>): Promise<void> {
  await using other = await FakeKubernetes.start()
  other.collection.put('k0', 'elsewhere')
  other.collection.put('o1', 'elsewhere')
  let hasMoved = false
  const configOf: MirrorOptions['configOf'] = (fake) => () => (hasMoved ? other.config() : fake.config())
  const prepare = (fake: FakeKubernetes): void => {
    fake.collection.fill(3)
    options.prepare?.(fake)
  }
  await Mirror.with({ ...options, prepare, configOf }, async (mirror) => {
    const go = () => (hasMoved = true)
    await act({ mirror, other, go })
  })
  await waitUntil('nothing to be left', () => other.connections === 0)
}

const isAudit = ({ isMetadata }: Exchange): boolean => isMetadata
/** The credentials are rejected from now on. Open watches continue. */
const isQuestion = ({ path }: Exchange): boolean => path !== '/api/v1'
const refused = (exchange: Exchange): void => exchange.refuse({ code: 401 })

async function arrived({ mirror, other }: Move): Promise<void> {
  await mirror.until('the other cluster', () => mirror.informer.has('default/o1'))
  other.collection.put('o2', 'after')
  await mirror.until('its watch', () => mirror.informer.has('default/o2'))
  expect(mirror.contents).toEqual(contentsOf(other.collection.at()))
}

function outcome(promise: Promise<unknown>): { readonly code: string | undefined } {
  const outcome: { code: string | undefined } = { code: undefined }
  promise.then(
    () => (outcome.code = 'resolved'),
    (error: unknown) => (outcome.code = String((error as { readonly code?: unknown }).code)),
  )
  return outcome
}

describe('a kubeConfig that changes to another cluster', () => {
  test.each<[string, (exchange: Exchange) => void]>([
    ['rejects the credentials', refused],
    ['forbids the user', (exchange) => exchange.refuse({ code: 403 })],
    ['closes each connection', (exchange) => exchange.reset()],
  ])('is followed when the watch is reopened and the old server %s', (_how, answer) =>
    withMove({}, async (move) => {
      const { mirror, go } = move
      await mirror.live()
      go()
      mirror.fake.rule(() => true, answer)
      for (const watch of mirror.fake.collection.watching) watch.end()
      await arrived(move)
      expect(mirror.relists).toBe(1)
    }),
  )

  test('is followed when the head is read, and that version is not waited for', () =>
    withMove({}, async (move) => {
      const { mirror, other, go } = move
      await mirror.live()
      for (let at = 0; at < 100; at++) other.collection.pass()
      go()
      mirror.fake.rule(isHead, refused)
      const fresh = outcome(mirror.informer.fresh())
      await arrived(move)
      // The head is requested again after a delay.
      await mirror.untilPassing('fresh() to settle', () => fresh.code !== undefined)
      expect(fresh.code).toBe('resolved')
    }))

  test('is detected when an audit reads the other cluster', () =>
    withMove({ audit: { periodMs: 20_000 } }, async (move) => {
      const { mirror, other, go } = move
      await mirror.live()
      // So far is the other one, too.
      while (other.collection.version !== mirror.fake.collection.version) other.collection.pass()
      go()
      mirror.fake.rule(isAudit, refused)
      await mirror.untilPassing('the other cluster', () => mirror.informer.has('default/o1'))
      await arrived(move)
      expect(mirror.errors.map(({ message }) => message).filter((message) => message.includes('difference'))).toEqual(
        [],
      )
    }))

  test('ends the waits for versions of the old cluster', () =>
    withMove({}, async (move) => {
      const { mirror, other, go } = move
      await mirror.live()
      const subscription = mirror.informer.subscribe({})
      const [watch] = mirror.fake.collection.watching
      mirror.fake.collection.forget(watch)
      const version = mirror.fake.collection.pass()
      const waits = [mirror.informer.fresh(), mirror.informer.waitFor(version), subscription.waitFor(version)]
      const outcomes = waits.map(outcome)
      await mirror.until('a request', () => mirror.fake.exchanges.some(isHead))
      for (let at = 0; at < 100; at++) other.collection.pass()
      go()
      mirror.fake.rule(isWatch, refused)
      watch?.end()
      await arrived(move)
      expect(outcomes.map(({ code }) => code)).toEqual(['EPOCH_CHANGED', 'EPOCH_CHANGED', 'EPOCH_CHANGED'])
    }))

  test('is detected after a list if another session was connected there meanwhile', () =>
    withMove({}, async (move) => {
      const { mirror, go } = move
      const requested = mirror.fake.taken(isStreamedList)
      mirror.informer.start()
      const list = await mirror.soon(requested)
      const { collection } = mirror.fake
      go()
      mirror.fake.rule(isHead, refused)
      mirror.fake.rule(isWatch, refused)
      const fresh = mirror.informer.fresh().then(() => mirror.informer.has('default/o1'))
      await mirror.until('a request to the other cluster', () => move.other.exchanges.some(isHead))
      for (const object of collection.at()) await list.event('ADDED', object)
      await list.bookmark(collection.version, true)
      await arrived(move)
      expect(await fresh).toBe(true)
    }))

  test('does not contribute the second half of a list', () =>
    withMove({ source: { streamingLists: false, pageSize: 2 } }, async (move) => {
      const { mirror, other, go } = move
      const requested = mirror.fake.taken(isAnyList)
      mirror.informer.start()
      const list = await mirror.soon(requested)
      go()
      mirror.fake.rule(({ isWatch }) => !isWatch, refused)
      mirror.fake.rule(isWatch, refused)
      void mirror.informer.fresh().catch(() => {})
      await mirror.until('a request to the other cluster', () => other.exchanges.some(isHead))
      // Its next page is requested from the other cluster, which has one too.
      other.rule(
        ({ query }) => query.has('continue'),
        (exchange) => exchange.json({ kind: 'ConfigMapList', metadata: { resourceVersion: '1000' }, items: [] }),
      )
      const items = mirror.fake.collection.at().slice(0, 2)
      list.json({ kind: 'ConfigMapList', metadata: { resourceVersion: '1003', continue: 'more' }, items })
      await arrived(move)
    }))
})

/** Watches the source of a mirror up to the first batch; returns the code of the error, if there is one. */
async function watched({ source, clock }: Mirror, after: Version): Promise<string | undefined> {
  const stopping = new AbortController()
  const context = { after, clock, random: new SeededRandom(1), signal: stopping.signal, onProgressRequest: () => {} }
  try {
    for await (const _ of source.watch(context)) break
    return undefined
  } catch (error) {
    return error instanceof SourceError ? error.code : String(error)
  } finally {
    stopping.abort()
  }
}

describe('several informers of one source whose kubeConfig changes to another cluster', () => {
  test('follow when one of them lists there, even those with an open watch', () =>
    withMove({}, async (move) => {
      const { mirror, go } = move
      await mirror.live()
      go()
      mirror.fake.rule(isQuestion, refused)
      await using other = mirror.beside()
      await arrived(move)
      await mirror.untilPassing('the other one', () => other.has('default/o2'))
      expect(mirror.relists).toBe(1)
    }))

  test.each([
    ['', 0],
    [', even if it has listed as far', 1],
  ])('relist if they resume with a version of the old cluster%s', (_how, passes) =>
    withMove({}, async (move) => {
      const { mirror, other, go } = move
      const { version } = mirror.fake.collection
      await watched(mirror, version)
      for (let at = 0; at < passes; at++) other.collection.pass()
      expect(other.collection.version === version).toBe(passes === 1)
      go()
      mirror.fake.rule(isQuestion, refused)
      mirror.informer.start()
      await mirror.until('the other cluster', () => mirror.informer.has('default/o1'))
      expect(await watched(mirror, version)).toBe('EPOCH_CHANGED')
      await arrived(move)
    }),
  )
})
