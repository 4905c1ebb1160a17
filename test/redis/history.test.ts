import { expect, test } from 'vitest'
import { describeRedis } from '../servers/index.js'
import { RedisServer } from '../servers/redis.js'
import { failure } from '../support/failure.js'
import { context } from '../support/source-calls.js'
import { Stage } from './stage.js'
import { useRedis } from './support.js'

describeRedis('a history that is lost or replaced', (server) => {
  const own = useRedis(server)

  test.concurrent('after FLUSHALL and new writes no earlier object remains', async () => {
    await using redis = await RedisServer.start({ server })
    await using stage = await Stage.live({ redis })
    await redis.client().flushall()
    await stage.put(['new', 1])
    await stage.healed()
    expect([...stage.informer.keys()]).toEqual(['new'])
    expect(stage.codes).toEqual(['EPOCH_CHANGED'])
  })

  test.concurrent('a collection that is deleted and recreated with the same length is noticed', async () => {
    await using stage = await Stage.open({ redis: own.redis })
    await stage.fill(2_000)
    await stage.live()
    await own.redis.client().del(stage.key('h'), stage.key('s'), stage.key('m'))
    await stage.fill(2_000, 7)
    await stage.healed()
    expect(stage.codes).toEqual(['EPOCH_CHANGED'])
  })

  test.concurrent('a collection without its meta key is reported, and a writer adopts its fields', async () => {
    await using stage = await Stage.live({ redis: own.redis })
    await own.redis.client().del(stage.key('m'))
    await stage.until('it to be reported', () => stage.codes.includes('PROTOCOL'))
    expect(stage.errors.at(-1)?.message).toContain('apply([]) of a redisWriter makes it a collection')
    expect(stage.informer.size).toBe(20)
    await stage.writer.apply([])
    await stage.put(['k1', 5])
    await stage.until('it to be listed', () => stage.informer.status.state === 'live', 40_000)
    await stage.healed()
  })

  test.concurrent('if delivered entries are trimmed, or the stream is deleted, the mirror does not list again', async () => {
    await using stage = await Stage.live({ redis: own.redis })
    await own.redis.client().xtrim(stage.key('s'), 'MAXLEN', 0)
    await stage.informer.waitFor(await stage.put(['k1', undefined]), { timeoutMs: 60_000 })
    await own.redis.client().del(stage.key('s'))
    await stage.informer.waitFor(await stage.put(['k2', 2]), { timeoutMs: 60_000 })
    await stage.healed()
    expect([stage.relists, stage.codes]).toEqual([0, []])
  })

  test.concurrent('a field that another client deletes is found without writes', async () => {
    await using stage = await Stage.live({ redis: own.redis })
    await own.redis.client().hdel(stage.key('h'), 'k7')
    await stage.until('it to be reported', () => stage.codes.includes('PROTOCOL'))
    expect(stage.errors.at(-1)?.message).toContain('has 19 fields, and 20 according to its history')
    await own.redis.client().del(stage.key('m'))
    await stage.writer.apply([])
    await stage.until('it to be listed', () => stage.informer.status.state === 'live', 40_000)
    await stage.healed()
  })

  test.concurrent('a field that expires is found without writes', async ({ skip }) => {
    skip(!server.name.startsWith('valkey'), 'Redis 7.0 has no fields that expire')
    await using stage = await Stage.live({ redis: own.redis })
    await own.redis.client().call('HPEXPIRE', stage.key('h'), '1', 'FIELDS', '1', 'k7')
    await stage.until('it to be reported', () => stage.codes.includes('PROTOCOL'))
    expect(stage.errors.at(-1)?.message).toContain('or its fields expire')
  })

  test.concurrent('after the restore of a snapshot that is behind the mirror, lost objects are removed', async () => {
    await using redis = await RedisServer.start({ server })
    await using stage = await Stage.live({ redis })
    await redis.client().save()
    await stage.informer.waitFor(await stage.put(['k1', 9], ['lost', 1]), { timeoutMs: 60_000 })
    await redis.kill()
    await redis.start()
    await stage.until('what was lost to be gone', () => !stage.informer.has('lost'))
    await stage.healed()
    expect(stage.codes.filter((code) => code !== 'UNAVAILABLE')).toEqual(['EPOCH_CHANGED'])
  })

  test.concurrent('[C10][C38] after the restore of a snapshot, fresh and a wait for a write of the restored history wait for the list', async () => {
    await using redis = await RedisServer.start({ server })
    await using stage = await Stage.live({ redis })
    await redis.client().save()
    for (let n = 0; n < 20; n++) await stage.put(['lost', n])
    await stage.healed()
    stage.proxy.reset()
    stage.proxy.refuse()
    await redis.kill()
    await redis.start()
    const mark = await stage.put(['new', 7])
    const read: unknown[] = []
    const follow = async ({ code }: { readonly code: string }): Promise<void> => {
      if (code !== 'EPOCH_CHANGED') return
      await stage.informer.waitFor(mark)
      read.push(stage.informer.get('new'))
    }
    stage.informer.on('error', (error) => void follow(error))
    await stage.until('a long delay', () => stage.informer.status.attempt > 3)
    stage.proxy.pass()
    await stage.informer.fresh({ timeoutMs: 60_000 })
    expect(stage.informer.has('lost')).toBe(false)
    await stage.until('the wait to end', () => read.length > 0)
    expect(read).toEqual([{ n: 7 }])
    await stage.healed()
  })

  test.concurrent('the loss of the end of an append-only file is detected after as many new writes', async () => {
    await using redis = await RedisServer.start({ server, isDurable: true })
    await using stage = await Stage.live({ redis })
    const whole = await redis.written()
    await stage.informer.waitFor(await stage.put(['lost', 1]), { timeoutMs: 60_000 })
    stage.proxy.reset()
    stage.proxy.refuse()
    await redis.cutTo(whole)
    await redis.start()
    await stage.put(['lost', undefined])
    stage.proxy.pass()
    await stage.until('what was lost to be gone', () => !stage.informer.has('lost'))
    await stage.healed()
    expect(stage.codes.filter((code) => code !== 'UNAVAILABLE')).toEqual(['EPOCH_CHANGED'])
  })

  test.concurrent('an error of a collection that is trimmed during a list names the option retention', async () => {
    await using stage = await Stage.open({ redis: own.redis, writer: { retention: 1 } })
    await stage.fill(2_000)
    const pages = stage.source.list({ ...context(), pageSize: 1 })[Symbol.asyncIterator]()
    await pages.next()
    for (let n = 0; n < 500; n++) await stage.put(['k1', n])
    const rest = (async () => {
      while (!(await pages.next()).done);
    })()
    await expect(rest).rejects.toMatchObject(
      failure('VERSION_EXPIRED', /entries \d+ to \d+ were trimmed.* option retention/),
    )
  })
})
