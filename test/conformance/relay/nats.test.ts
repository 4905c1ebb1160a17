import { natsRelayStore } from '../../../adapters/nats/index.js'
import { describeListerWatcher, relayStoreConformance } from '../../../testing/index.js'
import { useNats } from '../../nats/support.js'
import { startFaultProxy } from '../../servers/fault-proxy.js'
import { describeServer } from '../../servers/index.js'
import { relayHarness } from './relay-harness.js'

describeServer('nats 2.15', 'a relay store of NATS', useNats, async (own) => {
  await relayStoreConformance('on one server', {
    create: async (name) => natsRelayStore({ client: await own.nats.connect(), relay: name }),
    remove: async (name) => void (await own.nats.ask(`STREAM.DELETE.KV_relay-${name}`)),
  })
})

describeServer('nats 2.15', 'a follower of a relay behind NATS', useNats, async (own) => {
  let cases = 0
  await describeListerWatcher(
    'on one server',
    relayHarness(
      async ({ heartbeatMs }) => {
        const { nats } = own
        const proxy = await startFaultProxy({ targetPort: nats.port })
        const name = `case-${++cases}`
        const [written, read] = [await nats.connect(), await nats.connect({ port: proxy.port })]
        return {
          written: natsRelayStore({ client: written, relay: name, heartbeatMs }),
          read: natsRelayStore({ client: read, relay: name, heartbeatMs }),
          disconnect: () => proxy.reset(),
          async dispose() {
            await written.close()
            await read.close()
            await proxy[Symbol.asyncDispose]()
          },
        }
      },
      {
        compaction: 'a bucket always has the newest message of each key',
        connections: "the connection is the program's own, and stays open",
      },
    ),
  )
})
