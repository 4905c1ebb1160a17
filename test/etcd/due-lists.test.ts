import { expect, test } from 'vitest'
import { EtcdServer } from '../servers/etcd.js'
import { describeEtcd, type FoundServer } from '../servers/index.js'
import { Stage } from './stage.js'

/** Why the next attempt is a list, and no watch that could notice the other history. */
const causes: readonly (readonly [cause: string, makeDue: (stage: Stage) => Promise<void>])[] = [
  [
    'relist()',
    async (stage) => {
      stage.proxy.refuse()
      stage.informer.relist().catch(() => {})
      await stage.until('the list to fail', () => stage.errors.length > 0)
    },
  ],
  [
    'an expired version',
    async (stage) => {
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
  ],
]

const codes = (stage: Stage): string[] => stage.errors.map(({ code }) => code)

/** `act` gets a mirror whose next list is due while its server cannot be reached, and the backup from before `k` was written. */
async function withDueList(
  server: FoundServer,
  makeDue: (stage: Stage) => Promise<void>,
  act: (stage: Stage, etcd: EtcdServer, backup: string) => Promise<void>,
): Promise<void> {
  await using etcd = await EtcdServer.start({ server })
  await Stage.with({ etcd }, async (stage) => {
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

describeEtcd('a backup that is restored while a list is due is another history', (server) => {
  for (const [cause, makeDue] of causes) {
    test.concurrent(`if its revision is past ours and the newest entry differs (${cause})`, () =>
      withDueList(server, makeDue, async (stage, etcd, backup) => {
        await etcd.restore(backup)
        await etcd.start()
        await stage.put(['k', 2])
        for (let at = 0; at < 9; at++) await stage.put([`new${at}`, at])
        stage.proxy.pass()
        await stage.healed()
        expect(codes(stage)).toContain('EPOCH_CHANGED')
      }))

    test.concurrent(`if its revision is past ours and no proof shows it, only the value of an older key (${cause})`, () =>
      withDueList(server, makeDue, async (stage, etcd, backup) => {
        await etcd.restore(backup)
        await etcd.start()
        await stage.put(['k', 2])
        await stage.put(['last', 1])
        for (let at = 0; at < 9; at++) await stage.writer.put('elsewhere').value(at)
        stage.proxy.pass()
        await stage.healed()
      }))

    test.concurrent(`if its revision is behind ours (${cause})`, () =>
      withDueList(server, makeDue, async (stage, etcd, backup) => {
        await etcd.restore(backup)
        await etcd.start()
        stage.proxy.pass()
        await stage.healed()
        expect(codes(stage)).toContain('EPOCH_CHANGED')
        expect(codes(stage)).not.toContain('STALE_LIST')
      }))

    test.concurrent(`if it is another cluster (${cause})`, () =>
      withDueList(server, makeDue, async (stage, etcd, backup) => {
        await etcd.restore(backup, { token: 'another' })
        await etcd.start()
        await stage.put(['k', 2])
        await stage.put(['last', 1])
        for (let at = 0; at < 9; at++) await stage.writer.put('elsewhere').value(at)
        stage.proxy.pass()
        await stage.healed()
        expect(codes(stage)).toContain('EPOCH_CHANGED')
      }))
  }
})
