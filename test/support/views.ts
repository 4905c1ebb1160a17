import { expect, onTestFinished } from 'vitest'
import { type MemorySource, memorySource } from '../../adapters/memory/index.js'
import { createInformer, type IndexBuilder, type Informer, type Lifecycle, type SourceError } from '../../src/index.js'
import type { Slices } from '../../src/util/steps.js'
import { SeededRandom } from '../../testing/seeded-random.js'
import { VirtualClock } from '../../testing/virtual-clock.js'

export type Order = { readonly customer: string; readonly total: number; readonly tags?: readonly string[] }
export type Customer = { readonly name: string; readonly country: string }

const orderIndexes = (ix: IndexBuilder<Order>) => ({
  customer: ix.equal((order) => order.customer),
  tag: ix.multi((order) => order.tags ?? []),
  total: ix.ordered((order) => order.total),
  latest: ix.compound((order) => [order.customer, order.total]),
  /** Some tuples are heads of others. */
  ragged: ix.compound<readonly [string, number?]>((order) =>
    order.total > 3 ? [order.customer] : [order.customer, order.total],
  ),
})
const customerIndexes = (ix: IndexBuilder<Customer>) => ({ country: ix.equal((customer) => customer.country) })

export type OrderIndexes = ReturnType<typeof orderIndexes>
export type CustomerIndexes = ReturnType<typeof customerIndexes>

export interface Shop<C extends VirtualClock = VirtualClock> {
  readonly clock: C
  readonly orderSource: MemorySource<Order>
  readonly customerSource: MemorySource<Customer>
  readonly orders: Informer<Order, OrderIndexes>
  readonly customers: Informer<Customer, CustomerIndexes>
  /** Starts the inputs and these views, and waits until all are live. */
  start(...views: readonly Informer<unknown, unknown>[]): Promise<void>
  /** Waits until all that was written has arrived. */
  settle(): Promise<void>
  /** Stops all informers that were started. No timer may be left. */
  stop(): Promise<void>
}

export interface ShopOptions<C extends VirtualClock> {
  readonly orders?: Iterable<readonly [string, Order]>
  readonly customers?: Iterable<readonly [string, Customer]>
  readonly slices?: Slices
  readonly clock?: C
  readonly onAccessLost?: 'keep' | 'clear'
}

/** Two memory sources with an informer each, in virtual time. At the end all are stopped, and no timer may be left. */
export function shop<C extends VirtualClock = VirtualClock>(options: ShopOptions<C> = {}): Shop<C> {
  const clock = options.clock ?? (new VirtualClock() as C)
  const orderSource = memorySource<Order>({ name: 'orders', entries: options.orders ?? [] })
  const customerSource = memorySource<Customer>({ name: 'customers', entries: options.customers ?? [] })
  const { slices, onAccessLost = 'keep' } = options
  const common = { clock, random: new SeededRandom(1), onAccessLost, ...(slices && { slices }) }
  const orders = createInformer({ source: orderSource, indexes: orderIndexes, ...common })
  const customers = createInformer({ source: customerSource, indexes: customerIndexes, ...common })
  const started: Lifecycle[] = [orders, customers]
  for (const each of [orders, customers]) each.on('error', () => {})
  const stop = async (): Promise<void> => {
    const stopped = Promise.all(started.map((each) => each.stop()))
    await clock.advance(1_000)
    await stopped
    expect(clock.sleeping, 'timers that are left after stop()').toBe(0)
  }
  onTestFinished(stop)
  const settle = async (): Promise<void> => clock.advance(0)
  const start = async (...views: readonly Informer<unknown, unknown>[]): Promise<void> => {
    started.push(...views)
    for (const each of [orders, customers, ...views]) each.start()
    const live = [orders, customers, ...views].map((each) => each.synced())
    await clock.advance(0)
    await Promise.all(live)
    await clock.advance(0)
  }
  return { clock, orderSource, customerSource, orders, customers, start, settle, stop }
}

/** The objects of an informer by key. */
export function contentOf<T>(informer: Pick<Informer<T>, 'entries'>): ReadonlyMap<string, T> {
  return new Map([...informer.entries()].sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** Collects the errors that an informer reports. */
export function errorsOf(informer: Informer<unknown, unknown>): SourceError[] {
  const errors: SourceError[] = []
  informer.on('error', (error) => errors.push(error))
  return errors
}
