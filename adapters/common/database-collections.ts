import { OptionError } from '../../src/contract/errors.js'
import type { SharedHistory } from '../../src/contract/shared-history.js'
import type { Place } from '../../src/contract/split-source.js'
import { isName } from '../../src/util/validate-options.js'
import { propertiesOf } from './properties.js'

/** The place of a key `collection/key`. */
export function placeOf(key: string): Place {
  const at = key.indexOf('/')
  return [key.slice(0, at), key.slice(at + 1)]
}

export function assertCollectionName(name: string, call = 'collection'): void {
  if (isName(name) === undefined && !name.includes('/') && name.isWellFormed()) return
  const message = `${call}: the name must be a well-formed string without "/", got "${name}"`
  throw new OptionError(message, { option: 'name' })
}

export function assertNewCollection(name: string, collections: { has(name: string): boolean }): void {
  assertCollectionName(name)
  if (collections.has(name))
    throw new OptionError(`collection: there is a collection "${name}" already`, { option: 'name' })
}

/** The name of the collection of a source. Throws a TypeError if its history is another one. */
export function collectionOf(history: SharedHistory, source: unknown): string {
  const { history: own, collection, name } = propertiesOf(source)
  if (own === history) return String(collection)
  const given = name === undefined ? `"${String(source)}"` : `the source "${String(name)}"`
  throw new TypeError(`commit: ${given} is not a source that ${history.name}.collection() has returned`)
}
