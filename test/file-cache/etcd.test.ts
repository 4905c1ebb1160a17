import { join } from 'node:path'
import { expect, test } from 'vitest'
import { etcdSource } from '../../adapters/etcd/index.js'
import { useEtcd } from '../etcd/support.js'
import { EtcdServer } from '../servers/etcd.js'
import { describeEtcd } from '../servers/index.js'
import { life, resumedFrom } from './life.js'
import { folder } from './support.js'

const PREFIX = '/warm/'

/** A mirror of `PREFIX`, with a client of its own, and a cache. */
function mirrorOf(etcd: EtcdServer, path: string) {
  return (expected: Readonly<Record<string, number>>) =>
    life({
      source: etcdSource<number>({ endpoints: `127.0.0.1:${etcd.port}`, prefix: PREFIX }),
      cache: { path },
      expected,
    })
}

async function put(etcd: EtcdServer, values: Readonly<Record<string, number>>): Promise<void> {
  for (const [name, n] of Object.entries(values))
    await etcd
      .client()
      .put(PREFIX + name)
      .value(n)
}

describeEtcd('a warm start from etcd', (server) => {
  const own = useEtcd(server)

  test('resumes without a list, and delivers the saved objects, then the changes', async () => {
    const { etcd } = own
    await etcd.client().delete().all()
    const run = mirrorOf(etcd, join(folder(), 'a.cache'))
    await put(etcd, { a: 1, b: 1, c: 1 })
    expect((await run({ '/warm/a': 1, '/warm/b': 1, '/warm/c': 1 })).lists).toBe(1)
    await put(etcd, { a: 2, d: 2 })
    await etcd.client().delete().key(`${PREFIX}c`)
    const keys = ['/warm/a', '/warm/b', '/warm/c']
    const changes = ['update /warm/a', 'add /warm/d', 'delete /warm/c']
    expect(await run({ '/warm/a': 2, '/warm/b': 1, '/warm/d': 2 })).toEqual(resumedFrom(keys, changes))
    // Nothing has happened since.
    expect(await run({ '/warm/a': 2, '/warm/b': 1, '/warm/d': 2 })).toEqual(
      resumedFrom(['/warm/a', '/warm/b', '/warm/d'], []),
    )
  })

  test('lists once after a compaction', async () => {
    const { etcd } = own
    await etcd.client().delete().all()
    const run = mirrorOf(etcd, join(folder(), 'a.cache'))
    await put(etcd, { a: 1, b: 1 })
    await run({ '/warm/a': 1, '/warm/b': 1 })
    await put(etcd, { a: 2, c: 2 })
    await etcd.client().delete().key(`${PREFIX}b`)
    const { header } = await etcd.client().kv.range({ key: Buffer.from(PREFIX) })
    await etcd.client().kv.compact({ revision: header.revision })
    const after = await run({ '/warm/a': 2, '/warm/c': 2 })
    expect(after).toMatchObject({ lists: 1, initial: ['/warm/a', '/warm/c'], changes: [] })
    expect(after.errors).toEqual(['VERSION_EXPIRED'])
  })

  test('lists once after a backup was restored', async () => {
    await using etcd = await EtcdServer.start({ server })
    const run = mirrorOf(etcd, join(folder(), 'a.cache'))
    await put(etcd, { a: 1, b: 1 })
    const backup = await etcd.backup()
    await put(etcd, { a: 2, c: 2 })
    await run({ '/warm/a': 2, '/warm/b': 1, '/warm/c': 2 })
    await etcd.restore(backup)
    await etcd.start()
    expect(await run({ '/warm/a': 1, '/warm/b': 1 })).toMatchObject({ lists: 1, errors: ['EPOCH_CHANGED'] })
  })
})
