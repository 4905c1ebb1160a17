// A live table in the browser: this server serves a mirror, and the page of each visitor follows it.
//   npm i listwatch react react-dom rolldown
//   node examples/browser/server.ts      (copy the folder out of node_modules: Node runs no TypeScript there)
import { once } from 'node:events'
import { createServer } from 'node:http'
import { fileURLToPath } from 'node:url'
import { createInformer } from 'listwatch'
import { nodeListener, serveHttp } from 'listwatch/http'
import { memorySource } from 'listwatch/memory'
import { rolldown } from 'rolldown'
import type { Order } from './page.js'

const tenants = ['acme', 'birch', 'cedar']
const source = memorySource<Order>({
  // For a table of Postgres, use postgresSource instead.
  entries: Array.from({ length: 30 }, (_, n) => [
    `${n + 1}`,
    { id: `${n + 1}`, tenant: tenants[n % 3] ?? '', total: (n * 37) % 100, status: 'open' },
  ]),
})
const orders = createInformer({ source })
orders.on('error', (error) => console.error(error.message))
await orders.start().synced()
const mirror = serveHttp(orders)
const serveOrders = nodeListener(mirror)

const bundle = await rolldown({
  input: fileURLToPath(new URL('page.tsx', import.meta.url)),
  platform: 'browser',
  transform: { define: { 'process.env.NODE_ENV': '"production"' } },
})
const { output } = await bundle.generate({ format: 'esm', minify: true })
await bundle.close()
const style = 'body { font: 1rem system-ui; margin: 2rem } td { padding: 0.25rem 1.5rem 0.25rem 0 }'
const html = `<!doctype html><title>Orders</title><style>${style}</style><main></main>
<script type="module" src="/page.js"></script>`

const server = createServer((request, response) => {
  const { pathname } = new URL(request.url ?? '/', 'http://localhost')
  const paid = /^\/pay\/(\w+)$/.exec(pathname)?.[1]
  const order = paid === undefined ? undefined : orders.get(paid)
  if (pathname.startsWith('/orders/')) serveOrders(request, response)
  else if (pathname === '/') response.setHeader('content-type', 'text/html').end(html)
  else if (pathname === '/page.js') response.setHeader('content-type', 'text/javascript').end(output[0].code)
  else if (request.method === 'POST' && order !== undefined) {
    source.put(order.id, { ...order, status: 'paid' })
    response.writeHead(204).end()
  } else response.writeHead(404).end()
})
server.listen(Number(process.env['PORT'] ?? 3000), '127.0.0.1', () => console.log('listening', server.address()))

await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')])
await mirror[Symbol.asyncDispose]() // Ends the watches, which would keep the server open.
server.close()
server.closeIdleConnections()
await orders.stop()
