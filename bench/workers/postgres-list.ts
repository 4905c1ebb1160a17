// Reads a table once: node postgres-list.ts floor|listwatch|query <url>
import { createInformer } from 'listwatch'
import { postgresSource } from 'listwatch/postgres'
import pg from 'pg'
import { copyDrain } from './copy-drain.ts'

const [contestant = '', connectionString = ''] = process.argv.slice(2)

/** COPY of the whole table, every row thrown away: what the server, the network and the driver cost. */
async function floor(): Promise<number> {
  const client = new pg.Client({ connectionString })
  await client.connect()
  const bytes = await copyDrain(client, 'COPY (SELECT * FROM bench) TO STDOUT')
  await client.end()
  return bytes
}

/** What people do instead: one query, all rows in memory, a Map. */
async function query(): Promise<number> {
  const client = new pg.Client({ connectionString })
  await client.connect()
  const { rows } = await client.query<{ readonly id: string }>('SELECT * FROM bench')
  const map = new Map(rows.map((row) => [row.id, row]))
  await client.end()
  return map.size
}

async function listwatch(): Promise<number> {
  const rows = createInformer({
    source: postgresSource<{ readonly tenant: string; readonly quantity: number }>({
      connect: () => new pg.Client({ connectionString }),
      table: 'bench',
    }),
    indexes: (ix) => ({ tenant: ix.equal((row) => row.tenant), quantity: ix.equal((row) => row.quantity) }),
  })
  await rows.start().synced()
  const { size } = rows
  await rows.stop()
  return size
}

const run = contestant === 'floor' ? floor : contestant === 'query' ? query : listwatch
const start = performance.now()
const size = await run()
console.log(JSON.stringify({ ms: performance.now() - start, size, rssMb: process.memoryUsage().rss / 1e6 }))
process.exit()
