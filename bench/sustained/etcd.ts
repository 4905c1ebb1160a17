import grpc from '@grpc/grpc-js'
import { Etcd3 } from 'etcd3'
import { etcdSource } from 'listwatch/etcd'
import { createWatch, encodeWatch, WATCH_RESPONSE } from '../../dist/adapters/etcd/transport/etcd-messages.js'
import { foundServer } from '../found-server.ts'
import { allAt, type Engine, type Row, rowAt } from './engine.ts'

const PREFIX = '/bench/'
const [KEY, END] = [Buffer.from('/bench/'), Buffer.from('/bench0')]
const ARGS = [
  '--unsafe-no-fsync',
  '--quota-backend-bytes=8000000000',
  '--auto-compaction-mode=revision',
  '--auto-compaction-retention=200000',
]
const same = (bytes: Buffer): Buffer => bytes

export const etcd: Engine = {
  together: [1, 100],
  lanes: 4,
  async start() {
    const server = await foundServer('etcd 3.6')
    const { EtcdServer } = await import('../../test/servers/etcd.ts')
    const running = await EtcdServer.start({ server, args: ARGS })
    return { address: running.endpoint, [Symbol.asyncDispose]: async () => running[Symbol.asyncDispose]() }
  },
  async connectWriter(address) {
    const { kv } = new Etcd3({ hosts: address })
    const put = (at: number) => ({
      request_put: { key: Buffer.from(PREFIX + at), value: Buffer.from(JSON.stringify(rowAt(at))) },
    })
    return async (first, count, together) => {
      const transactions = allAt(0, count / together, (nth) =>
        kv.txn({ success: allAt(first + nth * together, together, put) }),
      )
      await Promise.all(transactions)
    }
  },
  source: (address) => etcdSource<Row>({ endpoints: address, prefix: PREFIX }),
  follow(address, onRow) {
    const client = new grpc.Client(address, grpc.credentials.createInsecure(), {
      'grpc.max_receive_message_length': -1,
    })
    const stream = client.makeBidiStreamRequest('/etcdserverpb.Watch/Watch', same, WATCH_RESPONSE.decode)
    stream.on('data', ({ events }: ReturnType<typeof WATCH_RESPONSE.decode>) => {
      for (const { kv } of events) onRow(JSON.parse(kv.value.toString()) as Row)
    })
    stream.write(encodeWatch(createWatch({ key: KEY, range_end: END, start_revision: 0, fragment: false })))
    return new Promise((resolve) => stream.once('data', () => resolve())) // The watch was created.
  },
}
