import { Store } from '../../../src/store/store.js'
import type { Invariant, Scenario } from '../system/scenario.js'

type Readable = { get(key: string): unknown }

/** Checks that the store keeps no old entries if no snapshot, no replay and no save reads them. */
export function checkPins({ violate }: Scenario, informer: Readable, invariant: Invariant, saves = 0): void {
  const pins = pinsOf(informer)
  if (pins > saves) violate(invariant, `${pins} pins are left in the store, and no snapshot or replay reads them`)
}

export function pinsOf(informer: Readable): number {
  return storeOf(informer)?.pinCount ?? 0
}

/** Returns the store that an informer reads. Undefined before its first list, when it reads none. */
function storeOf(informer: Readable): Store<unknown> | undefined {
  const { entryOf } = Store.prototype
  let store: Store<unknown> | undefined
  Store.prototype.entryOf = function (key) {
    store = this
    return entryOf.call(this, key)
  }
  try {
    informer.get('')
  } finally {
    Store.prototype.entryOf = entryOf
  }
  return store
}
