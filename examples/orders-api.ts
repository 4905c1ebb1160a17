// An HTTP API whose reads come from a mirror, and that always shows a writer what it wrote.
//   listwatch pg install $DATABASE_URL --table orders
//   DATABASE_URL=postgres://… node examples/orders-api.ts      (copy it out of node_modules: Node runs no TypeScript there)
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import express from 'express'
import { createInformer } from 'listwatch'
import { httpStatus } from 'listwatch/http'
import { postgresSource } from 'listwatch/postgres'
import pg from 'pg'

type Order = { id: string; tenant: string; status: string; updated_at: Date }
const connectionString = process.env['DATABASE_URL']
const pool = new pg.Pool({ connectionString })
pool.on('error', (error) => console.error(error.message)) // An idle connection broke; the pool makes another.
const source = postgresSource<Order>({ connect: () => new pg.Client({ connectionString }), table: 'orders' })
const orders = createInformer({ source, indexes: (ix) => ({ latest: ix.compound((o) => [o.tenant, o.updated_at]) }) })
orders.on('error', (error) => console.error(error.message))
await orders.start().synced({ timeoutMs: 30_000 })
let isStopping = false
const app = express()
app.use(express.json(), (_request, response, next) => {
  if (isStopping) response.set('connection', 'close') // Ends the connections that are kept open.
  next()
})
app.post('/orders', async (request, response) => {
  const tx = await pool.connect()
  try {
    await tx.query('BEGIN')
    const sql = "INSERT INTO orders (tenant, status) VALUES ($1, 'open') RETURNING id"
    const { rows } = await tx.query(sql, [request.body.tenant])
    const mark = await source.mark(tx)
    await tx.query('COMMIT')
    response.set('x-version', mark).status(201).json(rows[0])
  } catch (error) {
    await tx.query('ROLLBACK')
    throw error
  } finally {
    tx.release()
  }
})
app.get('/tenants/:tenant/orders', async (request, response) => {
  const mark = request.get('x-version') // Sent by a client that has just written, to this or another process.
  if (mark !== undefined) await orders.waitFor(mark, { timeoutMs: 1_000 })
  response.json(orders.by.latest([request.params.tenant], { reverse: true, limit: 20 }))
})
app.get('/ready', (_, response) => {
  const { isReady, reason } = orders.health({ silentAfterMs: 30_000 })
  response.status(isReady && !isStopping ? 200 : 503).send(reason)
})
app.use((error: unknown, _request: express.Request, response: express.Response, _next: express.NextFunction) => {
  response.status(httpStatus(error)).send(String(error))
})
const server = app.listen(Number(process.env['PORT'] ?? 3000), () => console.log('listening', server.address()))
server.keepAliveTimeout = 65_000 // Longer than that of the proxy, which must be the one that closes idle connections.
await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')])
isStopping = true
await sleep(Number(process.env['SHUTDOWN_DELAY_MS'] ?? 5_000)) // Until the balancer has noticed, it is answered as ever.
await server[Symbol.asyncDispose]() // Accepts no connection, answers the requests that it has; only then the mirror stops.
await orders.stop().then(() => pool.end())
