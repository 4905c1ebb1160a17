// A join of orders and customers: node views.ts changes|large <orders>
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { D2, join, output } from '@tanstack/db-ivm'
import { createInformer, derive, type ListerWatcher } from 'listwatch'
import type { WatchBatch } from 'listwatch/adapter'
import { busyMs, nsEach } from './busy.ts'
import { longestPause } from './gc-pauses.ts'

interface Order {
  readonly customer: string
  readonly total: number
}
interface Customer {
  readonly name: string
}

const [what = 'changes', count = '200000'] = process.argv.slice(2)
const ORDERS = Number(count)
/** All orders of a large commit have one customer. */
const CUSTOMERS = what === 'large' ? 1 : ORDERS
const EVENTS = 4_000
const ROUNDS = 15

/** A source of `size` objects whose changes the program sends. */
function sourceOf<T>(name: string, size: number, objectAt: (at: number) => T) {
  let version = 1
  let deliver: ((batch: WatchBatch<T>) => void) | undefined
  const waiting: WatchBatch<T>[] = []
  const source: ListerWatcher<T> = {
    name,
    heartbeatMs: 600_000,
    hasReached: (at, mark) => Number(at) >= Number(mark),
    async *list({ pageSize }) {
      for (let at = 0; at < size; at += pageSize) {
        const length = Math.min(pageSize, size - at)
        yield {
          events: Array.from({ length }, (_, nth) => ({
            type: 'put',
            key: `${name}-${at + nth}`,
            object: objectAt(at + nth),
          })),
        }
        await new Promise(setImmediate)
      }
      yield { events: [], version: '1' }
    },
    async *watch({ signal }) {
      const stopped = new Promise<never>((_resolve, reject) => signal.addEventListener('abort', reject, { once: true }))
      for (;;) {
        const next = waiting.shift()
        if (next !== undefined) yield next
        else
          yield await Promise.race([
            stopped,
            new Promise<WatchBatch<T>>((resolve) => {
              deliver = resolve
            }),
          ])
      }
    },
  }
  const send = (at: number, object: T): string => {
    const batch: WatchBatch<T> = {
      events: [{ type: 'put', key: `${name}-${at}`, object }],
      version: String(++version),
    }
    const to = deliver
    deliver = undefined
    if (to === undefined) waiting.push(batch)
    else to(batch)
    return batch.version
  }
  return { source, send }
}

/** The key is one string. Joined by `+` it would be two until it is first read, so that a view would add to its input. */
const customerOf = (at: number): string => ['customer', at % CUSTOMERS].join('-')
const orderOf = (at: number, total = at): Order => ({ customer: customerOf(at), total })
const orderFeed = sourceOf('order', ORDERS, orderOf)
const customerFeed = sourceOf('customer', CUSTOMERS, (at): Customer => ({ name: `name ${at}` }))

function joinOf() {
  const orders = createInformer({ source: orderFeed.source, audit: false })
  const customers = createInformer({ source: customerFeed.source, audit: false })
  const view = derive({
    from: orders,
    reads: [customers],
    each: (order) => ({ total: order.total, name: customers.get(order.customer)?.name }),
  })
  return { orders, customers, view }
}

function collected(): number {
  // The memory of typed arrays is given back after the collection that has found them.
  for (let round = 0; round < 3; round++) globalThis.gc?.()
  return process.memoryUsage().heapUsed + process.memoryUsage().external
}

let seed = 1
function below(limit: number): number {
  seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0
  return Math.floor((seed / 2 ** 32) * limit)
}

/** The same join by hand: Maps, and a Map of the keys of each customer. */
function byHand() {
  const orders = new Map<string, Order>()
  const customers = new Map<string, Customer>()
  const ofCustomer = new Map<string, Set<string>>()
  const joined = new Map<string, { readonly total: number; readonly name: string | undefined }>()
  const put = (key: string, order: Order): void => {
    const before = orders.get(key)
    orders.set(key, order)
    if (before?.customer !== order.customer) {
      if (before !== undefined) ofCustomer.get(before.customer)?.delete(key)
      const keys = ofCustomer.get(order.customer) ?? new Set()
      ofCustomer.set(order.customer, keys.add(key))
    }
    joined.set(key, { total: order.total, name: customers.get(order.customer)?.name })
  }
  for (let at = 0; at < CUSTOMERS; at++) customers.set(`customer-${at}`, { name: `name ${at}` })
  for (let at = 0; at < ORDERS; at++) put(`order-${at}`, orderOf(at))
  return { put, joined }
}

/** The same join by db-ivm, the engine of TanStack DB. It keeps copies of both inputs, and has no indexes. */
function byIvm() {
  const graph = new D2()
  const orders = graph.newInput<[customer: string, row: readonly [key: string, order: Order]]>()
  const customers = graph.newInput<[customer: string, object: Customer]>()
  const current = new Map<string, Order>()
  const joined = new Map<string, { readonly total: number; readonly name: string | undefined }>()
  orders.pipe(
    join(customers, 'left'),
    output((changes) => {
      for (const [[, [row, customer]], count] of changes.getInner())
        if (row !== null && count > 0) joined.set(row[0], { total: row[1].total, name: customer?.name })
    }),
  )
  graph.finalize()
  const put = (key: string, order: Order): void => {
    const before = current.get(key)
    current.set(key, order)
    const added: [[string, readonly [string, Order]], number] = [[order.customer, [key, order]], 1]
    orders.sendData(before === undefined ? [added] : [[[before.customer, [key, before]], -1], added])
    graph.run()
  }
  customers.sendData(Array.from({ length: CUSTOMERS }, (_, at) => [[`customer-${at}`, { name: `name ${at}` }], 1]))
  for (let at = 0; at < ORDERS; at++) put(`order-${at}`, orderOf(at))
  return { put, joined }
}

if (what === 'changes') {
  const { orders, customers, view } = joinOf()
  orders.start()
  await orders.synced()
  const hand = byHand()
  const ivm = byIvm()
  const change = async (after: { waitFor(version: string): Promise<void> }): Promise<number> =>
    nsEach(EVENTS, async () => {
      let last = ''
      for (let i = 0; i < EVENTS; i++) {
        const at = below(ORDERS)
        last = orderFeed.send(at, orderOf(at, below(1_000_000)))
      }
      await after.waitFor(last)
    })
  const without: number[] = []
  const manual: number[] = []
  const peer: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    without.push(await change(orders))
    for (const [times, { put }] of [
      [manual, hand],
      [peer, ivm],
    ] as const) {
      times.push(
        await nsEach(EVENTS, () => {
          for (let i = 0; i < EVENTS; i++) {
            const at = below(ORDERS)
            put(`order-${at}`, orderOf(at, below(1_000_000)))
          }
        }),
      )
    }
  }
  customers.start()
  await customers.synced()
  const bare = collected()
  view.start()
  await view.synced()
  const all = collected()
  const results = Array.from(view.entries(), ([, row]) => ({ ...row }))
  const bytes = (all - bare - (collected() - all)) / results.length + 8 // The array of the copies has 8 bytes for each.
  const withView: number[] = []
  const waits = { waitFor: (version: string) => view.waitFor(version, { source: 'order' }) }
  for (let round = 0; round < ROUNDS; round++) withView.push(await change(waits))
  if (ivm.joined.size !== ORDERS) throw new Error(`db-ivm has joined ${ivm.joined.size} rows`)
  console.log(JSON.stringify({ without, withView, manual, peer, bytes }))
  await Promise.all([view.stop(), orders.stop(), customers.stop()])
} else {
  const { orders, customers, view } = joinOf()
  orders.start()
  customers.start()
  await Promise.all([orders.synced(), customers.synced()])
  globalThis.gc?.()
  const measured = async (work: () => Promise<unknown>) => {
    const delays = monitorEventLoopDelay({ resolution: 1 })
    await new Promise((resolve) => setTimeout(resolve, 50))
    delays.enable()
    const since = performance.now()
    const before = busyMs()
    await work()
    const seconds = (busyMs() - before) / 1_000
    await new Promise((resolve) => setTimeout(resolve, 20))
    delays.disable()
    return { seconds, longestMs: delays.max / 1e6, pauseMs: longestPause(since, performance.now()) }
  }
  const first = await measured(() => view.start().synced())
  let looks = 0
  let torn = 0
  const look = setInterval(() => {
    looks++
    const name = customers.get('customer-0')?.name
    for (let i = 0; i < 20; i++) if (view.get(`order-${below(ORDERS)}`)?.name !== name) torn++
  }, 1)
  const touched = await measured(() => {
    const version = customerFeed.send(0, { name: 'another' })
    return view.waitFor(version, { source: 'customer' })
  })
  clearInterval(look)
  console.log(JSON.stringify({ first, touched, looks, torn }))
  await Promise.all([view.stop(), orders.stop(), customers.stop()])
}
