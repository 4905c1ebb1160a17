import type { StandardSchema } from '../../src/schema.js'
import type { Item } from './history.js'
import type { Scene } from './stage.js'

/** What the source gives for an object that it can decode, and the schema refuses. */
export function refusable(item: Item): Item {
  return { ...item, rank: -1 }
}

/** A schema that knows what a rank is, and marks what it has looked at. */
export function schemaOf({ mark }: Scene): StandardSchema<Item> {
  const validate = (value: unknown): { readonly value: Item } | { readonly issues: readonly { message: string }[] } => {
    const item = value as Item
    if (item.rank >= 0) return { value: { ...item, isChecked: true } }
    mark('the schema refused an object')
    return { issues: [{ message: 'a rank is never below 0' }] }
  }
  return { '~standard': { version: 1, vendor: 'simulation', validate } }
}
