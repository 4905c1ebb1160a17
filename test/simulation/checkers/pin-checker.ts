import { pinsOf } from '../../../src/store/store.js'
import type { Invariant, Scenario } from '../system/scenario.js'

/** Where no snapshot is held and nobody waits for what the store held when he began, nothing of the past is kept. */
export function checkPins({ violate }: Scenario, informer: object, invariant: Invariant): void {
  const pins = pinsOf in informer ? informer[pinsOf] : undefined
  if (pins !== 0) violate(invariant, `${pins} pins are left in the store, and nobody reads by them`)
}
