import { expect, test } from 'vitest'
import { etcdSource } from '../../adapters/etcd/index.js'
import type { ListerWatcher } from '../../src/contract/source.js'
import { EtcdServer } from '../servers/etcd.js'
import { describeEtcd, type FoundServer } from '../servers/index.js'
import { type Item, Stage, type StageOptions } from './stage.js'

interface Cause {
  readonly name: string
  readonly options?: Partial<StageOptions>
  readonly makeDue: (stage: Stage) => Promise<void>
}

/** The source of etcd, which loses the events of the key `lost` and requests an audit instead. */
function losingSource(hosts: string, prefix: string): ListerWatcher<Item> {
  const source = etcdSource<Item>({ endpoints: hosts, prefix, heartbeatMs: 4_000, timeoutMs: 10_000 })
  return {
    name: source.name,
    heartbeatMs: source.heartbeatMs,
    list: (context) => source.list(context),
    versions: (context) => source.versions(context),
    head: (context) => source.head(context),
    hasReached: (at, mark) => source.hasReached(at, mark),
    async *watch(context) {
      for await (const { events, version } of source.watch(context)) {
        const kept = events.filter((event) => !('key' in event && event.key === `${prefix}lost`))
        if (kept.length < events.length) context.requestAudit?.('an event was lost')
        yield { events: kept, version }
      }
    },
  }
}

const isDifference = ({ message }: Error): boolean => message.includes('found a difference')

/** The reasons for which the next attempt is a list instead of a watch. */
const causes: readonly Cause[] = [
  {
    name: 'relist()',
    makeDue: async (stage) => {
      stage.proxy.refuse()
      stage.informer.relist().catch(() => {})
      await stage.until('the list to fail', () => stage.errors.length > 0)
    },
  },
  {
    name: 'an audit found a difference',
    options: { instead: losingSource, isAudited: true },
    makeDue: async (stage) => {
      stage.informer.on('error', (error) => {
        if (isDifference(error)) stage.cut()
      })
      await stage.put(['lost', 1])
      await stage.until('the audit to find a difference', () => stage.errors.some(isDifference))
    },
  },
  {
    name: 'an expired version',
    makeDue: async (stage) => {
      stage.proxy.reset()
      stage.proxy.refuse()
      stage.informer.on('error', ({ code }) => {
        if (code === 'VERSION_EXPIRED') stage.proxy.refuse()
      })
      await stage.put(['y', 1])
      await stage.put(['y', 2])
      await stage.compact()
      stage.proxy.pass()
      await stage.until('the version to expire', () => stage.errors.some(({ code }) => code === 'VERSION_EXPIRED'))
    },
  },
]

const codes = (stage: Stage): string[] => stage.errors.map(({ code }) => code)

/** `act` gets a mirror whose next list is due while its server cannot be reached, and the backup from before `k` was written. */
async function withDueList(
  server: FoundServer,
  { options, makeDue }: Cause,
  act: (stage: Stage, etcd: EtcdServer, backup: string) => Promise<void>,
): Promise<void> {
  await using etcd = await EtcdServer.start({ server })
  await Stage.with({ etcd, ...options }, async (stage) => {
    await stage.fill(20)
    const backup = await etcd.backup()
    await stage.live()
    await stage.put(['k', 1])
    await stage.put(['last', 1])
    await stage.healed()
    await makeDue(stage)
    await act(stage, etcd, backup)
  })
}

describeEtcd('[E1][E2][B22] a backup that is restored while a list is due is another history', (server) => {
  for (const cause of causes) {
    test.concurrent(`if its revision is past ours and the newest entry differs (${cause.name})`, () =>
      withDueList(server, cause, async (stage, etcd, backup) => {
        await etcd.restore(backup)
        await etcd.start()
        await stage.put(['k', 2])
        for (let at = 0; at < 9; at++) await stage.put([`new${at}`, at])
        stage.proxy.pass()
        await stage.healed()
        expect(codes(stage)).toContain('EPOCH_CHANGED')
      }))

    test.concurrent.each<[string, object, string[]]>([
      ['its revision is past ours and no proof shows it, only the value of an older key', {}, []],
      ['it is another cluster', { token: 'another' }, ['EPOCH_CHANGED']],
    ])(`if %s (${cause.name})`, (_what, options, expected) =>
      withDueList(server, cause, async (stage, etcd, backup) => {
        await etcd.restore(backup, options)
        await etcd.start()
        await stage.put(['k', 2])
        await stage.put(['last', 1])
        for (let at = 0; at < 9; at++) await stage.writer.put('elsewhere').value(at)
        stage.proxy.pass()
        await stage.healed()
        expect(codes(stage)).toEqual(expect.arrayContaining(expected))
      }),
    )

    test.concurrent(`if its revision is behind ours (${cause.name})`, () =>
      withDueList(server, cause, async (stage, etcd, backup) => {
        await etcd.restore(backup)
        await etcd.start()
        stage.proxy.pass()
        await stage.healed()
        expect(codes(stage)).toContain('EPOCH_CHANGED')
        expect(codes(stage)).not.toContain('STALE_LIST')
      }))
  }
})
