import { setTimeout as sleep } from 'node:timers/promises'
import type { NatsConnection } from '@nats-io/transport-node'
import { afterEach, expect, test } from 'vitest'
import { describeServer } from '../servers/index.js'
import type { NatsServer } from '../servers/nats.js'
import { NatsCluster } from '../servers/nats-cluster.js'
import { waitUntil } from '../servers/wait-until.js'
import { startForTests } from '../support/start-for-tests.js'
import { Stage, type StageOptions } from './stage.js'

describeServer('nats 2.15', 'three servers', (server) => {
  const started = startForTests(() => NatsCluster.start(server))
  afterEach(() => started().mend())

  const member = (at: number): NatsServer => {
    const found = started().members[at % 3]
    if (found === undefined) throw new Error('no such member')
    return found
  }

  /** A bucket with three replicas and 20 keys. The mirror reads member `at`, or others if it may move; the writer reaches them all. */
  const withStage = async (
    { at = 0, moves = false, ...options }: Partial<StageOptions> & { at?: number; moves?: boolean },
    act: (stage: Stage) => Promise<void>,
  ): Promise<void> => {
    const order = [at, (at + 1) % 3, (at + 2) % 3]
    const move = moves ? { connect: (): Promise<NatsConnection> => started().connect(order) } : {}
    const admin = (): Promise<NatsConnection> => started().connect()
    await Stage.with({ nats: member(at), config: { replicas: 3 }, admin, ...move, ...options }, async (stage) => {
      await stage.fill(20)
      await act(stage)
    })
  }

  /** Writes 1 to the key `k1` at a member, when it accepts that. Returns the revision. */
  const writtenAt = async (at: number, bucket: string): Promise<number> => {
    const writer = await started().connect([at])
    let revision = 0
    const write = async (): Promise<boolean> => {
      const response = await writer.request(`$KV.${bucket}.k1`, JSON.stringify({ n: 1 }), { timeout: 2_000 })
      revision = response.json<{ seq?: number }>().seq ?? 0
      return revision > 0
    }
    await waitUntil('a write', () => write().catch(() => false))
    return revision
  }

  /** The errors that no retry fixes, and lists: none if the mirror has resumed. */
  const repairs = (stage: Stage): unknown[] => [stage.relists, ...stage.codes.filter((code) => code !== 'UNAVAILABLE')]

  test('[J4] the leader of the stream is killed, and comes back: the mirror resumes without a list', async () => {
    await withStage({}, async (stage) => {
      const leader = await started().leaderOf(stage.stream)
      stage.proxy.retarget(member(leader + 1).port)
      stage.proxy.reset()
      await stage.live()
      await member(leader).kill()
      await stage.put('k1', 1)
      await stage.healed()
      await started().mend()
      await stage.put('k2')
      await stage.healed()
      expect(repairs(stage)).toEqual([0])
    })
  })

  test('[J4] the leader of the stream steps down again and again during writes: nothing is lost or listed', async () => {
    await withStage({}, async (stage) => {
      await stage.live()
      for (let n = 1; n <= 5; n++) {
        await started().leaderOf(stage.stream)
        await started().stepDown(stage.stream)
        await stage.put(`k${n}`, n)
        await stage.put(`k${n + 10}`)
        const mark = String(await stage.put('mark', n))
        await stage.informer.waitFor(mark, { timeoutMs: 300_000 })
        expect(stage.informer.get('mark')?.n).toBe(n)
      }
      await stage.healed()
      expect(repairs(stage)).toEqual([0])
    })
  })

  test('[J5][J6] the leader is partitioned with the mirror: the mirror reports it, resumes afterwards, and is never stale', async () => {
    await withStage({}, async (stage) => {
      const leader = await started().leaderOf(stage.stream)
      stage.proxy.retarget(member(leader).port)
      stage.proxy.reset()
      await stage.live()
      await stage.informer.fresh({ timeoutMs: 300_000 })
      started().cutOff(leader)
      const other = await started().leaderOf(stage.stream, (leader + 1) % 3)
      expect(other).not.toBe(leader)
      const mark = String(await writtenAt(other, stage.bucket))
      // The old leader still describes its stream.
      await expect(stage.informer.fresh({ timeoutMs: 10_000 })).rejects.toMatchObject({ code: 'TIMEOUT' })
      await stage.until('the partition to be noticed', () => stage.informer.status.state !== 'live')
      expect(stage.codes).toContain('UNAVAILABLE')
      expect(stage.informer.get('k1')?.n).toBe(0)
      started().join()
      await stage.informer.waitFor(mark, { timeoutMs: 300_000 })
      expect(stage.informer.get('k1')?.n).toBe(1)
      await stage.healed()
      expect(repairs(stage)).toEqual([0])
    })
  })

  test('[J6] a follower is partitioned with the mirror: the mirror reports it, and resumes afterwards', async () => {
    await withStage({}, async (stage) => {
      const leader = await started().leaderOf(stage.stream)
      const follower = (leader + 1) % 3
      stage.proxy.retarget(member(follower).port)
      stage.proxy.reset()
      await stage.live()
      started().cutOff(follower)
      await stage.until('the partition to be noticed', () => stage.informer.status.state !== 'live')
      await writtenAt(leader, stage.bucket)
      started().join()
      await stage.healed()
      expect([stage.informer.get('k1')?.n, repairs(stage)]).toEqual([1, [0]])
    })
  })

  test('[J6] two of three servers are gone: the mirror reports it, serves what it has, and resumes with the majority', async () => {
    await withStage({}, async (stage) => {
      await stage.live()
      await member(1).kill()
      await member(2).kill()
      await stage.until('the loss to be noticed', () => stage.informer.status.state !== 'live')
      expect(stage.codes).toContain('UNAVAILABLE')
      expect(stage.informer.size).toBe(20)
      await sleep(1_000)
      await started().mend()
      await stage.put('k1', 1)
      await stage.healed()
      expect(repairs(stage)).toEqual([0])
    })
  })

  test('a bucket that gets three replicas keeps its history', async () => {
    await withStage({ config: { replicas: 1 } }, async (stage) => {
      await stage.live()
      const { config } = await stage.ask<{ config: object }>(`STREAM.INFO.${stage.stream}`)
      await stage.ask(`STREAM.UPDATE.${stage.stream}`, { ...config, num_replicas: 3 })
      await started().leaderOf(stage.stream)
      await stage.put('k1', 1)
      await stage.healed()
      expect(repairs(stage)).toEqual([0])
    })
  })
})
