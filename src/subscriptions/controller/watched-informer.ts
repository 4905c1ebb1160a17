import type { Deleted, Updated } from '../../queue/change.js'
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
      for (const each of watch.keys(object, key)) enqueue(each)
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
        yield [...this.#watch.keys(object, key)]
      } catch {
        // It was reported when the object changed.
      }
    }
  }

  close(): void {
    void this.#subscription.close()
  }
}
