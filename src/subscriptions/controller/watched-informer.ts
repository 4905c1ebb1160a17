import type { Deleted, Updated } from '../../queue/change.js'
import { assertSynchronous } from '../../util/type-guards.js'
import type { Subscription } from '../subscription-types.js'
import type { ControllerWatch } from './controller-types.js'

export type Watching = Pick<WatchedInformer<never>, 'close' | 'keysOfObjects'>

/** Calls `enqueue` for the keys of each changed object, and of its state before. */
export class WatchedInformer<U> {
  readonly #watch: ControllerWatch<U>
  readonly #subscription: Subscription

  constructor(watch: ControllerWatch<U>, name: string | undefined, enqueue: (key: string) => void) {
    this.#watch = watch
    const enqueueFor = (object: U, key: string): void => {
      for (const each of keysOf(watch, object, key)) enqueue(each)
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
    this.#subscription = watch.informer.subscribe(handlers, name === undefined ? {} : { name })
  }

  *keysOfObjects(): Generator<Iterable<string>> {
    for (const [key, object] of this.#watch.informer.entries()) {
      try {
        // A key of another type was reported when the object changed, as an error is.
        yield [...keysOf(this.#watch, object, key)].filter((each) => typeof each === 'string')
      } catch {
        // It was reported then.
      }
    }
  }

  close(): void {
    void this.#subscription.close()
  }
}

/** A text would be the keys of its characters. */
function keysOf<U>(watch: ControllerWatch<U>, object: U, key: string): Iterable<string> {
  const keys = watch.keys(object, key)
  assertSynchronous(keys, 'function `keys`')
  if (typeof keys === 'string') throw new TypeError('watches: `keys` must return a list of keys, got a string')
  return keys
}
