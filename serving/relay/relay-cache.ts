import { messageOf, OptionError } from '../../src/contract/errors.js'
import type { MirrorCache, MirrorCacheContext, SavedMirror, SavedRecord } from '../../src/contract/mirror-cache.js'
import { systemRandom } from '../../src/contract/random.js'
import type { RelayStore } from '../../src/contract/relay-store.js'
import { type ListEvent, PAGE_SIZE } from '../../src/contract/source.js'
import { eventsOf, HEADER_KEY, isUnrelayed, parseHeader, type RelayHeader, UnreadableText } from './relay-texts.js'
import { isStore } from './store-check.js'

/**
 * Returns a cache that restores a mirror from the store of its relay: the relay resumes the watch of the upstream at
 * the version that the store has. It saves nothing itself, because `serveRelay` writes the store.
 *
 * @returns The cache, for the option `cache` of `createInformer`.
 * @throws OptionError if it is not a relay store.
 *
 * @example
 * ```ts
 * import { memoryRelayStore } from 'listwatch/memory'
 * import { serveRelay, relayCache } from 'listwatch/relay'
 *
 * const store = memoryRelayStore()
 * const orders = createInformer({ source, cache: relayCache(store) })
 * serveRelay(orders, store)
 * orders.start()
 * ```
 */
export function relayCache(store: RelayStore): MirrorCache {
  const flaw = isStore(store)
  if (flaw !== undefined) throw new OptionError(`relayCache: the store ${flaw}`, { option: 'store' })
  return {
    name: store.name,
    serveStale: false,
    // Nothing has to be saved.
    saveEveryMs: 2 ** 31 - 1,
    saveAfterShare: 1,
    maxAgeMs: 2 ** 31 - 1,
    open: (context) => open(store, context),
    save: async () => {},
    // The relay deletes the content of the store after lost access.
  }
}

/** The content of a store, with its header, and its invalid objects with the reasons. */
interface StoredMirror extends SavedMirror {
  readonly store: RelayStore
  readonly header: RelayHeader
  readonly invalid: ReadonlyMap<string, string>
}

function isOf(store: RelayStore, saved: SavedMirror | undefined): saved is StoredMirror {
  return saved !== undefined && 'store' in saved && saved.store === store
}

/** The invalid objects with the reasons. Undefined for content that is not that of the store `now`. */
export function invalidOf(
  saved: SavedMirror | undefined,
  store: RelayStore,
  now: { readonly writer: string; readonly write: number } | undefined,
): ReadonlyMap<string, string> | undefined {
  const isSame = isOf(store, saved) && saved.header.writer === now?.writer && saved.header.write === now.write
  return isSame ? saved.invalid : undefined
}

async function open(
  store: RelayStore,
  { signal, clock, fingerprint, warn, alive = () => {} }: MirrorCacheContext,
): Promise<SavedMirror | undefined> {
  const context = { signal, clock, random: systemRandom, warn, pageSize: PAGE_SIZE, alive }
  const before = parseHeader((await store.read(HEADER_KEY, context)).text)
  if (before?.fingerprint === undefined || before.hasFiltered === true) return undefined
  if (before.fingerprint !== fingerprint) {
    warn('its content is of another source, or of an informer with other options: it is not used')
    return undefined
  }
  // The header of the list counts: the store may have been flushed or written since the first read.
  let header: RelayHeader | undefined
  const stored = new Map<string, readonly SavedRecord[]>()
  const unreadable = new Set<string>()
  for await (const { events } of store.collection.list(context)) {
    alive() // A large store takes longer than the 30 s within which `open` must report progress.
    for (const event of events) {
      if (event.key === HEADER_KEY) header = event.type === 'put' ? parseHeader(event.object) : undefined
      else if (event.key !== undefined) {
        const relayed = eventsOf<unknown>(event)
        if (relayed.some((each) => each.type === 'invalid' && each.error instanceof UnreadableText))
          unreadable.add(event.key)
        else unreadable.delete(event.key)
        stored.set(event.key, relayed.flatMap(recordsOf))
      }
    }
  }
  if (header?.fingerprint !== fingerprint || header.hasFiltered === true) {
    warn('its content was replaced or removed while it was read: it is not used')
    return undefined
  }
  if (!header.isWhole) {
    warn('its content is incomplete, because a relay ended while it wrote a large batch: it is not used')
    return undefined
  }
  const { version, resumeState } = header
  if (version === undefined) return undefined // Access to the source was lost: there is no content.
  if (unreadable.size > 0) {
    warn(`it has objects that this version cannot read (${unreadable.size}): it is not used`)
    return undefined
  }
  let records = [...stored.values()].flat()
  const unrelayed = records.filter((each) => each.type === 'invalid' && isUnrelayed(each.reason)).length
  if (unrelayed > 0) {
    warn(`it lacks objects that it could not take (${unrelayed}): it is not used`)
    return undefined
  }
  async function* pages(): AsyncGenerator<readonly SavedRecord[]> {
    for (let at = 0; at < records.length; at += PAGE_SIZE) yield records.slice(at, at + PAGE_SIZE)
  }
  const close = async (): Promise<void> => {
    records = [] // The mirror keeps this object, and reads its pages only once.
  }
  const reasons = records.flatMap((each) => (each.type === 'invalid' ? [[each.key, each.reason] as const] : []))
  const content = { version, resumeState, size: records.length, savedAt: clock.now(), pages, close }
  const saved: StoredMirror = { ...content, store, header, invalid: new Map(reasons) }
  return saved
}

function recordsOf(event: ListEvent<unknown>): readonly SavedRecord[] {
  if (event.type === 'put') return [{ ...event, type: 'entry' }]
  if (event.type === 'delete' || event.key === undefined) return []
  return [{ type: 'invalid', key: event.key, version: event.version, reason: messageOf(event.error) }]
}
