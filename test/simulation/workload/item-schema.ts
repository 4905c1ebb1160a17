import type { SchemaResult, StandardSchema } from '../../../src/informer/standard-schema.js'
import type { Item } from '../backend/history.js'
import type { Scenario } from '../system/scenario.js'
import { changed } from './item-bodies.js'
import { mix } from './random-decisions.js'

/** What the source gives for an object that it can decode, and the schema refuses. */
export function refusable(item: Item): Item {
  return changed(item, { rank: -1 })
}

type Validated = SchemaResult<Item>

/** A schema that knows what a rank is, and marks what it has looked at. */
export function schemaOf({ mark }: Scenario): StandardSchema<Item> {
  const validate = (value: unknown): Validated | Promise<Validated> => {
    const item = value as Item
    if (item.rank >= 0) return { value: changed(item, { isChecked: true }) }
    mark('the schema refused an object')
    return refusalOf(item)
  }
  return { '~standard': { version: 1, vendor: 'simulation', validate } }
}

/** It names what is wrong, throws, or gives a promise, which nobody can use here. */
function refusalOf(item: Item): Validated | Promise<Validated> {
  switch (mix(item.n) % 5) {
    case 0:
      throw new Error('a rank is never below 0')
    case 1:
      throw 'no rank' // As some libraries do.
    case 2:
      return Promise.reject(new Error('a rank is never below 0'))
    case 3:
      return Promise.resolve({ value: item })
    default:
      return { issues: [{ message: 'a rank is never below 0' }] }
  }
}
