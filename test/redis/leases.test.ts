import { expect, test } from 'vitest'
import { redisLeases } from '../../adapters/redis/index.js'
import { describeRedis } from '../servers/index.js'
import { expectReleasedMembers } from '../support/released-members.js'
import { textOf } from '../support/sources.js'
import { userClient } from './drivers.js'
import { useRedis } from './support.js'

const JOIN = { member: 'member000001', renewal: 0, members: [], holds: [] }
const { signal } = new AbortController()

describeRedis('leases in Redis', (server) => {
  const own = useRedis(server)
  // The guide has the rules of the user.
  const [, rules = ''] = /ACL of the user: `([^`]+)`/.exec(textOf('docs/reference/redis.md')) ?? []
  const rights = rules.split(/\s+/)

  async function sessionOf(user: string, all: readonly string[]) {
    await own.redis.client().call('ACL', 'SETUSER', user, 'reset', 'on', '>word', ...all)
    const client = userClient('ioredis 6', own.redis.port, { username: user, password: 'word' })
    return redisLeases({ client, group: 'orders', leaseMs: 3_000 }).open()
  }

  test('a watch names a member that claims no key any more', () =>
    expectReleasedMembers(
      redisLeases({ client: userClient('ioredis 6', own.redis.port), group: 'released', leaseMs: 5_000 }),
    ))

  test('a user with the rights of the guide renews and leaves', async () => {
    const session = await sessionOf('worker', rights)
    expect((await session.renew(JOIN, [], signal)).records).toHaveLength(1)
    await session.leave(JOIN.member)
    await session.close()
  })

  test.each(['+info', '+hset', '+hget', '+evalsha'])('without %s nothing is written: UNAUTHORIZED', async (right) => {
    const before = await own.redis.client().hgetall('{orders}:leases')
    const less = rights.filter((each) => each !== right)
    const session = await sessionOf('less', less)
    const renewal = session.renew({ ...JOIN, member: 'member000002' }, [], signal)
    await expect(renewal).rejects.toMatchObject({ code: 'UNAUTHORIZED' })
    expect(await own.redis.client().hgetall('{orders}:leases')).toEqual(before)
    await session.close()
  })

  test('a clock of the server that was set back does not make a fence smaller', async () => {
    const future = String(2 ** 52)
    await own.redis.client().hset('{later}:leases', 'fence', future)
    const session = redisLeases({ client: userClient('ioredis 6', own.redis.port), group: 'later' }).open()
    expect((await session.renew(JOIN, [], signal)).fence).toBe(2 ** 52 + 1)
    await session.close()
  })

  test('a renewal that has not reached enough replicas is UNAVAILABLE', async () => {
    const client = userClient('ioredis 6', own.redis.port)
    const session = redisLeases({ client, group: 'waits', leaseMs: 900, waitForReplicas: 1 }).open()
    const message = 'the record has reached 0 of 1 replicas (option waitForReplicas)'
    await expect(session.renew(JOIN, [], signal)).rejects.toMatchObject({ code: 'UNAVAILABLE', message })
    await session.close()
  })
})
