import { createCollection } from '@tanstack/db'
import { expectTypeOf, test } from 'vitest'
import { informerCollectionOptions } from '../../bindings/tanstack-db/index.js'
import { createInformer } from '../../src/index.js'
import { memorySource } from '../../testing/index.js'

interface Order {
  readonly id: string
  readonly tenant: string
}

const informer = createInformer({
  source: memorySource<Order>(),
  indexes: (ix) => ({ tenant: ix.equal((o) => o.tenant) }),
})

test('createCollection takes the type of the rows from the informer', () => {
  const collection = createCollection(informerCollectionOptions({ informer, where: { tenant: 'acme' } }))
  expectTypeOf(collection.toArray[0]?.tenant).toEqualTypeOf<string | undefined>()
  expectTypeOf(collection.get('1')?.id).toEqualTypeOf<string | undefined>()
  expectTypeOf(collection.utils.waitFor('7')).toEqualTypeOf<Promise<void>>()
  createCollection({ ...informerCollectionOptions({ informer, getKey: ({ id }) => id }), gcTime: 0 })
})

test('informerCollectionOptions refuses a wrong index, value and key', () => {
  // @ts-expect-error there is no index of this name
  informerCollectionOptions({ informer, where: { region: 'eu' } })
  // @ts-expect-error a tenant is a string
  informerCollectionOptions({ informer, where: { tenant: 5 } })
  // @ts-expect-error a key is a string
  informerCollectionOptions({ informer, getKey: () => 5 })
})
