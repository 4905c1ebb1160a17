/**
 * Collections of TanStack DB over informers.
 *
 * @module listwatch/tanstack-db
 */

export type { CollectionSync } from './collection-filling.js'
export {
  type InformerCollectionConfig,
  type InformerCollectionOptions,
  informerCollectionOptions,
} from './informer-collection-options.js'
