import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { REFUSAL_MS } from '../../../../adapters/common/upstream-versions.js'
import { httpSource, serveHttp } from '../../../../serving/http/index.js'
import { createInformer, type ListerWatcher, SourceError } from '../../../../src/index.js'
import { SeededRandom, VirtualClock } from '../../../../testing/index.js'
import { fetchFrom, servedAccounts } from './mirror.js'

const acme = { tenant: 'acme', balance: 1 }

/** A mirror of one object at a version, whose source has a new epoch at the version of `restore`. */
function mirrorAt(version: string, compare: Pick<ListerWatcher<typeof acme>, 'hasReached'>) {
  let at = version
  let restored = Promise.withResolvers<void>()
  const source: ListerWatcher<typeof acme> = {
    name: 'restorable',
    async *list() {
      yield { events: [{ type: 'put', key: `at ${at}`, object: acme }], version: at }
    },
    async *watch({ signal, after }) {
      const { promise, resolve } = restored
      // The restore may come between the list and the watch.
      if (after !== at) throw new SourceError('restored', { code: 'EPOCH_CHANGED' })
      yield { events: [], version: at }
      signal.addEventListener('abort', () => resolve(), { once: true })
      await promise
      throw new SourceError('restored', { code: 'EPOCH_CHANGED' })
    },
    ...compare,
  }
  const informer = createInformer({ source })
  informer.on('error', () => {})
  const mirror = serveHttp(informer.start(), { heartbeatMs: 200 })
  return {
    mirror,
    restore(to: string) {
      at = to
      restored.resolve()
      restored = Promise.withResolvers<void>()
    },
    async [Symbol.asyncDispose]() {
      await mirror.close()
      await informer.stop()
    },
  }
}

/** Kubernetes and etcd: nothing in a version names its epoch. */
const numbers = { hasReached: (at: string, mark: string) => Number(at) >= Number(mark) }

/** Postgres: a version is `<epoch>:<number>`. */
const epochs = {
  hasReached(at: string, mark: string) {
    const [[epoch, number], [other, least]] = [at.split(':'), mark.split(':')]
    if (epoch !== other) throw new SourceError('another epoch', { code: 'EPOCH_CHANGED' })
    return Number(number) >= Number(least)
  },
}

/** Follows a server until its epoch ends. Then lists of any server can be requested, at any time after that. */
async function followerOf({ mirror }: ReturnType<typeof mirrorAt>, upstream = numbers) {
  let handler = mirror
  const fetch = fetchFrom(() => handler)
  const hooks = { beforeBody: async () => {} }
  const source = httpSource<typeof acme>({
    url: 'http://mirror.test/',
    fetch: async (url, init) => {
      const response = await fetch(url, init)
      if (url.includes('/list')) await hooks.beforeBody()
      return response
    },
    upstream,
  })
  const clock = new VirtualClock()
  const { signal } = new AbortController()
  const context = { signal, clock, random: new SeededRandom(1), pageSize: 100, mirror: {} }
  const list = async (other = handler, own: { floor?: string; mirror?: object } = {}) => {
    handler = other
    const keys: string[] = []
    let version = ''
    for await (const page of source.list({ ...context, ...own })) {
      for (const { key = '' } of page.events) keys.push(key)
      version = page.version ?? version
    }
    return { keys, version }
  }
  const after = (await list()).version
  const watch = source.watch({ ...context, after, onProgressRequest: () => {} })[Symbol.asyncIterator]()
  await watch.next()
  const ended = async () => {
    for (;;) if ((await watch.next()).done === true) return
  }
  return { clock, list, hooks, floor: after, ended: ended() }
}

/** A follower that has seen the end of an epoch at version 100. Its server is at version 5 now. */
async function endedEpoch() {
  const first = mirrorAt('100', numbers)
  onTestFinished(() => first[Symbol.asyncDispose]())
  const follower = await followerOf(first)
  first.restore('5')
  await expect(follower.ended).rejects.toMatchObject({ code: 'EPOCH_CHANGED' })
  return follower
}

describe('[V6] after the end of an epoch, a follower with the option "upstream"', () => {
  test('never shows an earlier state of another server that has not detected it', async () => {
    await using served = servedAccounts([['1', acme]])
    let handler = served.mirror
    const follower = served.follow({ fetch: fetchFrom(() => handler), upstream: served.source })
    await follower.waitFor(served.source.put('2', acme))
    await vi.waitFor(() => expect(follower.status.state).toBe('live'))
    await using other = mirrorAt(served.informer.version?.replace(/\d+$/, (n) => String(Number(n) - 1)) ?? '', {
      hasReached: (at, mark) => served.source.hasReached(at, mark),
    })
    const shown: string[] = []
    follower.subscribe({ add: ({ key }) => void shown.push(key) })
    handler = other.mirror
    served.source.restore([['9', acme]])
    const refusal = /another server, which may not have detected/
    await vi.waitFor(() => expect(follower.status.lastError?.message).toMatch(refusal), { timeout: 4_000 })
    expect([...follower.keys()]).toEqual(['1', '2'])
    handler = served.mirror
    await vi.waitFor(() => expect([...follower.keys()]).toEqual(['9']), { timeout: 8_000 })
    expect(shown.filter((key) => key.startsWith('at '))).toEqual([])
  })

  test('refuses a smaller version of another server for 30 s, and accepts it then', async () => {
    await using second = mirrorAt('7', numbers)
    const { clock, list } = await endedEpoch()
    await expect(list(second.mirror)).rejects.toMatchObject({ code: 'STALE_LIST' })
    await clock.advance(REFUSAL_MS - 1)
    await expect(list(second.mirror)).rejects.toMatchObject({ code: 'STALE_LIST' })
    await clock.advance(1)
    expect(await list(second.mirror)).toMatchObject({ keys: ['at 7'] })
  })

  test('accepts at once a smaller version of the server that has detected it, and one of another that is not smaller', async () => {
    const { list } = await endedEpoch()
    await vi.waitFor(async () => expect(await list()).toMatchObject({ keys: ['at 5'] }), { timeout: 4_000 })
    await using second = mirrorAt('100', numbers)
    const other = await endedEpoch()
    expect(await other.list(second.mirror)).toMatchObject({ keys: ['at 100'] })
  })

  test('that ends during a list refuses an earlier state of another server', async () => {
    await using first = mirrorAt('100', numbers)
    await using second = mirrorAt('7', numbers)
    const { ended, floor, hooks, list } = await followerOf(first)
    const own = { floor, mirror: {} }
    const request = new Request('http://mirror.test/version')
    hooks.beforeBody = async () => {
      hooks.beforeBody = async () => {}
      first.restore('5')
      await expect(ended).rejects.toMatchObject({ code: 'EPOCH_CHANGED' })
      await vi.waitFor(async () => expect((await first.mirror(request)).status).toBe(200), { timeout: 3_000 })
    }
    await expect(list(first.mirror, own)).rejects.toMatchObject({ code: 'EPOCH_CHANGED' })
    await expect(list(second.mirror, { mirror: own.mirror })).rejects.toMatchObject({ code: 'STALE_LIST' })
  })

  test('that a list of one server has shown refuses an earlier state of another server', async () => {
    await using first = mirrorAt('1:100', epochs)
    await using second = mirrorAt('1:7', epochs)
    await using third = mirrorAt('2:5', epochs)
    const { ended, floor, list } = await followerOf(first, epochs)
    ended.catch(() => {})
    await expect(list(third.mirror, { floor })).rejects.toMatchObject({ code: 'EPOCH_CHANGED' })
    await expect(list(second.mirror)).rejects.toMatchObject({ code: 'STALE_LIST' })
    expect(await list(third.mirror)).toMatchObject({ keys: ['at 2:5'] })
  })
})
