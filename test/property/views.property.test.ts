import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { D2, groupByOperators, groupBy as groups, join, output } from '@tanstack/db-ivm'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Change, derive, deriveMany, groupBy, type Informer } from '../../src/index.js'
import { internalsOf } from '../../src/informer/internals.js'
import { runs } from '../support/property.js'
import { SliceClock, sliceEachStep } from '../support/slice-clock.js'
import { type Customer, type Order, type Shop, type ShopOptions, shop } from '../support/views.js'

/** A history takes 30 ms, or thirty times as long beside other work. One that fails has random steps: others would pass. */
const EACH = { timeout: 60_000 + (runs(40).numRuns - 40) * 1_000, retry: 0 }

type AnyView = Informer<unknown, unknown>
type Rows = Readonly<Record<string, unknown>>

/** Views, and the query that has the same rows: `key` and the columns of the result. */
function viewsOf({ orders, customers }: Shop): ReadonlyMap<string, readonly [AnyView, string]> {
  const left = derive({
    from: orders,
    reads: [customers],
    each: (o) => ({ total: o.total, customer: customers.get(o.customer)?.name ?? null }),
    indexes: (ix) => ({ customer: ix.equal((row) => row.customer) }),
  })
  const inner = derive({
    from: orders,
    reads: [customers],
    each: (o) => {
      const customer = customers.get(o.customer)
      return customer?.country === 'de' ? { total: o.total, name: customer.name } : undefined
    },
    indexes: (ix) => ({ name: ix.equal((row) => row.name), total: ix.ordered((row) => row.total) }),
  })
  const anti = derive({
    from: orders,
    reads: [customers],
    each: (o) => (customers.has(o.customer) ? undefined : { total: o.total }),
  })
  const oneToMany = derive({
    from: customers,
    reads: [orders],
    each: (_c, key) => ({
      n: orders.by.customer(key).length,
      sum: [...orders.by.customer.entries(key)].reduce((sum, [, o]) => sum + o.total, 0),
    }),
  })
  const counts = derive({ from: customers, reads: [orders], each: (_c, key) => ({ n: orders.by.customer.count(key) }) })
  const sums = { sum: (o: Order) => o.total }
  const groups = groupBy({
    index: orders.by.customer,
    sums,
    each: (customer, { count, sum }) => ({
      count,
      sum,
      max: orders.by.latest([customer], { reverse: true, limit: 1 })[0]?.total ?? null,
    }),
  })
  const top = deriveMany({
    reads: [orders],
    each: () =>
      [...orders.by.total.entriesIn({ reverse: true, limit: 3 })].map(([key, o]) => [key, { total: o.total }] as const),
  })
  const lowest = deriveMany({
    reads: [orders],
    each: () =>
      [...orders.by.total.entriesIn({ gt: 1, lte: 5, limit: 2 })].map(([key, o]) => [key, { total: o.total }] as const),
  })
  const between = derive({
    from: customers,
    reads: [orders],
    each: (_c, key) => ({
      n: orders.by.latest([key], { gte: 3, lt: 6 }).length,
      all: orders.by.latest.count([key]),
      three: [...orders.by.latest.entries([key, 3])].length,
    }),
  })
  const tags = deriveMany({
    from: orders,
    each: (o) => (o.tags ?? []).map((tag) => [tag, { total: o.total }] as const),
  })
  const byTag = groupBy({ index: orders.by.tag, sums, each: (_tag, { count, sum }) => ({ count, sum }) })
  const countries = groupBy({ index: customers.by.country, each: (country) => ({ country }) })
  const totals = groupBy({ index: orders.by.total, each: (total, { count }) => ({ total, count }) })
  const tuples = groupBy({ index: orders.by.latest, each: ([, total], { count }) => ({ total, count }) })
  const heads = groupBy({ index: orders.by.ragged, sums, each: (_value, { count, sum }) => ({ count, sum }) })
  const ofView = groupBy({
    index: inner.by.name,
    each: (name, { count }) => ({ count, first: inner.by.total({ limit: 1 })[0]?.total ?? null, name }),
  })
  const diamond = derive({
    from: orders,
    reads: [left, groups, counts],
    each: (o, key) => ({
      name: left.get(key)?.customer ?? null,
      count: groups.get(o.customer)?.count ?? null,
      n: counts.get(o.customer)?.n ?? null,
    }),
  })
  const de = `JOIN customers c ON c.key = o.customer WHERE c.country = 'de'`
  const views = {
    left,
    inner,
    anti,
    oneToMany,
    counts,
    groups,
    top,
    lowest,
    between,
    tags,
    byTag,
    heads,
    countries,
    totals,
    tuples,
    ofView,
    diamond,
  }
  const queries: Readonly<Record<string, string>> = {
    left: 'SELECT o.key, total, c.name customer FROM orders o LEFT JOIN customers c ON c.key = o.customer',
    inner: `SELECT o.key, total, c.name FROM orders o ${de}`,
    anti: 'SELECT key, total FROM orders WHERE customer NOT IN (SELECT key FROM customers)',
    oneToMany:
      'SELECT c.key, count(o.key) n, ifnull(sum(total), 0) sum FROM customers c LEFT JOIN orders o ON o.customer = c.key GROUP BY c.key',
    counts: 'SELECT c.key, count(o.key) n FROM customers c LEFT JOIN orders o ON o.customer = c.key GROUP BY c.key',
    groups: 'SELECT customer key, count(*) count, sum(total) sum, max(total) max FROM orders GROUP BY customer',
    top: 'SELECT key, total FROM orders ORDER BY total DESC, key DESC LIMIT 3',
    lowest: 'SELECT key, total FROM orders WHERE total > 1 AND total <= 5 ORDER BY total, key LIMIT 2',
    between: `SELECT c.key, count(o.key) FILTER (WHERE total >= 3 AND total < 6) n, count(o.key) "all",
         count(o.key) FILTER (WHERE total = 3) three FROM customers c LEFT JOIN orders o ON o.customer = c.key GROUP BY c.key`,
    tags: `SELECT o.key || '/' || t.value key, total FROM orders o, json_each(o.tags) t`,
    byTag: 'SELECT t.value key, count(*) count, sum(total) sum FROM orders o, json_each(o.tags) t GROUP BY t.value',
    heads: `SELECT customer key, count(*) count, sum(total) sum FROM orders GROUP BY customer HAVING max(total) > 3
         UNION ALL
         SELECT customer || '/' || total, count(*), sum(total) FROM orders WHERE total <= 3 GROUP BY customer, total`,
    countries: 'SELECT DISTINCT country key, country FROM customers',
    totals: `SELECT total || '' key, total, count(*) count FROM orders GROUP BY total`,
    tuples: `SELECT customer || '/' || total key, total, count(*) count FROM orders GROUP BY customer, total`,
    ofView: `SELECT c.name key, count(*) count, (SELECT min(total) FROM orders o ${de}) first, c.name FROM orders o ${de} GROUP BY c.name`,
    diamond: `SELECT o.key, c.name, (SELECT count(*) FROM orders p WHERE p.customer = o.customer) count,
         CASE WHEN c.key IS NULL THEN NULL ELSE (SELECT count(*) FROM orders p WHERE p.customer = o.customer) END n
         FROM orders o LEFT JOIN customers c ON c.key = o.customer`,
  }
  return new Map(Object.entries<AnyView>(views).map(([name, view]) => [name, [view, queries[name] ?? '']]))
}

/** The left join and the counts as db-ivm computes them, from the differences of the inputs. */
class Ivm {
  readonly #graph = new D2()
  readonly #orders = this.#graph.newInput<[customer: string, row: readonly [key: string, order: Order]]>()
  readonly #customers = this.#graph.newInput<[key: string, customer: Customer]>()
  readonly #shown = new Map<string, readonly [unknown, string]>()
  readonly #rows = new Map<string, number>()

  constructor() {
    const add = (row: string, times: number): void => void this.#rows.set(row, (this.#rows.get(row) ?? 0) + times)
    this.#orders.pipe(
      join(this.#customers, 'left'),
      output((changes) => {
        for (const [[, [row, customer]], times] of changes.getInner())
          add(`left ${JSON.stringify([row?.[0], { total: row?.[1].total, customer: customer?.name ?? null }])}`, times)
      }),
    )
    this.#orders.pipe(
      groups(([customer]) => ({ customer }), { n: groupByOperators.count() }),
      output((changes) => {
        for (const [[, { customer, n }], times] of changes.getInner())
          add(`counts ${JSON.stringify([customer, n])}`, times)
      }),
    )
    this.#graph.finalize()
  }

  /** The rows of both, after the inputs have become these. */
  rows({ orders, customers }: Shop): readonly string[] {
    for (const [input, entries, rowOf] of [
      [this.#orders, orders.entries(), (key: string, order: Order) => [order.customer, [key, order]]],
      [this.#customers, customers.entries(), (key: string, customer: Customer) => [key, customer]],
    ] as const) {
      const name = input === this.#orders ? 'o' : 'c'
      const left = new Set([...this.#shown.keys()].filter((id) => id.startsWith(name)))
      for (const [key, object] of entries) {
        const [id, text] = [name + key, JSON.stringify(object)]
        const before = this.#shown.get(id)
        if (left.delete(id) && before?.[1] === text) continue
        const row = rowOf(key, object as never)
        input.sendData([...(before === undefined ? [] : [[before[0], -1]]), [row, 1]] as never)
        this.#shown.set(id, [row, text])
      }
      for (const id of left) {
        input.sendData([[this.#shown.get(id)?.[0], -1]] as never)
        this.#shown.delete(id)
      }
    }
    this.#graph.run()
    return [...this.#rows]
      .filter(([, times]) => times > 0)
      .map(([row]) => row)
      .sort()
  }
}

const database = new DatabaseSync(':memory:')
database.exec(
  'CREATE TABLE orders (key TEXT, customer TEXT, total INT, tags TEXT); CREATE TABLE customers (key TEXT, name TEXT, country TEXT)',
)
const prepared = new Map<string, StatementSync>()
function statement(sql: string): StatementSync {
  const known = prepared.get(sql) ?? database.prepare(sql)
  prepared.set(sql, known)
  return known
}

/** Compares the views with the queries over what the inputs show, and with db-ivm. */
class Oracle {
  readonly #shop: Shop
  readonly #views: ReadonlyMap<string, readonly [AnyView, string]>
  readonly #folds = new Map<string, Map<string, unknown>>()
  readonly #expected = new Map<string, string>()
  #shown: readonly unknown[] = []
  /** What each view listed when it was compared with the rows that are expected now. */
  readonly #compared = new Map<string, readonly unknown[]>()
  readonly #ivm = new Ivm()
  #ivmRows: readonly string[] = []
  readonly failures: string[] = []
  looks = 0

  constructor(world: Shop) {
    this.#shop = world
    this.#views = viewsOf(world)
  }

  get views(): readonly AnyView[] {
    return Array.from(this.#views.values(), ([view]) => view)
  }

  /** From now on the views are compared in each turn in which a commit of any informer is visible. */
  follow(): void {
    const look = (): void => {
      try {
        this.assertEqual()
      } catch (error) {
        this.failures.push(String(error))
      }
    }
    for (const each of [this.#shop.orders, this.#shop.customers, ...this.views]) internalsOf(each)?.signal.listen(look)
    for (const each of [this.#shop.orders, this.#shop.customers])
      each.subscribe({ add: look, update: look, delete: look })
    for (const [name, [view]] of this.#views) {
      const fold = new Map<string, unknown>()
      this.#folds.set(name, fold)
      const change = ({ type, key, object, previous }: Change<unknown>): void => {
        if (JSON.stringify(fold.get(key)) !== JSON.stringify(previous))
          this.failures.push(`${name}: previous of ${key}`)
        if (type === 'delete') fold.delete(key)
        else fold.set(key, object)
      }
      view.subscribe({ add: change, update: change, delete: change })
    }
  }

  assertEqual(): void {
    this.looks++
    const shown = [this.#shop.orders.list(), this.#shop.customers.list()]
    // The arrays are the same until an object changes.
    if (shown.some((list, at) => list !== this.#shown[at])) {
      this.#expect()
      this.#ivmRows = this.#ivm.rows(this.#shop)
      this.#compared.clear()
    }
    this.#shown = shown
    const changed = [...this.#views].filter(([name, [view]]) => this.#compared.get(name) !== view.list())
    for (const [name, [view]] of changed) {
      const text = textOf(view.entries())
      // A million calls of expect() would take longer than the views.
      if (text !== this.#expected.get(name)) expect(text, name).toBe(this.#expected.get(name))
      this.#compared.set(name, view.list())
    }
    if (!changed.some(([name]) => name === 'left' || name === 'groups')) return
    const [joined, counted] = ['left', 'groups'].map((name) => [...(this.#views.get(name)?.[0].entries() ?? [])])
    expect(
      [
        ...(joined ?? []).map(([key, row]) => `left ${JSON.stringify([key, row])}`),
        ...(counted ?? []).map(([key, row]) => `counts ${JSON.stringify([key, (row as Rows)['count']])}`),
      ].sort(),
    ).toEqual(this.#ivmRows)
  }

  #expect(): void {
    statement('DELETE FROM orders').run()
    statement('DELETE FROM customers').run()
    for (const [key, { customer, total, tags = [] }] of this.#shop.orders.entries())
      statement('INSERT INTO orders VALUES (?, ?, ?, ?)').run(key, customer, total, JSON.stringify(tags))
    for (const [key, { name, country }] of this.#shop.customers.entries())
      statement('INSERT INTO customers VALUES (?, ?, ?)').run(key, name, country)
    for (const [name, [, query]] of this.#views) {
      const rows = statement(query)
        .all()
        .map((row) => {
          const { key, ...rest } = row as Rows
          return [String(key), rest] as const
        })
      this.#expected.set(name, textOf(rows))
    }
  }

  /** Also the fold of each subscriber. */
  assertAtRest(): void {
    this.#compared.clear()
    this.assertEqual()
    for (const [name, [view]] of this.#views)
      expect(textOf(this.#folds.get(name) ?? []), name).toBe(textOf(view.entries()))
    expect(this.failures).toEqual([])
  }
}

/** The rows in the order of their keys, each with its columns in the order of their names. */
function textOf(rows: Iterable<readonly [key: string, object: unknown]>): string {
  const sorted = [...rows].sort(([a], [b]) => (a < b ? -1 : 1))
  return JSON.stringify(sorted.map(([key, object]) => [key, Object.entries(object as Rows).sort(byName)]))
}

function byName([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : 1
}

const ids = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f')
const orderKeys = fc.constantFrom('1', '2', '3', '4', '5', '6', '7', '8', '9')
const orders = fc.record({
  customer: ids,
  total: fc.integer({ min: 0, max: 7 }),
  tags: fc.uniqueArray(fc.constantFrom('x', 'y', 'z'), { maxLength: 3 }),
})
const customers = fc.record({ name: fc.constantFrom('A', 'B', 'C'), country: fc.constantFrom('de', 'us', 'fr') })

type Write =
  | {
      readonly to: 'order'
      readonly key: string
      readonly object: { customer: string; total: number; tags: string[] } | null
    }
  | { readonly to: 'customer'; readonly key: string; readonly object: { name: string; country: string } | null }

const write: fc.Arbitrary<Write> = fc.oneof(
  fc.record({ to: fc.constant('order' as const), key: orderKeys, object: fc.option(orders, { freq: 3 }) }),
  fc.record({ to: fc.constant('customer' as const), key: ids, object: fc.option(customers, { freq: 3 }) }),
)

type Step =
  | { readonly type: 'writes'; readonly writes: readonly Write[] }
  | { readonly type: 'relist' | 'restore' | 'relist view' | 'corrupt' }

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      type: fc.constant('writes' as const),
      writes: fc.array(write, { minLength: 1, maxLength: 6 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constantFrom('relist', 'restore', 'relist view', 'corrupt') }) },
)

function perform({ orderSource, customerSource, customers: informer }: Shop, step: Step, views: readonly AnyView[]) {
  if (step.type === 'writes') {
    // One transaction of each source.
    orderSource.transaction((tx) => {
      for (const { to, key, object } of step.writes)
        if (to === 'order') object === null ? tx.delete(key) : tx.put(key, object)
    })
    customerSource.transaction((tx) => {
      for (const { to, key, object } of step.writes)
        if (to === 'customer') object === null ? tx.delete(key) : tx.put(key, object)
    })
  } else if (step.type === 'restore') {
    orderSource.restore([
      ['1', { customer: 'a', total: 3, tags: ['x'] }],
      ['9', { customer: 'zz', total: 7, tags: [] }],
    ])
  } else if (step.type === 'relist') {
    orderSource.compact()
    orderSource.disconnect()
    customerSource.disconnect()
  } else if (step.type === 'corrupt') {
    if (informer.has('a')) customerSource.corrupt('a', new Error('bad'))
  } else {
    for (const view of views) view.relist().catch(() => {})
  }
}

const FIRST: ShopOptions<SliceClock> = {
  orders: [
    ['1', { customer: 'a', total: 1, tags: ['x'] }],
    ['2', { customer: 'b', total: 2, tags: [] }],
    ['3', { customer: 'c', total: 3, tags: ['x', 'y'] }],
  ],
  customers: Object.entries({ a: { name: 'A', country: 'de' }, b: { name: 'B', country: 'us' } }),
}

/** Performs the steps on inputs with all views. `arrive` lets each step arrive. */
async function judge(
  options: ShopOptions<SliceClock>,
  steps: readonly Step[],
  arrive: (clock: SliceClock, oracle: Oracle) => Promise<void>,
): Promise<void> {
  const clock = new SliceClock()
  const world = shop<SliceClock>({ ...FIRST, ...options, clock })
  const oracle = new Oracle(world)
  try {
    await world.start(...oracle.views)
    oracle.follow()
    await world.settle()
    for (const each of steps) {
      if (options.slices !== undefined) clock.hold()
      perform(world, each, oracle.views)
      await arrive(clock, oracle)
      oracle.assertEqual()
    }
    await clock.advance(60_000)
    oracle.assertAtRest()
  } finally {
    await clock.release()
    await world.stop()
  }
}

test('[X1][X2][X5][X15] in each turn all views equal their queries over what the inputs show', EACH, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 25 }), (steps) =>
      judge({}, steps, (clock) => clock.advance(0)),
    ),
    runs(40),
  )
})

test('[X2][X3] between the slices of a large commit, readers see all as before the commit', EACH, async () => {
  let looks = 0
  const bySlices = async (clock: SliceClock, oracle: Oracle): Promise<void> => {
    await clock.advance(0)
    for (; clock.isPaused; looks++) {
      oracle.assertEqual()
      await clock.slice()
    }
    await clock.release()
  }
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 6 }), (steps) =>
      judge({ slices: sliceEachStep(0) }, steps, bySlices),
    ),
    runs(20),
  )
  expect(looks).toBeGreaterThan(100)
})
