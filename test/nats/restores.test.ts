import { cp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { describeServer } from '../servers/index.js'
import { NatsServer } from '../servers/nats.js'
import { listed } from '../support/source-calls.js'
import { backupOf, restore } from './backups.js'
import { Stage, type StageOptions } from './stage.js'
import { useNats } from './support.js'

/** Runs a test on a server of its own, with what was saved of its data folder at any time. */
async function withFolder(
  nats: NatsServer,
  options: Omit<StageOptions, 'nats'>,
  act: (stage: Stage, save: () => Promise<void>, putBack: () => Promise<void>) => Promise<void>,
): Promise<void> {
  const [data, saved] = [join(nats.folder, 'data'), join(nats.folder, 'saved')]
  const moved = async (from: string, to: string): Promise<void> => {
    await nats.stop()
    await rm(to, { recursive: true, force: true })
    await cp(from, to, { recursive: true })
    await nats.start()
  }
  await Stage.with({ nats, ...options }, (stage) =>
    act(
      stage,
      () => moved(data, saved),
      () => moved(saved, data),
    ),
  )
}

describeServer('nats 2.15', 'a data folder that is put back', (server) => {
  const epochChanges = (stage: Stage): number => stage.codes.filter((code) => code === 'EPOCH_CHANGED').length

  test.concurrent('[J1] is another history if its sequence is lower', async () => {
    await using nats = await NatsServer.start({ server })
    await withFolder(nats, {}, async (stage, save, putBack) => {
      await stage.fill(10)
      await save()
      await stage.live()
      await stage.put('k1', 1)
      await stage.put('new', 1)
      await stage.healed()
      await putBack()
      await stage.healed()
      expect([epochChanges(stage), stage.informer.get('new')]).toEqual([1, undefined])
    })
  })

  test.concurrent.each([
    ['the newest message of the mirror is another', 3],
    ['the newest message of the mirror was replaced', 40],
  ])('[J1][J2] is another history if %s', async (_title, writes) => {
    await using nats = await NatsServer.start({ server })
    await withFolder(nats, {}, async (stage, save, putBack) => {
      await stage.fill(10)
      await save()
      await stage.live()
      await stage.put('lost', 1)
      await stage.put('k2', 1)
      await stage.put('k3', 1)
      await stage.healed()
      stage.cut()
      await putBack()
      // As many messages as the mirror has seen, of other keys; then its newest position is overwritten by later ones.
      for (let n = 0; n < writes; n++) await stage.put(`other${n % 3}`, n)
      stage.proxy.pass()
      await stage.healed()
      expect(epochChanges(stage)).toBe(1)
      expect([stage.informer.get('lost'), stage.informer.get('k2')?.n]).toEqual([undefined, 0])
    })
  })

  test.concurrent('[J3] is another history if a key of the filter was written at a sequence that the mirror has passed', async () => {
    await using nats = await NatsServer.start({ server })
    await withFolder(nats, { source: { subjects: 'mine.*' } }, async (stage, save, putBack) => {
      await stage.put('mine.a', 1)
      await save()
      await stage.live()
      for (let n = 0; n < 20; n++) await stage.put('other', n)
      await stage.until('the position', () => Number(stage.informer.version?.split('.')[2]) === 21)
      stage.cut()
      await putBack()
      await stage.put('mine.b', 2)
      for (let n = 0; n < 40; n++) await stage.put('other', n)
      stage.proxy.pass()
      await stage.until('the key', () => stage.informer.get('mine.b')?.n === 2)
      expect(epochChanges(stage)).toBe(1)
    })
  })

  test.concurrent('[J2] is a list if all that identifies its history was replaced', async () => {
    await using nats = await NatsServer.start({ server })
    await withFolder(nats, {}, async (stage, save, putBack) => {
      await stage.fill(600)
      await save()
      await stage.live()
      await stage.fill(300, 1)
      await stage.healed()
      stage.cut()
      await putBack()
      await stage.fill(300, 2)
      await stage.fill(300, 3)
      stage.proxy.pass()
      await stage.healedAfter(1)
    })
  })
})

describeServer('nats 2.15', 'a bucket', (server) => {
  const shared = useNats(server)

  test('[J1] that is restored from a backup of its stream is another history', async () => {
    await Stage.with({ nats: shared.nats }, async (stage) => {
      await stage.fill(10)
      const backup = await backupOf(stage.admin, stage.stream)
      await stage.live()
      await stage.put('lost', 1)
      await stage.healed()
      const mark = String(await stage.put('k1', 2))
      await stage.informer.waitFor(mark, { timeoutMs: 60_000 })
      await stage.ask(`STREAM.DELETE.${stage.stream}`)
      await restore(stage.admin, stage.stream, backup)
      await stage.put('k2', 3)
      await stage.healed()
      expect(stage.codes).toContain('EPOCH_CHANGED')
      expect(stage.informer.get('lost')).toBeUndefined()
    })
  })

  test('whose backup is restored while the mirror is away, and is written further, is another history', async () => {
    await Stage.with({ nats: shared.nats }, async (stage) => {
      await stage.fill(10)
      const backup = await backupOf(stage.admin, stage.stream)
      await stage.live()
      await stage.put('lost', 1)
      await stage.put('k2', 1)
      await stage.healed()
      stage.cut()
      await stage.ask(`STREAM.DELETE.${stage.stream}`)
      await restore(stage.admin, stage.stream, backup)
      for (let n = 0; n < 30; n++) await stage.put('other', n)
      stage.proxy.pass()
      await stage.healed()
      expect(stage.codes).toContain('EPOCH_CHANGED')
      expect(stage.informer.get('lost')).toBeUndefined()
    })
  })

  test('[J2] whose newest message was replaced while the mirror was away is resumed without a list', async () => {
    await Stage.with({ nats: shared.nats }, async (stage) => {
      await stage.fill(1_000)
      await stage.live()
      await stage.put('hot', 1)
      await stage.healed()
      stage.cut()
      for (let n = 0; n < 50; n++) await stage.put('hot', n)
      await stage.put('k1')
      stage.proxy.pass()
      await stage.healed()
      expect([stage.relists, stage.codes.filter((code) => code !== 'UNAVAILABLE')]).toEqual([0, []])
    })
  })

  test('whose newest messages were erased while the mirror was away is resumed at once', async () => {
    await Stage.with({ nats: shared.nats, source: { heartbeatMs: 60_000 } }, async (stage) => {
      await stage.fill(100)
      await stage.live()
      for (const key of ['x', 'y', 'z']) await stage.put(key, 1)
      await stage.healed()
      stage.cut()
      await stage.put('x')
      await stage.ask(`STREAM.PURGE.${stage.stream}`, { filter: `$KV.${stage.bucket}.x` })
      await stage.ask(`STREAM.PURGE.${stage.stream}`, { filter: `$KV.${stage.bucket}.z` })
      stage.proxy.pass()
      const since = performance.now()
      await stage.healed()
      // Less than one heartbeat, which is 30 s.
      expect(performance.now() - since).toBeLessThan(15_000)
      expect(stage.relists).toBe(0)
    })
  })

  test('with older revisions of each key is resumed without a list, too', async () => {
    await Stage.with({ nats: shared.nats, config: { history: 5 } }, async (stage) => {
      await stage.fill(100)
      await stage.fill(100, 1)
      await stage.live()
      await stage.put('hot', 1)
      await stage.healed()
      stage.cut()
      for (let n = 0; n < 50; n++) await stage.put('hot', n)
      stage.proxy.pass()
      await stage.healed()
      expect([stage.relists, stage.codes.filter((code) => code !== 'UNAVAILABLE')]).toEqual([0, []])
      expect((await listed(stage.own)).objects.size).toBe(101)
    })
  })
})

describeServer('nats 2.15', 'a bucket that has an erased message again after a restart', (server) => {
  test('[J8] requests an audit, which finds the message although the number of keys is the same', async () => {
    await using nats = await NatsServer.start({ server })
    await Stage.with({ nats, config: { history: 2 }, isAudited: true }, async (stage) => {
      await stage.fill(5)
      await stage.live()
      const deleted = (await stage.put('back', 1)) + 1
      await stage.put('back')
      await stage.put('last', 1)
      await stage.healed()
      expect(stage.informer.has('back')).toBe(false)
      stage.cut()
      // As after a crash: the delete is lost, and what it deleted is the newest message of its key.
      await stage.ask(`STREAM.MSG.DELETE.${stage.stream}`, { seq: deleted })
      await nats.stop()
      await nats.start()
      stage.proxy.pass()
      await stage.healed()
      expect([stage.informer.get('back'), stage.codes]).toEqual([{ n: 1 }, expect.arrayContaining(['PROTOCOL'])])
    })
  })
})
