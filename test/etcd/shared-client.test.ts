import { Etcd3 } from 'etcd3'
import { expect, test } from 'vitest'
import { etcdSource } from '../../adapters/etcd/index.js'
import { createInformer, type Informer, OptionError } from '../../src/index.js'
import { startFaultProxy } from '../servers/fault-proxy.js'
import { describeEtcd } from '../servers/index.js'
import { waitUntil } from '../servers/wait-until.js'
import type { Item } from './stage.js'
import { useEtcd } from './support.js'

describeEtcd('mirrors that share one Etcd3', (server) => {
  const own = useEtcd(server)

  test('all follow again within seconds after one reset, with its default fault handling', async () => {
    await using proxy = await startFaultProxy({ targetPort: own.etcd.port })
    const client = new Etcd3({ hosts: `127.0.0.1:${proxy.port}` })
    const mirrors: Informer<Item>[] = []
    for (let at = 0; at < 50; at++) {
      const source = etcdSource<Item>({ client, prefix: `/shared/${at}/` })
      mirrors.push(createInformer({ source, audit: false }).start())
    }
    try {
      await waitUntil('all to follow', () => mirrors.every(({ status }) => status.state === 'live'), 30_000)
      const startedAt = performance.now()
      proxy.reset()
      const writer = own.etcd.client()
      for (let at = 0; at < 50; at++) await writer.put(`/shared/${at}/k`).value('{"n":1}')
      await waitUntil('all to have the write', () => mirrors.every(({ size }) => size === 1), 30_000)
      expect(performance.now() - startedAt).toBeLessThan(8_000)
    } finally {
      await Promise.all(mirrors.map((mirror) => mirror.stop()))
      client.close()
    }
  })

  test('[E9] that its owner has closed fail with an OptionError that names the option', async () => {
    const client = new Etcd3({ hosts: own.etcd.url })
    client.close()
    const mirror = createInformer({ source: etcdSource({ client, prefix: '/closed/' }) }).start()
    await expect(mirror.synced()).rejects.toBeInstanceOf(OptionError)
    await expect(mirror.synced()).rejects.toMatchObject({
      option: 'client',
      message: expect.stringContaining('closed'),
    })
    expect(mirror.status.state).toBe('failed')
    await mirror.stop()
  })

  test('that its owner closes while they follow fail, and are not retried as unavailable', async () => {
    await using proxy = await startFaultProxy({ targetPort: own.etcd.port })
    const client = new Etcd3({ hosts: `127.0.0.1:${proxy.port}` })
    const mirror = createInformer({ source: etcdSource({ client, prefix: '/closed/' }), audit: false })
    await mirror.start().synced()
    await waitUntil('it to follow', () => mirror.status.state === 'live')
    client.close()
    proxy.reset()
    await waitUntil('it to fail', () => mirror.status.state === 'failed', 30_000)
    await expect(mirror.fresh()).rejects.toMatchObject({ option: 'client' })
    await mirror.stop()
  })
})
