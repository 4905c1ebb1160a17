import { Cluster } from 'ioredis'
import { describe, expect, onTestFinished, test } from 'vitest'
import { redisWriter } from '../../adapters/redis/index.js'
import { userClient } from '../redis/drivers.js'
import { useRedis } from '../redis/support.js'
import { startTlsRedis } from '../redis/tls-server.js'
import { describeServer } from '../servers/index.js'
import { RedisServer } from '../servers/redis.js'
import { RedisCluster } from '../servers/redis-cluster.js'
import { Child } from '../support/child.js'
import {
  deleted,
  example,
  expectEnd,
  expectStates,
  listwatch,
  main,
  node,
  type Refusals,
  refusalOf,
  resultOf,
  SECRET,
  synced,
  testRefusals,
  told,
} from './support.js'

describeServer('redis 7.0', 'watch redis://', useRedis, (own, server) => {
  test('--collection prints the existing objects, and then the changes', async () => {
    await using writer = redisWriter({ client: userClient('ioredis 6', own.redis.port), collection: 'orders' })
    await writer.apply([{ put: '1', object: { state: 'new' } }])
    const child = listwatch(['watch', own.redis.url, '--collection', 'orders', '--json'])
    const write = async (): Promise<void> => {
      await writer.apply([{ put: '1', object: { state: 'done' } }])
      await writer.apply([{ delete: '1' }])
    }
    await expectStates(child, write, '1', [{ state: 'new' }, { state: 'done' }])
  })

  test.each([
    ['--collection', 'ordrs', 'nothing is in the collection "ordrs" yet: check its name'],
    ['--stream', 'evnts', 'nothing is in the stream "evnts" yet: check its name'],
    ['--keys', 'usr:*', 'no string has a key like "usr:*" yet: check the prefix'],
  ])('%s with a misspelt name says what to check', async (flag, name, says) => {
    const child = listwatch(['watch', own.redis.url, flag, name, '--json'])
    await synced(child)
    child.kill('SIGINT')
    await child.ended
    expect(child.errors).toContain(`listwatch: ${says} and the database at the end of the URL`)
  })

  test('--stream shows the fields of the newest entry of each key; one with nothing else deletes it', async () => {
    const client = own.redis.client()
    await client.xadd('events', '*', 'id', '7', 'state', 'new')
    const child = listwatch(['watch', own.redis.url, '--stream', 'events', '--json'])
    await expectStates(child, () => client.xadd('events', '*', 'id', '7'), '7', [{ id: '7', state: 'new' }])
  })

  test('--stream of which a part was trimmed is refused, and shown with --fold', async () => {
    const client = own.redis.client()
    await client.xadd('trimmed', '*', 'id', '1', 'n', '1')
    await client.xadd('trimmed', '*', 'id', '2', 'n', '1')
    await client.xtrim('trimmed', 'MAXLEN', 1)
    const args = ['watch', own.redis.url, '--stream', 'trimmed', '--key', 'id', '--json']
    expect(await refusalOf(listwatch(args))).toContain('add --fold to mirror the remaining entries')
    const child = listwatch([...args, '--fold'])
    await synced(child)
    expect(told(child)[0]).toEqual(['add', '2', { id: '2', n: '1' }])
  })

  test('--keys prints plain keys', async () => {
    const client = own.redis.client()
    await client.set('user:1', '{"name":"ada"}')
    const child = listwatch(['watch', own.redis.url, '--keys', 'user:*', '--json'])
    await expectStates(child, () => client.del('user:1'), 'user:1', [{ name: 'ada' }])
  })

  test('a watch continues after the reader of its errors has ended', async () => {
    const client = own.redis.client()
    await client.mset('deaf:1', '{"n":1}')
    const command = `exec '${node}' '${main}' watch ${own.redis.url} --keys 'deaf:*' --json 2> >(exec true)`
    await using child = new Child('bash', ['-c', command])
    await synced(child)
    await client.set('deaf:2', 'notjson') // It is reported.
    await client.del('deaf:1')
    await deleted(child)
    await client.set('deaf:3', 'notjson')
    await client.set('deaf:1', '{"n":2}')
    await child.until(() => child.lines.some((line) => line.includes('"n":2')), 'the next object')
  })

  describe('what cannot be decoded is named, and the rest is mirrored', () => {
    test('a plain key that holds no JSON when the mirror begins, and one that does so later', async () => {
      const client = own.redis.client()
      await client.mset('odd:1', '{"n":1}', 'odd:2', 'notjson')
      const child = listwatch(['watch', own.redis.url, '--keys', 'odd:*', '--json'])
      await synced(child)
      expect(told(child)[0]).toEqual(['add', 'odd:1', { n: 1 }])
      await child.until(() => child.errors.includes('\n'), 'what it says of the bad value')
      expect(child.errors).toMatch(/^listwatch: the object "odd:2" of redis:odd:\* is invalid: [^\n]*JSON[^\n]*\n$/)
      await client.set('odd:1', 'neither')
      await child.until(() => child.errors.includes('"odd:1" of redis:odd:* is invalid'), 'what it says of the other')
      await expectEnd(child, 'SIGINT')
    })

    test('an entry of a stream without the field of --key', async () => {
      await own.redis.client().xadd('nameless', '1-1', 'id', '7')
      const child = listwatch(['watch', own.redis.url, '--stream', 'nameless', '--key', 'nope', '--json'])
      await synced(child)
      const says = 'whose key is unknown is invalid: the entry 1-1 has no field "nope"; it has id'
      await child.until(() => child.errors.includes(says), 'what it says of the entry')
    })

    test('in a pipe their number is printed too', async () => {
      await own.redis.client().set('bad:1', 'notjson')
      const env = { FORCE_COLOR: undefined }
      const child = listwatch(['watch', own.redis.url, '--keys', 'bad:*', '--for', '1ms'], { env })
      const { output, errors } = await resultOf(child)
      expect(output).toMatch(/^\S+: 0 keys, .*, 1 cannot be decoded\n$/)
      expect(errors).toContain('the object "bad:1" of redis:bad:* is invalid: ')
      const read = listwatch(['list', own.redis.url, '--keys', 'bad:*'])
      await read.ended
      const says = '1 object was read, and none can be decoded; --codec string shows values that are not JSON'
      expect(read.errors).toContain(`listwatch: ${says}\n`)
      expect(read.errors).not.toContain('no string has a key')
    })
  })

  test('--cluster finds who has the keys; without it the error names the option', async () => {
    await using cluster = await RedisCluster.start(server)
    const [first] = cluster.nodes
    const user = new Cluster([{ host: '127.0.0.1', port: first?.port ?? 0 }])
    onTestFinished(() => user.disconnect())
    // Three names, of which at least one lies on another node than the one that is named.
    const names = ['orders', 'flags', 'prices']
    for (const name of names) {
      await using writer = redisWriter({ client: user, collection: name })
      await writer.apply([{ put: '1', object: { of: name } }])
    }
    const url = first?.url ?? ''
    const elsewhere: string[] = []
    for (const name of names) {
      if ((await cluster.ownerOf(`{${name}}:h`)) !== 0) elsewhere.push(name)
      const child = listwatch(['watch', url, '--cluster', '--collection', name, '--json'])
      await synced(child)
      expect(told(child)[0]).toEqual(['add', '1', { of: name }])
      child.kill('SIGINT')
      expect([await child.ended, child.errors]).toEqual([{ code: 0, signal: null }, ''])
    }
    expect(elsewhere.length).toBeGreaterThan(0)
    const says = await refusalOf(listwatch(['watch', url, '--collection', elsewhere[0] ?? '']))
    expect(says).toContain('another node of the cluster has the key: add --cluster')
  })

  test('--cluster of a server that is in none: one line that says so', async () => {
    const says = await refusalOf(listwatch(['watch', own.redis.url, '--cluster', '--collection', 'a']))
    expect(says).toBe('the server is not a node of a cluster: leave out --cluster')
  })

  test.each([
    ['a collection', ['--collection', 'rights']],
    ['a stream', ['--stream', 'rights', '--key', 'id']],
    ['plain keys', ['--keys', 'rights:*']],
  ])('a user without the rights for %s gets an error with the command that grants them', async (what, args) => {
    const client = own.redis.client()
    const user = what.replaceAll(' ', '-')
    await client.call('ACL', 'SETUSER', user, 'reset', 'on', `>${SECRET}`, '+role', '+info')
    await using writer = redisWriter({ client: userClient('ioredis 6', own.redis.port), collection: 'rights' })
    await writer.apply([{ put: '1', object: 1 }])
    await client.del('rights')
    await client.xadd('rights', '*', 'id', '1', 'n', '1')
    await client.set('rights:1', '1')
    const command = ['watch', `redis://${user}:${SECRET}@${own.redis.endpoint}`, ...args, '--json']
    const says = await refusalOf(listwatch(command))
    const [, rules = ''] = /\(ACL SETUSER ([^)]*)\)$/.exec(says) ?? []
    expect(rules, says).toMatch(new RegExp(`^${user} %R~`))
    await client.call('ACL', 'SETUSER', ...rules.split(' '))
    const child = listwatch(command)
    await synced(child)
    expect([told(child)[0], child.errors]).toEqual([expect.arrayContaining(['add']), ''])
  })

  test('rediss:// uses TLS, and accepts only trusted certificates', async () => {
    await using secure = await startTlsRedis(server, 'localhost', 'DNS:localhost,IP:127.0.0.1')
    await using writer = redisWriter({ client: userClient('ioredis 6', secure.redis.port), collection: 'orders' })
    await writer.apply([{ put: '1', object: 1 }])
    const args = ['watch', `rediss://127.0.0.1:${secure.tlsPort}`, '--collection', 'orders', '--json']
    expect(await refusalOf(listwatch(args))).toContain('rediss:// speaks TLS, redis:// does not')
    const child = listwatch(args, { env: { NODE_EXTRA_CA_CERTS: secure.certificate } })
    await synced(child)
    expect(told(child)[0]).toEqual(['add', '1', 1])
  })

  const url = 'redis://localhost'
  const refused: Refusals = [
    [`watch ${url}`, 'name the collection to mirror: --collection orders, --stream events, or --keys "user:*"'],
    [`watch ${url} --collection a --stream s`, 'mirror one of these'],
    [`watch ${url} --collection ''`, 'must not be empty'],
    [`watch ${url} --collection a --key id`, '--key and --fold need --stream'],
    [`watch ${url} --stream s --key id --codec json`, '--codec needs --collection'],
    [`watch ${url} --keys user:`, 'and a star in quotes: "user:*"'],
    [`watch ${url} --keys *`, 'must be the prefix of the keys'],
    ...['us*r:*', 'us?r:*', '[us]er:*', 'us\\er:*'].map(
      (pattern) => [`watch ${url} --keys ${pattern}`, '--keys must be a prefix'] as const,
    ),
    [`watch ${url} --table t`, '--table is an option of Postgres, SQLite and MySQL; Redis has --collection'],
    [`watch ${url} --prefix p`, '--prefix is an option of etcd; Redis has --collection'],
    ['watch etcd://localhost --collection a', '--collection is an option of Redis; etcd has --prefix'],
    ['watch redis://127.0.0.1:1 --collection a', 'no server listens there: check host and port'],
    [
      'watch redis://127.0.0.1:1 --cluster --collection a',
      'cannot connect to redis://127.0.0.1:1: connect ECONNREFUSED 127.0.0.1:1 (no server listens there',
    ],
    ['watch redis://no-such-host.invalid --collection a', 'no such host: check its name'],
    ['watch redis://u:100%@localhost --collection a', '% is %25'],
    ['watch redis:// --collection a', 'it should look like redis://host:6379'],
  ]
  testRefusals(refused)

  test('a relay that has not written: one line that names the remedy, and says nothing of the connection', async () => {
    const says = await refusalOf(listwatch(['list', own.redis.url, '--relay', 'none']))
    expect(says).toMatch(
      /no relay has written to \S+ yet: start listwatch relay, check the name, or wait: a new relay begins after about 9 s/,
    )
    expect(says).not.toContain('cannot connect')
  })

  test('a wrong password: one line that names its place in the URL, without the password', async () => {
    await using redis = await RedisServer.start({ server, args: ['--requirepass', 'another'] })
    const at = `redis://:${SECRET}@${redis.endpoint}`
    const says = await refusalOf(listwatch(['watch', at, '--collection', 'orders']))
    expect(says).toContain('give user and password in the URL: redis://user:')
  })

  describe('examples/feature-flags.ts', () => {
    test('many follow what one writes', async () => {
      const start = (...args: readonly string[]): Child =>
        example('feature-flags.ts', args, { REDIS_URL: own.redis.url })
      const followers = [start(), start()]
      const shows = async (line: RegExp): Promise<void> => {
        for (const each of followers) await each.until(() => each.lines.some((text) => line.test(text)), String(line))
      }
      await expectEnd(start('new-checkout', '100'))
      await shows(/^new-checkout: 1000 of 1000 users$/)
      await expectEnd(start('new-checkout', '25'))
      await shows(/^new-checkout: 2\d\d of 1000 users$/)
      await expectEnd(start('new-checkout', '0'))
      await shows(/^new-checkout: 0 of 1000 users$/)
      for (const each of followers) {
        await expectEnd(each, 'SIGINT')
      }
    })

    test('continues without permission to watch, and reports it', async () => {
      const child = example('feature-flags.ts', [], { REDIS_URL: `redis://guest:wrong@${own.redis.endpoint}` })
      await child.until(() => child.errors.includes('WRONGPASS'), 'it to be reported')
      expect(child.errors).not.toMatch(/^ +at /m)
      await expectEnd(child, 'SIGINT')
    })
  })
})
