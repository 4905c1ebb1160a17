import { join } from 'node:path'
import { expect, test } from 'vitest'
import { etcdSource } from '../../adapters/etcd/index.js'
import { useEtcd } from '../etcd/support.js'
import { EtcdServer } from '../servers/etcd.js'
import { describeEtcd } from '../servers/index.js'
import { life, testExpiry, testResume, type Values } from './life.js'
import { folder } from './support.js'

let prefixes = 0

/** A prefix of its own, and a mirror of it with a cache. */
function collection(etcd: EtcdServer) {
  const prefix = `/warm-${++prefixes}/`
  const path = join(folder(), 'a.cache')
  return {
    async put(values: Values): Promise<void> {
      for (const [name, n] of Object.entries(values)) {
        if (n === undefined) await etcd.client().delete().key(`${prefix}${name}`)
        else await etcd.client().put(`${prefix}${name}`).value(n)
      }
    },
    run: (expected: Values) =>
      life({
        source: etcdSource<number>({ endpoints: `127.0.0.1:${etcd.port}`, prefix }),
        cache: { path },
        expected,
        prefix,
      }),
  }
}

describeEtcd('a warm start from etcd', useEtcd, (own, server) => {
  const open = () => collection(own.etcd)

  testResume(open)

  testExpiry('lists once after a compaction', open, async () => {
    const { header } = await own.etcd.client().kv.range({ key: Buffer.from('/') })
    await own.etcd.client().kv.compact({ revision: header.revision })
  })

  test('lists once after a backup was restored', async () => {
    await using etcd = await EtcdServer.start({ server })
    const { put, run } = collection(etcd)
    await put({ a: 1, b: 1 })
    const backup = await etcd.backup()
    await put({ a: 2, c: 2 })
    await run({ a: 2, b: 1, c: 2 })
    await etcd.restore(backup)
    await etcd.start()
    expect(await run({ a: 1, b: 1 })).toMatchObject({ lists: 1, errors: ['EPOCH_CHANGED'] })
  })
})
