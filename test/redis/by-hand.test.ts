import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { redisCollectionSource, redisWriter } from '../../adapters/redis/index.js'
import { startFaultProxy } from '../servers/fault-proxy.js'
import { describeRedis } from '../servers/index.js'
import { failure } from '../support/failure.js'
import { context, listed } from '../support/source-calls.js'
import { userClient } from './drivers.js'
import { Stage } from './stage.js'
import { useRedis } from './support.js'

describeRedis('writes of other clients to the keys of a collection', (server) => {
  const own = useRedis(server)
  const admin = () => own.redis.admin

  describe('an entry added to its stream', () => {
    test('is not delivered by a watch', async () => {
      await using stage = await Stage.open({ redis: own.redis })
      await stage.fill(20)
      const { version } = await listed(stage.source)
      const watch = stage.source
        .watch({ ...context(), after: version, onProgressRequest: () => {} })
        [Symbol.asyncIterator]()
      await watch.next()
      await admin().xadd(stage.key('s'), '*', 'by', 'hand')
      for (let batches = 0; batches < 4; batches++)
        expect((await watch.next()).value).toMatchObject({ events: [], version })
      await watch.return?.()
    })

    test('begins another history with the next write, which is listed once', async () => {
      await using stage = await Stage.live({ redis: own.redis })
      await admin().xadd(stage.key('s'), '*', 'by', 'hand')
      await stage.put(['k1', 5])
      await stage.until('it to be reported', () => stage.informer.get('k1')?.n === 5)
      await stage.healed()
      expect([stage.relists, stage.codes]).toEqual([1, ['EPOCH_CHANGED']])
    })

    test('that remains of a deleted collection is not a part of the next one', async () => {
      await using stage = await Stage.open({ redis: own.redis })
      await stage.put(['k1', 1])
      await admin().del(stage.key('h'), stage.key('m'))
      await stage.live()
      await stage.informer.waitFor(await stage.put(['k2', 2]), { timeoutMs: 60_000 })
      await stage.healed()
      expect(stage.codes).toEqual([])
    })

    test('that resembles one of a writer does not cause a version that cannot be parsed', async () => {
      await using stage = await Stage.open({ redis: own.redis })
      const at = await stage.put(['k1', 1])
      const [, epoch, sequence, chain] = at.split('.')
      const watch = stage.source.watch({ ...context(), after: at, onProgressRequest: () => {} })[Symbol.asyncIterator]()
      await watch.next()
      const about = `${chain} ${'.'.repeat(16)} word ${epoch}`
      await admin().xadd(stage.key('s'), `${epoch}-${Number(sequence) + 1}`, 'm', about, 'uk2', '{"n":1}')
      expect((await watch.next()).value).toMatchObject({ events: [], version: at })
      await watch.return?.()
    })

    test.each([
      '9007199254740991-0',
      '1790000000000000000-0',
      '18446744073709551615-1',
      `${'18446744073709551615-'.repeat(2).slice(0, -1)}`,
    ])('with the id %s, above which are hardly any: a writer returns a hint, and continues afterwards', async (id) => {
      await using stage = await Stage.live({ redis: own.redis })
      await admin().xadd(stage.key('s'), id, 'by', 'hand')
      await expect(stage.put(['k1', 5])).rejects.toMatchObject(failure('NOT_WRITTEN', `DEL ${stage.key('s')}`))
      await admin().del(stage.key('s'))
      await stage.informer.waitFor(await stage.put(['k1', 6]), { timeoutMs: 60_000 })
      await stage.healed()
      expect(stage.codes).toEqual([])
    })

    test('with an id of the future, below that limit: the next write comes after it', async () => {
      await using stage = await Stage.open({ redis: own.redis })
      await stage.fill(20)
      await admin().xadd(stage.key('s'), '9007199254740989-5', 'by', 'hand')
      await stage.live()
      expect(await stage.put(['k1', 5])).toContain('redis1.9007199254740990.0.')
      await stage.until('it to be reported', () => stage.informer.get('k1')?.n === 5)
      await stage.healed()
    })
  })

  test('a field that another client adds is found also during continuous writes', async () => {
    // No pause between two writes is as long as heartbeatMs, on a busy machine neither.
    await using stage = await Stage.live({ redis: own.redis, source: { heartbeatMs: 2_000 } })
    await admin().hset(stage.key('h'), 'extra', '{"n":1}')
    for (let n = 0; !stage.codes.includes('PROTOCOL') && n < 300; n++) {
      await stage.put(['k1', n])
      await sleep(50)
    }
    expect(stage.errors.at(-1)?.message).toContain('has 21 fields, and 20 according to its history')
  })

  test('a field without a collection is found, and a writer adopts it', async () => {
    await using stage = await Stage.open({ redis: own.redis })
    await stage.live()
    await admin().hset(stage.key('h'), 'extra', '{"n":1}')
    await stage.until('it to be reported', () => stage.codes.includes('PROTOCOL'))
    expect(stage.errors.at(-1)?.message).toContain('apply([]) of a redisWriter makes it a collection')
    await stage.writer.apply([])
    await stage.until('it to be listed', () => stage.informer.get('extra')?.n === 1, 60_000)
    await stage.healed()
  })

  test('a field that another client overwrites, or puts in the place of another one, is not found: only a list shows it', async () => {
    await using stage = await Stage.live({ redis: own.redis })
    await admin().hset(stage.key('h'), 'k7', '{"n":7}')
    await admin().hdel(stage.key('h'), 'k8')
    await admin().hset(stage.key('h'), 'new', '{"n":8}')
    await stage.informer.waitFor(await stage.put(['k1', 5]), { timeoutMs: 60_000 })
    expect([stage.codes, stage.informer.get('k7'), stage.informer.has('new')]).toEqual([[], { n: 0 }, false])
    const { objects } = await listed(stage.source)
    expect([objects.get('k7'), objects.has('k8'), objects.get('new')]).toEqual([{ n: 7 }, false, { n: 8 }])
  })

  test('an entry that another client adds before the response of a write is lost does not cause a conflict', async () => {
    await using proxy = await startFaultProxy({ targetPort: own.redis.port })
    const name = 'by-hand-lost'
    await using writer = redisWriter({ client: userClient('ioredis 6', proxy.port), collection: name })
    const ifVersion = await writer.apply([{ put: 'a', object: 1 }])
    await admin().xadd(`{${name}}:s`, '*', 'by', 'hand')
    void proxy.cutAfter(1, 'toClient')
    const again = () => writer.apply([{ put: 'a', object: 2 }], { ifVersion })
    await expect(again()).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' })
    const source = redisCollectionSource({ client: userClient('ioredis 6', own.redis.port), collection: name })
    expect(await again()).toBe(await source.head(context()))
  })
})
