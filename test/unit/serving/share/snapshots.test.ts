import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { MessageChannel } from 'node:worker_threads'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { fileCache } from '../../../../caches/file/index.js'
import { type ServeSharedOptions, serveShared, sharedSource } from '../../../../serving/share/index.js'
import type { FollowerMessage } from '../../../../serving/share/port-messages.js'
import {
  createInformer,
  type IndexBuilder,
  type Informer,
  type InformerOptions,
  type ListerWatcher,
  SourceError,
  type SourceSet,
  sourceSet,
} from '../../../../src/index.js'
import { internalsOf } from '../../../../src/informer/internals.js'
import { memorySource } from '../../../../testing/index.js'
import { waitUntil } from '../../../servers/wait-until.js'
import { MemoryCache } from '../../../support/memory-cache.js'
import { type Account, accounts } from './accounts.js'

vi.setConfig({ testTimeout: 60_000 })

type Options = Partial<InformerOptions<Account, ReturnType<typeof indexes>>>

const indexes = (ix: IndexBuilder<Account>) => ({
  tenant: ix.equal(({ tenant }) => tenant),
  balance: ix.ordered(({ balance }) => balance),
})

/** A shared informer, which counts its packs and its encoded lists. */
function stage(
  entries: Iterable<readonly [string, Account]>,
  shareOptions: ServeSharedOptions = {},
  options: Options = {},
) {
  const source = memorySource<Account>({ entries, name: 'accounts', heartbeatMs: 200 })
  const informer = createInformer({ source, indexes, ...options })
  informer.on('error', () => {})
  const mirror = internalsOf(informer)?.objects
  if (mirror === undefined) throw new Error('the informer cannot be packed')
  const packs = vi.spyOn(mirror, 'pin')
  const lists = vi.spyOn(informer, 'snapshot')
  const share = serveShared(informer, { heartbeatMs: 200, ...shareOptions })
  const own: Informer<Account, ReturnType<typeof indexes>>[] = []
  onTestFinished(async () => {
    await Promise.all(own.map((each) => each.stop()))
    await share.close()
    await informer.stop()
  })
  const portSource = () => sharedSource<Account>({ port: share.port(), heartbeatMs: 200 })
  const follow = (followerOptions: Options = {}) => {
    const follower = createInformer({ source: portSource(), indexes, ...followerOptions })
    follower.on('error', () => {})
    own.push(follower)
    return follower
  }
  const join = async (followerOptions?: Options) => {
    const follower = follow(followerOptions).start()
    await follower.synced()
    return follower
  }
  return { source, informer, share, portSource, follow, join, packs, lists }
}

/** The same with an informer that has its objects. */
async function started(...given: Parameters<typeof stage>) {
  const all = stage(...given)
  await all.informer.start().synced()
  return all
}

/** A follower of an informer of any source, which has not listed. */
async function joinedTo<T>(source: ListerWatcher<T> | SourceSet<T>): Promise<Informer<T>> {
  const informer = createInformer({ source }).start()
  await informer.synced()
  const lists = vi.spyOn(informer, 'snapshot')
  const share = serveShared(informer)
  const follower = createInformer({ source: sharedSource<T>({ port: share.port() }) }).start()
  onTestFinished(async () => {
    await follower.stop()
    await share.close()
    await informer.stop()
  })
  await follower.synced()
  expect(lists).not.toHaveBeenCalled()
  return follower
}

function expectEqual(follower: Informer<Account, ReturnType<typeof indexes>>, informer: Informer<Account>): void {
  expect(new Map(follower.entries())).toEqual(new Map(informer.entries()))
  for (const tenant of ['acme', 'umbra'])
    expect(follower.by.tenant(tenant)).toHaveLength(informer.list().filter((each) => each.tenant === tenant).length)
}

describe('a worker that joins', () => {
  test('[T11] starts from the packed objects, without a list, hears each once, and receives the later changes', async () => {
    const { source, informer, follow, packs, lists } = await started(accounts(3_000))
    const follower = follow()
    const heard: string[] = []
    follower.subscribe({ add: ({ key, origin }) => heard.push(`${key} ${origin}`) })
    await follower.start().synced()
    expectEqual(follower, informer)
    await waitUntil('all objects', () => heard.length >= 3_000)
    expect(heard.sort()).toEqual(Array.from(informer.keys(), (key) => `${key} initial`).sort())
    expect(follower.by.balance({ limit: 1 })).toEqual([{ tenant: 'acme', balance: 0 }])
    expect(follower.entry('7')).toEqual(informer.entry('7'))
    source.put('new', { tenant: 'acme', balance: 1 })
    source.delete('0')
    await follower.fresh()
    expectEqual(follower, informer)
    expect(packs).toHaveBeenCalledTimes(1)
    expect(lists).not.toHaveBeenCalled()
    expect(follower.status).toMatchObject({ relists: 0, reconnects: 0 })
  })

  test('[T12] together with others shares one pack with them, and a later one does too', async () => {
    const { informer, source, join, packs } = await started(accounts(2_000))
    await Promise.all([join(), join(), join()])
    for (let i = 0; i < 100; i++) source.put(`${i}`, { tenant: 'umbra', balance: -i })
    await informer.fresh()
    expectEqual(await join(), informer)
    expect(packs).toHaveBeenCalledTimes(1)
  })

  test('[T12] packs again when half of the history after the pack is used', async () => {
    const { informer, source, join, packs, lists } = await started(accounts(100), { historyBytes: 64 * 1024 })
    const first = await join()
    for (let i = 0; i < 40; i++) source.put(`${i}`, { tenant: 'x'.repeat(1_000), balance: i })
    await first.fresh()
    expectEqual(await join(), informer)
    expectEqual(await join(), informer)
    expect(packs).toHaveBeenCalledTimes(2)
    expect(lists).not.toHaveBeenCalled()
  })

  test('and declares an index that the share does not have, has it', async () => {
    const { informer, join, packs, lists } = await started(accounts(500))
    const own = (ix: IndexBuilder<Account>) => ({
      tenant: ix.equal(({ tenant }) => tenant),
      balance: ix.ordered(({ balance }) => -balance),
    })
    const follower = await join({ indexes: own })
    expectEqual(follower, informer)
    expect(follower.by.balance({ limit: 1 })[0]?.balance).toBe(499)
    expect(packs).toHaveBeenCalledTimes(1)
    expect(lists).not.toHaveBeenCalled()
  })

  test('has the objects of all sources of a set', async () => {
    const [eu, us] = ['eu', 'us'].map((name) => memorySource<number>({ name, entries: [[name, 1]] }))
    const follower = await joinedTo(sourceSet({ eu: eu as never, us: us as never }))
    expect([...follower.keys()].sort()).toEqual(['eu', 'us'])
  })
})

describe('a follower lists', () => {
  const listed: readonly [string, Options][] = [
    ['a transform', { transform: (account) => (account.balance < 5 ? account : undefined) }],
    ['a cache of its own', { cache: new MemoryCache() }],
  ]
  test.each(listed)('[T11] if it has %s', async (_option, options) => {
    const { join, packs, lists } = await started(accounts(10))
    const follower = await join(options)
    expect(follower.size).toBe(options.transform === undefined ? 10 : 5)
    expect(packs).not.toHaveBeenCalled()
    expect(lists).toHaveBeenCalledTimes(1)
  })

  test('[T11] if its port has a scope', async () => {
    const { share, packs } = await started(accounts(10))
    const source = sharedSource<Account>({ port: share.port({ where: { tenant: 'acme' } }) })
    await using follower = createInformer({ source }).start()
    await follower.synced()
    expect(follower.size).toBe(5)
    expect(packs).not.toHaveBeenCalled()
  })

  test('[T14] if an object cannot be packed, and one warning names the object', async () => {
    class Money {}
    using warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    const odd = { tenant: 'acme', balance: 1, money: new Money() }
    const { join, packs } = await started([...accounts(3), ['odd', odd]])
    expect((await join()).size).toBe(3)
    expect((await join()).size).toBe(3)
    expect(packs).toHaveBeenCalledTimes(1)
    expect(warned.mock.calls.map(([message]) => String(message)).filter((each) => each.includes('pack'))).toEqual([
      'serveShared cannot pack the object "odd": money is an instance of Money; workers list instead',
    ])
  })
})

describe('during a join', () => {
  test('[T11] a write behind a large one does not make its object go back', async () => {
    const { informer, source, follow, join } = await started(accounts(10))
    await join({ transform: (account) => account }) // Now the changes are encoded.
    source.transaction((tx) => {
      for (let i = 0; i < 40_000; i++) tx.put(`${i}`, { tenant: 'acme', balance: 1 })
    })
    await informer.until('0', (account) => account?.balance === 1)
    source.put('0', { tenant: 'acme', balance: 2 })
    await informer.until('0', (account) => account?.balance === 2)
    const follower = follow()
    const seen: number[] = []
    const note = ({ key, object }: { readonly key: string; readonly object: Account }): void => {
      if (key === '0') seen.push(object.balance)
    }
    follower.subscribe({ add: note, update: note })
    await follower.start().synced()
    await follower.fresh()
    await waitUntil('the object', () => seen.includes(2))
    expect(seen).toEqual([2])
  })

  test('[T13] the end of the informer makes the worker wait, and its status has the reason', async () => {
    const { informer, follow, packs } = await started(accounts(5_000))
    const follower = follow().start()
    await waitUntil('the pack', () => packs.mock.calls.length === 1)
    await informer.stop()
    await waitUntil('the error', () => follower.status.lastError !== undefined)
    expect(follower.status.lastError?.message).toContain('stopped')
  })

  test('[T13] lost access takes the objects from the pack', async () => {
    const { source, join, packs } = await started(accounts(100), {}, { onAccessLost: 'clear' })
    const first = await join()
    source.fail(new SourceError('permission denied', { code: 'UNAUTHORIZED' }), 2)
    source.disconnect()
    await waitUntil('the loss of the objects', () => first.size === 0)
    const second = await join()
    await waitUntil('all objects again', () => first.size === 100 && second.size === 100)
    expect(packs).toHaveBeenCalledTimes(2)
  })

  test('the informer may save its file cache', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'share-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const path = join(folder, 'accounts.cache')
    const cached = { cache: fileCache({ path, saveEveryMs: 1, saveAfterShare: 0.0001, maxAgeMs: 1 }) }
    const first = stage(accounts(5_000), {}, cached)
    await first.informer.start().synced()
    for (let i = 0; i < 5; i++) {
      first.source.put(`${i}`, { tenant: 'umbra', balance: -1 })
      expectEqual(await first.join(), first.informer)
    }
    await first.informer.stop()
    await using again = createInformer({ source: first.source, indexes, cache: fileCache({ path, serveStale: true }) })
    await again.start().synced()
    expect([again.size, again.by.tenant('umbra').length]).toEqual([5_000, 2_503])
  })
})

describe('a port whose other end sends', () => {
  /** Answers a request for a snapshot with `snapshot`, and all other requests with 404. */
  function hostile(snapshot: unknown): Informer<Account> {
    const { port1, port2 } = new MessageChannel()
    port1.on('message', ({ type, id }: FollowerMessage) => {
      if (type === 'open') port1.postMessage({ type: 'opened', id, snapshot })
      if (type !== 'request') return
      const body = new TextEncoder().encode('{"error":"no list here"}')
      port1.postMessage({ type: 'response', id, status: 404, headers: [], body })
    })
    const follower = createInformer({ source: sharedSource<Account>({ port: port2 }) })
    follower.on('error', () => {})
    onTestFinished(async () => {
      await follower.stop()
      port1.close()
    })
    return follower
  }
  const places = new Uint32Array(3)
  const none = { version: 'v', size: 1, savedAt: 0, sections: [], blocks: { pieces: [new Uint8Array(9)], places } }

  test.each([
    ['another value', 7],
    ['no sections', { ...none, sections: undefined }],
    ['sections without bytes', { ...none, sections: [['info', 'x']] }],
    ['blocks without places', { ...none, blocks: { pieces: [] } }],
  ])('%s as a snapshot makes the follower fail', async (_what, snapshot) => {
    await expect(hostile(snapshot).start().synced({ timeoutMs: 20_000 })).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })

  test('[T14] damaged bytes make the follower list, with a warning', async () => {
    const { informer, join, portSource } = await started(accounts(20))
    const source = portSource()
    const { openSnapshot } = source
    for (const damage of ['sections', 'block']) {
      const warnings: string[] = []
      source.openSnapshot = async (context) => {
        const saved = await openSnapshot?.(context)
        const content = await saved?.packed?.()
        if (saved === undefined || content === undefined) throw new Error('there is no snapshot')
        const damaged = {
          sections: damage === 'sections' ? new Map([['info', new Uint8Array(5)]]) : content.sections,
          block: damage === 'block' ? () => new Uint8Array(64) : content.block,
          decode: content.decode,
        }
        return { ...saved, packed: async () => damaged }
      }
      const logger = { warn: (message: string) => void warnings.push(message), info() {}, debug() {}, error() {} }
      const follower = await join({ source, logger })
      await waitUntil('all objects', () => follower.size === 20)
      expectEqual(follower, informer)
      expect(warnings.some((each) => /cannot be used/.test(each))).toBe(true)
      await follower.stop()
    }
  })
})
