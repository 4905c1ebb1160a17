import { describe, expect, test } from 'vitest'
import { isAny, isAnyList, isHead, isStreamedList, isWatch } from './fake.js'
import { FakeCollection } from './fake-collection.js'
import { EXPIRED } from './fake-exchange.js'
import { contentsOf, Mirror, type MirrorOptions } from './mirror.js'

const MISSING = { code: 404, reason: 'NotFound', message: 'the server could not find the requested resource' }

interface Restore {
  readonly mirror: Mirror
  /** From now on the server is what it was before the ghost came; its version is lower, too. */
  restore(): void
  /** The mirror is what the server is now, and follows it. */
  converged(): Promise<void>
}

/** A mirror that has seen an object of which a backup of the server knows nothing. */
async function withBackup(options: MirrorOptions, act: (restore: Restore) => Promise<void>): Promise<void> {
  const backup = new FakeCollection()
  backup.fill(3)
  const prepare = ({ collection }: { readonly collection: FakeCollection }): void => {
    collection.fill(3)
    collection.put('ghost', 1)
  }
  await Mirror.live({ ...options, prepare }, async (mirror) => {
    expect(mirror.informer.has('default/ghost')).toBe(true)
    await act({
      mirror,
      restore: () => void mirror.fake.rule(isAny, (exchange) => backup.answer(exchange)),
      async converged() {
        await mirror.until('the ghost to be gone', () => !mirror.informer.has('default/ghost'))
        backup.put('k3', 'after')
        await mirror.until('what comes next', () => mirror.informer.has('default/k3'))
        expect(mirror.informer.size).toBe(4)
      },
    })
  })
}

/** Everything that was open breaks off, and a list is next: what came after our version is gone. */
function expire({ fake }: Mirror): void {
  fake.next(isWatch, (exchange) => exchange.refuse(EXPIRED))
  for (const watch of fake.collection.watching) watch.end()
}

describe('a history that went back', () => {
  test('[B22] while the source was to be listed leaves no ghost', () =>
    withBackup({}, async ({ mirror, restore, converged }) => {
      const down = mirror.fake.rule(isAnyList, (exchange) => exchange.reset())
      expire(mirror)
      await mirror.until('the list to fail', () => mirror.errors.some(({ phase }) => phase === 'list'))
      restore()
      down()
      await converged()
      expect(mirror.errors.map(({ code }) => code)).toContain('EPOCH_CHANGED')
    }))

  test('while the resource was missing leaves no ghost', () =>
    withBackup({}, async ({ mirror, restore, converged }) => {
      const missing = mirror.fake.rule(isAny, (exchange) => exchange.refuse(MISSING))
      for (const watch of mirror.fake.collection.watching) watch.end()
      await mirror.until('it to fail', () => mirror.informer.status.state === 'failed')
      restore()
      missing()
      await converged()
    }))

  test('under a watch that continues is detected by the audit, and leaves no ghost', () =>
    withBackup({ audit: { periodMs: 20_000 } }, async ({ mirror, restore, converged }) => {
      restore()
      await mirror.untilPassing('the audit', () => mirror.errors.length > 0)
      await converged()
      expect(mirror.errors.map(({ code }) => code)).toContain('EPOCH_CHANGED')
    }))

  test('under a watch that continues is detected by fresh(), which resolves after the list of the new history', () =>
    withBackup({}, async ({ mirror, restore, converged }) => {
      restore()
      let hasGhost: boolean | undefined
      const fresh = mirror.informer.fresh().then(() => (hasGhost = mirror.informer.has('default/ghost')))
      await mirror.untilPassing('fresh() to resolve', () => hasGhost !== undefined)
      await fresh
      await converged()
      expect([hasGhost, mirror.errors.map(({ code }) => code)]).toEqual([false, ['EPOCH_CHANGED']])
    }))

  test('is not assumed when a write is delivered while fresh() waits for the head', () => {
    const before = new FakeCollection()
    before.fill(3)
    return Mirror.live({ fill: 3 }, async (mirror) => {
      const fresh = mirror.informer.fresh()
      const head = await mirror.fake.taken(isHead)
      await mirror.follows('k0', 'written meanwhile')
      before.answer(head)
      await fresh
      expect([mirror.relists, mirror.errors]).toEqual([0, []])
    })
  })
})

describe('a history that went back in the middle of a list', () => {
  /** From now on the server is a backup, with other objects at the versions of some that were listed. */
  const restored = ({ fake }: Mirror): FakeCollection => {
    const backup = new FakeCollection()
    for (let at = 0; at < 5; at++) backup.put(`k${at}`, 'restored')
    fake.rule(isAny, (exchange) => backup.answer(exchange))
    return backup
  }
  const converged = async (mirror: Mirror, backup: () => FakeCollection | undefined): Promise<void> => {
    mirror.informer.start()
    await mirror.untilPassing('the list to be in', () => mirror.informer.status.state === 'live')
    expect(mirror.contents).toEqual(contentsOf(backup()?.at() ?? []))
  }

  test('[K8][K9] between a page that failed and its retry is noticed: no list has pages of two histories', () =>
    Mirror.with({ source: { streamingLists: false, pageSize: 2 }, fill: 9 }, async (mirror) => {
      let backup: FakeCollection | undefined
      mirror.fake.next(
        ({ isList, query }) => isList && query.has('continue'),
        (exchange) => {
          exchange.reset()
          backup = restored(mirror)
        },
      )
      await converged(mirror, () => backup)
      expect(mirror.errors.map(({ code }) => code)).toEqual(['EPOCH_CHANGED'])
    }))

  test('[K10] between a streamed first list that broke off and its pages leaves no object of the history before', () =>
    Mirror.with({ fill: 600 }, async (mirror) => {
      let backup: FakeCollection | undefined
      mirror.fake.next(isStreamedList, (exchange) => {
        const lines = mirror.fake.collection.at().map((object) => `${JSON.stringify({ type: 'ADDED', object })}\n`)
        void exchange.write(lines.join('')).then(() => {
          exchange.end()
          backup = restored(mirror)
        })
      })
      await converged(mirror, () => backup)
    }))
})

test('a server that is behind is retried if its list ends before the floor, and another server is ahead', () =>
  withBackup({}, async ({ mirror }) => {
    const behind = new FakeCollection()
    behind.fill(3)
    const lagging = mirror.fake.rule(isAnyList, (exchange) => behind.answer(exchange))
    expire(mirror)
    await mirror.until('its list to be refused', () => mirror.errors.some(({ code }) => code === 'STALE_LIST'))
    lagging()
    await mirror.follows('k1', 'after')
    expect(mirror.errors.map(({ code }) => code)).not.toContain('EPOCH_CHANGED')
    expect(mirror.fake.exchanges.some(isHead)).toBe(true)
  }))
