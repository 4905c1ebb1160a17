// Lists a prefix, or catches up with it: node etcd.ts begin|<list|watch>-<floor|listwatch|etcd3> <endpoint> <version>
// <last revision>
import grpc from '@grpc/grpc-js'
import { Etcd3 } from 'etcd3'
import { systemClock } from 'listwatch/adapter'
import { etcdSource } from 'listwatch/etcd'
import {
  createWatch,
  encodeRange,
  encodeWatch,
  RANGE_RESPONSE,
  WATCH_RESPONSE,
} from '../../dist/adapters/etcd/transport/etcd-messages.js'

const [task = '', endpoint = '', version = '', last = ''] = process.argv.slice(2)
const prefix = '/bench/'
const [key, end] = [Buffer.from('/bench/'), Buffer.from('/bench0')]
const unlimited = { 'grpc.max_receive_message_length': -1 }
const same = (bytes: Buffer): Buffer => bytes

const source = etcdSource<string>({ endpoints: endpoint, prefix, codec: 'string' })
const context = {
  signal: new AbortController().signal,
  clock: systemClock,
  random: { next: () => 0.5 },
}

async function list(): Promise<{ size: number; version: string }> {
  const result = { size: 0, version: '' }
  for await (const page of source.list({ ...context, pageSize: 1_000 })) {
    result.size += page.events.length
    result.version = page.version ?? ''
  }
  return result
}

/** The decoder makes a Buffer of a key or a value only when that is read. */
function bytesOf({ key, value }: { readonly key: Buffer; readonly value: Buffer }): readonly Buffer[] {
  return [key, value]
}

/** Pages as large as the source's, decoded to the bytes of their keys and values, and thrown away. */
async function listFloor(): Promise<number> {
  const client = new grpc.Client(endpoint, grpc.credentials.createInsecure(), unlimited)
  const range = (request: Buffer): Promise<ReturnType<typeof RANGE_RESPONSE.decode>> =>
    new Promise((resolve, reject) => {
      client.makeUnaryRequest('/etcdserverpb.KV/Range', same, RANGE_RESPONSE.decode, request, (error, value) =>
        error === null && value !== undefined ? resolve(value) : reject(error),
      )
    })
  let size = 0
  for (let from = key; ; ) {
    const { kvs, hasMore } = await range(encodeRange({ key: from, range_end: end, limit: 10_000 }))
    size += kvs.map(bytesOf).length
    const lastKey = kvs.at(-1)?.key
    if (!hasMore || lastKey === undefined) return size
    from = Buffer.concat([lastKey, Buffer.from([0])])
  }
}

async function listEtcd3(): Promise<number> {
  const { kvs } = await new Etcd3({ hosts: endpoint, grpcOptions: unlimited }).getAll().prefix(prefix).exec()
  return kvs.length
}

async function watch(): Promise<number> {
  let size = 0
  for await (const { events, version: at } of source.watch({
    ...context,
    after: version,
    onProgressRequest: () => {},
  })) {
    size += events.length
    if (Number(at.split('.')[3]) >= Number(last)) break
  }
  return size
}

function watchFloor(): Promise<number> {
  const client = new grpc.Client(endpoint, grpc.credentials.createInsecure(), unlimited)
  const stream = client.makeBidiStreamRequest('/etcdserverpb.Watch/Watch', same, WATCH_RESPONSE.decode)
  let size = 0
  return new Promise((resolve, reject) => {
    stream.on('error', reject)
    stream.on('data', ({ events }: ReturnType<typeof WATCH_RESPONSE.decode>) => {
      size += events.map(({ kv }) => bytesOf(kv)).length
      if ((events.at(-1)?.kv.modRevision ?? 0) >= Number(last)) resolve(size)
    })
    stream.write(encodeWatch(createWatch({ key, range_end: end, start_revision: 2, fragment: false })))
  })
}

async function watchEtcd3(): Promise<number> {
  const client = new Etcd3({ hosts: endpoint, grpcOptions: unlimited })
  let size = 0
  return await new Promise((resolve) => {
    const watcher = client.watch().prefix(prefix).startRevision('2').watcher()
    watcher.on('data', ({ events }) => {
      size += events.length
      if (Number(events.at(-1)?.kv.mod_revision ?? 0) >= Number(last)) resolve(size)
    })
  })
}

const tasks: Readonly<Record<string, () => Promise<number>>> = {
  'list-listwatch': async () => (await list()).size,
  'list-floor': listFloor,
  'list-etcd3': listEtcd3,
  'watch-listwatch': watch,
  'watch-floor': watchFloor,
  'watch-etcd3': watchEtcd3,
}
if (task === 'begin') console.log(JSON.stringify(await list()))
else {
  const start = performance.now()
  const size = await tasks[task]?.()
  console.log(JSON.stringify({ ms: performance.now() - start, size }))
}
process.exit()
