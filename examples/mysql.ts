// A cache of a table of MariaDB or MySQL with read-your-writes.
//   npm i listwatch mysql2
//   MYSQL_URL=mysql://root@127.0.0.1:3306/shop node examples/mysql.ts
import { createInformer } from 'listwatch'
import { mysqlSource } from 'listwatch/mysql'
import mysql from 'mysql2/promise'

interface Order {
  readonly id: number
  readonly tenant: string
  readonly total: number
}

const url = process.env['MYSQL_URL'] ?? 'mysql://root@127.0.0.1:3306/shop'
const writer = mysql.createPool(url)
await writer.query('CREATE TABLE IF NOT EXISTS orders (id INT PRIMARY KEY, tenant VARCHAR(40), total DOUBLE NOT NULL)')

const source = mysqlSource<Order>({ connect: () => mysql.createConnection(url), table: 'orders' })
const orders = createInformer({ source, indexes: (ix) => ({ tenant: ix.equal((order) => order.tenant) }) })
orders.on('error', (error) => console.warn(error.message))
try {
  await orders.start().synced({ timeoutMs: 10_000 })
  await writer.query('REPLACE INTO orders VALUES (1, "acme", 9.5), (2, "acme", 20), (3, "other", 5)')
  await orders.waitFor(await source.mark(writer))
  const total = orders.by.tenant('acme').reduce((sum, order) => sum + order.total, 0)
  console.log(`acme has ${orders.by.tenant('acme').length} orders: ${total}`)
} finally {
  await orders.stop()
  await writer.end()
}
