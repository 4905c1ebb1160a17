import type { Deleted, Updated } from '../queue/change.js'
import type { Watch } from './controller-types.js'
import type { Subscription } from './subscription-types.js'

/** Calls `enqueue` for the keys that belong to each changed object, and to its state before. */
export function followed<U>(
  { informer, keys }: Watch<U>,
  name: string | undefined,
  enqueue: (key: string) => void,
): Subscription {
  const enqueueFor = (object: U, key: string): void => {
    for (const each of keys(object, key)) enqueue(each)
  }
  const changed = ({ key, object, previous }: Updated<U> | Deleted<U>): void => {
    try {
      if (previous !== object) enqueueFor(previous, key)
    } finally {
      enqueueFor(object, key)
    }
  }
  const handlers = {
    add: ({ key, object }: { readonly key: string; readonly object: U }) => enqueueFor(object, key),
    update: changed,
    delete: changed,
  }
  return informer.subscribe(handlers, name === undefined ? {} : { name })
}
