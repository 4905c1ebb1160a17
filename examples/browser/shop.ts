// The data of the dashboard: orders and customers of one history, their join, and the revenue of each tenant.
import { createInformer, derive, groupBy, groupInformers } from 'listwatch'
import { memoryDatabase } from 'listwatch/memory'

interface Order {
  readonly id: string
  readonly tenant: string
  readonly customerId: string
  readonly placedAt: number
  readonly total: number
  readonly status: 'open' | 'paid'
}
export type Row = Order & { readonly customer: string }
export interface Revenue {
  readonly open: number
  readonly total: number
}

const tenants = ['acme', 'birch', 'cedar']
const names = ['Ada', 'Ben', 'Cleo', 'Dan', 'Eve']
// With Postgres the collections are tables: `postgresDatabase({ connect }).table({ table: 'orders' })`.
const shop = memoryDatabase()
const customerSource = shop.collection<{ readonly name: string }>(
  'customers',
  names.map((name, n) => [`${n}`, { name }]),
)
const orderSource = shop.collection<Order>(
  'orders',
  Array.from({ length: 30 }, (_, n) => {
    const [id, tenant] = [`${n + 1}`, tenants[n % 3] ?? '']
    return [id, { id, tenant, customerId: `${n % 5}`, placedAt: n, total: (n * 37) % 100, status: 'open' }]
  }),
)
const customers = createInformer({ source: customerSource })
const orders = createInformer({ source: orderSource })
export const rows = derive({
  from: orders,
  reads: [customers],
  each: (order) => ({ ...order, customer: customers.get(order.customerId)?.name ?? 'unknown' }),
  indexes: (ix) => ({ tenant: ix.equal((row) => row.tenant) }),
})
export const revenue = groupBy({
  index: rows.by.tenant,
  sums: { open: ({ status }) => (status === 'open' ? 1 : 0), total: ({ total }) => total },
  each: (_tenant, { open, total }): Revenue => ({ open, total }),
})
export const all = groupInformers([customers, orders, rows, revenue])
for (const informer of [customers, orders, rows, revenue]) informer.on('error', (error) => console.error(error.message))

/** Returns whether there is such an order. */
export function pay(id: string): boolean {
  const order = orders.get(id)
  if (order !== undefined) shop.commit((tx) => tx.put(orderSource, id, { ...order, status: 'paid' }))
  return order !== undefined
}
