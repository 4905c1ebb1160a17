import { expect, test } from 'vitest'
import { etcdSource } from '../../adapters/etcd/index.js'
import { createInformer, type Logger } from '../../src/index.js'
import { EtcdServer } from '../servers/etcd.js'
import { describeEtcd } from '../servers/index.js'
import { waitUntil } from '../servers/wait-until.js'
import { Stage } from './stage.js'
import { useEtcd } from './support.js'

const logger: Logger = { debug() {}, info() {}, warn() {}, error() {} }

describeEtcd('keys and values', (server) => {
  const own = useEtcd(server)

  test('[B28] a codec that throws on one value makes that one invalid, keeps its last good state, and other keys continue', async () => {
    const codec = (value: Uint8Array): number => {
      const n = Number(Buffer.from(value).toString())
      if (Number.isNaN(n)) throw new TypeError('not a number')
      return n
    }
    const client = own.etcd.client()
    await client.put('/codec/a').value('1')
    await client.put('/codec/b').value('none')
    const source = etcdSource({ endpoints: own.etcd.endpoint, prefix: '/codec/', codec })
    await using informer = createInformer({ source, logger })
    await informer.start().synced({ timeoutMs: 60_000 })
    expect(informer.invalid.get('/codec/b')?.message).toContain('not a number')
    await client.put('/codec/a').value('bad')
    await client.put('/codec/c').value('3')
    await waitUntil('the other keys to continue', () => informer.get('/codec/c') === 3)
    expect([informer.get('/codec/a'), [...informer.invalid.keys()].sort()]).toEqual([1, ['/codec/a', '/codec/b']])
    await client.put('/codec/a').value('4')
    await client.delete().key('/codec/b')
    await waitUntil('it to recover', () => informer.invalid.size === 0)
    expect(new Set([...informer.list()])).toEqual(new Set([3, 4]))
  })

  test('bytes are delivered unchanged, and so are keys that are not UTF-8 with keys: "bytes"', async () => {
    const client = own.etcd.client()
    const key = Buffer.from([0x2f, 0x62, 0x2f, 0xff, 0x00])
    await client.kv.put({ key, value: Buffer.from([1, 0, 255]) })
    const options = { endpoints: own.etcd.endpoint, prefix: '/b/', codec: 'bytes' } as const
    await using bytes = createInformer({ source: etcdSource<Uint8Array>({ ...options, keys: 'bytes' }), logger })
    await using strings = createInformer({ source: etcdSource<Uint8Array>(options), logger })
    await bytes.start().synced({ timeoutMs: 60_000 })
    await strings.start().synced({ timeoutMs: 60_000 })
    expect(Array.from(bytes.entries(), ([key, object]) => [Buffer.from(key, 'latin1'), object])).toEqual([
      [key, new Uint8Array([1, 0, 255])],
    ])
    expect([strings.size, strings.invalid.size]).toEqual([0, 1])
    await client.kv.deleteRange({ key })
    await waitUntil('it to be gone', () => bytes.size === 0 && strings.invalid.size === 0)
  })

  test('a range has the keys between its two keys, and a prefix the keys that begin with it', async () => {
    const client = own.etcd.client()
    for (const key of ['/r', '/r/', '/r/a', '/r/b', '/r/c', '/r0']) await client.put(key).value('1')
    const keysOf = async (
      range: { prefix: string | Buffer; keys?: 'bytes' } | { range: { from: string; to?: string } },
    ): Promise<string[]> => {
      await using informer = createInformer({ source: etcdSource({ endpoints: own.etcd.endpoint, ...range }), logger })
      await informer.start().synced({ timeoutMs: 60_000 })
      return [...informer.keys()].filter((key) => key.startsWith('/r')).sort()
    }
    expect(await keysOf({ prefix: '/r/' })).toEqual(['/r/', '/r/a', '/r/b', '/r/c'])
    await client.put(Buffer.from([0x2f, 0x72, 0xff, 0x61])).value('1')
    expect(await keysOf({ prefix: Buffer.from([0x2f, 0x72, 0xff]), keys: 'bytes' })).toEqual(['/r\xffa'])
    await client.delete().key(Buffer.from([0x2f, 0x72, 0xff, 0x61]))
    expect(await keysOf({ range: { from: '/r/a', to: '/r/c' } })).toEqual(['/r/a', '/r/b'])
    expect(await keysOf({ range: { from: '/r/b' } })).toEqual(['/r/b', '/r/c', '/r0'])
    expect(await keysOf({ range: { from: '' } })).toHaveLength(6)
  })

  test('keys of a lease that ends are deleted, together', () =>
    Stage.with({ etcd: own.etcd }, async (stage) => {
      await stage.live()
      const lease = stage.writer.lease(1, { autoKeepAlive: false })
      for (const name of ['a', 'b', 'c']) await lease.put(`${stage.prefix}${name}`).value('{"n":1}')
      await stage.until('they to be there', () => stage.informer.size === 3)
      await stage.until('they to be gone', () => stage.informer.size === 0)
      await stage.healed()
    }))

  test('a mark is the revision in the response to a write; head and fresh include earlier writes', () =>
    Stage.with({ etcd: own.etcd }, async (stage) => {
      await stage.live()
      for (let n = 0; n < 5; n++) {
        await stage.informer.waitFor(await stage.put(['k', n]), { timeoutMs: 50_000 })
        expect(stage.informer.get(`${stage.prefix}k`)).toEqual({ n })
      }
      // Only other keys are written: the position of the mirror is proved all the same.
      await stage.writer.put('elsewhere').value('x')
      await stage.informer.fresh({ timeoutMs: 50_000 })
      expect(stage.relists).toBe(0)
    }))

  test('values of 1.5 MB arrive completely, in a list and in a watch', async () => {
    await using etcd = await EtcdServer.start({ server, args: ['--max-request-bytes', '2000000'] })
    const source = { heartbeatMs: 60_000, timeoutMs: 120_000 } // The clock is fast, and the values are slow on a busy machine.
    for (const form of ['endpoints', 'client'] as const) {
      await using stage = await Stage.open({ etcd, form, source })
      const object = { n: 1, text: 'x'.repeat(1_500_000) }
      for (const key of ['a', 'b', 'c']) await stage.writer.put(`${stage.prefix}${key}`).value(JSON.stringify(object))
      await stage.live()
      await stage.writer.put(`${stage.prefix}d`).value(JSON.stringify(object))
      await stage.healed()
      expect([stage.informer.size, stage.errors]).toEqual([4, []])
    }
  })

  test('20 000 keys of 256 bytes are mirrored, in pages', async () => {
    await using stage = await Stage.open({ etcd: own.etcd, source: { pageSize: 1_000 } })
    const value = Buffer.from(JSON.stringify({ n: 1, text: 'x'.repeat(240) }))
    const loading = Array.from({ length: 8 }, async (_, loader) => {
      for (let at = loader * 2_500; at < (loader + 1) * 2_500; at += 500) {
        const success = Array.from({ length: 500 }, (_each, i) => ({
          request_put: { key: Buffer.from(`${stage.prefix}${at + i}`), value },
        }))
        await stage.writer.kv.txn({ success })
      }
    })
    await Promise.all(loading)
    await stage.informer.start().synced({ timeoutMs: 100_000 })
    expect(stage.informer.size).toBe(20_000)
    await stage.informer.waitFor(await stage.put(['0', 2], ['1', undefined]), { timeoutMs: 100_000 })
    expect([stage.informer.size, stage.informer.get(`${stage.prefix}0`)]).toEqual([19_999, { n: 2 }])
  })

  test('a server that may lose events causes one warning', () =>
    Stage.with({ etcd: own.etcd }, async (stage) => {
      await stage.live()
      await stage.put(['k', 1])
      await stage.healed()
      stage.proxy.reset()
      await stage.put(['k', 2])
      await stage.healed()
      const said = stage.warnings.filter((each) => each.includes('may lose events'))
      expect(said).toEqual(
        server.name === 'etcd 3.4'
          ? [expect.stringMatching(/^etcd:.*: etcd 3\.4\.\d+ may lose .* use 3\.5\.24, 3\.6\.6 or later$/)]
          : [],
      )
    }))

  test('an audit of keys finds no difference if the mirror is right', async () => {
    const source = etcdSource({ endpoints: own.etcd.endpoint, prefix: '/audit/', heartbeatMs: 400 })
    const versions = source.versions.bind(source)
    let audits = 0
    source.versions = async function* (context) {
      yield* versions(context)
      audits++
    }
    const client = own.etcd.client()
    for (let at = 0; at < 50; at++) await client.put(`/audit/${at}`).value(String(at))
    await using informer = createInformer({ source, logger, audit: { periodMs: 300 } })
    const errors: string[] = []
    informer.on('error', ({ message }) => errors.push(message))
    await informer.start().synced({ timeoutMs: 60_000 })
    // The next one comes a hundred times as long after as the first one took.
    for (let at = 0; audits === 0; at++) await client.put(`/audit/${at % 60}`).value(String(at))
    await informer.fresh({ timeoutMs: 60_000 })
    expect([errors, informer.status.relists]).toEqual([[], 0])
  })
})

describeEtcd('a transaction of more than 1 000 keys', (server) => {
  const own = useEtcd(server, ['--max-txn-ops', '2000'])

  test('is recognised at a reconnect if it is the newest one', () =>
    Stage.with({ etcd: own.etcd }, async (stage) => {
      await stage.live()
      // The mirror remembers the key that was written last; the server returns it last.
      await stage.put(...Array.from({ length: 1_500 }, (_, at) => [`k${at}`, at] as const), ['z', 1])
      await stage.healed()
      stage.proxy.reset()
      await stage.until('the watch to be opened again', () => stage.reconnects > 0)
      await stage.put(['later', 1])
      await stage.healed()
      expect([stage.relists, stage.errors.map(({ code }) => code)]).toEqual([0, ['UNAVAILABLE']])
    }))
})
