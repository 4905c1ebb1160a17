import type { StandardSchema, Validated } from '../../../src/util/standard-schema.js'
import type { Item } from '../backend/history.js'
import type { Scenario } from '../system/scenario.js'
import { changed } from './item-bodies.js'
import { mix } from './random-decisions.js'

/** The object that a decodable source object has if the schema rejects it. */
export function refusable(item: Item): Item {
  return changed(item, { rank: -1 })
}

/** A schema that checks the rank, and marks each object that it has checked. */
export function schemaOf({ mark }: Scenario): StandardSchema<Item> {
  const validate = (value: unknown): Validated<Item> | Promise<Validated<Item>> => {
    const item = value as Item
    if (item.rank >= 0) return { value: changed(item, { isChecked: true }) }
    mark('the schema refused an object')
    return refusalOf(item)
  }
  return { '~standard': { version: 1, vendor: 'simulation', validate } }
}

/** Returns issues, throws, or returns a promise, which is not allowed here. */
function refusalOf(item: Item): Validated<Item> | Promise<Validated<Item>> {
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
