// One mirror for all threads: the main thread watches the prices, and each worker follows it and answers from memory.
//   ETCD_ENDPOINTS=localhost:2379 node examples/workers.ts /tmp/prices.sock                    (copy it out of node_modules)
//   etcdctl put /prices/apple '{"cents":120}'
// Another process of the same user follows the socket: sharedSource({ path: '/tmp/prices.sock' })
import { isMainThread, threadId, Worker, workerData } from 'node:worker_threads'
import { createInformer } from 'listwatch'
import { etcdSource } from 'listwatch/etcd'
import { serveShared, sharedSource } from 'listwatch/share'

interface Price {
  readonly cents: number
}

const WORKERS = 2

if (isMainThread) await serve(process.argv[2])
else await follow()

async function serve(path: string | undefined): Promise<void> {
  const endpoints = (process.env['ETCD_ENDPOINTS'] ?? 'localhost:2379').split(',')
  const prices = createInformer({ source: etcdSource<Price>({ endpoints, prefix: '/prices/' }) }).start()
  const share = serveShared(prices)
  const workers = new Set<Worker>()
  let isStopping = false

  function startWorker(): void {
    if (isStopping) return
    const port = share.port()
    const worker = new Worker(new URL(import.meta.url), { workerData: { prices: port }, transferList: [port] })
    workers.add(worker)
    worker.once('error', (error) => console.error(error))
    worker.once('exit', () => {
      workers.delete(worker)
      setTimeout(startWorker, 1_000).unref() // The next one has a port of its own.
    })
  }

  async function stop(): Promise<void> {
    isStopping = true
    await Promise.all([...workers].map((worker) => worker.terminate()))
    await share.close()
    await prices.stop()
  }

  for (let i = 0; i < WORKERS; i++) startWorker()
  if (path !== undefined) await share.listen(path)
  process.once('SIGTERM', () => void stop())
}

async function follow(): Promise<void> {
  const prices = createInformer({ source: sharedSource<Price>({ port: workerData.prices }) })
  await prices.start().synced()
  console.log(`worker ${threadId} has ${prices.size} prices`)
  prices.subscribe({
    update: ({ key, object }) => console.log(`worker ${threadId}: ${key} costs ${object.cents}`),
    add: ({ key, object }) => console.log(`worker ${threadId}: ${key} costs ${object.cents}`),
  })
}
