import { describe, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import type { Sink, SourceErrorCode } from '../../src/adapter.js'
import {
  type Change,
  type ChangeStream,
  type Controller,
  createInformer,
  type Deleted,
  DeltaFIFO,
  derive,
  deriveMany,
  type FailingKey,
  groupBy,
  groupInformers,
  Indexer,
  type Informer,
  type Lifecycle,
  type ListerWatcher,
  Reflector,
  SourceError,
  type SourceSet,
  type Status,
  type StoreView,
  sourceSet,
  type Version,
} from '../../src/index.js'
import { memorySource } from '../../testing/index.js'

interface Order {
  readonly id: string
  readonly tenant: string
  readonly region: string | null
  readonly tags: string[]
  readonly createdAt: Date
}

declare const source: ListerWatcher<Order>
const orders = createInformer({
  source,
  indexes: (ix) => ({
    tenant: ix.equal((o) => o.tenant),
    region: ix.equal((o) => o.region),
    tag: ix.multi((o) => o.tags),
    created: ix.ordered((o) => o.createdAt),
    latest: ix.compound((o) => [o.tenant, o.createdAt]),
  }),
})

describe('createInformer', () => {
  test('takes the type of the objects from the source', () => {
    expectTypeOf(createInformer({ source }).get('1')).toEqualTypeOf<Order | undefined>()
    expectTypeOf(createInformer({ source }).list()).toEqualTypeOf<readonly Order[]>()
  })

  test('takes it from transform if there is one', () => {
    const slim = createInformer({
      source,
      transform: (o, key) => ({ key, tenant: o.tenant }),
      indexes: (ix) => ({ tenant: ix.equal((o) => o.tenant) }),
    })
    expectTypeOf(slim.get('1')).toEqualTypeOf<{ key: string; tenant: string } | undefined>()
    expectTypeOf(slim.by.tenant('x')).toEqualTypeOf<readonly { key: string; tenant: string }[]>()
  })

  test('infers the parameters of its callbacks', () => {
    createInformer({
      source,
      transform: (o, key) => {
        expectTypeOf(o).toEqualTypeOf<Order>()
        expectTypeOf(key).toBeString()
        return o
      },
      equals: (a, b) => {
        expectTypeOf(a).toEqualTypeOf<Order>()
        return a.id === b.id
      },
      indexes: (ix) => ({
        one: ix.equal((o, key) => {
          expectTypeOf(o).toEqualTypeOf<Order>()
          expectTypeOf(key).toBeString()
          return key
        }),
      }),
    })
  })

  test('refuses a misspelt option', () => {
    // @ts-expect-error it is indexes
    createInformer({ source, indices: () => ({}) })
  })
})

describe('a schema', () => {
  const Limits = z.object({ rps: z.number().default(100) })
  const unknown = memorySource<unknown>()

  test('determines the type of the objects', () => {
    const limits = createInformer({
      source: unknown,
      schema: Limits,
      indexes: (ix) => ({ rps: ix.ordered((o) => o.rps) }),
    })
    expectTypeOf(limits.get('1')).toEqualTypeOf<{ rps: number } | undefined>()
    expectTypeOf(limits.by.rps({ gte: 5 })).toEqualTypeOf<readonly { rps: number }[]>()
  })

  test('determines the parameter of transform', () => {
    const limits = createInformer({
      source: unknown,
      schema: Limits,
      transform: ({ rps }) => (rps > 0 ? [rps] : undefined),
    })
    expectTypeOf(limits.get('1')).toEqualTypeOf<number[] | undefined>()
  })

  test('that is not a Standard Schema is refused', () => {
    // @ts-expect-error a function is not a Standard Schema
    createInformer({ source: unknown, schema: () => true })
  })
})

describe('several sources', () => {
  test('are of one type, which is that of the objects', () => {
    const set = sourceSet({ eu: source, us: source })
    expectTypeOf(set).toEqualTypeOf<SourceSet<Order>>()
    const all = createInformer({ source: set, indexes: (ix) => ({ tenant: ix.equal((o) => o.tenant) }) })
    expectTypeOf(all.by.tenant('x')).toEqualTypeOf<readonly Order[]>()
    expectTypeOf(all.status.sources?.['eu']).toEqualTypeOf<Status | undefined>()
  })

  test('a group is what can be started and stopped, of informers of any type', () => {
    const group = groupInformers([orders, createInformer({ source: memorySource<number>() })], { maxRelists: 2 })
    expectTypeOf(group).toExtend<Lifecycle>()
    expectTypeOf(group.stop({ drainMs: 1_000 })).toEqualTypeOf<Promise<void>>()
  })
})

describe('by', () => {
  test('takes the type of an index’s values', () => {
    expectTypeOf(orders.by.tenant).parameter(0).toBeString()
    expectTypeOf(orders.by.region).parameter(0).toBeString()
    expectTypeOf(orders.by.tag('x')).toEqualTypeOf<readonly Order[]>()
    expectTypeOf(orders.by.tenant.values()).toEqualTypeOf<Iterable<string>>()
    expectTypeOf(orders.by.created.values()).toEqualTypeOf<Iterable<Date>>()
  })

  test('ranges are of the same type', () => {
    expectTypeOf(orders.by.created({ gte: new Date(), reverse: true, limit: 5 })).toEqualTypeOf<readonly Order[]>()
    // @ts-expect-error a number is not a Date
    orders.by.created({ gte: 5 })
    // @ts-expect-error a prefix is for strings
    orders.by.created({ prefix: 'x' })
  })

  test('a compound index takes a prefix of its tuple, and a range', () => {
    orders.by.latest(['acme'], { lt: new Date(), reverse: true, limit: 20 })
    orders.by.latest(['acme', new Date()])
    orders.by.latest([], { gte: 'acme' })
    orders.by.latest.count(['acme'])
    orders.by.latest.entries(['acme'])
    // @ts-expect-error the first component is a string
    orders.by.latest([5])
    // @ts-expect-error the second component is a Date
    orders.by.latest(['acme'], { gte: '2026-01-15' })
    // @ts-expect-error a bound of the first component is a string
    orders.by.latest([], { gte: new Date() })
  })

  test('the tuple of a compound index may contain null and undefined, which queries do not accept', () => {
    const regional = createInformer({
      source,
      indexes: (ix) => ({
        latest: ix.compound((o) => [o.region, o.tags[0], o.createdAt]),
        some: ix.compound((o) => (o.region === null ? undefined : [o.region, o.tenant])),
        either: ix.compound((o) => (o.region === null ? [o.tenant] : [o.tenant, o.region])),
      }),
    })
    expectTypeOf(regional.by.latest.count).parameter(0).toEqualTypeOf<Partial<readonly [string, string, Date]>>()
    expectTypeOf(regional.by.some.count).parameter(0).toEqualTypeOf<Partial<readonly [string, string]>>()
    regional.by.either(['acme'])
    regional.by.either(['acme', 'eu'])
    expectTypeOf(regional.by.latest.values()).toEqualTypeOf<Iterable<readonly [string, string, Date]>>()
    regional.subscribe({}, { where: { latest: ['eu', 'new', new Date()] } })
    // @ts-expect-error undefined is in no index
    regional.by.latest([undefined])
    // @ts-expect-error an array is not a scalar
    createInformer({ source, indexes: (ix) => ({ tags: ix.compound((o) => [o.tenant, o.tags]) }) })
  })
})

describe('handlers', () => {
  test('get one change of their kind', () => {
    orders.subscribe({
      add: (change) => {
        expectTypeOf(change.object).toEqualTypeOf<Order>()
        expectTypeOf(change.previous).toEqualTypeOf<undefined>()
      },
      update: ({ object, previous, version, origin }) => {
        expectTypeOf(object).toEqualTypeOf<Order>()
        expectTypeOf(previous).toEqualTypeOf<Order>()
        expectTypeOf(version).toEqualTypeOf<Version | undefined>()
        expectTypeOf(origin).toEqualTypeOf<'initial' | 'watch' | 'relist' | 'resync' | 'access-lost'>()
      },
      delete: (change) => {
        expectTypeOf(change).toEqualTypeOf<Deleted<Order>>()
        expectTypeOf(change.finalState).toEqualTypeOf<'known' | 'unknown'>()
      },
    })
  })

  test('`where` has the types of the indexes and their values', () => {
    orders.subscribe({}, { where: { tenant: 'acme', latest: ['acme', new Date()] } })
  })

  test('filter gets object and key', () => {
    orders.changes({
      filter: (o, key) => {
        expectTypeOf(o).toEqualTypeOf<Order>()
        return key === o.id
      },
    })
  })

  test('a change is told apart by its type', () => {
    const change = {} as Change<Order>
    if (change.type === 'update') expectTypeOf(change.previous).toEqualTypeOf<Order>()
    if (change.type === 'add') expectTypeOf(change.previous).toEqualTypeOf<undefined>()
    if (change.type !== 'delete') expectTypeOf(change).not.toHaveProperty('finalState')
  })
})

describe('following', () => {
  test('changes are an async iterable of batches, and a subscription', async () => {
    expectTypeOf(orders.changes()).toEqualTypeOf<ChangeStream<Order>>()
    for await (const batch of orders.changes()) {
      expectTypeOf(batch.changes).toEqualTypeOf<readonly Change<Order>[]>()
      expectTypeOf(batch.isSynced).toBeBoolean()
    }
  })

  test('reconcile gets key and context', () => {
    const controller = orders.reconcile(
      async (key, { object, lastObject, gone, reason, attempt, signal, requeueAfter }) => {
        expectTypeOf(key).toBeString()
        expectTypeOf(object).toEqualTypeOf<Order | undefined>()
        expectTypeOf(lastObject).toEqualTypeOf<Order | undefined>()
        expectTypeOf(gone).toEqualTypeOf<'deleted' | 'out-of-scope' | 'source-removed' | 'unknown' | undefined>()
        expectTypeOf(reason).toEqualTypeOf<
          'changed' | 'enqueued' | 'watches' | 'gained' | 'initial' | 'retry' | 'requeued' | 'resync'
        >()
        expectTypeOf(attempt).toBeNumber()
        expectTypeOf(signal).toEqualTypeOf<AbortSignal>()
        requeueAfter(5)
      },
    )
    expectTypeOf(controller).toEqualTypeOf<Controller>()
    expectTypeOf(controller.failing).toEqualTypeOf<ReadonlyMap<string, FailingKey>>()
    orders.reconcile(async () => {}, { retry: { minMs: 10, maxMs: 100, maxAttempts: 3 } })
    const pods = createInformer({ source: memorySource<{ readonly node: string }>() })
    orders.reconcile(async () => {}, {
      after: [pods],
      filter: (order) => order.tenant === 'acme',
      rateLimit: { perSecond: 5 },
      priority: (key, reason) => (reason === 'changed' ? key.length : 0),
      watches: [
        {
          informer: pods,
          keys: (pod) => {
            expectTypeOf(pod.node).toBeString()
            return [pod.node]
          },
        },
        { informer: orders, keys: (order, key) => [order.tenant, key] },
      ],
    })
    // @ts-expect-error a pod has no tenant
    orders.reconcile(async () => {}, { watches: [{ informer: pods, keys: (pod) => [pod.tenant] }] })
    // @ts-expect-error a controller has no delivery
    orders.reconcile(async () => {}, { delivery: 'latest' })
    // @ts-expect-error it must be async
    orders.reconcile(() => {})
  })

  test('on knows its events', () => {
    orders.on('error', (error) => expectTypeOf(error).toEqualTypeOf<SourceError>())
    orders.on('status', (status, previous) => {
      expectTypeOf(status).toEqualTypeOf<Status>()
      expectTypeOf(previous).toEqualTypeOf<Status>()
    })
    // @ts-expect-error there is no such event
    orders.on('change', () => {})
  })

  test('addIndex returns the index', async () => {
    const byRegion = await orders.addIndex('byRegion', (ix) => ix.equal((o) => o.region))
    expectTypeOf(byRegion('eu')).toEqualTypeOf<readonly Order[]>()
  })

  test('a snapshot reads as the informer does, and is disposable', () => {
    expectTypeOf(orders.snapshot().by.tenant('x')).toEqualTypeOf<readonly Order[]>()
    expectTypeOf(orders.snapshot()).toExtend<Disposable>()
  })
})

describe('an informer is assignable to less specific types', () => {
  test('one with indexes is assignable to one without indexes', () => {
    expectTypeOf(orders).toExtend<Informer<Order>>()
    expectTypeOf(orders).toExtend<StoreView<Order>>()
    expectTypeOf(orders).toExtend<Lifecycle>()
    expectTypeOf(orders).toExtend<AsyncDisposable>()
  })

  test('nothing of it can be assigned to', () => {
    // @ts-expect-error the list is read-only
    orders.list().length = 0
    // @ts-expect-error the version is read-only
    orders.version = '5'
  })
})

describe('by hand', () => {
  test('an indexer and a DeltaFIFO are sinks', () => {
    expectTypeOf<Indexer<Order>>().toExtend<Sink<Order>>()
    expectTypeOf<DeltaFIFO<Order>>().toExtend<Sink<Order>>()
    expectTypeOf(Reflector<Order>).toBeConstructibleWith(
      source,
      new DeltaFIFO<Order>({ knownObjects: new Indexer<Order>() }),
    )
  })
})

describe('errors', () => {
  test('have one class with a closed list of codes', () => {
    expectTypeOf(new SourceError('no', { code: 'UNAVAILABLE' }).code).toEqualTypeOf<SourceErrorCode>()
    // @ts-expect-error not a code
    new SourceError('no', { code: 'BROKEN' })
    // @ts-expect-error a code is needed
    new SourceError('no', {})
  })
})

describe('views', () => {
  const owners = createInformer({ source: {} as ListerWatcher<{ readonly email: string }> })

  test('derive takes the type of the objects from `from`, and of the results from `each`', () => {
    const view = derive({
      from: orders,
      reads: [owners],
      each: (order, key) => {
        expectTypeOf(order).toEqualTypeOf<Order>()
        expectTypeOf(key).toEqualTypeOf<string>()
        return order.region === null ? undefined : { email: owners.get(order.tenant)?.email, region: order.region }
      },
      indexes: (ix) => ({ region: ix.equal((row) => row.region) }),
    })
    expectTypeOf(view.get('1')).toEqualTypeOf<{ email: string | undefined; region: string } | undefined>()
    expectTypeOf(view.by.region).parameter(0).toEqualTypeOf<string>()
    expectTypeOf(view).toExtend<Informer<{ email: string | undefined; region: string }, unknown>>()
    const above = derive({ from: view, each: (row) => row.region })
    expectTypeOf(above.list()).toEqualTypeOf<readonly string[]>()
  })

  test('groupBy takes the type of the value from the index', () => {
    const groups = groupBy({
      index: orders.by.latest,
      sums: { days: (order) => order.createdAt.getTime() / 86_400_000 },
      each: (value, { count, days }) => {
        expectTypeOf(value).toEqualTypeOf<readonly [string, Date]>()
        expectTypeOf(count).toEqualTypeOf<number>()
        expectTypeOf(days).toEqualTypeOf<number>()
        return { at: value[1] }
      },
    })
    expectTypeOf(groups.get('x')).toEqualTypeOf<{ at: Date } | undefined>()
    expectTypeOf(groupBy({ index: orders.by.tag, each: (tag) => ({ tag }) }).get('x')).toEqualTypeOf<
      { tag: string } | undefined
    >()
  })

  test('deriveMany takes pairs, and the entries of an index', () => {
    const tags = deriveMany({ from: orders, each: (order) => order.tags.map((tag) => [tag, { tag }] as const) })
    expectTypeOf(tags.get('x')).toEqualTypeOf<{ readonly tag: string } | undefined>()
    const first = deriveMany({ reads: [orders], each: () => orders.by.created.entriesIn({ limit: 3 }) })
    expectTypeOf(first.get('x')).toEqualTypeOf<Order | undefined>()
  })

  test('wrong options are refused', () => {
    // @ts-expect-error an index is not an informer
    derive({ from: orders.by.tenant, each: () => ({}) })
    // @ts-expect-error the results are pairs
    deriveMany({ from: orders, each: (order) => order.tags })
    // @ts-expect-error an informer is not an index
    groupBy({ index: orders, each: () => ({}) })
  })
})
