import type { Clock } from '../../../src/contract/clock.js'
import type { InformerOptions } from '../../../src/index.js'
import type { Item } from '../backend/history.js'
import { type IndexesOf, indexesOf } from '../workload/declared-indexes.js'
import { schemaOf } from '../workload/item-schema.js'
import type { Scenario } from './scenario.js'

type Options = InformerOptions<Item, IndexesOf>

/**
 * The options of an informer, as the settings have them. In two thirds of the schedules writes are cut into slices of a
 * few changes. `defectAt` returns an error that is thrown while the store writes an object; the step is undone.
 */
export function informerOptionsOf(
  scenario: Scenario,
  clock: Clock,
  defectAt: (item: Item) => Error | undefined,
): Omit<Options, 'source'> {
  const { settings, decisions } = scenario
  const omitted = settings.omits
  const slices = slicesOf(scenario)
  return {
    clock,
    random: { next: () => decisions.next('jitter') },
    indexes: (ix) => indexesOf(ix, defectAt),
    onInvalid: settings.onInvalid,
    freeze: settings.freezes,
    intern: settings.interns,
    ...(slices !== undefined && { slices }),
    ...(settings.clears && { onAccessLost: 'clear' }),
    audit: settings.auditMs === false ? false : { periodMs: settings.auditMs },
    ...(settings.hasSchema && { schema: schemaOf(scenario) }),
    ...(omitted !== undefined && { transform: (item) => (item.tenant === omitted ? undefined : item) }),
  }
}

function slicesOf({ decisions }: Scenario): Options['slices'] {
  if (decisions.chance('slices', 0.33)) return undefined
  const stepsPerCheck = 1 + decisions.below('steps of a slice', 4)
  return { largeWrite: decisions.below('large write', 3), stepsPerCheck, sliceMs: 0, changesPerStep: 1 }
}
