import type { Random } from '../contract/random.js'
import { FeedController } from './controller.js'
import type { ReconcileContext, ReconcileOptions, Syncable, Watch } from './controller-types.js'
import type { Feed } from './feed.js'
import { checkReconcileOptions } from './reconcile-options.js'
import type { FeedOptions } from './subscription-types.js'

/** A new controller, its feed, and the informers that it waits for. */
interface NewController<T> {
  readonly feed: Feed<T>
  readonly controller: FeedController<T>
  readonly others: readonly Syncable[]
}

/** Checks the options of `reconcile`, and creates the controller. `feedOf` creates its feed. */
export function newController<T, I, W extends readonly unknown[]>(
  feedOf: (scope: FeedOptions<T>) => Feed<T>,
  fn: (key: string, context: ReconcileContext<T>) => Promise<void>,
  options: ReconcileOptions<T, I, W>,
  random: Random,
): NewController<T> {
  if (typeof fn !== 'function') throw new TypeError('reconcile: the first argument must be a function')
  checkReconcileOptions(options)
  const { retry, rateLimit, priority, replicas, watches, after = [], ...scope } = options
  const watched: readonly Watch<W[number]>[] = watches ?? []
  const others = [...after, ...watched.map(({ informer }) => informer)]
  const feed = feedOf(scope)
  const controller = new FeedController(feed, fn, { ...options, after: others, random })
  try {
    for (const watch of watched) controller.watch(watch)
  } catch (error) {
    void controller.close()
    throw error
  }
  return { feed, controller, others }
}
