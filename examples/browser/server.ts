// A dashboard: the server serves two views together, and the page of each visitor follows them.
//   npm i listwatch react react-dom rolldown
//   node examples/browser/server.ts      (copy the folder out of node_modules: Node runs no TypeScript there)
import { once } from 'node:events'
import { createServer } from 'node:http'
import { fileURLToPath } from 'node:url'
import { nodeListener, serveHttp } from 'listwatch/http'
import { rolldown } from 'rolldown'
import { all, pay, revenue, rows } from './shop.ts'

await all.start().synced()
const mirror = serveHttp({ rows, revenue })
const serveShop = nodeListener(mirror)

const bundle = await rolldown({
  input: fileURLToPath(new URL('page.tsx', import.meta.url)),
  platform: 'browser',
  transform: { define: { 'process.env.NODE_ENV': '"production"' } },
})
const { output } = await bundle.generate({ format: 'esm', minify: true })
await bundle.close()
const style = 'body { font: 1rem system-ui; margin: 2rem } td { padding: 0.25rem 1.5rem 0.25rem 0 }'
const html = `<!doctype html><title>Shop</title><style>${style}</style><main></main>
<script type="module" src="/page.js"></script>`

const server = createServer((request, response) => {
  const { pathname } = new URL(request.url ?? '/', 'http://localhost')
  const paid = /^\/pay\/(\w+)$/.exec(pathname)?.[1]
  if (pathname.startsWith('/shop/')) serveShop(request, response)
  else if (pathname === '/') response.setHeader('content-type', 'text/html').end(html)
  else if (pathname === '/page.js') response.setHeader('content-type', 'text/javascript').end(output[0].code)
  else response.writeHead(request.method === 'POST' && paid !== undefined && pay(paid) ? 204 : 404).end()
})
server.listen(Number(process.env['PORT'] ?? 3000), '127.0.0.1', () => console.log('listening', server.address()))

await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')])
await mirror[Symbol.asyncDispose]() // Ends the watches, which would keep the server open.
server.close()
server.closeIdleConnections()
await all.stop()
