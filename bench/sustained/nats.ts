import { Kvm, KvWatchInclude } from '@nats-io/kv'
import { connect } from '@nats-io/transport-node'
import { natsKvSource } from 'listwatch/nats'
import { foundServer } from '../found-server.ts'
import { allAt, type Engine, type Row, rowAt } from './engine.ts'

export const nats: Engine = {
  together: [1],
  lanes: 4,
  async start() {
    const server = await foundServer('nats 2.15')
    const { NatsServer } = await import('../../test/servers/nats.ts')
    const running = await NatsServer.start({ server })
    await new Kvm(await running.connect()).create('bench', { history: 1 })
    return { address: String(running.port), [Symbol.asyncDispose]: async () => running[Symbol.asyncDispose]() }
  },
  async connectWriter(port) {
    const bucket = await new Kvm(await connect({ port: Number(port) })).open('bench')
    return async (first, count) => {
      await Promise.all(allAt(first, count, (at) => bucket.put(String(at), JSON.stringify(rowAt(at)))))
    }
  },
  source: async (port) => natsKvSource<Row>({ client: await connect({ port: Number(port) }), bucket: 'bench' }),
  async follow(port, onRow) {
    const bucket = await new Kvm(await connect({ port: Number(port) })).open('bench')
    const entries = await bucket.watch({ include: KvWatchInclude.UpdatesOnly })
    void (async () => {
      for await (const entry of entries) onRow(entry.json<Row>())
    })()
  },
}
