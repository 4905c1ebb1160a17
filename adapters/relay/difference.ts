import { SourceError } from '../../src/contract/errors.js'
import { RelayConflictError, type RelayStore, type TextChange } from '../../src/contract/relay-store.js'
import { PAGE_SIZE, type SourceContext } from '../../src/contract/source.js'
import type { Version } from '../../src/contract/version.js'
import { TimeSlice } from '../../src/util/time-slice.js'
import { decodeKey, encodeKey, HEADER_KEY } from './relay-texts.js'

/** The texts that the store should have. */
export interface Expected {
  /** The keys of all objects. */
  keys(): Iterable<string>
  /** The text of a key; undefined if there is no such object. */
  text(key: string): string | undefined
}

/**
 * Reads the store, and returns the keys whose texts differ, as they are in the store. It keeps one boolean for each key, no texts.
 *
 * @throws RelayConflictError if the store is not at `position`.
 */
export async function difference(
  store: RelayStore,
  position: Version,
  expected: Expected,
  context: SourceContext,
): Promise<ReadonlySet<string>> {
  const differing = new Set<string>()
  const found = new Set<string>()
  const slice = new TimeSlice(context.clock)
  let version: Version | undefined
  for await (const page of store.collection.list({ ...context, pageSize: PAGE_SIZE })) {
    version = page.version
    for (const event of page.events) {
      const { key } = event
      if (key === undefined) throw new SourceError(`${store.name} has a key that cannot be decoded`, { code: 'PROTOCOL' })
      if (key === HEADER_KEY) continue
      const text = event.type === 'put' ? event.object : undefined
      if (event.type === 'delete') found.delete(key)
      else found.add(key)
      if (event.type !== 'invalid' && text === expected.text(decodeKey(key))) differing.delete(key)
      else differing.add(key)
      if (slice.isOverAfterCall()) await slice.turn()
    }
  }
  if (version !== position) throw new RelayConflictError(`${store.name} changed while it was read`)
  for (const key of expected.keys()) {
    const stored = encodeKey(key)
    if (!found.has(stored)) differing.add(stored)
    if (slice.isOverAfterCall()) await slice.turn()
  }
  return differing
}

/** The changes that make the store equal, encoded when they are read. */
export function* changesTo(keys: ReadonlySet<string>, expected: Expected): Generator<TextChange> {
  for (const key of keys) yield { key, text: expected.text(decodeKey(key)) }
}
