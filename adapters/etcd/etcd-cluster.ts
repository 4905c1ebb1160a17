import {
  checkClusterOptions,
  checkCollectionOptions,
  type EtcdClusterOptions,
  type EtcdCollectionOptions,
} from './etcd-options.js'
import { type EtcdSource, rangeSource } from './etcd-source.js'
import { RangeHistory } from './range-history.js'

/**
 * Ranges of keys of one etcd. All informers over them show one revision, and change in one step. One watch follows all
 * of them.
 *
 * @example
 * ```ts
 * import { etcdCluster } from 'listwatch/etcd'
 *
 * const shop = etcdCluster({ client: etcd })
 * const orders = createInformer({ source: shop.collection<Order>({ prefix: '/shop/orders/' }) })
 * const limits = createInformer({ source: shop.collection<Limit>({ prefix: '/shop/limits/' }) })
 * await groupInformers([orders, limits]).start().synced()
 * const { header } = await etcd.put('/shop/limits/acme').value('{"rps":5,"burst":10}')
 * await orders.waitFor(header.revision) // Each takes the revision of any write.
 * console.log(limits.get('/shop/limits/acme'))
 * ```
 */
export interface EtcdCluster {
  /**
   * Returns a range of keys as a source. Each can have one informer at a time.
   * @throws OptionError when an option is missing or not allowed.
   */
  collection<T = unknown>(options: EtcdCollectionOptions<T>): EtcdSource<T>
}

/**
 * Returns ranges of keys of etcd 3.4 or later, with one history. It opens no connection before the first list, watch or
 * head.
 * @returns The cluster, whose collections are sources.
 * @throws OptionError when an option is missing or not allowed.
 *
 * @example
 * ```ts
 * import { etcdCluster } from 'listwatch/etcd'
 *
 * const shop = etcdCluster({ endpoints: ['http://127.0.0.1:2379'] })
 * const limits = createInformer({ source: shop.collection<Limit>({ prefix: '/shop/limits/' }) })
 * ```
 */
export function etcdCluster(options: EtcdClusterOptions): EtcdCluster {
  checkClusterOptions(options)
  const history = new RangeHistory(options, 'etcdCluster')
  return {
    collection: (range) => {
      checkCollectionOptions(range)
      return Object.assign(rangeSource(range, history), { history })
    },
  }
}
