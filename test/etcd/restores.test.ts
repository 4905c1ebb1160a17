import { expect, test } from 'vitest'
import { EtcdServer } from '../servers/etcd.js'
import type { FoundServer } from '../servers/index.js'
import { describeEtcd } from '../servers/index.js'
import { Stage, type StageOptions } from './stage.js'

/** A server of its own for the test: it is going to be another. */
async function withOwn(
  server: FoundServer,
  options: Omit<StageOptions, 'etcd'>,
  act: (stage: Stage, etcd: EtcdServer) => Promise<void>,
): Promise<void> {
  await using etcd = await EtcdServer.start({ server })
  await Stage.with({ ...options, etcd }, (stage) => act(stage, etcd))
}

/** Every key of the server's but those of the stage. */
async function writeElsewhere(etcd: EtcdServer, count: number): Promise<void> {
  const client = etcd.client()
  for (let at = 0; at < count; at++) await client.put(`elsewhere/${at}`).value('x')
}

const codes = (stage: Stage): string[] => stage.errors.map(({ code }) => code).filter((code) => code !== 'UNAVAILABLE')

type Writes = (stage: Stage, etcd: EtcdServer) => Promise<unknown>

/** The writes before the backup, while the mirror follows, and to the restored server. */
interface Fork {
  readonly form?: 'endpoints' | 'client'
  /** Before the backup. */
  readonly before: Writes
  /** After it: what the mirror has read, and the restored history does not have. */
  readonly mirrored: Writes
  readonly restored: Writes
  readonly code?: string
}

/** Puts keys of this name, one after the other. */
const puts =
  (name: string, count: number): Writes =>
  async (stage) => {
    for (let at = 0; at < count; at++) await stage.put([`${name}${at}`, at])
  }

/** The two histories delete or change one of three keys, and then differ in little else. */
const ofThreeKeys = (name: string, n: number | undefined, restored: Writes): Fork => ({
  before: puts('k', 3),
  mirrored: (stage) => stage.put([name, n]),
  restored,
})

/** By both forms of a connection. */
const ofBothForms = (title: string, fork: Fork): Readonly<Record<string, Fork>> => ({
  [`${title} (endpoints)`]: { ...fork, form: 'endpoints' },
  [`${title} (client)`]: { ...fork, form: 'client' },
})

const forks: Readonly<Record<string, Fork>> = {
  ...ofBothForms('if the revision went back', {
    before: (stage) => stage.fill(50),
    mirrored: (stage) => stage.fill(80, 1),
    restored: async () => {},
  }),
  ...ofBothForms('if it is ahead of the mirror after the reconnect, with the same ids and the same term', {
    before: (stage) => stage.fill(50),
    mirrored: puts('lost', 30),
    restored: puts('new', 60),
  }),
  'if the same key was written at the same revision, with another value': {
    before: (stage) => stage.put(['k', 1]),
    mirrored: (stage) => stage.put(['k', 2]),
    restored: (stage) => stage.put(['k', 3]),
  },
  'if only the number of keys shows it': ofThreeKeys('k0', undefined, (_, etcd) => writeElsewhere(etcd, 5)),
  'if only the newest entry shows it': ofThreeKeys('k0', 2, (_, etcd) => writeElsewhere(etcd, 5)),
  'if each history deleted one key, and the mirrored one its newest': ofThreeKeys(
    'k2',
    undefined,
    async (stage, etcd) => {
      await stage.put(['k0', undefined])
      await writeElsewhere(etcd, 5)
    },
  ),
  'if the same key was written at the same revision, and earlier revisions are compacted': {
    before: async (stage, etcd) => {
      await stage.put(['k', 1])
      await writeElsewhere(etcd, 60)
    },
    mirrored: (stage) => stage.put(['k', 2]),
    restored: async (stage, etcd) => {
      await stage.put(['k', 3])
      await writeElsewhere(etcd, 5)
      await stage.compact()
    },
    code: 'VERSION_EXPIRED',
  },
  'if the range was idle since before the backup, and other keys were written': {
    before: (stage) => stage.fill(5),
    mirrored: async (stage, etcd) => {
      await writeElsewhere(etcd, 50)
      // After a bookmark, the revisions of these writes are below the version of the mirror.
      await stage.informer.waitFor((await stage.source.head?.(contextOf(stage))) ?? '', { timeoutMs: 60_000 })
    },
    restored: async (stage, etcd) => {
      await stage.put(['k1', 7])
      await stage.put(['new', 8])
      await writeElsewhere(etcd, 60)
    },
  },
  'if the newest entry of the mirrored history was deleted before': {
    before: (stage) => stage.fill(5),
    mirrored: async (stage) => {
      await stage.put(['x', 1])
      await stage.put(['x', undefined])
      await stage.put(['k1', undefined])
    },
    restored: puts('y', 9),
  },
}

describeEtcd('a restored backup is another history, and is listed again', (server) => {
  test.concurrent('[C10][C38] between EPOCH_CHANGED and the list, fresh and a wait for a write of the restored history wait for the list', () =>
    withOwn(server, {}, async (stage, etcd) => {
      await stage.fill(50)
      const backup = await etcd.backup()
      await stage.live()
      for (let at = 0; at < 30; at++) await stage.put([`lost${at}`, at])
      await stage.healed()
      stage.proxy.refuse()
      await etcd.restore(backup)
      await etcd.start()
      const mark = await stage.put(['new', 7])
      expect(stage.revision).toBeGreaterThan(Number(mark))
      const read: unknown[] = []
      const follow = async ({ code }: { readonly code: string }): Promise<void> => {
        if (code !== 'EPOCH_CHANGED') return
        await stage.informer.waitFor(mark)
        read.push(stage.informer.get(`${stage.prefix}new`))
      }
      stage.informer.on('error', (error) => void follow(error))
      await stage.until('a long delay', () => stage.informer.status.attempt > 3)
      stage.proxy.pass()
      await stage.informer.fresh({ timeoutMs: 60_000 })
      expect(stage.informer.has(`${stage.prefix}lost29`)).toBe(false)
      await stage.until('the wait to end', () => read.length > 0)
      expect(read).toEqual([{ n: 7 }])
      await stage.healed()
    }))

  test.concurrent.each(Object.entries(forks))(
    '%s',
    (_title, { form, before, mirrored, restored, code = 'EPOCH_CHANGED' }) =>
      withOwn(server, form === undefined ? {} : { form }, async (stage, etcd) => {
        await before(stage, etcd)
        const backup = await etcd.backup()
        await stage.live()
        await mirrored(stage, etcd)
        await stage.healed()
        stage.proxy.refuse()
        await etcd.restore(backup)
        await etcd.start()
        await restored(stage, etcd)
        stage.proxy.pass()
        await stage.healed()
        expect([stage.relists, codes(stage)]).toEqual([1, [code]])
      }),
  )

  test.concurrent('if the history was compacted between the newest entry and the position of the mirror', () =>
    withOwn(server, {}, async (stage, etcd) => {
      await stage.fill(5)
      await stage.live()
      await writeElsewhere(etcd, 10)
      const backup = await etcd.backup()
      for (let at = 0; at < 5; at++) await stage.put([`lost${at}`, at])
      await writeElsewhere(etcd, 20)
      await stage.compact()
      await stage.informer.waitFor((await stage.source.head?.(contextOf(stage))) ?? '', { timeoutMs: 60_000 })
      stage.proxy.refuse()
      await etcd.restore(backup)
      await etcd.start()
      await stage.put(['k1', 7])
      await writeElsewhere(etcd, 60)
      stage.proxy.pass()
      await stage.healed()
      expect(stage.relists).toBe(1)
    }))

  test.concurrent('if revisions were bumped and marked as compacted, as etcd recommends', async ({ skip }) => {
    if (server.name === 'etcd 3.4') skip('3.4 cannot')
    await withOwn(server, {}, async (stage, etcd) => {
      await stage.fill(50)
      const backup = await etcd.backup()
      await stage.live()
      await stage.fill(50, 1)
      await stage.healed()
      await etcd.restore(backup, { args: ['--bump-revision', '1000000', '--mark-compacted'] })
      await etcd.start()
      await stage.healed()
      expect(stage.relists).toBe(1)
    })
  })

  test.concurrent('if it has another token: another cluster', () =>
    withOwn(server, {}, async (stage, etcd) => {
      await stage.fill(50)
      const backup = await etcd.backup()
      await stage.live()
      const mark = await stage.put(['k1', 1])
      await stage.informer.waitFor(mark, { timeoutMs: 60_000 })
      const before = stage.informer.version ?? ''
      await etcd.restore(backup, { token: 'another' })
      await etcd.start()
      await stage.healed()
      expect(codes(stage)).toEqual(['EPOCH_CHANGED'])
      expect(() => stage.source.hasReached?.(stage.informer.version ?? '', before)).toThrow('another cluster')
    }))

  test.concurrent('also if a mirror starts from a stored version', () =>
    withOwn(server, {}, async (stage, etcd) => {
      await stage.fill(50)
      const backup = await etcd.backup()
      await stage.live()
      await stage.put(['k1', 1])
      await stage.healed()
      const after = stage.informer.version ?? ''
      await stage.informer.stop()
      await etcd.restore(backup)
      await etcd.start()
      for (let at = 0; at < 5; at++) await stage.put([`new${at}`, at])
      const watch = stage.source
        .watch({ ...contextOf(stage), after, onProgressRequest: () => {} })
        [Symbol.asyncIterator]()
      await expect(watch.next()).rejects.toMatchObject({ code: 'EPOCH_CHANGED' })
    }))
})

describeEtcd('a fork that no check finds: the same number of keys, and the same newest entry', (server) => {
  const beforeBackup = { term: 0, index: 60 }
  /** What speaks against it: that there was an election, or that the members' log is shorter. */
  for (const sign of ['term', 'index'] as const) {
    /** Our history deletes one key, the other history another; then both are written to. */
    const forked = async (stage: Stage, etcd: EtcdServer): Promise<void> => {
      for (const name of ['a', 'b', 'c']) await stage.put([name, 1])
      await writeElsewhere(etcd, beforeBackup[sign])
      const backup = await etcd.backup()
      await stage.live()
      await stage.put(['a', undefined])
      await stage.healed()
      stage.proxy.refuse()
      await etcd.restore(backup)
      await etcd.start()
      await stage.put(['b', undefined])
      if (sign === 'term') {
        await etcd.kill()
        await etcd.start()
        await writeElsewhere(etcd, 60)
      }
      stage.proxy.pass()
      await stage.informer.waitFor(await stage.put(['d', 1]), { timeoutMs: 100_000 })
    }

    test.concurrent(`leaves a mirror without audits wrong (${sign})`, () =>
      withOwn(server, {}, async (stage, etcd) => {
        await forked(stage, etcd)
        expect(await stage.differences()).toEqual([`${stage.prefix}b`, `${stage.prefix}a`])
        expect(stage.relists).toBe(0)
      }))

    test.concurrent(`is found by an audit right after the reconnect (${sign})`, () =>
      withOwn(server, { isAudited: true }, async (stage, etcd) => {
        await forked(stage, etcd)
        await stage.healed()
        expect([stage.relists, codes(stage)]).toEqual([1, ['PROTOCOL']])
      }))
  }
})

function contextOf(stage: Stage): Parameters<NonNullable<Stage['source']['head']>>[0] {
  return { signal: new AbortController().signal, clock: stage.clock, random: { next: () => 0.5 } }
}
