import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Redis } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import { describeServer } from '../servers/index.js'
import { RedisServer } from '../servers/redis.js'
import { waitUntil } from '../servers/wait-until.js'
import { findings, namesOf } from './doctor.js'
import { listwatch, refusalOf, resultOf, SECRET } from './support.js'

describeServer('redis 7.0', 'doctor redis://', (server) => {
  /** A server of the test. Its data is on disk unless the test turns that off. */
  async function started(...args: readonly string[]): Promise<RedisServer> {
    const redis = await RedisServer.start({ server, args, isDurable: true })
    onTestFinished(() => redis[Symbol.asyncDispose]())
    return redis
  }

  const ORDERS = ['--collection', 'orders']

  test('finds nothing on a server with the right settings, whatever is mirrored', async () => {
    const redis = await started()
    await redis.client().xadd('events', '*', 'id', '1')
    for (const args of [ORDERS, ['--stream', 'events'], ['--keys', 'user:*']])
      expect(await namesOf([redis.url, ...args])).toEqual([])
    const { output, code } = await resultOf(listwatch(['doctor', redis.url, ...ORDERS]))
    expect(output).toMatch(/^\d+ checks: 0 errors, 0 warnings\n$/)
    expect(code).toBe(0)
  })

  test('no connection, a wrong password, and nothing to mirror: exit code 2', async () => {
    const redis = await started('--requirepass', 'secret')
    expect(await refusalOf(listwatch(['doctor', 'redis://127.0.0.1:1', ...ORDERS]))).toContain('cannot connect to')
    const url = redis.url.replace('//', `//default:${SECRET}@`)
    expect(await refusalOf(listwatch(['doctor', url, ...ORDERS]))).toContain('give user and password in the URL')
    expect(await refusalOf(listwatch(['doctor', redis.url, ...ORDERS]))).toContain('give user and password in the URL')
    expect(await refusalOf(listwatch(['doctor', redis.url]))).toContain('name the collection to mirror')
  })

  type Broken = readonly [name: string, args: readonly string[], breakIt: (client: Redis) => Promise<unknown>]
  const broken: readonly Broken[] = [
    [
      'eviction',
      ORDERS,
      async (client) => {
        await client.config('SET', 'maxmemory', '100mb')
        await client.config('SET', 'maxmemory-policy', 'allkeys-lru')
      },
    ],
    [
      'memory',
      ORDERS,
      async (client) => {
        const [, used] = /used_memory:(\d+)/.exec(await client.info('memory')) ?? []
        await client.config('SET', 'maxmemory', Math.round(Number(used) * 1.02))
      },
    ],
    ['persistence', ORDERS, (client) => client.config('SET', 'appendonly', 'no')],
    ['output-buffer', ORDERS, (client) => client.config('SET', 'client-output-buffer-limit', 'normal 1mb 1mb 1')],
    [
      'output-buffer',
      ['--keys', 'user:*'],
      (client) => client.config('SET', 'client-output-buffer-limit', 'pubsub 1mb 1mb 1'),
    ],
    ['undecodable', ['--keys', 'user:*'], (client) => client.set('user:1', 'no JSON')],
    ['type', ORDERS, (client) => client.set('{orders}:s', 'a string')],
    ['type', ['--stream', 'events'], (client) => client.sadd('events', 'a set')],
    [
      'trimmed-stream',
      ['--stream', 'events'],
      async (client) => {
        for (const id of ['1', '2', '3']) await client.xadd('events', '*', 'id', id)
        await client.xtrim('events', 'MAXLEN', 1)
      },
    ],
  ]
  test.each(broken)('%s of %s', async (name, args, breakIt) => {
    const redis = await started()
    expect(await namesOf([redis.url, ...args])).toEqual([])
    await breakIt(redis.client())
    expect(await namesOf([redis.url, ...args])).toEqual([name])
  })

  test('a stream of which the rest is mirrored is not called trimmed', async () => {
    const redis = await started()
    for (const id of ['1', '2']) await redis.client().xadd('events', '*', 'id', id)
    await redis.client().xtrim('events', 'MAXLEN', 1)
    expect(await namesOf([redis.url, '--stream', 'events', '--fold'])).toEqual([])
  })

  test.each([
    [ORDERS, ['hscan', 'xrevrange']],
    [['--stream', 'events'], ['xrange']],
    [
      ['--keys', 'user:*'],
      ['scan', 'mget'],
    ],
  ])('rights of %s: the remedy is the rule that is needed', async (args, commands) => {
    const redis = await started()
    const client = redis.client()
    const patterns = ['~{orders}:*', '~events', '~user:*', '&__redis__:invalidate']
    await client.acl('SETUSER', 'reader', 'on', '>pw', ...patterns, '+@all', ...commands.map((each) => `-${each}`))
    const url = redis.url.replace('//', '//reader:pw@')
    const found = await findings([url, ...args])
    expect([...found.keys()]).toEqual(['rights'])
    const { problem, remedy = '' } = found.get('rights') ?? {}
    expect(problem?.toLowerCase()).toContain(`may not use ${commands.join(', ')} on`)
    const [, rule = ''] = /ACL SETUSER reader (.*)$/.exec(remedy) ?? []
    await client.acl('SETUSER', 'reader', ...rule.split(' '))
    expect(await namesOf([url, ...args])).toEqual([])
  })

  test('a check that the user may not perform is unknown, which is not an error', async () => {
    const redis = await started()
    await redis.client().acl('SETUSER', 'reader', 'on', '>pw', '~*', '&*', '+@all', '-config')
    const found = await findings([redis.url.replace('//', '//reader:pw@'), ...ORDERS])
    expect(found.get('output-buffer')).toEqual({
      name: 'output-buffer',
      severity: 'unknown',
      problem: expect.stringMatching(/^it could not be checked: .*'config\|get'/i),
    })
  })

  test('replica: the remedy names the master', async () => {
    const [master, replica] = [await started(), await started()]
    await replica.follow(master)
    const found = await findings([replica.url, ...ORDERS])
    expect(found.get('replica')?.remedy).toBe(`use the address of the master: redis://127.0.0.1:${master.port}`)
  })

  test('failed-save', async () => {
    const redis = await started()
    expect(await namesOf([redis.url, ...ORDERS])).toEqual([])
    mkdirSync(join(redis.folder, 'dump.rdb'))
    writeFileSync(join(redis.folder, 'dump.rdb', 'file'), '')
    await redis.client().bgsave()
    await waitUntil('the save to fail', async () =>
      /rdb_last_bgsave_status:err/.test(await redis.client().info('persistence')),
    )
    expect(await namesOf([redis.url, ...ORDERS])).toEqual(['failed-save'])
  })

  test('connections', async () => {
    const redis = await started('--maxclients', '20')
    expect(await namesOf([redis.url, ...ORDERS])).toEqual([])
    for (let count = 0; count < 18; count++) await redis.client().ping()
    expect(await namesOf([redis.url, ...ORDERS])).toEqual(['connections'])
  })

  test('cluster-mode and cluster-slots', async () => {
    const redis = await started('--cluster-enabled', 'yes', '--cluster-announce-ip', '127.0.0.1')
    expect(await namesOf([redis.url, ...ORDERS])).toEqual(['cluster-mode', 'cluster-slots'])
    await redis.client().cluster('ADDSLOTSRANGE', 0, 16_383)
    await waitUntil('the slots', async () => /cluster_state:ok/.test(String(await redis.client().cluster('INFO'))))
    expect(await namesOf([redis.url, ...ORDERS, '--cluster'])).toEqual([])
    expect(await namesOf([redis.url, ...ORDERS])).toEqual(['cluster-mode'])
    const single = await started()
    expect(await namesOf([single.url, ...ORDERS, '--cluster'])).toEqual(['cluster-mode'])
  })
})
