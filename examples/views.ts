// A join, a group and the three largest orders, as informers that follow two others. Without a server: node examples/views.ts
// With Postgres, etcd or Kubernetes only the sources differ (copy it out of node_modules: Node runs no TypeScript there).
import { createInformer, derive, deriveMany, groupBy, groupInformers } from 'listwatch'
import { memorySource } from 'listwatch/memory'

interface Order {
  readonly customer: string
  readonly total: number
}

const orderSource = memorySource<Order>({
  name: 'orders',
  entries: Array.from({ length: 12 }, (_, i) => [`o${i}`, { customer: `c${i % 3}`, total: 10 * i }]),
})
const customerSource = memorySource<{ readonly country: string }>({
  name: 'customers',
  entries: [
    ['c0', { country: 'de' }],
    ['c1', { country: 'us' }],
  ],
})

const orders = createInformer({ source: orderSource, indexes: (ix) => ({ total: ix.ordered((order) => order.total) }) })
const customers = createInformer({ source: customerSource })

const sold = derive({
  from: orders,
  reads: [customers],
  each: ({ customer, total }) => ({ total, country: customers.get(customer)?.country ?? 'unknown' }),
  indexes: (ix) => ({ country: ix.equal((row) => row.country), total: ix.compound((row) => [row.country, row.total]) }),
})
const countries = groupBy({
  index: sold.by.country,
  sums: { total: ({ total }) => total },
  each: (country, { count, total }) => ({
    count,
    total,
    best: sold.by.total([country], { reverse: true, limit: 1 })[0]?.total,
  }),
})
const largest = deriveMany({ reads: [orders], each: () => orders.by.total.entriesIn({ reverse: true, limit: 3 }) })

await using all = groupInformers([orders, customers, sold, countries, largest])
await all.start().synced()
console.log('countries', Object.fromEntries(countries.entries()))

const printed = countries.subscribe({
  add: ({ key, object, origin }) => void (origin === 'initial' || console.log('new', key, object)),
  update: ({ key, object }) => console.log('changed', key, object),
  delete: ({ key }) => console.log('gone', key),
})
await printed.waitFor(customerSource.put('c2', { country: 'de' }), { source: 'customers' })
await printed.waitFor(orderSource.put('o0', { customer: 'c1', total: 999 }), { source: 'orders' })
console.log('largest', [...largest.keys()].toSorted().join(' '))
