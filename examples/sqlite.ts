// Two processes and one file, without a server: one takes orders, the other one follows them.
//   npm i listwatch                # Node 22.13 or later
//   node examples/sqlite.ts        # follows the orders (copy it out of node_modules: Node runs no TypeScript there)
//   node examples/sqlite.ts 42 9.5 # writes an order
import { DatabaseSync } from 'node:sqlite'
import { createInformer } from 'listwatch'
import { installChangeLog, sqliteSource } from 'listwatch/sqlite'

interface Order {
  readonly id: number
  readonly total: number
}

const path = process.env['ORDERS_DB'] ?? 'orders.db'
const database = new DatabaseSync(path)
database.exec(`PRAGMA busy_timeout = 5000; PRAGMA journal_mode = WAL;
  CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY, total REAL NOT NULL)`)
installChangeLog(database, { table: 'orders' })

const source = sqliteSource<Order>({ connect: () => new DatabaseSync(path, { readOnly: true }), table: 'orders' })
const [id, total] = process.argv.slice(2)
if (id === undefined) await follow()
else {
  database.prepare('REPLACE INTO orders VALUES (?, ?)').run(Number(id), Number(total))
  console.log(`written: ${source.mark(database)}`)
}

async function follow(): Promise<void> {
  const orders = createInformer({ source, indexes: (ix) => ({ total: ix.ordered((order) => order.total) }) })
  orders.on('error', (error) => console.warn(error.message))
  process.once('SIGINT', () => void orders.stop())
  orders.start()
  for await (const { changes } of orders.changes()) {
    for (const { key } of changes) console.log(`order ${key}: ${orders.get(key)?.total ?? 'deleted'}`)
  }
}
