import { SourceError } from '../../src/contract/errors.js'
import { RelayConflictError, type RelayStore, type TextChange } from '../../src/contract/relay-store.js'
import { PAGE_SIZE, type SourceContext } from '../../src/contract/source.js'
import type { Version } from '../../src/contract/version.js'
import { TimeSlice } from '../../src/util/time-slice.js'
import { decodeKey, encodeKey, HEADER_KEY, hasSameVersion } from './relay-texts.js'

export interface Expected {
  keys(): Iterable<string>
  /** The text of a key; undefined if there is no such object. `isRepair`: without the version of the object. */
  text(key: string, isRepair?: boolean): string | undefined
}

export const NOTHING: Expected = { keys: () => [], text: () => undefined }

/** The keys whose texts differ, as they are in the store. True: the version of the object is the same. */
export type Difference = ReadonlyMap<string, boolean>

/** Returns what differs. It keeps the keys, no texts. Throws RelayConflictError if the store is not at `position`. */
export async function difference(
  store: RelayStore,
  position: Version,
  expected: Expected,
  context: SourceContext,
): Promise<Difference> {
  const differing = new Map<string, boolean>()
  const found = new Set<string>()
  const slice = new TimeSlice(context.clock)
  let version: Version | undefined
  for await (const page of store.collection.list({ ...context, pageSize: PAGE_SIZE })) {
    version = page.version
    for (const event of page.events) {
      const { key } = event
      if (key === undefined)
        throw new SourceError(`${store.name} has a key that cannot be decoded`, { code: 'PROTOCOL' })
      if (key === HEADER_KEY) continue
      const text = event.type === 'put' ? event.object : undefined
      if (event.type === 'delete') found.delete(key)
      else found.add(key)
      const wanted = expected.text(decodeKey(key))
      if (event.type !== 'invalid' && text === wanted) differing.delete(key)
      else differing.set(key, hasSameVersion(text, wanted))
      if (slice.isOverAfterCall()) await slice.turn()
    }
  }
  if (version !== position) throw new RelayConflictError(`${store.name} changed while it was read`)
  for (const key of expected.keys()) {
    const stored = encodeKey(key)
    if (!found.has(stored)) differing.set(stored, false)
    if (slice.isOverAfterCall()) await slice.turn()
  }
  return differing
}

/** The changes that make the store equal, encoded when they are read. */
export function* changesTo(differing: Difference, expected: Expected): Generator<TextChange> {
  for (const [key, isRepair] of differing) yield { key, text: expected.text(decodeKey(key), isRepair) }
}
