import { Etcd3 } from 'etcd3'
import { etcdCluster, etcdSource } from '../../adapters/etcd/index.js'
import { type ConformanceChange, describeListerWatcher, type ListerWatcherHarness } from '../../testing/index.js'
import { useEtcd } from '../etcd/support.js'
import type { EtcdServer } from '../servers/etcd.js'
import { describeEtcd } from '../servers/index.js'
import { drawn } from '../support/draw.js'
import { behindProxy } from './behind-proxy.js'

type Item = { readonly value: string }
type EtcdForm = 'endpoints' | 'client' | 'cluster'

/** A prefix of its own for each case. */
function harness(own: { readonly etcd: EtcdServer }, form: EtcdForm): ListerWatcherHarness<Item> {
  let cases = 0
  return {
    unsupported: {
      openTransactions: 'a transaction of etcd is one request',
      ...(form === 'client' ? { connections: "they are the client's own, and stay open" } : {}),
    },
    async create({ heartbeatMs }) {
      const { etcd } = own
      const prefix = `/${form}-${++cases}/`
      const [port, proxied] = await behindProxy(etcd.port)
      const hosts = `127.0.0.1:${port}`
      const grpcOptions = { 'grpc.max_receive_message_length': -1 }
      const client = form === 'client' ? new Etcd3({ hosts, grpcOptions }) : undefined
      const options = {
        ...(client === undefined ? { endpoints: hosts } : { client }),
        heartbeatMs,
        timeoutMs: Math.max(15_000, 2 * heartbeatMs),
      }
      const collection = { prefix, pageSize: 3 }
      const source =
        form === 'cluster'
          ? etcdCluster(options).collection<Item>(collection)
          : etcdSource<Item>({ ...options, ...collection })
      const writer = etcd.client()
      const put = async (changes: readonly ConformanceChange[], encode: (value: string) => string): Promise<string> => {
        const last = new Map(changes.map(({ key, value }) => [key, value]))
        const success = [...last].map(([name, value]) => {
          const key = Buffer.from(prefix + name)
          return value === undefined
            ? { request_delete_range: { key } }
            : { request_put: { key, value: Buffer.from(encode(value)) } }
        })
        return (await writer.kv.txn({ success })).header.revision
      }
      return {
        source,
        read: ({ value }) => value,
        keyOf: (key) => prefix + key,
        refuses: (key) => (key.isWellFormed() ? undefined : 'its unpaired surrogate is not UTF-8'),
        write: (changes) => put(changes, (value) => JSON.stringify({ value })),
        compact: async () => {
          const { header } = await writer.kv.range({ key: Buffer.from(prefix) })
          await writer.kv.compact({ revision: header.revision })
        },
        restore: async () => {
          await etcd.restore(await etcd.backup(), { token: `for ${prefix} ${form}` })
          await etcd.start()
        },
        corrupt: async (key) => void (await put([{ key, value: '{' }], (value) => value)),
        ...proxied,
        dispose: async () => {
          client?.close()
          await proxied.dispose()
        },
      }
    },
  }
}

describeEtcd('the etcd source', useEtcd, async (own) => {
  const forms = { 'with endpoints': 'endpoints', "with the user's Etcd3": 'client', 'of a cluster': 'cluster' } as const
  for (const [title, form] of drawn(Object.entries(forms), 'form'))
    await describeListerWatcher(title, harness(own, form))
})
