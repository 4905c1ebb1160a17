import { Kvm } from '@nats-io/kv'
import { natsKvSource } from '../../adapters/nats/index.js'
import { describeListerWatcher, type ListerWatcherHarness } from '../../testing/index.js'
import { useNats } from '../nats/support.js'
import { describeServer } from '../servers/index.js'
import type { NatsServer } from '../servers/nats.js'
import { drawn } from '../support/draw.js'
import { behindProxy } from './behind-proxy.js'

type Item = { readonly value: string }

const NOT_A_SUBJECT = /^$|^\.|\.$|\.\.|[^\w=./-]/

/** A bucket of its own for each case. */
function harness(own: { readonly nats: NatsServer }, history: number): ListerWatcherHarness<Item> {
  let cases = 0
  return {
    unsupported: {
      transactions: 'each key is written by itself',
      openTransactions: 'each key is written by itself',
      compaction: 'a bucket always has the newest message of each key',
      connections: "the connection is the program's own, and stays open",
    },
    async create({ heartbeatMs }) {
      const { nats } = own
      const bucket = `case-${history}-${++cases}`
      const [port, proxied] = await behindProxy(nats.port)
      const connection = await nats.connect({ port })
      const admin = await nats.connect()
      const buckets = new Kvm(admin)
      let kv = await buckets.create(bucket, { history })
      return {
        source: natsKvSource<Item>({ client: connection, bucket, heartbeatMs }),
        read: ({ value }) => value,
        refuses: (key) => (NOT_A_SUBJECT.test(key) ? 'a key is a NATS subject' : undefined),
        async write(changes) {
          let revision = 0
          for (const { key, value } of changes) {
            if (value === undefined) {
              await kv.delete(key)
              const entry = await kv.get(key)
              revision = entry?.revision ?? revision
            } else revision = await kv.put(key, JSON.stringify({ value }))
          }
          return String(revision)
        },
        async restore() {
          const entries = []
          for await (const key of await kv.keys()) entries.push(await kv.get(key))
          await kv.destroy()
          kv = await buckets.create(bucket, { history })
          for (const entry of entries) if (entry !== null) await kv.put(entry.key, entry.value)
        },
        corrupt: async (key) => void (await kv.put(key, '{')),
        disconnect: proxied.disconnect,
        async dispose() {
          await connection.close()
          await admin.close()
          await proxied.dispose()
        },
      }
    },
  }
}

describeServer('nats 2.15', 'the source of a NATS bucket', useNats, async (own) => {
  for (const history of drawn([1, 5], 'form'))
    await describeListerWatcher(`with a history of ${history} revisions of each key`, harness(own, history))
})
