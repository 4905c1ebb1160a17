import type { Clock } from './clock.js'
import type { Entry } from './events.js'
import type { Proof } from './status.js'
import type { Version } from './version.js'

/**
 * A store for the content of a mirror, which outlives the process. An informer with a cache resumes its watch at the
 * saved version after a restart, instead of listing. `fileCache` of `listwatch/file-cache` implements it.
 *
 * @example
 * ```ts
 * import type { MirrorCache, MirrorToSave, SavedMirror } from 'listwatch/adapter'
 *
 * declare function download(name: string, signal: AbortSignal): Promise<SavedMirror | undefined>
 * declare function upload(name: string, mirror: MirrorToSave, signal: AbortSignal): Promise<void>
 * const cache: MirrorCache = {
 *   name: 'bucket:orders',
 *   ...{ serveStale: false, saveEveryMs: 60_000, saveAfterShare: 0.1, maxAgeMs: 600_000 },
 *   open: ({ fingerprint, signal }) => download(`orders/${fingerprint}`, signal),
 *   save: (mirror, { fingerprint, signal }) => upload(`orders/${fingerprint}`, mirror, signal),
 * }
 * const informer = createInformer({ source, cache })
 * ```
 */
export interface MirrorCache {
  /** For logs and errors: "file:/var/cache/pods.cache". */
  readonly name: string
  /** Whether readers see the saved objects before the source has confirmed that it can resume from their version. */
  readonly serveStale: boolean
  /** A save begins at the earliest after this time since the last one, in milliseconds. */
  readonly saveEveryMs: number
  /** A save begins if at least this share of the objects has changed since the last one: 0.1 is 10 %. */
  readonly saveAfterShare: number
  /** A save begins after this time in milliseconds, if the version has changed since the last one. */
  readonly maxAgeMs: number
  /**
   * Opens the content that was saved last. Returns undefined if there is none, or if its fingerprint or its format is
   * another one; then `warn` is called once with the reason, except if nothing was saved yet. It does not throw for
   * damaged content.
   */
  open(context: MirrorCacheContext): Promise<SavedMirror | undefined>
  /**
   * Saves a mirror atomically. After a crash at any moment, `open` returns this content or the content before it.
   *
   * @throws SourceError UNAVAILABLE if the content cannot be written, for example because the disk is full.
   */
  save(mirror: MirrorToSave, context: MirrorCacheContext): Promise<void>
  /**
   * Removes the saved content. Called when `onAccessLost: 'clear'` deletes the objects of the source.
   *
   * @throws SourceError UNAVAILABLE if it cannot be removed.
   */
  discard?(context: MirrorCacheContext): Promise<void>
}

/**
 * The context of every call to a cache.
 *
 * @example
 * ```ts
 * import type { MirrorCacheContext } from 'listwatch/adapter'
 *
 * // Whether a cache without encryption may be used.
 * function isAllowed(context: MirrorCacheContext): boolean {
 *   if (context.isSensitive) context.warn('the objects are secrets, so they are not saved')
 *   return !context.isSensitive
 * }
 * ```
 */
export interface MirrorCacheContext {
  /** Aborts when the call is no longer wanted; for `open`, when its content is not read any more. */
  readonly signal: AbortSignal
  /** The clock of the informer. */
  readonly clock: Clock
  /**
   * Names the source, its selection, and the functions that change its objects. Content of another fingerprint is not
   * used.
   */
  readonly fingerprint: string
  /** Whether the source says that its objects are secrets. A cache refuses them, unless the user allows them. */
  readonly isSensitive: boolean
  /** Reports why a cache was not used. */
  warn(message: string): void
  /**
   * Reports that `open` makes progress. An `open` that does not end within 30 s fails, and the source is listed; each
   * call of `alive` restarts these 30 s.
   */
  alive?(): void
}

/**
 * The content of a mirror at one version.
 *
 * @example
 * ```ts
 * import type { MirrorHeader } from 'listwatch/adapter'
 *
 * // The first line of a file; the lines of the records follow.
 * function headerLine({ version, resumeState, proof, size }: MirrorHeader): string {
 *   return `${JSON.stringify({ version, resumeState, proof, size })}\n`
 * }
 * ```
 */
export interface MirrorHeader {
  /** The version of the mirror. A watch can resume from it. */
  readonly version: Version
  /** The result of the source's `resumeState`, for the watch that resumes. */
  readonly resumeState?: string | undefined
  /** The last proof that the mirror was equal to its source. A warm start restores it. */
  readonly proof?: Proof | undefined
  /** The number of records. */
  readonly size: number
}

/**
 * Content to save. It does not change while it is read.
 *
 * @example
 * ```ts
 * import { setImmediate } from 'node:timers/promises'
 * import type { MirrorToSave } from 'listwatch/adapter'
 *
 * async function* linesOf(mirror: MirrorToSave): AsyncIterable<string> {
 *   let count = 0
 *   for (const record of mirror.records()) {
 *     yield `${JSON.stringify(record)}\n`
 *     if (++count % 1_000 === 0) await setImmediate() // Other work of the process runs.
 *   }
 * }
 * ```
 */
export interface MirrorToSave extends MirrorHeader {
  /** Returns the records. The cache pauses between them, so that it does not block the event loop. */
  records(): Iterable<SavedRecord>
  /**
   * Returns the same records in a packed form, which `SavedMirror.packed` returns later: yields the parts in order, and
   * undefined after each step in between, so that the cache can pause. `encode` returns a record as a text. `seed` is
   * any integer: keys that collide with one seed do not with another one.
   *
   * @throws RangeError if the keys have more than 2 GB.
   */
  pack(encode: (record: SavedRecord) => string, seed: number): Iterable<PackedPart | undefined>
}

/**
 * A part of packed content: a block with objects, or a section with keys or index values.
 *
 * @example
 * ```ts
 * import type { MirrorToSave } from 'listwatch/adapter'
 *
 * function* bytesOf(mirror: MirrorToSave): Iterable<Uint8Array> {
 *   for (const part of mirror.pack((record) => JSON.stringify(record), 7)) {
 *     if (part === undefined) continue // A step without output: the cache may pause here.
 *     yield* 'block' in part ? [part.block] : part.chunks
 *   }
 * }
 * ```
 */
export type PackedPart = PackedBlock | PackedSection

/**
 * Objects. The blocks are numbered in the order in which they are packed.
 *
 * @example
 * ```ts
 * import type { PackedBlock } from 'listwatch/adapter'
 *
 * // The end of each block in a file, from which `PackedContent.block` finds it again by its number.
 * const ends: number[] = []
 * function append({ block }: PackedBlock): void {
 *   ends.push((ends.at(-1) ?? 0) + block.byteLength)
 * }
 * ```
 */
export interface PackedBlock {
  /** The content of the block. */
  readonly block: Uint8Array
}

/**
 * Keys or index values. They are in memory while the content is used.
 *
 * @example
 * ```ts
 * import type { PackedSection } from 'listwatch/adapter'
 *
 * function inSharedMemory({ length, chunks }: PackedSection): Uint8Array {
 *   const bytes = new Uint8Array(new SharedArrayBuffer(length))
 *   let at = 0
 *   for (const chunk of chunks) {
 *     bytes.set(chunk, at)
 *     at += chunk.byteLength
 *   }
 *   return bytes
 * }
 * ```
 */
export interface PackedSection {
  /** Names the section: "keys.pool". Each name occurs once. */
  readonly name: string
  /** The number of its bytes. */
  readonly length: number
  /** The bytes, in pieces. */
  readonly chunks: readonly Uint8Array[]
}

/**
 * Packed content. All of its bytes have been checked.
 *
 * @example
 * ```ts
 * import type { PackedContent } from 'listwatch/adapter'
 *
 * // `decode` reverses the `encode` that `pack` was called with.
 * function contentOf(sections: ReadonlyMap<string, Uint8Array>, blocks: readonly Uint8Array[]): PackedContent {
 *   const block = (index: number): Uint8Array => {
 *     const found = blocks[index]
 *     if (found === undefined) throw new RangeError(`there is no block ${index}`)
 *     return found
 *   }
 *   return { sections, block, decode: (text) => JSON.parse(text) }
 * }
 * ```
 */
export interface PackedContent {
  /** The sections by name. They may be in shared memory. An address that is a multiple of 8 saves a copy. */
  readonly sections: ReadonlyMap<string, Uint8Array>
  /**
   * Returns a block by its number. Throws if it was damaged since it was checked. It may be called until `close`; with
   * `keepsPacked` also later.
   */
  block(index: number): Uint8Array
  /** @internal Called when a block is not read any more: its memory can be freed before the next garbage collection. */
  release?(block: Uint8Array): void
  /** Decodes the text of a record. */
  decode(text: string): SavedRecord
}

/**
 * Saved content. Its header has been checked; its records are checked when they are read.
 *
 * @example
 * ```ts
 * import type { MirrorHeader, SavedMirror, SavedRecord } from 'listwatch/adapter'
 *
 * // Reads a file of lines: the header, and then a record a line.
 * function savedMirror([first = '', ...lines]: readonly string[], savedAt: number): SavedMirror {
 *   const header: MirrorHeader = JSON.parse(first)
 *   async function* pages(): AsyncIterable<readonly SavedRecord[]> {
 *     yield lines.map((line): SavedRecord => JSON.parse(line))
 *   }
 *   return { ...header, savedAt, pages, close: async () => {} }
 * }
 * ```
 */
export interface SavedMirror extends MirrorHeader {
  /** When it was saved, in milliseconds since the Unix epoch. */
  readonly savedAt: number
  /**
   * Yields all records in pages. Throws if they are damaged or incomplete; then no record of this content may be used.
   * The pages may be read again. Not needed if there is `packed`.
   */
  pages?(): AsyncIterable<readonly SavedRecord[]>
  /**
   * Returns the content as it was packed, after it has checked all bytes. Then readers see the objects at once, and
   * each is decoded when it is first read. Rejects if the content is damaged or incomplete.
   */
  packed?(): Promise<PackedContent>
  /**
   * Whether the packed content is in shared memory, and stays there. Then the informer reads it in place for good: it
   * decodes an object when that is read, and keeps only the objects that have changed since. Default: false, all
   * objects are decoded.
   *
   * `close` is called when the informer stops, or when no object of the content is left. A stopped informer is still
   * readable: so `block` and the sections must be valid after `close`, as long as something refers to them.
   */
  readonly keepsPacked?: boolean | undefined
  /** Releases the content. */
  close(): Promise<void>
}

/**
 * One key of a saved mirror.
 *
 * @example
 * ```ts
 * import type { SavedRecord } from 'listwatch/adapter'
 *
 * const TYPES: readonly SavedRecord['type'][] = ['entry', 'filtered', 'invalid']
 * function parseRecord(line: string): SavedRecord {
 *   const record: SavedRecord = JSON.parse(line)
 *   if (!TYPES.includes(record.type)) throw new Error('the file is damaged') // Nothing of this content is used.
 *   return record
 * }
 * ```
 */
export type SavedRecord = SavedEntry | SavedFiltered | SavedInvalid

/**
 * A stored object, after the schema and `transform` of the informer.
 *
 * @example
 * ```ts
 * import type { SavedEntry } from 'listwatch/adapter'
 *
 * // Fails if the cache would change the object: JSON has no dates.
 * function assertPlain({ key, object }: SavedEntry): void {
 *   if (Object.values(object ?? {}).some((value) => value instanceof Date)) throw new TypeError(`${key} has a date`)
 * }
 * ```
 */
export interface SavedEntry extends Entry<unknown> {
  /** Identifies the kind of record. */
  readonly type: 'entry'
}

/**
 * A key whose object `transform` filtered out.
 *
 * @example
 * ```ts
 * import type { SavedFiltered, SavedRecord } from 'listwatch/adapter'
 *
 * // The keys that `transform` omits. An audit after a restart compares their versions too.
 * function omitted(records: readonly SavedRecord[]): readonly SavedFiltered[] {
 *   return records.filter((record) => record.type === 'filtered')
 * }
 * ```
 */
export interface SavedFiltered {
  /** Identifies the kind of record. */
  readonly type: 'filtered'
  /** The key of the object. */
  readonly key: string
  /** The version of the object, if the source has one. */
  readonly version?: Version | undefined
}

/**
 * A key whose object could not be decoded. Its last good object, if there is one, is another record.
 *
 * @example
 * ```ts
 * import type { SavedInvalid } from 'listwatch/adapter'
 *
 * function logInvalid({ key, version, reason }: SavedInvalid): void {
 *   console.warn(`${key} was saved as invalid at ${version ?? 'an unknown version'}: ${reason}`)
 * }
 * ```
 */
export interface SavedInvalid {
  /** Identifies the kind of record. */
  readonly type: 'invalid'
  /** The key of the object. */
  readonly key: string
  /** The version of the object, if the source has one. */
  readonly version?: Version | undefined
  /** The reason, in words. */
  readonly reason: string
}
