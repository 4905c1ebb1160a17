import { expect, test } from 'vitest'
import { redisKeys } from '../../adapters/redis/index.js'
import { describeRedis } from '../servers/index.js'
import { GROUP, RedisSentinel } from '../servers/redis-sentinel.js'
import { waitUntil } from '../servers/wait-until.js'
import { type Item, Mirror } from './mirror.js'

const item = (n: number): string => JSON.stringify({ n })

/** Two keys that both servers have, and a mirror of them. */
async function watched(group: RedisSentinel): Promise<Mirror> {
  const { first } = group
  await first.client().mset('user:a', item(1), 'user:b', item(1))
  await first.client().wait(1, 10_000)
  const client = group.client()
  const mirror = await Mirror.open(first, () =>
    redisKeys<Item>({ client, prefix: 'user:', blockMs: 500, timeoutMs: 10_000 }),
  )
  await mirror.live()
  await mirror.shows({ 'user:a': 1, 'user:b': 1 })
  return mirror
}

describeRedis.concurrent('plain keys with a sentinel', (server) => {
  test('are read from the new master when the old one is gone, without a list', async () => {
    await using group = await RedisSentinel.start(server)
    const { first, second } = group
    await using mirror = await watched(group)
    await first.kill()
    await group.hasFailedOver()
    await second.client().multi().del('user:b').set('user:c', item(2)).exec()
    await mirror.shows({ 'user:a': 1, 'user:c': 2 })
    expect([mirror.codes, mirror.informer.status.relists]).toEqual([[], 0])
  })

  test('that the new master never had are removed', async () => {
    await using group = await RedisSentinel.start(server)
    const { first, second } = group
    await using mirror = await watched(group)
    await second.promote()
    await first.client().mset('user:lost', item(1), 'user:a', item(2))
    await mirror.shows({ 'user:a': 2, 'user:b': 1, 'user:lost': 1 })
    await first.kill()
    await group.hasFailedOver()
    await mirror.shows({ 'user:a': 1, 'user:b': 1 })
    expect(mirror.codes).toEqual([])
  })

  test('are read from the new master when the old one stays, as its replica', async () => {
    await using group = await RedisSentinel.start(server)
    const { first, second, sentinel } = group
    await using mirror = await watched(group)
    // Until it has heard enough of the replica it says that there is none.
    const isBegun = async (): Promise<boolean> =>
      (await sentinel.admin.call('SENTINEL', 'FAILOVER', GROUP).catch(String)) === 'OK'
    await waitUntil('the sentinel to begin', isBegun)
    await group.hasFailedOver()
    await mirror.until('it to leave the old one', () => mirror.errors.length > 0)
    await mirror.until('it to be live', () => mirror.informer.status.state === 'live')
    await first.kill() // From now on only the new master can respond.
    await second.client().set('user:a', item(2))
    await mirror.shows({ 'user:a': 2, 'user:b': 1 })
    expect([mirror.codes, mirror.informer.status.relists]).toEqual([[], 0])
  })
})
