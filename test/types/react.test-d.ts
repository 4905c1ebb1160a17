import { describe, expectTypeOf, test } from 'vitest'
import { useObject, useObjects, useStatus } from '../../bindings/react/index.js'
import { createInformer, type Status } from '../../src/index.js'
import { memorySource } from '../../testing/index.js'

interface Order {
  readonly tenant: string
  readonly tags: string[]
  readonly paid: boolean
  readonly createdAt: Date
}

const orders = createInformer({
  source: memorySource<Order>(),
  indexes: (ix) => ({
    tenant: ix.equal((o) => o.tenant),
    tag: ix.multi((o) => o.tags),
    paid: ix.equal((o) => o.paid),
    created: ix.ordered((o) => o.createdAt),
    tenantInOrder: ix.ordered((o) => o.tenant),
    latest: ix.compound((o) => [o.tenant, o.createdAt]),
  }),
})

describe('useObjects', () => {
  test('returns the objects of the informer', () => {
    expectTypeOf(useObjects(orders)).toEqualTypeOf<readonly Order[]>()
    expectTypeOf(useObjects(orders.by.tenant, 'acme')).toEqualTypeOf<readonly Order[]>()
    expectTypeOf(useObjects(orders.by.tag, 'new')).toEqualTypeOf<readonly Order[]>()
    expectTypeOf(useObjects(orders.by.paid, true)).toEqualTypeOf<readonly Order[]>()
    expectTypeOf(useObjects(orders.by.created)).toEqualTypeOf<readonly Order[]>()
    expectTypeOf(useObjects(orders.by.created, { gte: new Date(), limit: 5 })).toEqualTypeOf<readonly Order[]>()
    expectTypeOf(useObjects(orders.by.tenantInOrder, { prefix: 'a' })).toEqualTypeOf<readonly Order[]>()
    expectTypeOf(useObjects(orders.by.latest, ['acme'], { reverse: true })).toEqualTypeOf<readonly Order[]>()
    expectTypeOf(useObjects(orders.by.latest, ['acme', new Date()])).toEqualTypeOf<readonly Order[]>()
  })

  test('refuses the value of another type, and a missing one', () => {
    // @ts-expect-error a tenant is a string
    useObjects(orders.by.tenant, 5)
    // @ts-expect-error the value is missing
    useObjects(orders.by.tenant)
    // @ts-expect-error it is a boolean
    useObjects(orders.by.paid, 'yes')
  })

  test('refuses bounds of another type', () => {
    // @ts-expect-error the values are dates
    useObjects(orders.by.created, { gte: 5 })
    // @ts-expect-error a date has no prefix
    useObjects(orders.by.created, { prefix: 'a' })
    // @ts-expect-error the first component is a string
    useObjects(orders.by.latest, [5])
    // @ts-expect-error it is limit
    useObjects(orders.by.latest, ['acme'], { limits: 5 })
  })

  test('refuses an index that the informer does not have', () => {
    // @ts-expect-error there is no index of this name
    useObjects(orders.by.region, 'eu')
  })
})

test('useObject returns an object or undefined, also without a key', () => {
  expectTypeOf(useObject(orders, '1')).toEqualTypeOf<Order | undefined>()
  expectTypeOf(useObject(orders, undefined)).toEqualTypeOf<Order | undefined>()
  // @ts-expect-error a key is a string
  useObject(orders, 1)
})

test('useStatus returns the status', () => {
  expectTypeOf(useStatus(orders)).toEqualTypeOf<Status>()
})
