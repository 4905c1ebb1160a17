// A process that shares an informer: node main.ts <socket> <objects> <first number>. With SIGTERM it stops the informer.
import cluster from 'node:cluster'
import { serveShared } from '../../serving/share/index.js'
import { createInformer } from '../../src/index.js'
import { memorySource } from '../../testing/index.js'

const [path = '', count = '0', first = '0'] = process.argv.slice(2)
const entries = Array.from({ length: Number(count) }, (_, i): [string, { readonly n: number }] => [
  `${i}`,
  { n: Number(first) + i },
])
const source = memorySource({ entries, heartbeatMs: 300 })
const orders = createInformer({ source }).start()
await orders.synced()
const share = serveShared(orders, { heartbeatMs: 300 })
share.port() // A port that no thread uses does not keep the process alive.
await share.listen(path)
process.on('message', () => void source.put('0', { n: -1 }))
if (process.env['WORKERS'] !== undefined) {
  cluster.setupPrimary({ exec: new URL('worker.ts', import.meta.url).pathname, args: [path] })
  for (let i = 0; i < Number(process.env['WORKERS']); i++)
    cluster.fork().on('message', (report: object) => console.log(JSON.stringify(report)))
}
process.once('SIGTERM', () => void orders.stop())
console.log('ready')
