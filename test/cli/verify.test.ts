import { expect, test } from 'vitest'
import { redisWriter } from '../../adapters/redis/index.js'
import { useEtcd } from '../etcd/support.js'
import { type Database, useServer } from '../postgres/support.js'
import { userClient } from '../redis/drivers.js'
import { useRedis } from '../redis/support.js'
import { describeServer } from '../servers/index.js'
import { waitUntil } from '../servers/wait-until.js'
import { informersAt, listwatch, outputOf, refusalOf, resultOf, urlOf } from './support.js'

describeServer('postgres 18', 'verify postgres://', useServer, (at) => {
  const orders = (): Promise<Database> =>
    at.installed(
      `CREATE TABLE orders (id int PRIMARY KEY, tenant text, n int);
      INSERT INTO orders SELECT g, 'acme', g FROM generate_series(1, 300) g`,
      'orders',
    )

  /** Changes the table without a trace in its log, once the mirror follows it. */
  async function alterBehind(db: Database, sql: string): Promise<void> {
    const polls = `SELECT count(*) FROM pg_stat_activity WHERE application_name = 'listwatch' AND query LIKE 'SELECT ''H'', %'`
    await waitUntil('the watch, after the list', async () => Number(await db.value(polls)) > 0)
    await db.sql(`BEGIN; ${sql}; DELETE FROM ${await db.log('orders')} WHERE xid = pg_current_xact_id(); COMMIT`)
  }

  test('nothing differs: exit code 0, also while rows are written', async () => {
    const db = await orders()
    const child = listwatch(['verify', urlOf(db), '--table', 'orders', '--for', '2s'])
    const timer = setInterval(() => void db.sql('UPDATE orders SET n = n + 1 WHERE id % 10 = 0').catch(() => {}), 50)
    const output = await outputOf(child)
    clearInterval(timer)
    expect(output).toMatch(/^300 rows compared, 0 differ(, \d+ changed during each comparison)?\n$/)
  })

  test('rows that were altered behind the mirror are named: exit code 1', async () => {
    const db = await orders()
    const child = listwatch(['verify', urlOf(db), '--table', 'orders', '--for', '5s'])
    await alterBehind(
      db,
      `UPDATE orders SET tenant = 'birch' WHERE id = 7; DELETE FROM orders WHERE id = 8; INSERT INTO orders VALUES (1000, 'new', 1)`,
    )
    const { code, output } = await resultOf(child)
    expect(output.split('\n').sort()).toEqual([
      '',
      '300 rows compared, 3 differ',
      'different 7: tenant',
      'extra 8: the mirror has it, the source does not',
      'missing 1000: the source has it, the mirror does not',
    ])
    expect(code).toBe(1)
  })

  test('--json counts all differences and names --limit of them', async () => {
    const db = await orders()
    const child = listwatch(['verify', urlOf(db), '--table', 'orders', '--for', '5s', '--json', '--limit', '2'])
    await alterBehind(db, 'UPDATE orders SET n = -1 WHERE id <= 5')
    const { code, output } = await resultOf(child)
    const { differences, ...result } = JSON.parse(output) as { readonly differences: readonly object[] }
    expect(result).toEqual({ equal: false, version: expect.any(String), objects: 300, differing: 5, busy: 0 })
    expect(differences).toHaveLength(2)
    expect(differences[0]).toEqual({ key: expect.stringMatching(/^[1-5]$/), difference: 'different', fields: ['n'] })
    expect(code).toBe(1)
  })

  test('interrupted before the comparison: exit code 130, and no result', async () => {
    const db = await orders()
    const child = listwatch(['verify', urlOf(db), '--table', 'orders', '--for', '1h'])
    const following = `SELECT count(*) FROM pg_stat_activity WHERE application_name = 'listwatch'`
    await waitUntil('the mirror', async () => Number(await db.value(following)) > 0)
    child.kill('SIGINT')
    expect(await resultOf(child)).toEqual({ code: 130, output: '', errors: '' })
  })

  test('a source that cannot be read, and a wrong option: exit code 2', async () => {
    const db = await orders()
    expect(await refusalOf(listwatch(['verify', urlOf(db), '--table', 'ordrs']))).toContain('there is no table "ordrs"')
    expect(await refusalOf(listwatch(['verify', urlOf(db), '--table', 'orders', '--for', 'x']))).toContain('--for')
    expect(await refusalOf(listwatch(['verify', urlOf(db), '--table', 'orders', '--limit', '0']))).toContain('--limit')
  })
})

describeServer('redis 7.0', 'verify redis://', useRedis, (own) => {
  test('an object that was written without a redisWriter is found', async () => {
    await using writer = redisWriter({ client: userClient('ioredis 6', own.redis.port), collection: 'orders' })
    await writer.apply([{ put: '1', object: { state: 'new' } }])
    const args = ['verify', own.redis.url, '--collection', 'orders', '--for', '1ms']
    const client = own.redis.client()
    expect((await resultOf(listwatch(args))).code).toBe(0)
    const child = listwatch([...args, '--for', '4s'])
    const isRead = async (): Promise<boolean> => /cmd=xread/.test(String(await client.client('LIST')))
    await waitUntil('the watch', isRead)
    const { 1: text = '' } = await client.hgetall('{orders}:h')
    expect(text).toContain('new')
    await client.hset('{orders}:h', '1', text.replace('new', 'odd'))
    const output = 'different 1: state\n1 keys compared, 1 differ\n'
    expect(await resultOf(child)).toMatchObject({ code: 1, output })
  })

  test.each([
    ['--collection', 'ordres', 'nothing is in the collection "ordres" yet: check its name'],
    ['--keys', 'ordres:*', 'no string has a key like "ordres:*" yet: check the prefix'],
  ])('a misspelt %s: the hint names what to check, and the exit code is 0', async (option, name, hint) => {
    const { code, output, errors } = await resultOf(listwatch(['verify', own.redis.url, option, name, '--for', '1ms']))
    expect({ code, output }).toEqual({ code: 0, output: '0 keys compared, 0 differ\n' })
    expect(errors).toContain(`listwatch: ${hint}`)
  })

  test('plain keys without versions are compared too', async () => {
    const client = own.redis.client()
    await client.mset({ 'user:1': '{"n":1}', 'user:2': '{"n":2}' })
    const output = await outputOf(listwatch(['verify', own.redis.url, '--keys', 'user:*', '--for', '1s', '--json']))
    expect(JSON.parse(output)).toEqual({ equal: true, objects: 2, differing: 0, busy: 0, differences: [] })
  })
})

/** Starts `listwatch serve`, and returns the address that it prints once it has the objects. */
async function served(args: readonly string[], size: number): Promise<string> {
  const child = listwatch(['serve', ...args])
  await waitUntil('the objects', async () => (await informersAt(child))[0]?.['size'] === size)
  return child.lines[0] ?? ''
}

describeServer('redis 7.0', 'verify --against a running mirror', useRedis, (own) => {
  async function orders(name: string) {
    const writer = redisWriter({ client: userClient('ioredis 6', own.redis.port), collection: name })
    await writer.apply(['1', '2', '3'].map((key) => ({ put: key, object: { state: 'new', key } })))
    const args = [own.redis.url, '--collection', name]
    return { args, client: own.redis.client(), [Symbol.asyncDispose]: () => writer[Symbol.asyncDispose]() }
  }

  test('that does not differ: exit code 0; one that misses changes: 1, and their keys', async () => {
    await using world = await orders('orders')
    const { args, client } = world
    const address = await served(args, 3)
    const verify = ['verify', ...args, '--against', address]
    expect(await resultOf(listwatch(verify))).toEqual({ code: 0, output: '3 keys compared, 0 differ\n', errors: '' })
    // Written without the stream of changes, so the mirror cannot notice it.
    const { 1: first = '', 3: third = '' } = await client.hgetall('{orders}:h')
    await client.hset('{orders}:h', { 1: first.replace('new', 'odd'), 4: third })
    await client.hdel('{orders}:h', '2')
    const { code, output } = await resultOf(listwatch(verify))
    expect(output.split('\n').sort()).toEqual([
      '',
      '3 keys compared, 3 differ',
      'different 1: state',
      'extra 2: the mirror has it, the source does not',
      'missing 4: the source has it, the mirror does not',
    ])
    expect(code).toBe(1)
    const keys = await resultOf(listwatch([...verify, '--keys-only', '--json', '--limit', '1']))
    expect(JSON.parse(keys.output)).toMatchObject({ equal: false, objects: 3, differing: 2, differences: [{}] })
  })

  test('a mirror of another collection is refused with the names of both', async () => {
    await using pairs = await orders('pairs')
    await using triples = await orders('triples')
    const address = await served(pairs.args, 3)
    expect(await refusalOf(listwatch(['verify', ...triples.args, '--against', address]))).toBe(
      'none of 8 lists had a version that could be compared: the mirror reads redis:pairs, and this command redis:triples',
    )
  })

  test('objects that are written meanwhile do not count as different', async () => {
    await using world = await orders('busy')
    const address = await served(world.args, 3)
    await using writer = redisWriter({ client: userClient('ioredis 6', own.redis.port), collection: 'busy' })
    let count = 0
    const write = () => void writer.apply([{ put: '1', object: { count: count++ % 2 } }]).catch(() => {})
    const timer = setInterval(write, 20)
    const output = await outputOf(listwatch(['verify', ...world.args, '--against', address]))
    clearInterval(timer)
    expect(output).toMatch(/^3 keys compared, 0 differ/)
  })

  test('an address without an inspector, a wrong token, and a wrong informer: exit code 2', async () => {
    await using world = await orders('other')
    const address = await served(world.args, 3)
    const refusal = (against: string, ...more: string[]): Promise<string> =>
      refusalOf(listwatch(['verify', ...world.args, '--against', against, ...more]))
    expect(await refusal('orders')).toContain('--against needs the address that the inspector prints')
    expect(await refusal('http://127.0.0.1:1/')).toContain('or with the token in LISTWATCH_TOKEN')
    expect(await refusal('http://127.0.0.1:2/#token=a')).toContain('no inspector answers at http://127.0.0.1:2: co')
    expect(await refusal(`${address}x`)).toContain('the request has no valid token')
    expect(await refusal(address, '--informer', 'other')).toContain('there is no informer "other"; there are')
    expect(await refusal(address, '--for', '1s')).toContain("cannot be used with option '--against <address>'")
    expect(await refusalOf(listwatch(['verify', ...world.args, '--keys-only']))).toContain('need --against')
  })
})

describeServer('etcd 3.6', 'verify etcd://', useEtcd, (own) => {
  test('keys that do not differ: exit code 0', async () => {
    const client = own.etcd.client()
    await client.put('/jobs/1').value('{"n":1}')
    const args = ['verify', `etcd://${own.etcd.endpoint}`, '--prefix', '/jobs/', '--for', '1s']
    expect(await resultOf(listwatch(args))).toEqual({ code: 0, output: '1 keys compared, 0 differ\n', errors: '' })
  })
})
